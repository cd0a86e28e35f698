package cli

import (
	"path/filepath"
	"strings"
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
		dark    bool // something lost power while running
	}{
		"home-lab-bad-night.yaml": {
			runbook: []string{"../../runbooks/home-lab.yaml"},
			story:   []string{"Ebbtide crashes", "powering off media: not proven within", "1 node off: lab/lab-3\n"},
		},
		"home-lab-worn-battery.yaml": {
			runbook: []string{"../../runbooks/home-lab.yaml"},
			story:   []string{"powering off home", "disks has no dirty blocks left", "everything that was on is on again"},
		},
		"smb-datacenter-hot-room.yaml": {
			runbook: []string{"../../runbooks/smb-datacenter.yaml"},
			story: []string{
				"the temperature is 40.5 °C at ups-b", "cache03 has no dirty blocks left", "open-doors is off",
				"apps/12 is on again",
			},
		},
		"smb-datacenter-one-phase.yaml": {
			runbook: []string{"../../runbooks/smb-datacenter.yaml"},
			story: []string{
				"the input of ups-a is at 178 V", "cameras is off", "cameras is on again",
				"everything that was on is on again",
			},
		},
		"storage-vm-lab-hung-storage.yaml": {
			runbook: []string{"../../runbooks/storage-vm-lab.yaml"},
			story: []string{
				"pool has no dirty blocks left", "powering off storage", "host1 is off",
				"everything that was on is on again",
			},
		},
		"vdi-pod-boot-storm.yaml": {
			runbook: []string{"../../runbooks/vdi-pod.yaml"},
			story:   []string{"desks-office/17 is off", "another power failure at", "everything that was on is on again"},
		},
		"hyperv-zfs-lying-ups.yaml": {
			runbook: []string{"../../runbooks/hyperv-zfs.yaml"},
			story:   []string{"Ebbtide crashes", "powering off rds", "everything that was on is on again"},
		},
		"nfs-zfs-second-outage.yaml": {
			runbook: []string{"../../runbooks/nfs-zfs.yaml"},
			story:   []string{"another power failure at", "1 node off: files\n"},
		},
		"blades-filer-one-feed-dies.yaml": {
			runbook: []string{"../../runbooks/blades-filer.yaml"},
			story:   []string{"subscriber2", "publisher is off", "filer is off", "everything that was on is on again"},
		},
		"two-feeds-one-dies.yaml": {
			dark:  true,
			story: []string{"mains power fails at right", "everything that was on is on again"},
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
			require.Contains(t, text, "no rules broken")
			require.Equal(t, want.dark, strings.Contains(text, "lost power while running"), "%s", text)
			for _, part := range want.story {
				require.Contains(t, text, part)
			}
			require.Equal(t, text, runCLI(t, exitDone, args...), "the same input gives the same bytes")
		})
	}
}
