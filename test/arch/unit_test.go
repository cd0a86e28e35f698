package arch

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/peertest"
)

// TestTheUnitIsHardened holds the service to the exposure that systemd itself measures: 2.0 of 10 at most.
func TestTheUnitIsHardened(t *testing.T) {
	t.Parallel()
	analyze := peertest.Need(t, "systemd", "systemd-analyze")
	out, err := exec.CommandContext(context.Background(), analyze, "security", "--offline=true",
		"../../deploy/ebbtide.service").CombinedOutput()
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

// TestTheUnitGivesNothingAway: what docs/SECURITY.md says of the service stands in its unit, once.
func TestTheUnitGivesNothingAway(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/ebbtide.service")
	require.NoError(t, err)
	set := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			set[key] = append(set[key], value)
		}
	}
	for key, want := range map[string]string{
		"User": "ebbtide", "CapabilityBoundingSet": "", "AmbientCapabilities": "", "NoNewPrivileges": "yes", "ProtectSystem": "strict",
		"ProtectHome":        "yes",
		"StateDirectoryMode": "0700", "UMask": "0077", "LimitCORE": "0", "NotifyAccess": "main",
		"RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX", "ProtectProc": "invisible",
	} {
		require.Equal(t, []string{want}, set[key], key)
	}
	require.Empty(t, set["DynamicUser"], "the message bus, and so logind, turns dynamic users away")
	require.Empty(t, set["Environment"], "the environment is no place for secrets")
}
