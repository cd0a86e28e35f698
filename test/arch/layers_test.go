// Package arch tests the shape of the program: which package may import which, and what the core may not do.
package arch

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// layers are the rooms of docs/ARCHITECTURE.md: imports point down only, within a layer only where allowed says so.
var layers = map[string]int{
	"internal/english":   0,
	"internal/power":     0,
	"internal/plan":      0,
	"internal/config":    0,
	"internal/manual":    0,
	"internal/schema":    0,
	"internal/runbook":   1,
	"internal/ledger":    1,
	"internal/belief":    1,
	"internal/permit":    1,
	"internal/want":      1,
	"internal/foresight": 1,
	"internal/effect":    1,
	"internal/work":      1,
	"internal/engine":    1,

	"internal/timeline": 2,
	"internal/referee":  2,
	"internal/sim":      2,
	"internal/forecast": 2,
	"internal/journal":  2,
	"internal/adapter":  2,
	"internal/nut":      2,

	"internal/report/doc":        2,
	"internal/report/render":     2,
	"internal/report/chart":      2,
	"internal/report/book":       2,
	"internal/report/retrospect": 2,

	"internal/families": 3,
	"internal/evidence": 3,
	"internal/estate":   3,
	"internal/runner":   3,

	"internal/daemon": 4,
	"internal/demo":   4,

	"internal/cli": 5,
	"cmd/ebbtide":  6,
}

// allowed are imports within a layer.
var allowed = map[string][]string{
	// numbers and spans read alike everywhere
	"internal/power": {"internal/english"},
	// what a person does is told by the verb, and what a family declares with what a person does
	"internal/manual": {"internal/plan"},
	"internal/schema": {"internal/english", "internal/manual", "internal/plan"},
	// what was seen is of what is on record
	"internal/belief": {"internal/ledger"},
	// what a command must pass knows nothing of why it is given
	"internal/permit": {"internal/ledger", "internal/belief"},
	// what is to be done follows from what is known
	"internal/want": {"internal/ledger", "internal/belief"},
	// what is asked of the shell is what to write down, among others
	"internal/effect": {"internal/ledger"},
	// the time that there is for what is wanted
	"internal/foresight": {"internal/ledger", "internal/belief", "internal/want"},
	// it carries steps, and begins no outage
	"internal/work": {"internal/ledger", "internal/belief", "internal/permit", "internal/want", "internal/foresight", "internal/effect"},
	// it commands no node by itself: its way to the permit is the work
	"internal/engine": {"internal/ledger", "internal/belief", "internal/want", "internal/foresight", "internal/effect", "internal/work"},
	"internal/nut":    {"internal/adapter"}, // a supply's output is a node
	// What is printed is a document: who makes it does not know how it looks, and who shows it does not know what it is about.
	"internal/report/render":     {"internal/report/doc"},
	"internal/report/chart":      {"internal/report/doc", "internal/timeline"},
	"internal/report/book":       {"internal/report/doc", "internal/forecast"},
	"internal/report/retrospect": {"internal/report/doc", "internal/report/chart", "internal/timeline", "internal/forecast"},
	// The engine asks how long the rest of its plan takes, two proofs are held together, and what came of it is judged.
	"internal/sim":      {"internal/forecast", "internal/adapter", "internal/referee"},
	"internal/timeline": {"internal/forecast"}, // what a step took is a sample of its duration
}

// only are the rooms that may import less of ours than their layer allows.
var only = map[string][]string{
	// the language knows neither the engine nor the daemon's settings
	"internal/runbook": {"internal/english", "internal/manual", "internal/plan", "internal/power", "internal/schema"},
	// a system knows nothing of outages, and nothing of the language but what it gives to it
	"internal/adapter": {"internal/english", "internal/manual", "internal/plan", "internal/schema"},
	"internal/nut":     {"internal/adapter", "internal/english", "internal/manual", "internal/plan", "internal/power", "internal/schema"},

	"internal/report/doc":    {"internal/english"},
	"internal/report/render": {"internal/report/doc"},
}

