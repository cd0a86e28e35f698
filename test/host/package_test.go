package host_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
	host.Need(t)
	upsd := nuttest.Start(t, nuttest.Config{UPSes: []string{"ups"}})
	deb := buildPackage(t)
	files := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(files, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	text := strings.NewReplacer("%s\", username", upsd.Addr+"\", username", "username: %s",
		"username: "+nuttest.Admin).Replace(packagedText)
	h := host.Boot(t, "packaged", host.Options{Binds: map[string]string{
		deb:                                  "/run/ebbtide.deb",
		write("runbook.yaml", text):          "/run/runbook.yaml",
		write("upsd", nuttest.AdminPassword): "/run/upsd",
		write("credentials.conf", "[Service]\nLoadCredential=upsd:/run/upsd\n"): "/etc/systemd/system/ebbtide.service.d/credentials.conf",
	}})
	do := func(argv ...string) string {
		t.Helper()
		out, err := h.Exec(argv...)
		require.NoError(t, err, "%s: %s", strings.Join(argv, " "), out)
		return strings.TrimSpace(out)
	}
	show := func(property string) string {
		t.Helper()
		return do("systemctl", "show", "--value", "--property="+property, "ebbtide.service")
	}
	is := func(property, want string) {
		t.Helper()
		h.Until(property+" "+want, func(out string) bool { return strings.TrimSpace(out) == want }, "systemctl", "show", "--value",
			"--property="+property, "ebbtide.service")
	}

	do("rm", "-f", "/usr/sbin/policy-rc.d") // a container image's, which keeps packages from starting anything
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
	require.GreaterOrEqual(t, uid, 61184, "systemd's range for dynamic users")
	h.Until("a supply that is read", func(out string) bool { return strings.Contains(out, "on line") }, "ebbtide", "status")
	require.Equal(t, "700", do("stat", "-L", "-c", "%a", "/var/lib/private/ebbtide"))
	require.NotEqual(t, "0", do("stat", "-c", "%s", "/var/lib/private/ebbtide/journal.db"))
	require.NotContains(t, do("journalctl", "--unit=ebbtide.service"), "credential") // it would be told if the secret could not be read
	_, err = h.Exec("sh", "-c", "cat /proc/"+pid+"/environ | tr '\\0' '\\n' | grep -F '"+nuttest.AdminPassword+"'")
	require.Error(t, err, "the secret stands in no environment")

	do("kill", "-STOP", pid) // it hangs
	is("NRestarts", "1")
	is("ActiveState", "active")
	require.NotEqual(t, pid, show("MainPID"))
	require.Contains(t, do("journalctl", "--unit=ebbtide.service"), "watchdog")

	before := do("stat", "-c", "%i", "/var/lib/private/ebbtide/journal.db")
	require.Contains(t, do("dpkg", "-i", "/run/ebbtide.deb"), "Setting up ebbtide")
	is("ActiveState", "active")
	require.Equal(t, before, do("stat", "-c", "%i", "/var/lib/private/ebbtide/journal.db"))

	do("dpkg", "--purge", "ebbtide")
	is("ActiveState", "inactive")
	_, err = h.Exec("test", "-e", "/var/lib/private/ebbtide")
	require.Error(t, err, "a purge leaves nothing")
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
