package runbook_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
	"ebbtide/internal/schema"
	"ebbtide/test/golden"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// TestCompile compiles each testdata/compile/*.txtar: a runbook, perhaps an inventory, and what must come of them. The
// inventory has a line for each member: selector id name [on=HOST] [disks=STORAGE]; a selector alone has no members.
func TestCompile(t *testing.T) {
	golden.Each(t, "testdata/compile/*.txtar", func(t *testing.T, file string) {
		archive, err := txtar.ParseFile(file)
		require.NoError(t, err)
		src, inventory, want := "", map[string][]plan.Member(nil), (*txtar.File)(nil)
		for i := range archive.Files {
			f := &archive.Files[i]
			switch f.Name {
			case "runbook.yaml":
				src = string(f.Data)
			case "inventory":
				inventory = parseInventory(t, string(f.Data))
			case "want":
				want = f
			}
		}
		rb, problems := runbook.Load("runbook.yaml", []byte(src), testSchema())
		require.False(t, problems.HasErrors(), problems.Text())
		compiled, err := runbook.Compile(rb, testSchema(), inventory)
		require.NoError(t, err)
		want.Data = []byte(describe(compiled))
		golden.Equal(t, file, string(txtar.Format(archive)))
		requireOrder(t, compiled.Estate)
	})
}

func parseInventory(t *testing.T, text string) map[string][]plan.Member {
	t.Helper()
	inventory := map[string][]plan.Member{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 1 {
			inventory[words[0]] = nil
			continue
		}
		require.GreaterOrEqual(t, len(words), 3, line)
		m := plan.Member{ID: words[1], Name: words[2], On: true}
		for _, w := range words[3:] {
			key, value, _ := strings.Cut(w, "=")
			switch key {
			case "on":
				m.Host = value
			case "disks":
				m.Storage = append(m.Storage, value)
			}
		}
		inventory[words[0]] = append(inventory[words[0]], m)
	}
	return inventory
}

