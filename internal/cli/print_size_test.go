package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/test/paper"
)

// twoHundred is a runbook of some 210 nodes of several sorts, no two alike, and four supplies. It gives their names too.
func twoHundred() (text string, names []string) {
	const (
		thumbprint = "4F:3A:91:0C:7D:52:E8:1B:66:A0:3D:9F:12:C4:88:5E:70:2B:D3:19:AC:47:5F:E1:0A:93:B6:28:DD:51:7C:04"
		hostKey    = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE7qTu5bXo1VnLr8KcYw3zGmHs6JfPdRa2vQiNx9kBtS"
	)
	var b strings.Builder
	f := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	node := func(format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		id, _, _ := strings.Cut(line, ":")
		names = append(names, id)
		f("  %s", line)
	}
	f("version: 1\nrunbook: two-hundred\ncontacts: [{name: On call, phone: \"+1 555 0100\"}]\nsupplies:")
	for i := range 4 {
		f("  ups-%d: {nut: \"ups%d@10.9.0.%d:3493\", username: ebbtide, password: {credential: upsd}, watts: 20000, rack: \"P%d/U1\", "+
			"curve: {100%%: 9m, 50%%: 21m, 10%%: 105m}}", i, i, i+2, i)
	}
	f("connections:")
	f("  vcenter: {type: vsphere, url: \"https://10.0.0.10/sdk\", username: a, password: {credential: vc}, thumbprint: %q}", thumbprint)
	for i := range 16 {
		f("  esx%02d: {type: vsphere, url: \"https://10.0.1.%d/sdk\", username: root, password: {credential: esx}, thumbprint: %q}",
			i, i+10, thumbprint)
		f("  shell%02d: {type: ssh, address: \"10.0.2.%d:22\", user: ebbtide, key: {credential: k}, host_key: %q}", i, i+10, hostKey)
	}
	for i := range 12 {
		f("  nas%02d: {type: ssh, address: \"10.0.3.%d:22\", user: ebbtide, key: {credential: k}, host_key: %q}", i, i+10, hostKey)
	}
	for i := range 30 {
		f("  box%02d: {type: ssh, address: \"10.0.4.%d:22\", user: ebbtide, key: {credential: k}, host_key: %q}", i, i+10, hostKey)
	}
	f("nodes:")
	for i := range 4 {
		node("switch%d: {type: passive, fed_by: [ups-%d], rack: \"S%d/U40\"}", i, i, i)
	}
	const off = "stop: [sudo, systemctl, poweroff], off_when_unreachable: 30s"
	for i := range 12 {
		node("nas%02d: {type: ssh, via: nas%02d, fed_by: [ups-%d, ups-%d], depends_on: [switch%d], rack: \"N%d/U4\", watts: 400, risk: "+
			"storage, %s, up: {wake: {mac: \"00:25:90:aa:bb:%02d\", broadcast: \"10.0.0.255:9\"}}}", i, i, i%4, (i+1)%4, i%4, i, off, i)
	}
	for i := range 16 {
		node("esx%02d: {type: vsphere.host, via: esx%02d, fed_by: [ups-%d, ups-%d], depends_on: [nas%02d, switch%d], rack: \"H%d/U%d\", "+
			"watts: 500}", i, i, i%4, (i+1)%4, i%12, i%4, i/4, i%4+10)
		node("cache%02d: {type: ssh, via: shell%02d, depends_on: [esx%02d, nas%02d], risk: storage, probe: [hostcache, ebbtide], "+
			"protect: [hostcache, policy, write-through], flush: [hostcache, destage], unprotect: [hostcache, policy, write-back]}", i, i,
			i, i%12)
	}
	for i := range 30 {
		node("box%02d: {type: ssh, via: box%02d, fed_by: [ups-%d], depends_on: [switch%d, nas%02d], rack: \"B%d/U%d\", watts: 200, %s}", i,
			i, i%4, i%4, i%12, i/10, i%10+1, off)
	}
	for i := range 130 {
		needs := fmt.Sprintf("esx%02d, cache%02d", i%16, i%16)
		if i > 20 {
			needs += fmt.Sprintf(", vm-%03d", i*7%20)
		}
		node("vm-%03d: {type: vsphere.vm, via: vcenter, depends_on: [%s], notes: \"Owner %d of department %d.\"}", i, needs, i, i%7)
	}
	f("policy:\n  shutdown: {when: {on_battery: 5m}}\n  limits: {vsphere.vm: {total: 60, per_host: 8}}")
	return b.String(), names
}

