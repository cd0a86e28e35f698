package runbook_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawn is a random runbook without mistakes, and what it must come to.
type drawn struct {
	src       string
	inventory map[string][]plan.Member
	edges     map[string][]string // declared needs by node id, label selectors resolved
	selects   map[string]bool
}

// drawRunbook draws nodes that depend on earlier ones only, by id or by label.
func drawRunbook(t *rapid.T) drawn {
	d := drawn{edges: map[string][]string{}, selects: map[string]bool{}}
	var b strings.Builder
	b.WriteString("version: 1\nrunbook: drawn\nsupplies: {u: {nut: u@h, cut: none}}\n")
	b.WriteString("connections: {vc: {type: vsphere, url: x, username: u, password: {credential: c}}}\nnodes:\n")
	if rapid.Bool().Draw(t, "live") {
		d.inventory = map[string][]plan.Member{}
	}
	labelled, used := map[string][]string{}, map[string]bool{}
	n := rapid.IntRange(1, 30).Draw(t, "nodes")
	for i := range n {
		id := fmt.Sprintf("n%d", i)
		var refs []string
		for range rapid.IntRange(0, 4).Draw(t, "needs") {
			if i == 0 {
				break
			}
			ref := fmt.Sprintf("n%d", rapid.IntRange(0, i-1).Draw(t, "need"))
			label := fmt.Sprintf("l=%d", rapid.IntRange(0, 2).Draw(t, "label"))
			switch {
			case rapid.IntRange(0, 5).Draw(t, "by") == 0 && len(labelled[label]) > 0:
				refs, used[label] = append(refs, label), true
				d.edges[id] = append(d.edges[id], labelled[label]...)
			default:
				refs = append(refs, ref)
				d.edges[id] = append(d.edges[id], ref)
			}
		}
		fmt.Fprintf(&b, "  %s: {fed_by: [u], depends_on: [%s]", id, strings.Join(refs, ", "))
		switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); kind {
		case 0:
			b.WriteString(", type: passive")
		case 1:
			b.WriteString(", type: vsphere.host, via: vc, up: {wake: {power: true}}")
		case 2:
			b.WriteString(", type: vsphere.vm, via: vc")
		case 3:
			d.selects[id] = true
			fmt.Fprintf(&b, ", type: vsphere.vms, via: vc, select: {name: x}, expect: %d", rapid.IntRange(1, 40).Draw(t, "expect"))
			if d.inventory != nil && rapid.Bool().Draw(t, "known") {
				d.inventory[id] = nil
				for range rapid.IntRange(0, 6).Draw(t, "members") {
					k := rapid.IntRange(0, 12).Draw(t, "member")
					d.inventory[id] = append(d.inventory[id],
						plan.Member{
							ID: fmt.Sprintf("id%d", k), Name: fmt.Sprintf("n%d", k),
							Host: fmt.Sprintf("n%d", rapid.IntRange(0, n).Draw(t, "host")),
						})
				}
			}
		}
		// Once a label selector is used nobody else gets that label, so that needs always point back.
		if label := rapid.IntRange(0, 3).Draw(t, "own label"); label < 3 && !used[fmt.Sprintf("l=%d", label)] {
			key := fmt.Sprintf("l=%d", label)
			labelled[key] = append(labelled[key], id)
			fmt.Fprintf(&b, ", labels: {l: %d}", label)
		}
		b.WriteString("}\n")
	}
	b.WriteString("policy: {shutdown: {when: {any: [{slack_below: 2m}, {low_battery: true}]}}}\n")
	d.src = b.String()
	return d
}

func TestCompiledEstatesKeepTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawRunbook(t)
		rb, problems := runbook.Load("drawn", []byte(d.src), testSchema())
		require.False(t, problems.HasErrors(), problems.Text())
		c, err := runbook.Compile(rb, testSchema(), d.inventory)
		require.NoError(t, err, d.src)
		requireOrder(t, c.Estate)
		requireReach(t, d, c)
		for i := range c.Estate.Len() {
			require.Equal(t, plan.ShutdownStage, c.Estate.Node(i).Stage)
		}
	})
}

// requireReach: every declared need holds between every pair of nodes that the two declarations became, through
// junctions if need be, unless the compiler said that the inventory contradicts it.
func requireReach(t *rapid.T, d drawn, c *runbook.Compiled) {
	if strings.Contains(c.Warnings.Text(), "that VM is shut down before both") || strings.Contains(c.Warnings.Text(), "that dependency is ignored") {
		return
	}
	e := c.Estate
	below := make([]map[int]bool, e.Len())
	for i := range e.Len() {
		below[i] = map[int]bool{}
		for _, j := range e.Needs(i) {
			below[i][j] = true
			for k := range below[j] {
				below[i][k] = true
			}
		}
	}
	became := map[string][]int{}
	for i := range e.Len() {
		n := e.Node(i)
		switch {
		case n.Group != "":
			became[n.Group] = append(became[n.Group], i)
		case !d.selects[n.ID]:
			became[n.ID] = append(became[n.ID], i)
		}
	}
	for id, needs := range d.edges {
		for _, need := range needs {
			for _, i := range became[id] {
				for _, j := range became[need] {
					require.True(t, below[i][j], "%s needs %s in\n%s", e.Node(i).ID, e.Node(j).ID, d.src)
				}
			}
		}
	}
}

