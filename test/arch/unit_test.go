package arch

import (
	"context"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheUnitIsHardened holds the service to the exposure that systemd itself measures: 2.0 of 10 at most.
func TestTheUnitIsHardened(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not here: systemd is not installed")
	}
	out, err := exec.CommandContext(context.Background(), "systemd-analyze", "security", "--offline=true", "../../deploy/ebbtide.service").CombinedOutput()
	require.NoError(t, err, string(out))
	score := regexp.MustCompile(`exposure level for ebbtide\.service: ([0-9.]+)`).FindStringSubmatch(string(out))
	require.Len(t, score, 2, string(out))
	exposure, err := strconv.ParseFloat(score[1], 64)
	require.NoError(t, err)
	require.LessOrEqual(t, exposure, 2.0)

	verify, _ := exec.CommandContext(context.Background(), "systemd-analyze", "verify", "../../deploy/ebbtide.service").CombinedOutput()
	for line := range strings.Lines(string(verify)) {
		if strings.Contains(line, "ebbtide.service") && !strings.Contains(line, "is not executable") {
			t.Error("systemd finds fault with the unit: " + line)
		}
	}
}
