package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"ebbtide/internal/ledger"
)

// Outage is what the journal says of one outage as a whole.
type Outage struct {
	ID      string      `json:"id"`
	Start   time.Time   `json:"start"`
	End     time.Time   `json:"end,omitzero"` // of a closed one
	Open    bool        `json:"open"`         // it is not closed yet: it goes on, or is to be resumed
	Mode    ledger.Mode `json:"mode,omitempty"`
	Records int         `json:"records"`
}

// Outages lists all outages, oldest first. With an error it lists those that can be read.
func (j *Journal) Outages() ([]Outage, error) {
	var list []Outage
	var damage []error
	err := j.view(func(outages *bbolt.Bucket) error {
		return outages.ForEachBucket(func(id []byte) error {
			o, err := j.outage(outages, id)
			if err != nil {
				damage = append(damage, err)
				return nil
			}
			list = append(list, o)
			return nil
		})
	})
	return list, errors.Join(append(damage, err)...)
}

// Latest gives the newest outage; false if there is none.
func (j *Journal) Latest() (Outage, bool, error) {
	var o Outage
	found := false
	err := j.view(func(outages *bbolt.Bucket) error {
		end, err := j.tail(outages.Tx())
		if err != nil || end.outage == "" {
			return err
		}
		o, err = j.outage(outages, []byte(end.outage))
		found = err == nil
		return err
	})
	return o, found, err
}

// OpenOutage gives the id of the outage that is not closed; false if there is none.
func (j *Journal) OpenOutage() (string, bool, error) {
	o, found, err := j.Latest()
	if err != nil || !found || !o.Open {
		return "", false, err
	}
	return o.ID, true, nil
}

// Records reads an outage's records in order. With an error it returns those before the damage. An outage that is not
// there is ErrNoOutage.
func (j *Journal) Records(id string) ([]ledger.Record, error) {
	var recs []ledger.Record
	err := j.view(func(outages *bbolt.Bucket) error {
		b := outages.Bucket([]byte(id))
		if b == nil {
			return fmt.Errorf("cannot read outage %q from journal %q: %w", id, j.path, ErrNoOutage)
		}
		return j.each(id, b, func(r ledger.Record, err error) error {
			if err == nil {
				recs = append(recs, r)
			}
			return err
		})
	})
	return recs, err
}

// Verify reads everything. It returns nil, or all the damage joined: a *DamagedError for each damaged record, for each
// gap and for an end that is not there, and *VersionError for what only a newer program can read.
func (j *Journal) Verify() error {
	var damage []error
	err := j.view(func(outages *bbolt.Bucket) error {
		newest, _ := outages.Cursor().Last()
		err := outages.ForEach(func(k, _ []byte) error {
			id := string(k)
			b := outages.Bucket(k)
			if b == nil {
				damage = append(damage, j.damaged("", 0, fmt.Errorf("%q is not an outage", id)))
				return nil
			}
			var last ledger.Record
			n := 0
			err := j.each(id, b, func(r ledger.Record, err error) error {
				n++
				if err == nil {
					err = j.misplaced(id, n == 1, last, r)
					last = r
				}
				if err != nil {
					damage = append(damage, err)
				}
				return nil
			})
			if n == 0 {
				damage = append(damage, j.damaged(id, 0, errors.New("it has no record")))
			} else if last.Kind != ledger.Closed && id != string(newest) {
				damage = append(damage, j.damaged(id, 0, errors.New("it is not closed, and there is a newer one")))
			}
			return err
		})
		if err == nil && len(damage) == 0 { // else it may be the same damage, told twice
			_, err = j.tail(outages.Tx())
		}
		return err
	})
	return errors.Join(append(damage, err)...)
}

// misplaced says what is wrong with finding r, which was read well, after last.
func (j *Journal) misplaced(id string, first bool, last, r ledger.Record) error {
	switch {
	case first != (r.Kind == ledger.Opened):
		return j.damaged(id, r.Seq, fmt.Errorf("a record %q in its place", r.Kind))
	case first && r.Outage != id:
		return j.damaged(id, r.Seq, fmt.Errorf("it opens outage %q", r.Outage))
	case last.Kind == ledger.Closed:
		return j.damaged(id, r.Seq, errors.New("it comes after the outage was closed"))
	}
	return nil
}

// each calls f with each record of an outage, or with what is wrong with it, until f returns an error.
func (j *Journal) each(id string, b *bbolt.Bucket, f func(ledger.Record, error) error) error {
	next := uint64(1)
	return b.ForEach(func(k, v []byte) error {
		r, err := j.decode(id, k, v)
		if len(k) == 8 {
			if seq := binary.BigEndian.Uint64(k); seq != next {
				err = errors.Join(j.damaged(id, seq, fmt.Errorf("the records from %d to %d are missing", next, seq-1)), err)
				next = seq
			}
			next++
		}
		return f(r, err)
	})
}

// outage sums up one outage by its first and last record.
func (j *Journal) outage(outages *bbolt.Bucket, id []byte) (Outage, error) {
	b := outages.Bucket(id)
	if b == nil {
		return Outage{}, j.damaged("", 0, fmt.Errorf("%q is not an outage", id))
	}
	k, v := b.Cursor().First()
	if k == nil {
		return Outage{}, j.damaged(string(id), 0, errors.New("it has no record"))
	}
	first, err := j.decode(string(id), k, v)
	if err != nil {
		return Outage{}, err
	}
	k, v = b.Cursor().Last()
	last, err := j.decode(string(id), k, v)
	if err != nil {
		return Outage{}, err
	}
	o := Outage{
		ID: string(id), Start: first.At, Open: last.Kind != ledger.Closed, Mode: first.Mode,
		Records: int(last.Seq),
	} //nolint:gosec // counts what fits in memory
	if !o.Open {
		o.End = last.At
	}
	return o, nil
}

// decode reads one stored record; its errors say where it is.
func (j *Journal) decode(id string, k, v []byte) (ledger.Record, error) {
	r, err := decode(id, k, v)
	switch {
	case errors.Is(err, errNewerRecord):
		return r, &VersionError{Path: j.path, Thing: "record", Found: int(v[0]), Known: recordVersion}
	case err != nil:
		seq := uint64(0)
		if len(k) == 8 {
			seq = binary.BigEndian.Uint64(k)
		}
		return r, j.damaged(id, seq, err)
	}
	return r, nil
}

// view runs f in a read transaction.
func (j *Journal) view(f func(outages *bbolt.Bucket) error) error {
	return j.guard(func() error {
		return j.db.View(func(tx *bbolt.Tx) error {
			b, err := j.outages(tx)
			if err != nil {
				return err
			}
			return f(b)
		})
	})
}

func (j *Journal) outages(tx *bbolt.Tx) (*bbolt.Bucket, error) {
	b := tx.Bucket(outagesBucket)
	if b == nil {
		return nil, j.damaged("", 0, errors.New("it has no outages bucket"))
	}
	return b, nil
}

func (j *Journal) damaged(outage string, seq uint64, what error) *DamagedError {
	return &DamagedError{Path: j.path, Outage: outage, Seq: seq, What: what.Error()}
}