// TestEdgesDoNotExplode: a selector of a thousand members that depends on another takes thousands of edges, not a
// million.
func TestEdgesDoNotExplode(t *testing.T) {
	src := `{version: 1, runbook: x, supplies: {u: {nut: u@h, cut: none}},
connections: {vc: {type: vsphere, url: x, username: u, password: {credential: c}}},
nodes: {a: {type: vsphere.vms, via: vc, select: {name: x}, expect: 1000, fed_by: [u], labels: {l: a}},
  b: {type: vsphere.vms, via: vc, select: {name: x}, expect: 1000, depends_on: [a]},
  c: {type: vsphere.vms, via: vc, select: {name: x}, expect: 1000, depends_on: [l=a]}},
policy: {shutdown: {when: {any: [{slack_below: 2m}, {low_battery: true}]}}}}`
	rb, problems := runbook.Load("x", []byte(src), testSchema())
	require.False(t, problems.HasErrors(), problems.Text())
	c, err := runbook.Compile(rb, testSchema(), nil)
	require.NoError(t, err)
	edges := 0
	for i := range c.Estate.Len() {
		edges += len(c.Estate.Needs(i))
	}
	require.Less(t, edges, 5000)
	requireOrder(t, c.Estate)
}

// TestSecretsAreNeverRepeated: not in a message, hint or source line, in neither form.
func TestSecretsAreNeverRepeated(t *testing.T) {
	files, err := filepath.Glob("testdata/*secret*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		src, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(src), "hunter2")
		_, problems := runbook.Load(file, src, testSchema())
		require.NotEmpty(t, problems)
		encoded, err := json.Marshal(problems)
		require.NoError(t, err)
		require.NotContains(t, problems.Text(), "hunter2")
		require.NotContains(t, string(encoded), "hunter2")
	}
}

func TestProblemsAsJSON(t *testing.T) {
	_, problems := runbook.Load("x.yaml", []byte("version: 1\nrunbok: x\n"), testSchema())
	require.True(t, problems.HasErrors())
	require.Equal(t, len(problems), problems.Count(runbook.Error)+problems.Count(runbook.Warning))
	encoded, err := json.Marshal(problems[len(problems)-1])
	require.NoError(t, err)
	require.JSONEq(t, `{"severity": "error", "file": "x.yaml", "line": 2, "column": 1, "source": "runbok: x",
		"message": "unknown key \"runbok\" in a runbook", "hint": "did you mean runbook?", "path": "runbok"}`, string(encoded))
}

// TestTooLarge: what would eat the machine is refused, and quickly.
func TestTooLarge(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 10), ", "))
	}
	for name, src := range map[string]string{
		"nested":  "version: " + strings.Repeat("[", 100_000),
		"entries": strings.Repeat("- ", 100_000),
		"tags":    "a: " + strings.Repeat("!x ", 100_000),
		"keys":    strings.Repeat("? ", 100_000),
		"bomb":    bomb + "runbook: x\nversion: 1\nnodes: {a: {type: passive, fed_by: *j, labels: {a: *j}}}\ncontacts: *j\n",
		"size":    strings.Repeat("# comment\n", 2_000_000),
	} {
		_, problems := runbook.Load(name, []byte(src), testSchema())
		require.True(t, problems.HasErrors(), name)
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(f, err)
	for _, file := range files {
		src, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(src)
	}
	f.Add(generate(30))
	schema := testSchema()
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<16 {
			return
		}
		rb, problems := runbook.Load("fuzz.yaml", src, schema)
		if rb == nil {
			require.True(t, problems.HasErrors(), "nothing was read and nothing is said")
		}
		lines := strings.Count(string(src), "\n") + strings.Count(string(src), "\r") + 1
		for _, p := range problems {
			require.GreaterOrEqual(t, p.Line, 1)
			require.LessOrEqual(t, p.Line, lines)
			require.GreaterOrEqual(t, p.Column, 1)
			require.NotEmpty(t, p.Message)
		}
		_ = problems.Text()
		if problems.HasErrors() {
			return
		}
		c, err := runbook.Compile(rb, schema, nil)
		require.NoError(t, err)
		requireOrder(t, c.Estate)
		require.NotEmpty(t, rb.Sentences())
	})
}
