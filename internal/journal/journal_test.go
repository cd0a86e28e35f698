package journal

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"ebbtide/internal/ledger"
)

func TestWhatIsAppendedIsReadBackAfterReopening(t *testing.T) {
	path, first, second := filled(t, 40)
	for _, readOnly := range []bool{true, false} {
		j := open(t, path, Options{ReadOnly: readOnly})
		require.NoError(t, j.Verify())

		got, err := j.Records("20260131T031415Z")
		require.NoError(t, err)
		require.Equal(t, first, got)
		got, err = j.Records("20260201T031415Z")
		require.NoError(t, err)
		require.Equal(t, second, got)

		list, err := j.Outages()
		require.NoError(t, err)
		require.Equal(t, []Outage{
			{ID: "20260131T031415Z", Start: start, End: start.Add(time.Hour), Mode: "run", Records: 10},
			{ID: "20260201T031415Z", Start: start, Open: true, Mode: "run", Records: 40},
		}, list)
		latest, ok, err := j.Latest()
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, list[1], latest)
		id, ok, err := j.OpenOutage()
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, "20260201T031415Z", id)
		require.NoError(t, j.Close())
	}
}

func TestEmptyJournal(t *testing.T) {
	path := tempJournal(t)
	j := open(t, path, Options{})
	require.NoError(t, j.Verify())
	require.NoError(t, j.Append())
	list, err := j.Outages()
	require.NoError(t, err)
	require.Empty(t, list)
	_, ok, err := j.Latest()
	require.NoError(t, err)
	require.False(t, ok)
	_, ok, err = j.OpenOutage()
	require.NoError(t, err)
	require.False(t, ok)
	_, err = j.Records("20260131T031415Z")
	require.ErrorIs(t, err, ErrNoOutage)

	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "a draft was left behind")
	info, err := entries[0].Info()
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
}

func TestIDStaysWithTheFile(t *testing.T) {
	path := tempJournal(t)
	j := open(t, path, Options{})
	id := j.ID()
	require.Len(t, id, 32)
	require.NoError(t, j.Close())
	require.Equal(t, id, open(t, path, Options{ReadOnly: true}).ID())
	require.NotEqual(t, id, open(t, tempJournal(t), Options{}).ID())
}

func TestRecordsOutOfSequenceAreRefusedAsAWhole(t *testing.T) {
	const a, b = "20260131T031415Z", "20260201T031415Z"
	late := opened(b)
	late.Seq = 2
	stray := step(5)
	stray.Outage = b
	for name, tc := range map[string]struct {
		before, batch []ledger.Record
	}{
		"no outage yet":          {nil, []ledger.Record{step(1)}},
		"gap":                    {outage(a, 4), []ledger.Record{step(6)}},
		"gap inside the batch":   {outage(a, 4), []ledger.Record{step(5), step(7)}},
		"duplicate":              {outage(a, 4), []ledger.Record{step(4)}},
		"duplicate in the batch": {outage(a, 4), []ledger.Record{step(5), step(5)}},
		"second open":            {outage(a, 4), []ledger.Record{opened(b)}},
		"opened twice":           {outage(a, 4), []ledger.Record{opened(a)}},
		"after closed":           {append(outage(a, 4), closed(5)), []ledger.Record{step(6)}},
		"older outage":           {append(outage(b, 4), closed(5)), []ledger.Record{opened(a)}},
		"same outage again":      {append(outage(a, 4), closed(5)), []ledger.Record{opened(a)}},
		"not from 1":             {nil, []ledger.Record{late}},
		"no id":                  {nil, []ledger.Record{opened("")}},
		"long id":                {nil, []ledger.Record{opened(strings.Repeat("9", maxID+1))}},
		"of another outage":      {outage(a, 4), []ledger.Record{stray}},
	} {
		t.Run(name, func(t *testing.T) {
			j := open(t, tempJournal(t), Options{})
			require.NoError(t, j.Append(tc.before...))
			for range 2 { // a refusal does not make the next attempt pass
				require.ErrorIs(t, j.Append(tc.batch...), ErrSequence)
			}
			require.NoError(t, j.Verify())
			latest, _, err := j.Latest()
			require.NoError(t, err)
			require.Equal(t, len(tc.before), latest.Records)
		})
	}
}

