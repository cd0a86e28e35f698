package host_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/nut/nuttest"
	"ebbtide/test/host"
)

const packagedText = `version: 1
runbook: packaged
supplies:
  ups: {nut: "ups@%s", username: %s, password: {credential: upsd}}
nodes:
  switch: {type: passive, fed_by: [ups]}
  me: {type: self, fed_by: [ups]}
policy:
  shutdown: {when: {on_battery: 1s}}
  restore: {when: {online: 2s}}
  reserve: 10s
`

// TestThePackageUnderSystemd installs the Debian package on a machine that systemd runs, and lives with it: it is started
// when there is a run book, says when it is ready, runs as a user of its own with nothing but its state to write, reads its
// secrets as credentials, is killed and started again when it hangs, keeps its journal over an upgrade, and goes with a purge.
func TestThePackageUnderSystemd(t *testing.T) {
	upsd := nuttest.Start(t, nuttest.Config{UPSes: []string{"ups"}})
	h, do := bootForPackage(t, "packaged", upsd.Addr)
	show := func(property string) string {
		t.Helper()
		return do("systemctl", "show", "--value", "--property="+property, "ebbtide.service")
	}
	is := func(property, want string) {
		t.Helper()
		h.Until(property+" "+want, func(out string) bool { return strings.TrimSpace(out) == want }, "systemctl", "show", "--value",
			"--property="+property, "ebbtide.service")
	}

	require.Contains(t, do("dpkg", "-i", "/run/ebbtide.deb"), "write /etc/ebbtide/runbook.yaml")
	is("ActiveState", "inactive")
	require.Equal(t, "enabled", do("systemctl", "is-enabled", "ebbtide.service"))

	do("install", "-m", "644", "/run/runbook.yaml", "/etc/ebbtide/runbook.yaml")
	require.Contains(t, do("ebbtide", "check", "/etc/ebbtide/runbook.yaml"), "no mistakes")
	if out, err := h.Exec("systemctl", "start", "ebbtide.service"); err != nil { // returns when the daemon has said that it is ready
		told, _ := h.Exec("journalctl", "--no-pager", "--unit=ebbtide.service")
		require.NoError(t, err, "%s\n%s", out, told)
	}
	is("ActiveState", "active")
	require.Equal(t, "notify", show("Type"))
	require.NotEmpty(t, show("StatusText"))
	pid := show("MainPID")
	uid, err := strconv.Atoi(strings.Fields(do("sh", "-c", "grep ^Uid: /proc/"+pid+"/status"))[1])
	require.NoError(t, err)
	require.Equal(t, do("id", "-u", "ebbtide"), strconv.Itoa(uid))
	require.NotZero(t, uid)
	h.Until("a supply that is read", func(out string) bool { return strings.Contains(out, "on line") }, "ebbtide", "status")
	require.Equal(t, "700", do("stat", "-c", "%a", "/var/lib/ebbtide"))
	require.NotEqual(t, "0", do("stat", "-c", "%s", "/var/lib/ebbtide/journal.db"))
	require.NotContains(t, do("journalctl", "--unit=ebbtide.service"), "credential") // it would be told if the secret could not be read
	_, err = h.Exec("sh", "-c", "cat /proc/"+pid+"/environ | tr '\\0' '\\n' | grep -F '"+nuttest.AdminPassword+"'")
	require.Error(t, err, "the secret stands in no environment")

	do("kill", "-STOP", pid) // it hangs
	is("NRestarts", "1")
	is("ActiveState", "active")
	require.NotEqual(t, pid, show("MainPID"))
	require.Contains(t, do("journalctl", "--unit=ebbtide.service"), "watchdog")

	before := do("stat", "-c", "%i", "/var/lib/ebbtide/journal.db")
	require.Contains(t, do("dpkg", "-i", "/run/ebbtide.deb"), "Setting up ebbtide")
	is("ActiveState", "active")
	require.Equal(t, before, do("stat", "-c", "%i", "/var/lib/ebbtide/journal.db"))

	do("dpkg", "--purge", "ebbtide")
	is("ActiveState", "inactive")
	_, err = h.Exec("test", "-e", "/var/lib/ebbtide")
	require.Error(t, err, "a purge leaves nothing")
}

