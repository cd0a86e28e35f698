package families_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/families"
	"ebbtide/internal/plan"
)

// TestWhatIsSetAsideByHandIsPutBackByHand: for each type that can be protected, the printed run book tells how, how it is
// put back, and how either is seen.
func TestWhatIsSetAsideByHandIsPutBackByHand(t *testing.T) {
	t.Parallel()
	schema, found := families.Schema(), 0
	for _, nt := range schema.Nodes {
		for _, via := range nt.Via {
			rb := declared(t, schema, nt, via, "127.0.0.1:9")
			d := &rb.Nodes[0]
			verbs := nt.Verbs(d.Spec)
			if !verbs.Has(plan.Unprotect) {
				continue
			}
			found++
			h := rb.ProcedureOf(&schema, d)
			require.NotEmpty(t, h.Do[plan.Unprotect], nt.Name)
			require.NotEmpty(t, h.Back, nt.Name)
			if verbs.Has(plan.Protect) {
				require.NotEmpty(t, h.Do[plan.Protect], nt.Name)
				require.NotEmpty(t, h.Clean, nt.Name)
			}
		}
	}
	require.Greater(t, found, 10)
}
