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
	"internal/power":   0,
	"internal/plan":    0,
	"internal/config":  0,
	"internal/runbook": 1,
	"internal/engine":  1,

	"internal/timeline": 2,
	"internal/sim":      2,
	"internal/journal":  2,
	"internal/adapter":  2,
	"internal/nut":      2,

	"internal/runner": 3,

	"internal/daemon": 4,
	"internal/demo":   4,

	"internal/cli": 5,
	"cmd/ebbtide":  6,
}

// allowed are imports within a layer.
var allowed = map[string][]string{
	"internal/nut": {"internal/adapter"}, // a supply's output is a node
}

// doubles stand in for real systems. Only tests and the demo import them.
var doubles = []string{
	"internal/nut/nutsim", "internal/nut/nuttest", "internal/adapter/vsphere/vspheresim",
	"internal/adapter/ssh/sshsim", "internal/adapter/ssh/sshdtest", "internal/adapter/fake", "internal/adapter/contracttest",
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
		to, _ := room(path)
		switch {
		case slices.Contains(doubles, path):
			if from != "internal/demo" && !slices.ContainsFunc(doubles, func(d string) bool { return strings.HasPrefix(p.ImportPath, d) }) {
				wrong = append(wrong, p.ImportPath+" imports the test double "+path)
			}
		case to == from, layers[to] < layers[from], slices.Contains(allowed[from], to):
		case from == "internal/runbook" && to == "internal/engine", from == "internal/engine" && to == "internal/runbook":
			wrong = append(wrong, p.ImportPath+" imports "+path+": the core knows no language, and the language no engine")
		default:
			wrong = append(wrong, p.ImportPath+" imports "+path+": imports point down only")
		}
	}
	return wrong
}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		require.Empty(t, upward(p))
	}
}

func TestTheLayerTestCanFail(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, upward(pkg{ImportPath: "internal/plan", Imports: []string{"ebbtide/internal/engine"}}))
	require.NotEmpty(t, upward(pkg{ImportPath: "internal/runner", Imports: []string{"ebbtide/internal/adapter/fake"}}))
	require.NotEmpty(t, upward(pkg{ImportPath: "internal/newroom"}))
	require.Empty(t, upward(pkg{ImportPath: "internal/runner", Imports: []string{"ebbtide/internal/engine", "fmt"}}))
}