// TestPrintTwoHundred: an estate of 200 unlike nodes is a book that can be carried and read. Steps that differ in a few words
// share a box, in which each has its own line; the drawing puts together what is of one type in one layer.
func TestPrintTwoHundred(t *testing.T) {
	t.Parallel()
	text, names := twoHundred()
	require.Greater(t, len(names), 200)
	file := filepath.Join(t.TempDir(), "two-hundred.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	pdf, texts := forms(t, file)
	pages := strings.Split(paper.Text(t, []byte(pdf), "-layout"), "\f")
	require.Less(t, len(pages), 50)
	require.Greater(t, len(pages), 20)
	for form, said := range texts {
		for _, name := range names {
			require.Contains(t, said, name, form)
		}
		require.NotContains(t, said, "U+", "a letter that the fonts lack")
	}
	requireAnchors(t, runCLI(t, exitDone, "print", file, "-o", "-", "--as", "html"))

	md := texts["md"]
	require.Regexp(t, `\*\*\d+–\d+ shut down these 30\*\*`, md)
	require.Contains(t, md, "`ssh -i k ebbtide@‹A› 'sudo systemctl poweroff'`")
	require.Regexp(t, `<a id="down-\d+"></a>\*\*\d+\*\* \| \*\*box07\*\*   \*\*‹A›\*\* `+"`10\\.0\\.4\\.17`", md)
	require.Contains(t, md, "govc vm.power -s ‹name›")
	require.Contains(t, md, "Owner 101 of department 3.")
	require.Contains(t, md, "`wakeonlan -i 10.0.0.255 ‹A›`")
	for i := range 4 {
		require.Contains(t, md, fmt.Sprintf("ups-%d, alone", i), "the charge of each supply at each last safe time")
	}

	var drawn []string
	for _, page := range pages {
		if strings.Contains(page, "The estate: what needs what.") {
			drawn = append(drawn, page)
		}
	}
	require.NotEmpty(t, drawn)
	require.LessOrEqual(t, len(drawn), 3)
	drawing := strings.Join(drawn, "\n")
	for _, box := range []string{
		"ups-0", "ups-1", "ups-2", "ups-3", "vsphere.vm ×109", "vsphere.vm ×21", "vsphere.host ×16", "ssh ×12",
		"ssh ×16", "ssh ×30", "passive ×4",
	} {
		require.Contains(t, drawing, box)
	}
}

// TestPrintCluster: what is suspended is no cache, neither in its step nor on its way back, and it drops with no power.
func TestPrintCluster(t *testing.T) {
	t.Parallel()
	md := runCLI(t, exitDone, "print", "../../runbooks/smb-datacenter.yaml", "-o", "-", "--as", "md")
	step := func(title string) string {
		_, text, found := strings.Cut(md, title+"**\n")
		require.True(t, found, title)
		text, _, _ = strings.Cut(text, "[ ] done")
		return text
	}
	for _, title := range []string{"suspend for the shutdown: cluster", "restore the settings of cluster"} {
		require.NotRegexp(t, "flush|write-(back|through)|dead battery", step(title))
	}
	require.Contains(t, step("suspend for the shutdown: cluster"), "left alone, it would restart elsewhere")
	require.NotContains(t, md, "drops-cluster")
}
