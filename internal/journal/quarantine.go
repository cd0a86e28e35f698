package journal

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/ledger"
)

const damagedMark = ".damaged-"

// Quarantine gives the file at path another name beside it, durably, so that a new journal can be begun in its place. It
// replaces nothing.
func Quarantine(path string, now time.Time) (moved string, err error) {
	moved = path + damagedMark + now.UTC().Format("20060102T150405.000Z")
	err = os.Link(path, moved)
	if err == nil {
		err = os.Remove(path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return "", fmt.Errorf("cannot move journal %q aside: %w", path, err)
	}
	return moved, nil
}

// Quarantined lists the files that were moved away from path as damaged and still lie beside it, oldest first.
func Quarantined(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("cannot look for journals beside %q: %w", path, err)
	}
	var found []string
	for _, e := range entries { // sorted by name
		if strings.HasPrefix(e.Name(), filepath.Base(path)+damagedMark) {
			found = append(found, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return found, nil
}

// Salvage reads the records that a damaged file still holds, by outage and number, whatever the damage. It looks at
// each page alone and believes a record by its own checksum: what it gives was written, but some may be missing, also
// in the middle, and what it lacks may have been the end of the outage.
func Salvage(path string) ([]ledger.Record, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read journal %q: %w", path, err)
	}
	found := map[tail]ledger.Record{}
	for at := 0; at+pageHeaderSize <= len(b); at += 1 << 10 { // no page is smaller
		if native.Uint16(b[at+8:]) == leafPage {
			salvagePage(b[at:], found, false)
		}
	}
	records := make([]ledger.Record, 0, len(found))
	for _, r := range found { //nolint:gocritic // sorted below
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b ledger.Record) int {
		if a.Outage != b.Outage {
			return strings.Compare(a.Outage, b.Outage)
		}
		return int(a.Seq) - int(b.Seq) //nolint:gosec // both are small
	})
	return records, nil
}

// salvagePage takes the records of the leaf page that b begins with. An outage that is young lies as a page of its own
// within a value of another one: inner says that b is such a value.
func salvagePage(b []byte, found map[tail]ledger.Record, inner bool) {
	for i := range int(native.Uint16(b[10:])) {
		at := pageHeaderSize + i*elementSize
		if at+elementSize > len(b) {
			return
		}
		flags := native.Uint32(b[at:])
		start := uint64(at) + uint64(native.Uint32(b[at+4:]))
		middle := start + uint64(native.Uint32(b[at+8:]))
		end := middle + uint64(native.Uint32(b[at+12:]))
		if end > uint64(len(b)) {
			continue
		}
		k, v := b[start:middle], b[middle:end]
		switch {
		case flags == bucketElement && !inner && len(v) > bucketSize+pageHeaderSize && native.Uint64(v) == 0:
			salvagePage(v[bucketSize:], found, true)
		case flags == 0 && len(k) == 8 && len(v) > recordHeader:
			var r ledger.Record
			if json.Unmarshal(v[recordHeader:], &r) != nil {
				continue
			}
			if r, err := decode(r.Outage, k, v); err == nil {
				found[tail{outage: r.Outage, seq: binary.BigEndian.Uint64(k)}] = r
			}
		}
	}
}
