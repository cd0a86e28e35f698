package arch

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestServersCarryNoSimulator holds that what `make build` makes compiles, and has no simulated vSphere in it (docs/adr/0023).
func TestServersCarryNoSimulator(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"build", "-tags", "nodemo", "./internal/cli"}, {"list", "-deps", "-tags", "nodemo", "./cmd/ebbtide"}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = "../.."
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.NotContains(t, string(out), "govmomi/simulator")
	}
}
