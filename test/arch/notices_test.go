package arch

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNoticesNameWhatIsLinked holds that the licence of each module in the binary is given with it, in the version that is linked.
func TestNoticesNameWhatIsLinked(t *testing.T) {
	t.Parallel()
	notices, err := os.ReadFile("../../THIRD_PARTY_NOTICES")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", "./cmd/ebbtide")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	require.NoError(t, err)
	linked := 0
	for line := range strings.Lines(string(out)) {
		path, version, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		linked++
		// A library is named by the folder that its licence lies in, or by the package that is used.
		named := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(path) + `(/\S+)?  ` +
			regexp.QuoteMeta(strings.TrimSuffix(version, "+incompatible")) + `$`)
		require.True(t, named.Match(notices), "THIRD_PARTY_NOTICES lacks %s %s, which is linked: run make notices", path, version)
	}
	require.Positive(t, linked)
}
