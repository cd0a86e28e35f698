package vsphere_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/command"
	"ebbtide/internal/adapter/vsphere"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
	"ebbtide/internal/schema"
)

func documented(t *testing.T) (schema.Types, string) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/systems/vsphere.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```yaml\n")
	require.True(t, found)
	snippet, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	return adapter.Schema([]adapter.Family{vsphere.Family(), command.Family()}),
		"version: 1\nrunbook: documented\nsupplies: {ups: {nut: \"ups@127.0.0.1\", cut: none}}\n" + snippet +
			"policy:\n  shutdown: {when: {any: [{slack_below: 2m}, {low_battery: true}]}}\n  restore: {when: {online: 10m}}\n"
}

// The snippet of the documentation is a run book without a warning, and takes the estate down and up in the order that the
// page promises.
func TestDocumentedRunbook(t *testing.T) {
	schema, text := documented(t)
	rb, problems := runbook.Load("vsphere.md", []byte(text), schema)
	require.Empty(t, problems, problems.Text())
	c, err := runbook.Compile(rb, schema, map[string][]plan.Member{"apps": {
		{ID: "1", Name: "web", Host: "esx01", On: true, Storage: []string{"10.0.1.40", "vmfs01"}},
	}})
	require.NoError(t, err)
	i, _ := c.Estate.Index("apps/web")
	require.Equal(t, []string{"array", "cluster", "esx01"}, sorted(c.Estate.Node(i).DependsOn))

	inOrder(t, c.Estate.Plan(plan.Down, nil), "protect cluster", "stop apps/web", "stop vcsa", "stop dc01", "stop esx01", "stop array")
	up := c.Estate.Plan(plan.Up, nil)
	inOrder(t, up, "start array", "start esx01", "start dc01", "start vcsa", "start cluster", "unprotect cluster")
	inOrder(t, up, "start vcsa", "start cluster", "start apps/web")
	inOrder(t, up, "start esx01", "unprotect esx01")
	host, _ := c.Estate.Index("esx01")
	require.True(t, c.Estate.Node(host).Healthy, "up means that its datastores are mounted")
}

func sorted(ids []string) []string {
	seen := map[string]bool{}
	for _, id := range ids {
		seen[id] = true
	}
	var out []string
	for _, id := range []string{"array", "cluster", "dc01", "esx01", "vcsa"} {
		if seen[id] {
			out = append(out, id)
		}
	}
	return out
}

// inOrder tells that each of the steps waits, directly or not, for the one before it.
func inOrder(t *testing.T, p *plan.Plan, names ...string) {
	t.Helper()
	place := map[string]int{}
	for i, s := range p.Steps {
		place[s.Verb.String()+" "+s.Name] = i
	}
	for i := 1; i < len(names); i++ {
		before, ok := place[names[i-1]]
		require.True(t, ok, names[i-1])
		after, ok := place[names[i]]
		require.True(t, ok, names[i])
		require.True(t, waits(p, after, before), "%s does not wait for %s", names[i], names[i-1])
	}
}

func waits(p *plan.Plan, step, before int) bool {
	for _, k := range p.Steps[step].After {
		if k == before || waits(p, k, before) {
			return true
		}
	}
	return false
}

// Once a vCenter has stopped itself nobody can ask it whether it is off.
func TestVMThatIsReachedThroughItself(t *testing.T) {
	schema, text := documented(t)
	_, problems := runbook.Load("vsphere.md", []byte(strings.Replace(text, "{type: vsphere.vm, via: esx01, vm: VCSA",
		"{type: vsphere.vm, via: vcenter, vm: VCSA", 1)), schema)
	require.Contains(t, problems.Text(), "vcsa seems to be what vcenter connects to")
	require.False(t, problems.HasErrors())
}