// A commit whose last sync failed may have reached the disk all the same. Its records are given again then.
func TestRecordsOfADoubtfulCommitCanBeGivenAgain(t *testing.T) {
	const a = "20260131T031415Z"
	j := open(t, tempJournal(t), Options{})
	recs := append(outage(a, 4), closed(5))
	require.NoError(t, j.Append(recs...))
	j.known, j.doubt = false, true // as after an error
	require.NoError(t, j.Append(recs...))
	require.ErrorIs(t, j.Append(recs[4]), ErrSequence, "no doubt any more")

	j.known, j.doubt = false, true
	other := recs[2]
	other.Reason = "something else"
	require.ErrorIs(t, j.Append(other), ErrSequence)
	require.NoError(t, j.Append(append(recs[3:5:5], opened("20260201T031415Z"))...))
	got, err := j.Records(a)
	require.NoError(t, err)
	require.Equal(t, recs, got)
	require.NoError(t, j.Verify())
}

func TestReadOnly(t *testing.T) {
	_, err := Open(tempJournal(t), Options{ReadOnly: true})
	require.ErrorIs(t, err, fs.ErrNotExist)

	path, _, second := filled(t, 10)
	j := open(t, path, Options{ReadOnly: true})
	open(t, path, Options{ReadOnly: true}) // beside another reader
	require.ErrorIs(t, j.Append(step(uint64(len(second)+1))),
		bbolt.ErrDatabaseReadOnly) //nolint:staticcheck // the root package names it for its callers
}

func TestClosedTwice(t *testing.T) {
	j := open(t, tempJournal(t), Options{})
	require.NoError(t, j.Close())
	require.NoError(t, j.Close())
	require.Error(t, j.Append(opened("20260131T031415Z")))
	_, err := j.Outages()
	require.Error(t, err)
}

func TestDirectoryThatIsNotThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "journal.db")
	_, err := Open(path, Options{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, path)
	require.NoDirExists(t, filepath.Dir(path))
}

// The runner's tests use journals in bubbles: everything must go on in the calling goroutine.
func TestInsideABubble(t *testing.T) {
	path := tempJournal(t)
	synctest.Test(t, func(t *testing.T) {
		j, err := Open(path, Options{})
		require.NoError(t, err)
		before := time.Now()
		require.NoError(t, j.Append(outage("20260131T031415Z", 20)...))
		require.Zero(t, time.Since(before))
		_, err = Open(path, Options{Timeout: time.Hour}) // in virtual time
		require.ErrorAs(t, err, new(*InUseError))
		require.NoError(t, j.Close())
	})
}

// Whatever batches records come in, and however often the file is closed between them, they come back as they went in.
func TestAnyBatchesComeBack(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		sub, err := os.MkdirTemp(dir, "") //nolint:usetesting // one for each draw of the law
		require.NoError(rt, err)
		path := filepath.Join(sub, "journal.db")
		var want [][]ledger.Record
		for i := range rapid.IntRange(1, 3).Draw(rt, "outages") {
			recs := outage(start.AddDate(0, 0, i).Format("20060102T150405Z"), rapid.IntRange(1, 60).Draw(rt, "records"))
			want = append(want, append(recs, closed(uint64(len(recs)+1))))
		}
		j, err := Open(path, Options{})
		require.NoError(rt, err)
		for _, recs := range want {
			for len(recs) > 0 {
				n := rapid.IntRange(1, len(recs)).Draw(rt, "batch")
				require.NoError(rt, j.Append(recs[:n]...))
				recs = recs[n:]
				if rapid.Bool().Draw(rt, "reopen") {
					require.NoError(rt, j.Close())
					j, err = Open(path, Options{})
					require.NoError(rt, err)
				}
			}
		}
		require.NoError(rt, j.Verify())
		for _, recs := range want {
			got, err := j.Records(recs[0].Outage)
			require.NoError(rt, err)
			require.Equal(rt, recs, got)
		}
		require.NoError(rt, j.Close())
	})
}

func TestHundredThousandRecords(t *testing.T) {
	path := tempJournal(t)
	j := open(t, path, Options{})
	recs := outage("20260131T031415Z", 100_000)
	for batch := recs; len(batch) > 0; batch = batch[1000:] {
		require.NoError(t, j.Append(batch[:1000]...))
	}
	require.NoError(t, j.Close())
	j = open(t, path, Options{})
	require.NoError(t, j.Append(step(100_001)))
	got, err := j.Records("20260131T031415Z")
	require.NoError(t, err)
	require.Len(t, got, 100_001)
	require.Equal(t, recs[77_776], got[77_776])
	require.NoError(t, j.Verify())
}
