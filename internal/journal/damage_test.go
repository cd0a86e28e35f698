package journal

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"ebbtide/internal/ledger"
)

// refused opens a file that must be refused, both ways, and checks that it was left alone.
func refused(t *testing.T, path string) error {
	t.Helper()
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	_, readErr := Open(path, Options{ReadOnly: true})
	require.Error(t, readErr)
	_, err = Open(path, Options{})
	require.Error(t, err)
	require.Equal(t, readErr.Error(), err.Error())
	after, readErr := os.ReadFile(path)
	require.NoError(t, readErr)
	require.True(t, bytes.Equal(before, after), "the file was changed")
	now, statErr := os.Stat(path)
	require.NoError(t, statErr)
	require.Equal(t, info.ModTime(), now.ModTime())
	return err
}

func TestFilesThatAreNoJournalAreRefused(t *testing.T) {
	other := tempJournal(t)
	db, err := bbolt.Open(other, 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("meta")); return err }))
	require.NoError(t, db.Close())
	foreign, err := os.ReadFile(other)
	require.NoError(t, err)
	noise := make([]byte, 65536)
	rng := rand.NewChaCha8([32]byte{1})
	_, err = rng.Read(noise)
	require.NoError(t, err)

	for name, tc := range map[string]struct {
		content []byte
		says    string
		foreign bool
	}{
		"empty":       {nil, "empty", false},
		"one byte":    {[]byte("x"), "no valid header", true},
		"zeros":       {make([]byte, 65536), "no valid header", false},
		"noise":       {noise, "no valid header", true},
		"text":        {[]byte(strings.Repeat("{\"seq\":1}\n", 2000)), "no valid header", true},
		"other bbolt": {foreign, "without an Ebbtide format", true},
	} {
		t.Run(name, func(t *testing.T) {
			path := tempJournal(t)
			require.NoError(t, os.WriteFile(path, tc.content, 0o600))
			err := refused(t, path)
			var damaged *DamagedError
			require.ErrorAs(t, err, &damaged)
			require.ErrorContains(t, err, tc.says)
			require.ErrorContains(t, err, path)
			require.Equal(t, tc.foreign, damaged.Foreign)
			if !tc.foreign {
				require.Contains(t, damaged.Hint(), "ebbtide journal export "+path)
			}
		})
	}
}

// A file cut at any page, or within it, is refused, or had nothing behind the cut.
func TestFileCutShort(t *testing.T) {
	path, _, second := filled(t, 300)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	cuts := 0
	for size := len(whole); size >= 0; size -= pageSize / 2 {
		short := tempJournal(t)
		require.NoError(t, os.WriteFile(short, whole[:size], 0o600))
		if j, err := Open(short, Options{ReadOnly: true}); err == nil {
			require.NoError(t, j.Verify())
			got, err := j.Records("20260201T031415Z")
			require.NoError(t, err)
			require.Equal(t, second, got)
			require.NoError(t, j.Close())
			continue
		}
		cuts++
		require.ErrorAs(t, refused(t, short), new(*DamagedError))
	}
	require.Greater(t, cuts, 10, "the file is too small for this test to say anything")
}

// A flipped byte anywhere is found, or does not matter: what is then read is what was written. A flip in a header page
// takes bbolt back to the header before it, so there the last commit may be missing.
func TestFlippedBytes(t *testing.T) {
	path, first, second := filled(t, 300)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	used := len(bytes.TrimRight(whole, "\x00")) // the file grows ahead of its need
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	bad := tempJournal(t)
	for range 2000 {
		at, with := rng.IntN(used), byte(1+rng.IntN(255))
		if at > 16384 && rng.IntN(2) == 0 {
			at %= 16384 // the headers, the free list and the roots deserve more of it
		}
		b := bytes.Clone(whole)
		b[at] ^= with
		require.NoError(t, os.WriteFile(bad, b, 0o600))
		j, err := Open(bad, Options{})
		if err != nil {
			found++
			var damaged *DamagedError
			var newer *VersionError
			require.Truef(t, errors.As(err, &damaged) || errors.As(err, &newer), "byte %d ^ %#x: %v", at, with, err)
			continue
		}
		damage := j.Verify()
		gotFirst, firstErr := j.Records("20260131T031415Z")
		gotSecond, secondErr := j.Records("20260201T031415Z")
		require.NoError(t, j.Close())
		if damage != nil || firstErr != nil || secondErr != nil {
			found++
			require.Errorf(t, damage, "byte %d ^ %#x", at, with)
			continue
		}
		require.Equalf(t, first, gotFirst, "byte %d ^ %#x", at, with)
		if at < 8192 {
			require.Equalf(t, second[:len(gotSecond)], gotSecond, "byte %d ^ %#x", at, with)
		} else {
			require.Equalf(t, second, gotSecond, "byte %d ^ %#x", at, with)
		}
	}
	require.Greater(t, found, 500)
}

