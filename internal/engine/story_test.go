package engine_test

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/sim"
	"ebbtide/internal/want"
	"ebbtide/test/golden"
)

// TestStories plays the scenarios of testdata/*.txt and compares what the engine did with what stands there. A story is
// an estate, what happens to it, and below a line of dashes the journal and the end. `go test -rewrite` writes it anew.
func TestStories(t *testing.T) {
	golden.Each(t, "testdata/*.txt", func(t *testing.T, file string) {
		src, err := os.ReadFile(file)
		require.NoError(t, err)
		head, _, _ := strings.Cut(string(src), "\n----\n")
		golden.Equal(t, file, head+"\n----\n"+sim.Tell(sim.Run(parseStory(t, head))))
	})
}

// parseStory reads the lines above the dashes:
//
//	node ID TYPE KIND [needs=a,b] [fed=u,v] [host=h] [can=stop,force] [risk=R] [stage=S] [secs=N] [bypower] [silent=20s]
//	  [label=K:V] [tries=N] [forces=N]
//	limit TYPE total=N perhost=N
//	policy protect|shutdown|restore|shed:NAME|reserve CONDITION
//	battery SUPPLY CHARGE RUNTIME [notest] [endless] [volts] [deaf=N]
//	ondelay SUPPLY TIME (its output is off for so long once the mains are there)
//	at TIME mains SUPPLY on|off / at TIME silent SUPPLY|NODE on|off / at TIME order VERB [NODE] / at TIME becomes NODE on|off
//	at TIME drill NODE|KEY=VALUE… / at TIME drill stage NAME / at TIME drill battery SUPPLY FLOOR
//	fault NODE FAULT / off NODE / suspended NODE / crash N,N / for TIME
//	away TIME (it is resumed so long after a crash)
//	watched (systems tell of their VMs) / selftest NODE TIME (it is silent so long when it starts)
//	took NODE VERB TIME (what it really takes)
func parseStory(t *testing.T, src string) sim.Scenario {
	t.Helper()
	p := &storyParser{t: t, away: map[string]time.Duration{}}
	p.sc = sim.Scenario{Batteries: map[string]sim.Battery{}, Faults: map[string]sim.Fault{}, For: 4 * time.Hour, Awake: true}
	p.policy = power.Policy{
		Restore:  power.Condition{Kind: power.Online, For: time.Minute},
		Shutdown: power.Condition{Kind: power.OnBattery, For: 30 * time.Second},
		Protect:  power.Condition{Kind: power.OnBattery, For: 10 * time.Second},
		Reserve:  time.Minute,
	}
	for line := range strings.SplitSeq(src, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if !p.estate(f) && !p.happens(f) {
			t.Fatalf("story: %q is not known: %s", f[0], line)
		}
	}
	estate, err := plan.NewEstate(p.nodes, p.limits)
	require.NoError(t, err)
	p.sc.Settings = engine.Settings{Estate: estate, Policy: p.policy, Mode: "simulate"}
	for _, n := range p.nodes {
		if n.Kind == plan.Supply {
			p.sc.Settings.Supplies = append(p.sc.Settings.Supplies, power.Supply{ID: n.ID, OnDelay: p.away[n.ID]})
		}
	}
	return p.sc
}

type storyParser struct {
	t      *testing.T
	sc     sim.Scenario
	nodes  []plan.Node
	limits []plan.Limit
	policy power.Policy
	away   map[string]time.Duration // ondelay, by supply
}

// estate reads a line that says what there is, and reports whether it is one.
func (p *storyParser) estate(f []string) bool {
	t := p.t
	switch f[0] {
	case "node":
		p.nodes = append(p.nodes, parseNode(t, f[1:]))
	case "limit":
		l := plan.Limit{Class: f[1]}
		for _, kv := range f[2:] {
			k, v, _ := strings.Cut(kv, "=")
			*pick(t, k, map[string]*int{"total": &l.Total, "perhost": &l.PerHost}) = number(t, v)
		}
		p.limits = append(p.limits, l)
	case "policy":
		parsePolicy(t, &p.policy, f[1:])
	case "battery":
		p.sc.Batteries[p.known(f[1])] = parseBattery(t, f[2:])
	case "ondelay":
		p.away[p.known(f[1])] = duration(t, f[2])
	case "off":
		for _, id := range f[1:] {
			p.known(id)
		}
		p.sc.Off = append(p.sc.Off, f[1:]...)
	case "suspended":
		for _, id := range f[1:] {
			p.known(id)
		}
		p.sc.Protected = append(p.sc.Protected, f[1:]...)
	case "selftest":
		if p.sc.Habits == nil {
			p.sc.Habits = map[string]sim.Habit{}
		}
		p.sc.Habits[p.known(f[1])] = sim.Habit{SelfTest: duration(t, f[2])}
	case "took":
		var verb plan.Verb
		require.NoError(t, verb.UnmarshalText([]byte(f[2])))
		if p.sc.Took == nil {
			p.sc.Took = map[sim.Action]time.Duration{}
		}
		p.sc.Took[sim.Action{Node: p.known(f[1]), Verb: verb}] = duration(t, f[3])
	default:
		return false
	}
	return true
}

