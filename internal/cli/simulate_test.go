package cli

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExampleScenarios plays the scenarios that come with the runbooks: no rule is broken, and each has its dark moment.
func TestExampleScenarios(t *testing.T) {
	t.Parallel()
	const dir = "../../runbooks/scenarios/"
	told := map[string]struct {
		runbook []string
		story   []string
	}{
		"home-lab-bad-night.yaml": {
			runbook: []string{"../../runbooks/home-lab.yaml"},
			story:   []string{"Ebbtide crashes", "powering off media: not proven within", "1 off: lab/lab-3\n", "no rule was broken"},
		},
		"two-feeds-one-dies.yaml": {
			story: []string{"the mains of right fail", "lost its power while on", "everything that was on is on again", "no rule was broken"},
		},
	}
	files, err := filepath.Glob(dir + "*.yaml")
	require.NoError(t, err)
	require.Len(t, files, len(told), "each example has its story here")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			want := told[filepath.Base(file)]
			args := append(append([]string{"simulate"}, want.runbook...), "--scenario", file)
			text := runCLI(t, exitDone, args...)
			for _, part := range want.story {
				require.Contains(t, text, part)
			}
			require.Equal(t, text, runCLI(t, exitDone, args...), "the same input gives the same bytes")
		})
	}
}
