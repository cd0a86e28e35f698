package sim_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/families"
	"ebbtide/internal/sim"
)

// FuzzDocument holds that no scenario makes the reader panic, that every problem has a place in the text, and that what
// is accepted can be played.
func FuzzDocument(f *testing.F) {
	examples, err := filepath.Glob("../../runbooks/scenarios/*.yaml")
	require.NoError(f, err)
	require.NotEmpty(f, examples)
	for _, file := range examples {
		src, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(src)
	}
	f.Add([]byte("version: 1\nscenario: s\nsupplies: {ups: {charge: 101%, says: [nothing]}}\nevents:\n  - {at: -1m, supply: ups}\n"))
	f.Add([]byte("version: 1\nscenario: s\nsupplies: {ups: {health: 70%, steps: 5%}}\nevents:\n  - {at: 1m, supply: ups, extra_load: 20%}\n  - {at: 1m, supply: ups, temperature: 45}\n  - {at: 1m, supply: ups, voltage: -1}\n"))
	f.Add([]byte("version: 1\nscenario: s\nnodes: {a: {fault: none, lies_at: -1}}\ncrash_after: [0, x]\n"))
	schema := families.Schema()
	f.Fuzz(func(t *testing.T, src []byte) {
		sc, problems, err := sim.Load("fuzz", src, nil, schema)
		for _, p := range problems {
			require.Positive(t, p.Line, p.Message)
			require.Positive(t, p.Column, p.Message)
		}
		if problems.HasErrors() {
			require.Error(t, err)
		}
		if err != nil {
			return
		}
		sc.For = min(sc.For, 2*time.Minute)
		require.Positive(t, sim.Run(sc).Events)
	})
}