// rewrite changes the file through bbolt itself, as a bug or a newer program might.
func rewrite(t *testing.T, path string, f func(tx *bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
		_, end, err := parseStamp(string(tx.Bucket(metaBucket).Get([]byte(commitKey))))
		return errors.Join(err, f(tx), stamp(tx, end))
	}))
	require.NoError(t, db.Close())
}

func TestNewerFormatIsRefusedAndNotWritten(t *testing.T) {
	path, _, _ := filled(t, 10)
	rewrite(t, path, func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Put([]byte(formatKey), []byte("7")) })
	err := refused(t, path)
	var newer *VersionError
	require.ErrorAs(t, err, &newer)
	require.Equal(t, VersionError{Path: path, Thing: "format", Found: 7, Known: Format, By: "ebbtide test"}, *newer)
	require.ErrorContains(t, err, "format version is 7 (created by ebbtide test), but this program supports 1")
	require.NotEmpty(t, newer.Hint())

	// No program ever wrote an older one than 1.
	for _, format := range []string{"x", "0", "-1", ""} {
		rewrite(t, path, func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Put([]byte(formatKey), []byte(format)) })
		require.ErrorAs(t, refused(t, path), new(*DamagedError))
	}
}

// A journal from before commits were stamped is read, and stamped with its next commit.
func TestJournalWithoutAStamp(t *testing.T) {
	path, _, second := filled(t, 10)
	db, err := bbolt.Open(path, 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Delete([]byte(commitKey)) }))
	require.NoError(t, db.Close())
	j := open(t, path, Options{})
	require.NoError(t, j.Verify())
	got, err := j.Records("20260201T031415Z")
	require.NoError(t, err)
	require.Equal(t, second, got)
	require.NoError(t, j.Append(step(11)))
	require.NoError(t, j.Close())
	rewrite(t, path, func(*bbolt.Tx) error { return nil }) // which reads the stamp
	require.NoError(t, open(t, path, Options{}).Verify())
}

