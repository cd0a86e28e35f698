package host

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/stretchr/testify/require"
)

// enter is a shell's script: it puts itself into control groups, up to "--", and becomes systemd-nspawn.
const enter = `while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit 1; shift; done; shift; exec systemd-nspawn "$@"`

// makeGroups makes control groups for the machine, which go with the test. Where no systemd gave this process a group of its own,
// systemd-nspawn would make the machine's at the top and move what is there.
func (h *Host) makeGroups() []string {
	var made []string
	for _, top := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd"} {
		if _, err := os.Stat(filepath.Join(top, "cgroup.procs")); err != nil {
			continue // not this kind of hierarchy: systemd runs here, and has given us one
		}
		group := filepath.Join(top, h.machine())
		require.NoError(h.t, os.MkdirAll(group, 0o755))
		made = append(made, group)
	}
	return made
}

// removeGroups removes control groups and those below them; they are empty, as their machine is off.
func removeGroups(groups []string) {
	for _, group := range groups {
		var below []string
		_ = filepath.WalkDir(group, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				below = append(below, path)
			}
			return nil
		})
		for _, dir := range slices.Backward(below) {
			_ = os.Remove(dir) // one that is not empty yet stays, and harms nobody
		}
	}
}
