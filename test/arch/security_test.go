package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheTestsOfSecurityAreThere: docs/SECURITY.md rests on tests by their names.
func TestTheTestsOfSecurityAreThere(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, root := range []string{"../../internal", "../../test", "../../cmd"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
				there[m[1]] = true
			}
			return err
		}))
	}
	text, err := os.ReadFile("../../docs/SECURITY.md")
	require.NoError(t, err)
	named := regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(text), -1)
	require.Greater(t, len(named), 30)
	for _, name := range named {
		require.True(t, there[name], "docs/SECURITY.md rests on %s, which does not exist", name)
	}
}
