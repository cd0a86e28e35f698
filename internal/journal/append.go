package journal

import (
	"bytes"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"ebbtide/internal/ledger"
)

// maxID bounds an outage's id, in bytes.
const maxID = 200

// Append makes records durable, all of them or none: when it returns nil they are on the disk. An Opened record begins
// a new outage, whose id must sort after all before it; the other records belong to the outage that is open. Records
// that do not follow are refused with ErrSequence.
//
// After an error (the disk is full, say) the journal stays usable: the same records can be given again, later. A failed
// Append whose records reached the disk after all is known by that, and not written twice.
func (j *Journal) Append(recs ...ledger.Record) error {
	if len(recs) == 0 {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	end := j.end
	err := j.guard(func() error {
		return j.db.Update(func(tx *bbolt.Tx) error {
			if !j.known {
				var err error
				if end, err = j.tail(tx); err != nil {
					return err
				}
			}
			for _, r := range recs {
				if err := put(tx.Bucket(outagesBucket), &end, r, j.doubt); err != nil {
					return err
				}
			}
			return stamp(tx, end)
		})
	})
	if err != nil {
		if !errors.Is(err, ErrSequence) {
			j.known, j.doubt = false, true
		}
		return fmt.Errorf("cannot append record %d to journal %q: %w", recs[0].Seq, j.path, err)
	}
	j.end, j.known, j.doubt = end, true, false
	return nil
}

// put writes one record after end and moves end on. With again, a record that is there already, byte for byte, is
// passed over.
func put(outages *bbolt.Bucket, end *tail, r ledger.Record, again bool) error {
	outage := end.outage
	if r.Kind == ledger.Opened {
		outage = r.Outage
	}
	value, err := encode(outage, r)
	if err != nil {
		return err
	}
	if again && outage == end.outage && r.Seq <= end.seq {
		if bytes.Equal(outages.Bucket([]byte(outage)).Get(key(r.Seq)), value) {
			return nil
		}
	}
	var b *bbolt.Bucket
	if r.Kind == ledger.Opened {
		if err := mayOpen(end, r); err != nil {
			return err
		}
		if b, err = outages.CreateBucket([]byte(outage)); err != nil {
			return fmt.Errorf("cannot add outage %q: %w", outage, err)
		}
		*end = tail{outage: outage}
	} else {
		if err := mayFollow(end, r); err != nil {
			return err
		}
		b = outages.Bucket([]byte(outage))
	}
	b.FillPercent = 0.95 // records only ever come at the end
	if err := b.Put(key(r.Seq), value); err != nil {
		return err
	}
	end.seq, end.closed = r.Seq, r.Kind == ledger.Closed
	return nil
}

// mayOpen reports whether an Opened record may come after end.
func mayOpen(end *tail, r ledger.Record) error {
	switch {
	case r.Outage == "" || len(r.Outage) > maxID:
		return fmt.Errorf("%w: outage id %q is empty or longer than %d bytes", ErrSequence, r.Outage, maxID)
	case end.outage != "" && !end.closed:
		return fmt.Errorf("%w: outage %q cannot be opened while %q is open", ErrSequence, r.Outage, end.outage)
	case r.Outage <= end.outage:
		return fmt.Errorf("%w: outage %q does not sort after the one before it, %q", ErrSequence, r.Outage, end.outage)
	case r.Seq != 1:
		return fmt.Errorf("%w: outage %q begins with record %d instead of 1", ErrSequence, r.Outage, r.Seq)
	}
	return nil
}

// mayFollow reports whether a record other than Opened may come after end.
func mayFollow(end *tail, r ledger.Record) error {
	switch {
	case end.outage == "" || end.closed:
		return fmt.Errorf("%w: record %d (%s) belongs to no open outage", ErrSequence, r.Seq, r.Kind)
	case r.Outage != "" && r.Outage != end.outage:
		return fmt.Errorf("%w: record %d (%s) belongs to outage %q, but %q is open", ErrSequence, r.Seq, r.Kind, r.Outage, end.outage)
	case r.Seq != end.seq+1:
		return fmt.Errorf("%w: record %d (%s) after record %d of outage %q", ErrSequence, r.Seq, r.Kind, end.seq, end.outage)
	}
	return nil
}
