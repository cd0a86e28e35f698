package engine_test

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
)

// TestFingerprintsAreExact looks whether states that are taken for the same are: whenever a way comes to a state that was
// seen before, whatever may follow is worked out anew, and must be what followed the first time. So what the tables of
// export_test.go leave out decides nothing, and copies share nothing with their originals.
func TestFingerprintsAreExact(t *testing.T) {
	require.Empty(t, engine.Unmet(), "fields that the tables speak of and nobody has")
	for _, l := range []*lab{
		newLab(t, 3, budgets{flips: 2, crashes: 1, slow: 1}), newLab(t, 3, budgets{flips: 1, faults: 1, slow: 1}),
		newLab(t, 3, budgets{flips: 1, drains: 4, slow: 1}),
		newTwin(t, budgets{flips: 2, slow: 1}), newTwin(t, budgets{flips: 1, crashes: 1}), newTwin(t, budgets{flips: 1, faults: 1}),
	} {
		x := &explorer{}
		w := l.world()
		follows := map[key]key{}
		merged := 0
		for todo := []*world{w}; len(todo) > 0; {
			w := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			at := x.key(w)
			var next []*world
			var keys []byte
			for c, more := (&choices{}), true; more; more = c.next() {
				after := w.clone()
				after.step(c)
				k := x.key(after)
				keys = append(keys, k[:]...)
				if after.broken == "" { // the way ends there, and TestExplore tells of it
					next = append(next, after)
				}
			}
			require.Equal(t, at, x.key(w), "what a copy does changes its original")
			sum := sha256.Sum256(keys)
			if first, seen := follows[at]; seen {
				merged++
				require.Equal(t, first, key(sum[:16]), "%s: the same fingerprint, and not the same to follow", w.now)
				continue
			}
			follows[at] = key(sum[:16])
			todo = append(todo, next...)
		}
		t.Logf("%d nodes, %+v: %d states, of which others were come to %d times", l.estate.Len(), l.limit, len(follows), merged)
		require.NotZero(t, merged)
	}
}

// TestTheExploredJournalIsRestored looks whether the engine that a crash brings back in the exploration, a record folded
// at a time, is the one that Restored makes of all of them.
func TestTheExploredJournalIsRestored(t *testing.T) {
	l := newLab(t, 4, budgets{flips: 2, crashes: 1, slow: atWill})
	var records []ledger.Record
	l.witness = func(rec ledger.Record) { records = append(records, rec) }
	w := l.world()
	compared := 0
	for n := range 60 {
		c := &choices{}
		if n == 3 || n == 14 { // the mains go, and come back when all is down
			c = &choices{taken: []int8{1}, widths: []int8{2}}
		}
		w.step(c)
		var open []ledger.Record
		if n := len(records); n > 0 && records[n-1].Kind != ledger.Closed {
			open = records[slices.IndexFunc(records, func(r ledger.Record) bool { return r.Kind == ledger.Opened }):]
		}
		e, err := engine.Restored(l.settings, open)
		require.NoError(t, err)
		want, _ := e.Fingerprint(nil, w.now)
		got, _ := w.journal.Fingerprint(nil, w.now)
		require.True(t, bytes.Equal(want, got), "at %s", w.now)
		compared += len(open)
	}
	require.Equal(t, ledger.Closed, records[len(records)-1].Kind)
	require.Greater(t, compared, 200)
}