func TestVerifyNamesEachDamage(t *testing.T) {
	const a, b = "20260131T031415Z", "20260201T031415Z"
	put := func(bucket *bbolt.Bucket, seq uint64, outage string, r ledger.Record) error {
		v, err := encode(outage, r)
		if err != nil {
			return err
		}
		return bucket.Put(key(seq), v)
	}
	for name, tc := range map[string]struct {
		damage func(first, second *bbolt.Bucket) error
		want   []DamagedError
	}{
		"missing": {
			func(first, _ *bbolt.Bucket) error { return errors.Join(first.Delete(key(4)), first.Delete(key(5))) },
			[]DamagedError{{Outage: a, Seq: 6, What: "the records from 4 to 5 are missing"}},
		},
		"first missing": {
			func(_, second *bbolt.Bucket) error { return second.Delete(key(1)) },
			[]DamagedError{{Outage: b, Seq: 2, What: "the records from 1 to 1 are missing"}},
		},
		"short": {
			func(_, second *bbolt.Bucket) error { return second.Put(key(3), []byte{1, 2}) },
			[]DamagedError{{Outage: b, Seq: 3, What: "only 2 bytes long"}},
		},
		"checksum": {
			func(_, second *bbolt.Bucket) error { return second.Put(key(3), []byte("\x01abcd{}")) },
			[]DamagedError{{Outage: b, Seq: 3, What: "checksum does not match"}},
		},
		"moved from another outage": {
			func(first, second *bbolt.Bucket) error { return second.Put(key(3), first.Get(key(3))) },
			[]DamagedError{{Outage: b, Seq: 3, What: "checksum does not match"}},
		},
		"not its number": {
			func(_, second *bbolt.Bucket) error {
				text := []byte(`{"seq":9}`)
				sum := checksum(b, 3, recordVersion, text)
				return second.Put(key(3), append([]byte{
					recordVersion, byte(sum >> 24), byte(sum >> 16), byte(sum >> 8),
					byte(sum),
				}, text...))
			},
			[]DamagedError{{Outage: b, Seq: 3, What: "says that it is record 9"}},
		},
		"two at once": {
			func(first, second *bbolt.Bucket) error {
				return errors.Join(first.Put(key(2), nil), second.Put(key(3), nil))
			},
			[]DamagedError{{Outage: a, Seq: 2, What: "only 0 bytes long"}, {Outage: b, Seq: 3, What: "only 0 bytes long"}},
		},
		"not closed": {
			func(first, _ *bbolt.Bucket) error { return first.Delete(key(10)) },
			[]DamagedError{{Outage: a, What: "it is not closed, and there is a newer one"}},
		},
		"after closed": {
			func(first, _ *bbolt.Bucket) error { return put(first, 11, a, step(11)) },
			[]DamagedError{
				{Outage: a, Seq: 11, What: "it comes after the outage was closed"},
				{Outage: a, What: "it is not closed, and there is a newer one"},
			},
		},
		"other id": {
			func(first, _ *bbolt.Bucket) error { return put(first, 1, a, opened("x")) },
			[]DamagedError{{Outage: a, Seq: 1, What: `it opens outage "x"`}},
		},
		"strange key": {
			func(first, _ *bbolt.Bucket) error { return first.Put([]byte("note"), []byte("hello")) },
			[]DamagedError{{Outage: a, What: "key of 4 bytes"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, _, _ := filled(t, 10)
			rewrite(t, path, func(tx *bbolt.Tx) error {
				outages := tx.Bucket(outagesBucket)
				return tc.damage(outages.Bucket([]byte(a)), outages.Bucket([]byte(b)))
			})
			j := open(t, path, Options{})
			require.Equal(t, tc.want, damages(t, j.Verify()))
		})
	}
}

// damages flattens what Verify returned.
func damages(t *testing.T, err error) []DamagedError {
	t.Helper()
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var list []DamagedError
		for _, one := range many.Unwrap() {
			list = append(list, damages(t, one)...)
		}
		return list
	}
	var d *DamagedError
	require.ErrorAs(t, err, &d)
	require.NotEmpty(t, d.Path)
	return []DamagedError{{Outage: d.Outage, Seq: d.Seq, What: d.What}}
}

func TestRecordsBeforeTheDamageAreRead(t *testing.T) {
	const b = "20260201T031415Z"
	path, _, second := filled(t, 10)
	rewrite(t, path, func(tx *bbolt.Tx) error {
		return tx.Bucket(outagesBucket).Bucket([]byte(b)).Put(key(6), []byte("gone"))
	})
	j := open(t, path, Options{})
	got, err := j.Records(b)
	var damaged *DamagedError
	require.ErrorAs(t, err, &damaged)
	require.Equal(t, uint64(6), damaged.Seq)
	require.Equal(t, second[:5], got)
}

func TestRecordOfANewerProgram(t *testing.T) {
	const b = "20260201T031415Z"
	path, _, _ := filled(t, 10)
	rewrite(t, path, func(tx *bbolt.Tx) error {
		text := []byte(`{"seq":10,"kind":"fused"}`)
		sum := checksum(b, 10, 2, text)
		return tx.Bucket(outagesBucket).Bucket([]byte(b)).Put(key(10),
			append([]byte{2, byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}, text...))
	})
	j := open(t, path, Options{})
	for _, err := range []error{j.Verify(), j.Append(step(11))} {
		var newer *VersionError
		require.ErrorAs(t, err, &newer)
		require.Equal(t, 2, newer.Found)
	}
	list, err := j.Outages()
	require.ErrorAs(t, err, new(*VersionError))
	require.Len(t, list, 1)
}

// A disk that fails under an open journal is a fault of the memory map: an error, not the end of the program.
func TestFileCutUnderAnOpenJournal(t *testing.T) {
	path, _, _ := filled(t, 300)
	j := open(t, path, Options{})
	require.NoError(t, os.Truncate(path, 8192))
	require.ErrorAs(t, j.Verify(), new(*DamagedError))
	require.ErrorAs(t, j.Append(step(301)), new(*DamagedError))
}