// happens reads a line that says what happens, and reports whether it is one.
func (p *storyParser) happens(f []string) bool {
	t := p.t
	switch f[0] {
	case "at":
		p.sc.Changes = append(p.sc.Changes, p.change(f))
	case "fault":
		require.Contains(t, sim.Faults, sim.Fault(f[2]))
		p.sc.Faults[p.known(f[1])] = sim.Fault(f[2])
	case "crash":
		for s := range strings.SplitSeq(f[1], ",") {
			p.sc.CrashAt = append(p.sc.CrashAt, uint64(number(t, s)))
		}
	case "for":
		p.sc.For = duration(t, f[1])
	case "away":
		p.sc.Away = duration(t, f[1])
	case "watched":
		p.sc.Watched = true
	default:
		return false
	}
	return true
}

// change reads what happens at a time.
func (p *storyParser) change(f []string) sim.Change {
	t := p.t
	t.Helper()
	c := sim.Change{At: duration(t, f[1])}
	switch f[2] {
	case "mains":
		c.Supply, c.Mains = p.known(f[3]), pick(t, f[4], map[string]bool{"on": true, "off": false})
	case "silent":
		on := pick(t, f[4], map[string]bool{"on": true, "off": false})
		isSupply := func(n plan.Node) bool { return n.ID == f[3] && n.Kind == plan.Supply }
		if c.Silent = &on; slices.ContainsFunc(p.nodes, isSupply) {
			c.Supply = f[3]
		} else {
			c.Node = p.known(f[3])
		}
	case "order":
		verbs := []ledger.OrderVerb{ledger.Hold, ledger.Resume, ledger.Abort, ledger.Go, ledger.Confirm, ledger.Skip}
		require.Contains(t, verbs, ledger.OrderVerb(f[3]))
		c.Order = &engine.Order{Verb: ledger.OrderVerb(f[3]), By: "tester"}
		if len(f) > 4 {
			c.Order.Node = p.known(f[4])
		}
	case "becomes":
		state := pick(t, f[4], map[string]plan.State{"on": plan.On, "off": plan.Off})
		c.Node, c.Becomes = p.known(f[3]), &state
	case "drill":
		c.Drill = parseDrill(t, f[3:])
	default:
		t.Fatalf("story: nothing is known to happen as %q", f[2])
	}
	return c
}

// known gives the id of a node that was declared before.
func (p *storyParser) known(id string) string {
	p.t.Helper()
	if !slices.ContainsFunc(p.nodes, func(n plan.Node) bool { return n.ID == id }) {
		p.t.Fatalf("story: there is no node %q", id)
	}
	return id
}

// pick gives what a word stands for.
func pick[V any](t *testing.T, word string, words map[string]V) V {
	t.Helper()
	v, ok := words[word]
	if !ok {
		t.Fatalf("story: %q is none of %v", word, slices.Sorted(maps.Keys(words)))
	}
	return v
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}

func parseBattery(t *testing.T, f []string) sim.Battery {
	t.Helper()
	charge, err := strconv.ParseFloat(f[0], 64)
	require.NoError(t, err)
	b := sim.Battery{Charge: charge, Runtime: duration(t, f[1])}
	for _, word := range f[2:] {
		switch name, times, _ := strings.Cut(word, "="); name {
		case "notest":
			b.Test.None = true
		case "endless":
			b.Test.Endless = true
		case "volts":
			b.Test.Volts = true
		case "deaf":
			b.Deaf = number(t, times)
		default:
			t.Fatalf("story: a battery is not %q", word)
		}
	}
	return b
}

func parseDrill(t *testing.T, f []string) *engine.Drill {
	t.Helper()
	switch f[0] {
	case "stage":
		return &engine.Drill{Stage: plan.Stage(f[1]), By: "tester"}
	case "battery":
		floor, err := strconv.ParseFloat(f[2], 64)
		require.NoError(t, err)
		return &engine.Drill{Supply: f[1], Floor: floor, By: "tester"}
	}
	return &engine.Drill{Nodes: f, By: "tester"}
}