// describe writes all that a compiled runbook says, in topological order; of many members only the first.
func describe(c *runbook.Compiled) string {
	var b strings.Builder
	seen := map[string]int{}
	for i := range c.Estate.Len() {
		n := c.Estate.Node(i)
		if seen[n.Group]++; n.Group != "" && seen[n.Group] > 5 {
			continue // the first say it all
		}
		fmt.Fprintf(&b, "%s: %s %s, %s, risk %s, tries %d", n.ID, n.Type, n.Kind, n.Stage, n.Risk, n.Attempts)
		if n.Forces > 0 {
			fmt.Fprintf(&b, ", forced %d times", n.Forces)
		}
		if n.ByPower {
			b.WriteString(", by power")
		}
		if n.Healthy {
			b.WriteString(", healthy")
		}
		if n.OffAfter > 0 {
			fmt.Fprintf(&b, ", off after %s", n.OffAfter)
		}
		if n.Watts > 0 {
			fmt.Fprintf(&b, ", draws %v W", n.Watts)
		}
		if n.Group != "" {
			fmt.Fprintf(&b, ", of %s", n.Group)
		}
		if n.Host != "" {
			fmt.Fprintf(&b, ", on %s", n.Host)
		}
		if n.Bound {
			b.WriteString(" alone")
		}
		b.WriteByte('\n')
		if len(n.DependsOn) > 0 {
			fmt.Fprintf(&b, "  needs %s\n", strings.Join(n.DependsOn, ", "))
		}
		if len(n.FedBy) > 0 {
			fmt.Fprintf(&b, "  fed by %s\n", strings.Join(n.FedBy, ", "))
		}
		for v := range plan.Unprotect + 1 {
			if n.Can.Has(v) {
				fmt.Fprintf(&b, "  %s %s, at most %s\n", v, n.Time(v).Nominal, n.Time(v).Within)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Members)) {
		if seen[c.Members[id].Selector] > 5 {
			continue
		}
		fmt.Fprintf(&b, "member %s: %s of %s\n", id, orNone(c.Members[id].MemberID), c.Members[id].Selector)
	}
	b.WriteString(c.Warnings.Text())
	return b.String()
}

func orNone(s string) string {
	if s == "" {
		return "a stand-in"
	}
	return s
}

// requireOrder holds every edge against the topological order.
func requireOrder(t require.TestingT, e *plan.Estate) {
	for i := range e.Len() {
		n := e.Node(i)
		for _, id := range slices.Concat(n.DependsOn, n.FedBy) {
			at, ok := e.Index(id)
			require.True(t, ok, "%s needs %s", n.ID, id)
			require.Less(t, at, i, "%s needs %s", n.ID, id)
		}
	}
}

func TestCompilePolicy(t *testing.T) {
	src, err := os.ReadFile("testdata/clean.yaml")
	require.NoError(t, err)
	rb, problems := runbook.Load("clean.yaml", src, testSchema())
	require.Empty(t, problems)
	c, err := runbook.Compile(rb, testSchema(), nil)
	require.NoError(t, err)
	require.Equal(t, "on battery for 10s", c.Policy.Protect.String())
	require.Len(t, c.Policy.Shed, 1)
	require.Equal(t, "lab", c.Policy.Shed[0].Name)
	require.Equal(t, "on battery for 3m or slack is below 15m", c.Policy.Shed[0].When.String())
	require.Equal(t, 3*time.Minute, c.Policy.Reserve)
	require.Equal(t, []plan.Limit{
		{Class: "supply", PerHost: 1},
		{Class: "vsphere.host", Total: 4},
		{Class: "vsphere.vm", Total: 60, PerHost: 8},
	}, c.Estate.Limits())
	require.Len(t, c.Supplies, 2)
	require.Equal(t, "ups-a", c.Supplies[0].ID)
	require.Len(t, c.Supplies[0].Curve, 3)
	require.Equal(t, 105*time.Minute, c.Supplies[0].Curve[0].Time)

	require.Equal(t, "liebert-b@[::1]:3493", rb.Supplies[1].NUT())
	require.Equal(t, &schema.TLS{CAFile: "/etc/ssl/upsd.pem", ServerName: "nut.lab"}, rb.Supplies[1].TLS)
	require.Equal(t, schema.SecretRef{File: "/etc/ebbtide/upsd"}, rb.Supplies[1].Password)
	require.Equal(t, 60*time.Second, rb.Supplies[1].OffDelay)
	require.Equal(t, "Stands under the stairs.\n", rb.Supplies[1].Notes)

	require.Equal(t, strings.TrimSpace(`
When on battery for 10s, write-back caches switch to write-through; this is reversible.
When on battery for 3m or slack is below 15m, stage lab shuts down tier=lab.
When slack is below 2m or charge is below 30% or the battery is low or silent on battery for 1m or browned out for 5m or temperature is above 40 °C or battery time left is below 1m 30s, everything else that would lose power is shut down in order, along with what depends on it.
When on line for 10m and charge is at least 60% and the battery is recharged enough for another shutdown, what was on is brought back in reverse order.
The last 3m of battery time are reserved for flushing caches, stopping hosts and storage, and cutting the output.
Limit for type supply: 1 per host.
Limit for type vsphere.host: 4 at a time.
Limit for type vsphere.vm: 60 at a time, 8 per host.
The output of ups-a is cut when everything that only it feeds is down, and returns with mains power.
The output of ups-b is never cut: it stays on until its battery is empty.
`), strings.Join(rb.Sentences(), "\n"))
}

// TestPolicyDefaults: what is not said in a policy is not left open.
func TestPolicyDefaults(t *testing.T) {
	src := "version: 1\nrunbook: x\nsupplies: {u: {nut: u@h, cut: none}}\nnodes: {a: {type: passive, fed_by: [u]}}\npolicy: {shutdown: " +
		"{when: {any: [{slack_below: 2m}, {low_battery: true}]}}}\n"
	rb, problems := runbook.Load("x", []byte(src), testSchema())
	require.Empty(t, problems)
	c, err := runbook.Compile(rb, testSchema(), nil)
	require.NoError(t, err)
	require.Equal(t, "on battery for 10s", c.Policy.Protect.String())
	require.Equal(t, "on line for 10m and the battery is recharged enough for another shutdown", c.Policy.Restore.String())
	require.Equal(t, runbook.DefaultReserve, c.Policy.Reserve)
}

// TestCompileRefuses: a runbook with mistakes is not compiled, and nothing panics over it.
func TestCompileRefuses(t *testing.T) {
	for _, name := range []string{"cycles", "references", "unknown-keys", "types", "missing"} {
		src, err := os.ReadFile("testdata/" + name + ".yaml")
		require.NoError(t, err)
		rb, _ := runbook.Load(name, src, testSchema())
		_, err = runbook.Compile(rb, testSchema(), nil)
		require.Error(t, err, name)
	}
}

func TestOdds(t *testing.T) {
	t.Parallel()
	with := func(odds string) (*runbook.Runbook, runbook.Problems) {
		return runbook.Load("odds.yaml", []byte(strings.Replace(oddsBook, "ODDS", odds, 1)), testSchema())
	}
	rb, problems := with("20%")
	require.Empty(t, problems.Text())
	c, err := runbook.Compile(rb, testSchema(), nil)
	require.NoError(t, err)
	require.InDelta(t, 0.2, c.Policy.Odds, 1e-9)
	require.Contains(t, rb.Sentences(), "Slack allows for a chance of 20% that the battery gives out before everything is down.")
	for _, wrong := range []string{"0%", "95%", "never"} {
		_, problems := with(wrong)
		require.True(t, problems.HasErrors(), wrong)
	}
}

const oddsBook = `version: 1
runbook: odds
supplies: {ups: {nut: "ups@127.0.0.1", cut: none}}
nodes: {box: {type: passive, fed_by: [ups]}}
policy:
  shutdown: {when: {slack_below: 1m}}
  restore: {when: {online: 1m}}
  odds: ODDS
`
