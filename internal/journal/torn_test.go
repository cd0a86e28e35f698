package journal

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/ledger"
)

const sector = 512 // what a disk writes whole

// A commit is what one Append changed in the file.
type commit struct {
	before, after   []byte // the file, both of the same length
	recordsBefore   []ledger.Record
	recordsAfter    []ledger.Record
	headers, others []int // changed sectors: of the two header pages, and of all others
}

// commits appends batches of many sizes, so that pages split and free pages are taken again, and takes each apart.
func commits(t *testing.T) []commit {
	path := tempJournal(t)
	j := open(t, path, Options{})
	var all []commit
	all = append(all, commit{})
	seq := uint64(0)
	for _, size := range []uint64{1, 1, 3, 40, 1, 1, 100, 2, 1, 30, 1} {
		c := commit{recordsBefore: outage(theOutage, int(seq))[:seq]} //nolint:gosec // small
		var err error
		c.before, err = os.ReadFile(path)
		require.NoError(t, err)
		seq += size
		c.recordsAfter = outage(theOutage, int(seq)) //nolint:gosec // small
		require.NoError(t, j.Append(c.recordsAfter[seq-size:]...))
		c.after, err = os.ReadFile(path)
		require.NoError(t, err)
		c.before = append(c.before, make([]byte, len(c.after)-len(c.before))...) // a file grows by zeros
		for at := 0; at < len(c.after); at += sector {
			switch {
			case bytes.Equal(c.before[at:at+sector], c.after[at:at+sector]):
			case at < 2*pageSize:
				c.headers = append(c.headers, at)
			default:
				c.others = append(c.others, at)
			}
		}
		require.NotEmpty(t, c.headers)
		require.NotEmpty(t, c.others)
		all = append(all, c)
	}
	return all[1:]
}

// torn is a file that a test writes again and again.
type torn struct {
	t    *testing.T
	path string
	file *os.File
}

// lay makes the file that of before with some of the sectors of after.
func (w *torn) lay(c commit, sectors ...[]int) {
	w.t.Helper()
	b := bytes.Clone(c.before)
	for _, list := range sectors {
		for _, at := range list {
			copy(b[at:at+sector], c.after[at:])
		}
	}
	w.write(b)
}

func (w *torn) write(b []byte) {
	w.t.Helper()
	require.NoError(w.t, w.file.Truncate(int64(len(b))))
	_, err := w.file.WriteAt(b, 0)
	require.NoError(w.t, err)
}

// read gives the records in the file; none if no outage is in it.
func (w *torn) read() ([]ledger.Record, error) {
	j, err := Open(w.path, Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { require.NoError(w.t, j.Close()) }()
	if err := j.Verify(); err != nil {
		return nil, err
	}
	list, err := j.Outages()
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return j.Records(theOutage)
}

// requireRecords compares without regard to nil and empty.
func requireRecords(t *testing.T, want, got []ledger.Record, what string, args ...any) {
	t.Helper()
	require.Len(t, got, len(want), append([]any{what}, args...)...)
	if len(want) > 0 {
		require.Equal(t, want, got, append([]any{what}, args...)...)
	}
}

// The power fails in the middle of a commit. The disk has written some sectors of its pages: any prefix, any one of
// them, or any set. What was acknowledged before is all there, and the journal goes on from it.
func TestTornPages(t *testing.T) {
	w := newTorn(t)
	rng := rand.New(rand.NewPCG(1, 2))
	states := 0
	for n, c := range commits(t) {
		check := func(what string, sectors []int) {
			states++
			w.lay(c, sectors)
			got, err := w.read()
			require.NoError(t, err, "commit %d, %s %v", n, what, sectors)
			requireRecords(t, c.recordsBefore, got, "commit %d, %s %v", n, what, sectors)
		}
		for i := range len(c.others) + 1 {
			check("prefix", c.others[:i])
		}
		for _, at := range c.others {
			check("one sector", []int{at})
		}
		for range 20 {
			var some []int
			for _, at := range c.others {
				if rng.IntN(2) == 0 {
					some = append(some, at)
				}
			}
			check("some sectors", some)
		}
		// The last state is taken up: what the torn commit wanted is given again.
		j, err := Open(w.path, Options{})
		require.NoError(t, err)
		require.NoError(t, j.Append(c.recordsAfter[len(c.recordsBefore):]...))
		require.NoError(t, j.Close())
		got, err := w.read()
		require.NoError(t, err)
		requireRecords(t, c.recordsAfter, got, "commit %d, given again", n)
	}
	t.Logf("%d states of the disk", states)
}

// All pages are there and the header is torn, at any byte: it is the commit or the one before, whole.
func TestTornHeader(t *testing.T) {
	w := newTorn(t)
	for n, c := range commits(t) {
		w.lay(c, c.others)
		before, err := os.ReadFile(w.path)
		require.NoError(t, err)
		landed := 0
		for at := c.headers[0]; at <= c.headers[0]+pageHeaderSize+headerSize; at++ {
			b := bytes.Clone(before)
			copy(b[c.headers[0]:at], c.after[c.headers[0]:at])
			w.write(b)
			got, err := w.read()
			require.NoError(t, err, "commit %d, %d bytes", n, at-c.headers[0])
			if len(got) == len(c.recordsAfter) {
				landed++
				requireRecords(t, c.recordsAfter, got, "commit %d, %d bytes", n, at-c.headers[0])
				continue
			}
			require.Zero(t, landed, "commit %d: it was there already", n)
			requireRecords(t, c.recordsBefore, got, "commit %d, %d bytes", n, at-c.headers[0])
		}
		require.Positive(t, landed)
	}
}

// A disk that lies about its syncs has the new header and not all pages that it names. No file system can mend that:
// it is told as damage, or nothing is missing.
func TestLyingDisk(t *testing.T) {
	w := newTorn(t)
	found, whole := 0, 0
	for n, c := range commits(t) {
		for i, at := range c.others {
			for what, sectors := range map[string][]int{
				"prefix":  c.others[:i],
				"without": append(append([]int{}, c.others[:i]...), c.others[i+1:]...),
			} {
				w.lay(c, c.headers, sectors)
				got, err := w.read()
				if err != nil {
					found++
					var hinted interface{ Hint() string }
					require.ErrorAs(t, err, &hinted, "commit %d, %s %d: %v", n, what, at, err)
					require.NotEmpty(t, hinted.Hint())
					continue
				}
				whole++ // that sector held nothing that counts
				requireRecords(t, c.recordsAfter, got, "commit %d, %s %d", n, what, at)
			}
		}
	}
	t.Logf("%d states told as damage, %d whole", found, whole)
	require.Greater(t, found, whole)
}

func newTorn(t *testing.T) *torn {
	path := filepath.Join(t.TempDir(), "torn.db")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return &torn{t: t, path: path, file: f}
}
