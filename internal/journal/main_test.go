package journal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Some tests need a process of their own, to kill it or to bound what it may write. It is this test binary, started
// with the part that it plays in the environment.
const partVar, pathVar = "EBBTIDE_JOURNAL_PART", "EBBTIDE_JOURNAL_PATH"

var parts = map[string]func(path string) error{
	"append for ever": appendForEver,
	"fill":            fillLimited,
	"hold":            holdOpen,
	"open":            openClose,
}

func TestMain(m *testing.M) {
	play, ok := parts[os.Getenv(partVar)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := play(os.Getenv(pathVar)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(t *testing.T, part, path string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), "/proc/self/exe")
	c.Env = append(os.Environ(), partVar+"="+part, pathVar+"="+path)
	return c
}

// start is when the outages of these tests begin.
var start = time.Date(2026, 1, 31, 3, 14, 15, 0, time.UTC)

func opened(id string) ledger.Record {
	return ledger.Record{
		Seq: 1, At: start, Kind: ledger.Opened, Outage: id,
		Opening: ledger.Opening{
			Mode: "run", Digest: "d1",
			Members: map[string][]plan.Member{"apps": {{ID: "u-1", Name: "app01", Host: "esx01", On: true}}},
		},
		Power: ledger.Power{Supplies: []string{"ups-a"}},
	}
}

// step makes a record as they come in the middle of an outage.
func step(seq uint64) ledger.Record {
	verb, state, left := plan.Stop, plan.Off, 512.5
	r := ledger.Record{
		Seq: seq, At: start.Add(time.Duration(seq) * time.Second),
		Step: ledger.Step{Node: "vm-" + strconv.FormatUint(seq, 10), Verb: &verb},
	}
	switch seq % 3 {
	case 0:
		r.Kind, r.Op, r.Attempt = ledger.Intent, ledger.Op(seq), 1
	case 1:
		r.Kind, r.Op, r.Outcome = ledger.Accepted, ledger.Op(seq), ledger.Done
	default:
		r.Kind, r.State, r.Reason, r.Numbers = ledger.Proven, &state, "powered off", &ledger.Numbers{Left: &left}
	}
	return r
}

func closed(seq uint64) ledger.Record {
	return ledger.Record{Seq: seq, At: start.Add(time.Hour), Kind: ledger.Closed, Reason: "restored"}
}

// outage makes n records of an outage that is still open.
func outage(id string, n int) []ledger.Record {
	recs := []ledger.Record{opened(id)}
	for seq := 2; seq <= n; seq++ {
		recs = append(recs, step(uint64(seq)))
	}
	return recs
}

func tempJournal(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "journal.db")
}

func open(t *testing.T, path string, o Options) *Journal {
	t.Helper()
	j, err := Open(path, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, j.Close()) })
	return j
}

// filled makes a journal with a closed outage and an open one, and closes it. The second is long enough for branch pages.
func filled(t *testing.T, n int) (path string, first, second []ledger.Record) {
	t.Helper()
	path = tempJournal(t)
	j, err := Open(path, Options{CreatedBy: "ebbtide test"})
	require.NoError(t, err)
	first = append(outage("20260131T031415Z", 9), closed(10))
	second = outage("20260201T031415Z", n)
	require.NoError(t, j.Append(first...))
	require.NoError(t, j.Append(second[:n/2]...))
	for _, r := range second[n/2 : n/2+5] {
		require.NoError(t, j.Append(r))
	}
	require.NoError(t, j.Append(second[n/2+5:]...))
	require.NoError(t, j.Close())
	return path, first, second
}
