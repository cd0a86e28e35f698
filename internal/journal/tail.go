package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.etcd.io/bbolt"

	"ebbtide/internal/ledger"
)

// tail is the journal's end: its newest outage and that outage's last record. The zero tail is an empty journal.
type tail struct {
	outage string
	seq    uint64
	closed bool // the last record is Closed
}

// stamp notes in a commit which one it is and with which record it ends. bbolt uses pages again, so that a disk which
// said that it had written a page and had not leaves a sound page of an earlier commit there, and the journal would
// end early without a trace. A file from before there was a stamp has none until its next commit.
func stamp(tx *bbolt.Tx, end tail) error {
	meta := tx.Bucket(metaBucket)
	if meta == nil {
		return errors.New("it has no meta bucket")
	}
	return meta.Put([]byte(commitKey), fmt.Appendf(nil, "%d %d %s", tx.ID(), end.seq, end.outage))
}

// parseStamp reads what stamp wrote.
func parseStamp(text string) (commit uint64, end tail, err error) {
	words := strings.SplitN(text, " ", 3)
	if len(words) == 3 {
		end.outage = words[2]
		if commit, err = strconv.ParseUint(words[0], 10, 64); err == nil {
			end.seq, err = strconv.ParseUint(words[1], 10, 64)
		}
	}
	if len(words) != 3 || err != nil {
		return 0, tail{}, fmt.Errorf("its commit is %q", text)
	}
	return commit, end, nil
}

// tail reads the journal's end from the file, and holds it against the stamp.
func (j *Journal) tail(tx *bbolt.Tx) (tail, error) {
	end, err := j.last(tx)
	if err != nil {
		return tail{}, err
	}
	meta := tx.Bucket(metaBucket)
	if meta == nil {
		return tail{}, j.damaged("", 0, errors.New("it has no meta bucket"))
	}
	text := meta.Get([]byte(commitKey))
	if text == nil {
		return end, nil
	}
	_, noted, err := parseStamp(string(text))
	switch {
	case err != nil:
		return tail{}, j.damaged("", 0, err)
	case noted.outage != end.outage || noted.seq != end.seq:
		return tail{}, j.damaged(noted.outage, noted.seq, errors.New("it was written last, but the journal does not end with it"))
	}
	return end, nil
}

// last reads the newest record.
func (j *Journal) last(tx *bbolt.Tx) (tail, error) {
	outages, err := j.outages(tx)
	if err != nil {
		return tail{}, err
	}
	id, _ := outages.Cursor().Last()
	if id == nil {
		return tail{}, nil
	}
	b := outages.Bucket(id)
	if b == nil {
		return tail{}, j.damaged("", 0, fmt.Errorf("%q is not an outage", id))
	}
	k, v := b.Cursor().Last()
	if k == nil {
		return tail{}, j.damaged(string(id), 0, errors.New("it has no record"))
	}
	r, err := j.decode(string(id), k, v)
	if err != nil {
		return tail{}, err
	}
	return tail{outage: string(id), seq: binary.BigEndian.Uint64(k), closed: r.Kind == ledger.Closed}, nil
}