// families is where each package is a system of its own, and shared is what they have in common.
const families = "internal/adapter/"

var shared = []string{
	"internal/adapter/process", "internal/adapter/script", "internal/adapter/ssh", "internal/adapter/wol", "internal/adapter/certificate",
	"internal/adapter/bmc", "internal/adapter/reach", "internal/adapter/rest", "internal/adapter/lockout", "internal/adapter/powershell",
	"internal/adapter/printable", "internal/adapter/selector", "internal/adapter/healthcheck",
}

// around is what lies around a node whatever its system is. It knows no system, and none knows it but for what is shared.
var around = []string{
	"internal/adapter/decorate", "internal/adapter/healthcheck", "internal/adapter/wake", "internal/adapter/secrets",
	"internal/adapter/registry",
}

// doubles stand in for real systems. Only tests and the demo import them.
var doubles = []string{
	"internal/nut/nutsim", "internal/nut/nuttest", "internal/adapter/vsphere/vspheresim",
	"internal/adapter/ssh/sshsim", "internal/adapter/ssh/sshdtest", "internal/adapter/fake", "internal/adapter/contracttest",
	"internal/adapter/libvirt/libvirttest",
	"internal/adapter/proxmox/proxmoxtest", "internal/adapter/hyperv/hypervsim", "internal/adapter/powershell/windowssim",
	"internal/adapter/pernixdata/pernixsim", "internal/adapter/kubernetes/kubetest",
	"internal/adapter/peertest", "internal/adapter/peertest/hole",
	"internal/adapter/redfish/redfishsim", "internal/adapter/ipmi/ipmitest", "internal/adapter/snmp/snmptest",
}

const module = "ebbtide/"

type pkg struct {
	ImportPath string
	GoFiles    []string
	Dir        string
	Imports    []string
}

// list gives the packages of this module.
func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,GoFiles,Dir,Imports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	require.NoError(t, err)
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else {
			require.NoError(t, err)
		}
		p.ImportPath = strings.TrimPrefix(p.ImportPath, module)
		all = append(all, p)
	}
}

// room gives the room that a package stands in: itself, or the one above it in the tree.
func room(path string) (string, bool) {
	for p := path; p != ""; {
		if _, ok := layers[p]; ok {
			return p, true
		}
		i := strings.LastIndex(p, "/")
		if i < 0 {
			return "", false
		}
		p = p[:i]
	}
	return "", false
}

// upward tells what is wrong with one package's imports.
func upward(p pkg) []string {
	var wrong []string
	from, known := room(p.ImportPath)
	if !known {
		if strings.HasPrefix(p.ImportPath, "internal/") || strings.HasPrefix(p.ImportPath, "cmd/") {
			return []string{p.ImportPath + " has no layer: add it to the table in test/arch and to docs/ARCHITECTURE.md"}
		}
		return nil
	}
	for _, imp := range p.Imports {
		path, ours := strings.CutPrefix(imp, module)
		if !ours {
			continue
		}
		if problem := forbidden(p.ImportPath, from, path); problem != "" {
			wrong = append(wrong, p.ImportPath+" imports "+path+": "+problem)
		}
	}
	return wrong
}

// forbidden tells why a package of a room may not import another of our packages; "" if it may.
func forbidden(importer, from, path string) string {
	to, known := room(path)
	narrow, narrowed := only[from]
	switch {
	case !known:
		return "it has no layer: add it to the table in test/arch and to docs/ARCHITECTURE.md"
	case slices.Contains(doubles, path):
		if from != "internal/demo" && !slices.Contains(doubles, importer) {
			return "a test double is for tests and the demo"
		}
	case to == from:
		own := family(importer) == family(path) || slices.Contains(around, importer) && slices.Contains(around, path)
		if strings.HasPrefix(path, families) && !own && !slices.Contains(shared, path) {
			return "systems know nothing of each other: what both need goes into internal/adapter or a shared package"
		}
	case narrowed && !slices.Contains(narrow, to):
		return from + " may import only " + strings.Join(narrow, ", ") + " of ours"
	case layers[to] >= layers[from] && !slices.Contains(allowed[from], to):
		return "imports point down only"
	}
	return ""
}

