package estate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/plan"
)

// TestMembersWithNamesOfTheirOwn: who may name a VM writes into no terminal, and a list without end is not believed.
func TestMembersWithNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	before := []plan.Member{
		{ID: "1", Name: "Größe 2\x1b[2J\nMAINPID=1", Host: "esx\u009b", Storage: []string{"ds\x07"}},
		{ID: "2\n", Name: "id"},
		{ID: "3", Name: strings.Repeat("n", 10_000)},
	}
	got, err := believed(before, asMember)
	require.NoError(t, err)
	require.Equal(t, []plan.Member{
		{ID: "1", Name: "Größe 2 [2J MAINPID=1", Host: "esx ", Storage: []string{"ds "}},
		{ID: "3", Name: strings.Repeat("n", maxName) + "…"},
	}, got)
	require.Equal(t, []string{"ds\x07"}, before[0].Storage, "what the adapter keeps is not touched")
	_, err = believed(make([]plan.Member, maxMembers+1), asMember)
	require.ErrorContains(t, err, "more than the limit of 20000")
}