func parseNode(t *testing.T, f []string) plan.Node {
	t.Helper()
	n := plan.Node{ID: f[0], Type: f[1], Stage: plan.ShutdownStage, Attempts: 2}
	kinds := []string{"other", "vm", "host", "supply", "self", "person", "passive", "cluster", "outlet"}
	require.Contains(t, kinds, f[2])
	n.Kind = plan.Kind(slices.Index(kinds, f[2]))
	n.Can = map[string]plan.Verbs{
		"vm": plan.VerbSet(plan.Stop, plan.Force, plan.Start), "host": plan.VerbSet(plan.Stop, plan.Force, plan.Start),
		"other": plan.VerbSet(plan.Stop, plan.Start), "supply": plan.VerbSet(plan.Cut, plan.Start), "self": plan.VerbSet(plan.Stop),
		"person": plan.VerbSet(plan.Stop, plan.Start), "outlet": plan.VerbSet(plan.Stop, plan.Start),
	}[f[2]]
	secs := time.Duration(10)
	for _, kv := range f[3:] {
		k, v, _ := strings.Cut(kv, "=")
		switch k {
		case "needs":
			n.DependsOn = strings.Split(v, ",")
		case "fed":
			n.FedBy = strings.Split(v, ",")
		case "host":
			n.Host = v
		case "stage":
			n.Stage = plan.Stage(v)
		case "risk":
			r, err := plan.ParseRisk(v)
			require.NoError(t, err)
			n.Risk = r
		case "secs":
			s, err := strconv.Atoi(v)
			require.NoError(t, err)
			secs = time.Duration(s)
		case "bypower":
			n.ByPower = true
			n.Can &^= plan.VerbSet(plan.Start)
		case "forces", "tries":
			times, err := strconv.Atoi(v)
			require.NoError(t, err)
			if k == "forces" {
				n.Forces = times
			} else {
				n.Attempts = times
			}
		case "silent":
			n.OffAfter = duration(t, v)
		case "label":
			key, value, _ := strings.Cut(v, ":")
			n.Labels = append(n.Labels, plan.Label{Key: key, Value: value})
		case "can":
			n.Can = 0
			for verb := range strings.SplitSeq(v, ",") {
				var x plan.Verb
				require.NoError(t, x.UnmarshalText([]byte(verb)))
				n.Can |= plan.VerbSet(x)
			}
		default:
			t.Fatalf("story: unknown attribute %q", k)
		}
	}
	for v := range n.Times {
		n.Times[v] = plan.Times{Nominal: secs * time.Second, Within: 6 * secs * time.Second}
	}
	return n
}

func parsePolicy(t *testing.T, p *power.Policy, f []string) {
	t.Helper()
	if f[0] == "reserve" {
		p.Reserve = duration(t, f[1])
		return
	}
	c := power.Condition{Kind: power.Kind(f[1])}
	require.NotEmpty(t, c.String(), "story: there is no condition %q", f[1])
	if len(f) > 2 {
		if d, err := time.ParseDuration(f[2]); err == nil {
			c.For = d
		} else {
			v, err := strconv.ParseFloat(f[2], 64)
			require.NoError(t, err)
			c.Than = v
		}
	}
	switch name, stage, _ := strings.Cut(f[0], ":"); name {
	case "protect":
		p.Protect = c
	case "shutdown":
		p.Shutdown = c
	case "restore":
		p.Restore = c
	case "shed":
		p.Shed = append(p.Shed, power.Stage{Name: stage, When: c})
	default:
		t.Fatalf("story: a policy has no %q", f[0])
	}
}

func duration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	require.NoError(t, err)
	return d
}

// TestNothingReadsAsIfItHadHappened plays outages that are only observed: all that people are told says so, and nobody is
// asked to do anything.
func TestNothingReadsAsIfItHadHappened(t *testing.T) {
	for _, story := range []string{"whole-outage", "person"} {
		src, err := os.ReadFile("testdata/" + story + ".txt")
		require.NoError(t, err)
		head, _, _ := strings.Cut(string(src), "\n----\n")
		sc := parseStory(t, head)
		sc.Settings.Mode = ledger.ModeObserve
		told, asked := 0, 0
		for _, l := range sim.Run(sc).Lines {
			if n, ok := l.Effect.(effect.Notify); ok {
				told++
				require.True(t, strings.HasPrefix(n.Text, effect.Observing), n.Text)
				require.NotContains(t, n.Text, "please")
				require.NotContains(t, n.Text, "is over: ")
				if strings.Contains(n.Text, "by hand") {
					asked++
					require.Contains(t, n.Text, "nothing needs to be done")
				}
			}
		}
		require.Positive(t, told)
		require.Equal(t, story == "person", asked > 0)
	}
}

// TestAWaitForALimitNamesIt: what has its turn and no place waits for the limit of its type, and not for some node.
func TestAWaitForALimitNamesIt(t *testing.T) {
	sc := parseStory(t, `
node ups supply supply
node esx host host fed=ups secs=30
node a vm vm needs=esx host=esx
node b vm vm needs=esx host=esx
limit vm total=1 perhost=1
at 1m mains ups off
at 9m mains ups on
for 1m32s
`)
	var why []string
	for _, n := range sim.Run(sc).View.Nodes {
		if n.Why != "" && n.Waits == want.NothingElse {
			why = append(why, n.ID+": "+n.Why)
		}
	}
	require.Equal(t, []string{"a: next in line under the limit for vm"}, why)
}