// family gives the system that a package below internal/adapter belongs to.
func family(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, families), "/")
	return name
}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		require.Empty(t, upward(p))
	}
}

func TestTheLayerTestCanFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, imports, want string }{
		{"internal/newroom", "fmt", "has no layer"},
		{"internal/runner", "ebbtide/internal/newroom", "has no layer"},
		{"internal/plan", "ebbtide/internal/engine", "down only"},
		{"internal/plan", "ebbtide/internal/power", "down only"},
		{"internal/power", "ebbtide/internal/plan", "down only"},
		{"internal/schema", "ebbtide/internal/adapter", "down only"},
		{"internal/schema", "ebbtide/internal/runbook", "down only"},
		{"internal/engine", "ebbtide/internal/runbook", "down only"},
		{"internal/journal", "ebbtide/internal/nut", "down only"},
		{"internal/runner", "ebbtide/internal/daemon", "down only"},
		{"internal/runbook", "ebbtide/internal/engine", "may import only"},
		{"internal/runbook", "ebbtide/internal/config", "may import only"},
		{"internal/adapter/ssh", "ebbtide/internal/engine", "may import only"},
		{"internal/adapter", "ebbtide/internal/power", "may import only"},
		{"internal/adapter", "ebbtide/internal/runbook", "may import only"},
		{"internal/adapter/vsphere", "ebbtide/internal/runbook", "may import only"},
		{"internal/adapter/registry", "ebbtide/internal/runbook", "may import only"},
		{"internal/nut", "ebbtide/internal/runbook", "may import only"},
		{"internal/runbook", "ebbtide/internal/adapter", "may import only"},
		{"internal/adapter/vsphere", "ebbtide/internal/adapter/cache", "nothing of each other"},
		{"internal/adapter", "ebbtide/internal/adapter/cache", "nothing of each other"},
		{"internal/adapter/registry", "ebbtide/internal/adapter/cache", "nothing of each other"},
		{"internal/adapter/cache", "ebbtide/internal/adapter/registry", "nothing of each other"},
		{"internal/runner", "ebbtide/internal/adapter/fake", "test double"},
		{"internal/adapter/vsphere", "ebbtide/internal/adapter/vsphere/vspheresim", "test double"},
		{"cmd/ebbtide", "ebbtide/internal/nut/nutsim", "test double"},
		{"internal/report/render", "ebbtide/internal/plan", "may import only"},
		{"internal/report/book", "ebbtide/internal/report/render", "down only"},
	} {
		wrong := upward(pkg{ImportPath: c.from, Imports: []string{c.imports}})
		require.Len(t, wrong, 1, "%s imports %s", c.from, c.imports)
		require.Contains(t, wrong[0], c.want)
	}
	for _, p := range []pkg{
		{ImportPath: "internal/runner", Imports: []string{"ebbtide/internal/engine", "fmt"}},
		{
			ImportPath: "internal/adapter/newsystem",
			Imports:    []string{"ebbtide/internal/adapter", "ebbtide/internal/adapter/process", "ebbtide/internal/plan"},
		},
		{ImportPath: "internal/adapter/ssh", Imports: []string{"ebbtide/internal/adapter/ssh/part"}},
		{ImportPath: "internal/demo", Imports: []string{"ebbtide/internal/nut/nutsim"}},
		{ImportPath: "internal/adapter/ssh/sshsim", Imports: []string{"ebbtide/internal/adapter/fake"}},
	} {
		require.Empty(t, upward(p))
	}
}