// TestThePackagePowersItsOwnMachineOff: the last step of a run book with a node of type self is this machine's own
// power-off, by a user that may do nothing else. The package alone is enough for it, and without its rule the daemon says
// at its start that it can't.
func TestThePackagePowersItsOwnMachineOff(t *testing.T) {
	upsd := nuttest.Start(t, nuttest.Config{UPSes: []string{"ups"}})
	ups := upsd.Driver("ups").Machine(nuttest.Traits{Commands: []string{"shutdown.return"}, OffDelay: 60, OnDelay: 120, HasTimer: true})
	h, do := bootForPackage(t, "lastone", upsd.Addr)
	do("dpkg", "-i", "/run/ebbtide.deb")
	do("install", "-m", "644", "/run/runbook.yaml", "/etc/ebbtide/runbook.yaml")
	do("sed", "-i", "s/^armed: false/armed: true/", "/etc/ebbtide/ebbtide.yaml")
	status := func(what string, says bool) {
		t.Helper()
		h.Until(what, func(out string) bool {
			return strings.Contains(out, "on line") && strings.Contains(out, "power this machine off") == says
		}, "ebbtide", "status")
	}

	const rule = "/usr/share/polkit-1/rules.d/50-ebbtide-poweroff.rules"
	do("mv", rule, "/run/rule")
	do("systemctl", "start", "ebbtide.service")
	status("a warning that it may not", true)
	do("mv", "/run/rule", rule)
	h.Until("polkit to read its rules again", func(out string) bool { return strings.Contains(out, "yes") }, "systemd-run", "--wait",
		"--pipe", "--quiet", "--property=User=ebbtide", "busctl", "call", "org.freedesktop.login1", "/org/freedesktop/login1",
		"org.freedesktop.login1.Manager", "CanPowerOff")
	do("systemctl", "restart", "ebbtide.service")
	status("no such warning", false)

	ups.Mains(false)
	peertest.Until(t, "the machine to be off", func() bool { return !h.On() }, func() string { return strings.Join(ups.Story(), ", ") })
	require.True(t, ups.Told("cut armed"), "%v", ups.Story())
	require.False(t, ups.Told("output off"), "it went by itself, and not with its power: %v", ups.Story())
}

// bootForPackage boots a machine that has all but the package itself, which lies in /run, and gives what runs a command there.
func bootForPackage(t *testing.T, name, upsd string) (h *host.Host, do func(argv ...string) string) {
	t.Helper()
	host.Need(t)
	files := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(files, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	h = host.Boot(t, name, host.Options{Binds: map[string]string{
		buildPackage(t): "/run/ebbtide.deb",
		write("runbook.yaml", fmt.Sprintf(packagedText, upsd, nuttest.Admin)):   "/run/runbook.yaml",
		write("upsd", nuttest.AdminPassword):                                    "/run/upsd",
		write("credentials.conf", "[Service]\nLoadCredential=upsd:/run/upsd\n"): "/etc/systemd/system/ebbtide.service.d/credentials.conf",
	}})
	do = func(argv ...string) string {
		t.Helper()
		out, err := h.Exec(argv...)
		require.NoError(t, err, "%s: %s", strings.Join(argv, " "), out)
		return strings.TrimSpace(out)
	}
	do("rm", "-f", "/usr/sbin/policy-rc.d") // a container image's, which keeps packages from starting anything
	return h, do
}

// buildPackage builds the Debian package of the program under test, and shows that it is the same each time.
func buildPackage(t *testing.T) string {
	t.Helper()
	var built [2][]byte
	var path string
	for i := range built {
		out, err := exec.CommandContext(t.Context(), "../../deploy/deb/build.sh", binary, "1.0-test", t.TempDir()).CombinedOutput()
		require.NoError(t, err, string(out))
		path = strings.TrimSpace(string(out))
		built[i], err = os.ReadFile(path)
		require.NoError(t, err)
	}
	require.Equal(t, built[0], built[1], "same program, same bytes")
	return path
}
