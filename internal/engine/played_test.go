package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// played is an engine that is played by hand: what each node answers and each supply says is given, whatever was commanded. The
// simulator has no machine that answers behind an output that is off, or answers otherwise each time.
type played struct {
	t        *testing.T
	settings engine.Settings
	e        *engine.Engine
	now      time.Time
	answer   func(node string) plan.State
	seen     func(node string, seen *plan.Observation) // what else it says, nil: nothing
	did      func(verb plan.Verb, node string)
	reached  func(verb plan.Verb, node string) ledger.Outcome
	records  []ledger.Record
	commands []string
	told     []string // to people
	probes   map[string]int
}

// mostInAMoment bounds what follows from one event.
const mostInAMoment = 3000

func play(t *testing.T, nodes ...plan.Node) *played {
	t.Helper()
	estate, err := plan.NewEstate(nodes, nil)
	require.NoError(t, err)
	p := &played{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), probes: map[string]int{}}
	p.settings = engine.Settings{Estate: estate, Mode: "run", Policy: power.Policy{
		Restore:  power.Condition{Kind: power.Online, For: 20 * time.Second},
		Shutdown: power.Condition{Kind: power.OnBattery, For: 30 * time.Second},
		Protect:  power.Condition{Kind: power.OnBattery, For: 10 * time.Second},
		Reserve:  time.Minute,
	}}
	for _, n := range nodes {
		if n.Kind == plan.Supply {
			p.settings.Supplies = append(p.settings.Supplies, power.Supply{ID: n.ID})
		}
	}
	p.answer = func(string) plan.State { return plan.On }
	p.e = engine.New(p.settings)
	return p
}

// shows has a node answer what a variable holds, and all others that they are on.
func (p *played) shows(id string, state *plan.State) {
	p.answer = func(node string) plan.State {
		if node == id {
			return *state
		}
		return plan.On
	}
}

// apply gives the engine an event, and at once what its commands and questions come to.
func (p *played) apply(first engine.Event) {
	p.t.Helper()
	queue := []engine.Event{first}
	for n := 0; len(queue) > 0; n++ {
		require.Less(p.t, n, mostInAMoment, "the engine goes on for ever in one moment")
		ev := queue[0]
		queue = queue[1:]
		for _, one := range p.e.Apply(p.now, ev) {
			switch f := one.(type) {
			case effect.Append:
				p.records = append(p.records, f.Record)
				said := strings.Split(f.Record.Reason, "; ")
				slices.Sort(said)
				require.Len(p.t, slices.Compact(said), strings.Count(f.Record.Reason, "; ")+1, "it says a thing twice: %s", f.Record.Reason)
			case effect.Notify:
				p.told = append(p.told, f.Text)
			case effect.Do:
				p.commands = append(p.commands, f.Verb.String()+" "+f.Node)
				outcome := ledger.Done
				if p.reached != nil {
					outcome = p.reached(f.Verb, f.Node)
				}
				if p.did != nil {
					p.did(f.Verb, f.Node)
				}
				queue = append(queue, engine.Finished{Op: f.Op, Outcome: outcome})
			case effect.Probe:
				p.probes[f.Node]++
				seen := plan.Observation{State: p.answer(f.Node)}
				if p.seen != nil && seen.State == plan.On {
					p.seen(f.Node, &seen)
				}
				queue = append(queue, engine.Finished{Op: f.Op, Outcome: ledger.Done, Seen: seen})
			case effect.Estimate:
				queue = append(queue, engine.Estimated{
					Serial: f.Serial, Need: []time.Duration{10 * time.Second}, Hosts: 5 * time.Second,
					Tail: 5 * time.Second, Whole: 20 * time.Second,
				})
			default:
			}
		}
	}
}

// supplies is what each supply says: its status and, in seconds, its runtime. One that is not in it is silent.
type supplies map[string]*says

type says struct {
	status power.Status
	left   float64
	deaf   bool
}

// goOn lets time pass: the engine wakes twice a second, and hears its supplies every two.
func (p *played) goOn(d time.Duration, say supplies) {
	p.t.Helper()
	for end := p.now.Add(d); p.now.Before(end); {
		p.now = p.now.Add(500 * time.Millisecond)
		p.apply(engine.Woke{})
		if p.now.UnixMilli()%2000 == 0 {
			p.hear(say)
		}
	}
}

// until lets time pass until something is so, three minutes at most.
func (p *played) until(say supplies, is func() bool) {
	p.t.Helper()
	for end := p.now.Add(3 * time.Minute); !is(); {
		require.True(p.t, p.now.Before(end), "it did not come to that: %v", p.commands)
		p.goOn(500*time.Millisecond, say)
	}
}

// begin starts the engine, and lets it look round while all is well.
func (p *played) begin(say supplies) {
	p.t.Helper()
	p.apply(engine.Started{})
	p.goOn(10*time.Second, say)
}

// hear gives the engine one reading of each supply. A battery that carries its load runs down.
func (p *played) hear(say supplies) {
	p.t.Helper()
	for _, s := range p.settings.Supplies {
		says := say[s.ID]
		if says.status.Has(power.OB) && !says.status.Has(power.OFF) {
			says.left = max(0, says.left-2)
		}
		reading := power.Reading{Supply: s.ID, Link: power.Stale}
		if !says.deaf {
			reading = power.Reading{
				Supply: s.ID, Status: says.status, Charge: power.Known(90), Runtime: power.Known(says.left),
				Load: power.Known(50), Voltage: power.Known(230),
			}
		}
		p.apply(engine.Read{Reading: reading})
	}
}

// crash restores the engine from its records.
func (p *played) crash() {
	p.t.Helper()
	e, err := engine.Restored(p.settings, p.records)
	require.NoError(p.t, err)
	p.e = e
	p.apply(engine.Started{})
}

// held lists why steps were held back.
func (p *played) held() (why []string) {
	for i := range p.records {
		if p.records[i].Kind == ledger.HeldBack {
			why = append(why, p.records[i].Reason)
		}
	}
	return why
}

func aNode(id string, kind plan.Kind, can plan.Verbs, fed, needs []string) plan.Node {
	n := plan.Node{ID: id, Type: id, Kind: kind, Can: can, FedBy: fed, DependsOn: needs, Stage: plan.ShutdownStage, Attempts: 2}
	for v := range n.Times {
		n.Times[v] = plan.Times{Nominal: 10 * time.Second, Within: time.Minute}
	}
	return n
}

func aSupply(id string) plan.Node {
	return aNode(id, plan.Supply, plan.VerbSet(plan.Cut, plan.Start, plan.Discharge, plan.EndDischarge), nil, nil)
}

func aHost(id, needs string, fed ...string) plan.Node {
	n := aNode(id, plan.Host, plan.VerbSet(plan.Stop, plan.Force, plan.Start), fed, nil)
	if needs != "" {
		n.DependsOn = []string{needs}
	}
	return n
}

func aVM(id, host string, needs ...string) plan.Node {
	n := aNode(id, plan.VM, plan.VerbSet(plan.Stop, plan.Force, plan.Start), nil, append([]string{host}, needs...))
	n.Host = host
	return n
}

func aNAS(fed ...string) plan.Node {
	return aNode("nas", plan.Other, plan.VerbSet(plan.Stop, plan.Start), fed, nil)
}

func aCache(id string, needs ...string) plan.Node {
	return aNode(id, plan.Other, plan.VerbSet(plan.Protect, plan.Flush, plan.Unprotect), nil, needs)
}

const (
	onLine    = power.OL
	onBattery = power.OB
	isOff     = power.OB | power.OFF
)

// TestStorageWaitsForAHostThatAnswers: a driver that says OFF in bypass, or a wrong fed_by, does not make a host off that answers. It is
// told to stop as any.
func TestStorageWaitsForAHostThatAnswers(t *testing.T) {
	p := play(t, aSupply("a"), aSupply("b"), aNAS("a", "b"), aHost("host", "nas", "a"))
	off := false
	p.answer = func(node string) plan.State {
		if off && node == "host" {
			return plan.Off
		}
		return plan.On
	}
	say := supplies{"a": {onLine, 900, false}, "b": {onLine, 900, false}}
	p.begin(say)
	say["a"].status, say["b"].status = onBattery, onBattery
	p.goOn(6*time.Second, say)
	say["a"].status = isOff
	p.goOn(time.Minute, say)
	require.Equal(t, []string{"stop host"}, p.commands)
	off = true
	p.goOn(time.Minute, say)
	require.Equal(t, []string{"stop host", "stop nas"}, p.commands[:2])
}

// TestWhatHangsOnADarkOutputIsDue: A's output went off while it was on line, so that no stage begins for it; what hangs on A and B is
// due when B's does.
func TestWhatHangsOnADarkOutputIsDue(t *testing.T) {
	p := play(t, aSupply("a"), aSupply("b"), aNAS("a", "b"), aHost("host", "nas", "a", "b"), aVM("vm", "host"))
	off := map[string]bool{}
	p.did = func(_ plan.Verb, node string) { off[node] = true }
	p.answer = func(node string) plan.State {
		if off[node] {
			return plan.Off
		}
		return plan.On
	}
	say := supplies{"a": {onLine, 900, false}, "b": {onLine, 900, false}}
	p.begin(say)
	say["a"].status = power.OFF
	p.goOn(20*time.Second, say)
	say["b"].status = onBattery
	p.goOn(time.Minute, say)
	require.Equal(t, []string{"stop vm", "stop host", "stop nas"}, slices.DeleteFunc(p.commands, func(c string) bool { return c == "cut b" }))
}

// TestAVMOnAnotherHostGoesBeforeItsStorage: its own host has lost its power. One that answers was started elsewhere, and is stopped; one
// that does not answer may be, until no host is on.
func TestAVMOnAnotherHostGoesBeforeItsStorage(t *testing.T) {
	for state, want := range map[plan.State][]string{
		plan.On:          {"stop vm", "stop host-b", "stop nas"},
		plan.Unreachable: {"stop host-b", "stop nas"},
		plan.Off:         {"stop host-b", "stop nas"},
	} {
		p := play(t, aSupply("a"), aSupply("b"), aNAS("a", "b"), aHost("host-a", "nas", "a"), aHost("host-b", "nas", "b"), aVM("vm", "host-a", "nas"))
		dead, off := false, map[string]bool{}
		p.did = func(_ plan.Verb, node string) { off[node] = true }
		p.answer = func(node string) plan.State {
			switch {
			case off[node]:
				return plan.Off
			case dead && node == "host-a":
				return plan.Unreachable
			case dead && node == "vm":
				return state
			}
			return plan.On
		}
		say := supplies{"a": {onLine, 900, false}, "b": {onLine, 900, false}}
		p.begin(say)
		say["a"].status, say["b"].status = onBattery, onBattery
		p.goOn(6*time.Second, say)
		say["a"].status, dead = isOff, true
		p.goOn(time.Minute, say)
		require.Subset(t, p.commands, want, state)
		require.Less(t, slices.Index(p.commands, want[0]), slices.Index(p.commands, "stop nas"), "%s: %s", state, p.commands)
		require.Equal(t, state == plan.On, slices.Contains(p.commands, "stop vm"), state)
	}
}

// playACache plays two hosts on an output each, storage under both, and a cache of it that is written through the first. What is in shows
// shows so, and everything else as it was last told.
func playACache(t *testing.T) (p *played, shows map[string]plan.State, say supplies) {
	t.Helper()
	p = play(t, aSupply("a"), aSupply("b"), aNAS("a", "b"), aHost("host-a", "nas", "a"), aHost("host-b", "nas", "b"), aVM("vm", "host-b"), aCache("cache", "host-a", "nas"))
	shows, off := map[string]plan.State{}, map[string]bool{}
	p.did = func(_ plan.Verb, node string) { off[node] = true }
	p.answer = func(node string) plan.State {
		switch state, given := shows[node]; {
		case given:
			return state
		case off[node]:
			return plan.Off
		}
		return plan.On
	}
	p.seen = func(node string, seen *plan.Observation) {
		if node == "cache" {
			seen.Protected, seen.Clean = plan.No, plan.No
		}
	}
	say = supplies{"a": {onLine, 900, false}, "b": {onLine, 900, false}}
	p.begin(say)
	return p, shows, say
}

// TestACacheWithoutPowerIsInNobodysWay: it can't be protected or flushed any more, which keeps neither the VMs of other hosts from being
// stopped nor its storage.
func TestACacheWithoutPowerIsInNobodysWay(t *testing.T) {
	p, shows, say := playACache(t)
	say["a"].status = power.OFF
	shows["host-a"], shows["cache"] = plan.Unreachable, plan.Unreachable
	p.goOn(20*time.Second, say)
	say["b"].status = onBattery
	p.goOn(2*time.Minute, say)
	require.Subset(t, p.commands, []string{"stop vm", "stop host-b", "stop nas"})
}

// TestWhatKeptItsPowerIsNotToldAnew: A was off and is on again. What drew power from B all the while, of which nothing was heard or which
// is on, goes on with its stop.
func TestWhatKeptItsPowerIsNotToldAnew(t *testing.T) {
	slow := func(n plan.Node) plan.Node {
		n.Times[plan.Stop] = plan.Times{Nominal: 2 * time.Minute, Within: 10 * time.Minute}
		return n
	}
	both, behind := slow(aHost("host", "", "a", "b")), slow(aHost("host", "switch", "b"))
	for name, nodes := range map[string][]plan.Node{
		"two feeds": {aSupply("a"), aSupply("b"), both},
		"a switch":  {aSupply("a"), aSupply("b"), aNode("switch", plan.Passive, 0, []string{"a"}, nil), behind},
	} {
		t.Run(name, func(t *testing.T) {
			p := play(t, nodes...)
			told := false
			p.did = func(_ plan.Verb, node string) { told = told || node == "host" }
			p.answer = func(node string) plan.State {
				if node == "host" && told { // its agent has ended, and it syncs its disks for minutes
					return plan.Unreachable
				}
				return plan.On
			}
			say := supplies{"a": {onLine, 900, false}, "b": {onLine, 900, false}}
			p.begin(say)
			say["a"].status, say["b"].status = onBattery, onBattery
			p.goOn(40*time.Second, say)
			say["a"].status, say["b"].deaf = isOff, name == "two feeds"
			p.goOn(20*time.Second, say)
			say["a"].status = onLine
			p.goOn(time.Minute, say)
			require.Contains(t, p.commands, "stop host")
			require.NotContains(t, p.commands, "force host")
			require.NotContains(t, p.commands, "start host")
			require.NotContains(t, p.held(), "its power was off")
		})
	}
}

// TestAnswersThatAlternateAreBounded: a node that says off and on by turns is asked again, and not for ever.
func TestAnswersThatAlternateAreBounded(t *testing.T) {
	p := play(t, aSupply("a"), aNAS("a"), aHost("host", "nas", "a"))
	flips, n := false, 0
	p.answer = func(node string) plan.State {
		switch {
		case node != "host":
			return plan.On
		case !flips:
			return plan.Stopping
		}
		n++
		return []plan.State{plan.Off, plan.On}[n%2]
	}
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	flips, say["a"].status = true, onBattery
	before := p.probes["host"]
	p.goOn(10*time.Second, say)
	require.Positive(t, n)
	require.Less(t, p.probes["host"]-before, 40)
}

// TestTheTestOfAnySupplyIsEndedAfterACrash: in an outage, whichever place in the run book the supply has.
func TestTheTestOfAnySupplyIsEndedAfterACrash(t *testing.T) {
	for drilled, other := range map[string]string{"a": "b", "b": "a"} {
		p := play(t, aSupply("a"), aSupply("b"), aHost("host", "", "a", "b"))
		say := supplies{"a": {onLine, 3600, false}, "b": {onLine, 3600, false}}
		alive := true
		p.did = func(verb plan.Verb, node string) {
			switch {
			case verb == plan.Discharge:
				say[node].status = power.OB | power.DISCHRG
			case verb == plan.EndDischarge && !alive: // the first was lost
				say[node].status = onLine
			}
		}
		p.begin(say)
		p.apply(engine.Drill{Supply: drilled, Floor: 60, By: "tester"})
		p.goOn(20*time.Second, say)
		say[other].status = onBattery
		p.goOn(4*time.Second, say)
		alive = false
		p.crash()
		p.goOn(time.Minute, say)
		require.Equal(t, onLine, say[drilled].status, drilled)
		require.NotContains(t, p.commands, "stop host", drilled)
	}
}

// TestAUPSThatMayNotHaveBeenToldHasAnExcuse: the crash came as it was told to end its test, so that what it does is the test still.
func TestAUPSThatMayNotHaveBeenToldHasAnExcuse(t *testing.T) {
	p := play(t, aNode("first", plan.Passive, 0, nil, nil), aSupply("a"), aSupply("b"), aHost("host", "", "a", "b"))
	p.settings.Policy.Shutdown = power.Condition{Kind: power.ChargeBelow, Than: 95}
	p.e = engine.New(p.settings)
	say := supplies{"a": {onLine, 3600, false}, "b": {onLine, 3600, false}}
	var told time.Time
	p.did = func(verb plan.Verb, node string) {
		if verb == plan.Discharge {
			say[node].status = power.OB | power.DISCHRG
		}
		if verb == plan.EndDischarge && told.IsZero() {
			told = p.now
		}
	}
	p.begin(say)
	p.apply(engine.Drill{Supply: "a", Floor: 60, By: "tester"})
	p.goOn(20*time.Second, say)
	say["b"].status = onBattery
	p.goOn(2*time.Second, say)
	told = time.Time{} // that was lost
	p.crash()
	for range 10 {
		if !told.IsZero() && p.now.Sub(told) > 5*time.Second {
			say["a"].status = onLine
		}
		p.goOn(2*time.Second, say)
	}
	require.Equal(t, onLine, say["a"].status)
	require.NotContains(t, p.commands, "stop host")
}

// TestAReloadIsNoStart: what is known of the power of a silent host stays known, so that it is given up, and powered off, in time.
func TestAReloadIsNoStart(t *testing.T) {
	var commands [2][]string
	for at := range commands {
		host := aHost("host", "nas", "a")
		host.Times[plan.Start] = plan.Times{Nominal: 5 * time.Minute, Within: 15 * time.Minute}
		p := play(t, aSupply("a"), aNAS("a"), host)
		off := map[string]bool{}
		p.reached = func(verb plan.Verb, node string) ledger.Outcome {
			if node == "host" && verb == plan.Stop {
				return ledger.Unreached
			}
			off[node] = true
			return ledger.Done
		}
		p.answer = func(node string) plan.State {
			switch {
			case off[node]:
				return plan.Off
			case node == "host":
				return plan.Unreachable
			}
			return plan.On
		}
		say := supplies{"a": {onLine, 600, false}}
		p.apply(engine.Started{})
		p.goOn(20*time.Minute, say)
		if at == 1 {
			p.apply(engine.Reload{Estate: p.settings.Estate, Policy: p.settings.Policy, Supplies: p.settings.Supplies})
		}
		p.goOn(10*time.Second, say)
		say["a"].status = onBattery
		p.goOn(2*time.Minute, say)
		commands[at] = p.commands
	}
	require.Equal(t, commands[0], commands[1])
	require.Contains(t, commands[0], "stop nas")
}

// TestALinkThatComesAndGoesDoesNotKeepAnOutputFromItsCut: the battery is about to die, and each second poll is lost.
func TestALinkThatComesAndGoesDoesNotKeepAnOutputFromItsCut(t *testing.T) {
	p := play(t, aSupply("a"), aNAS("a")) // which never goes off
	say := supplies{"a": {onLine, 200, false}}
	p.begin(say)
	say["a"].status = onBattery
	for n := range 100 {
		say["a"].deaf = n%2 == 1
		p.goOn(2*time.Second, say)
	}
	require.Contains(t, p.commands, "cut a")
}

// TestAVMThatMayComeUpWithItsHostIsNotOff: it said off after its host's power came back, and says nothing since; nor does the host. So it
// may be coming up, and what it keeps its disks on stays.
func TestAVMThatMayComeUpWithItsHostIsNotOff(t *testing.T) {
	p := play(t, aSupply("a"), aNAS("a"), aHost("host", "", "a"), aVM("vm", "host", "nas"))
	gone, silent := false, false
	p.answer = func(node string) plan.State {
		switch {
		case node == "host" && gone, node == "vm" && silent:
			return plan.Unreachable
		case node == "vm" && gone:
			return plan.Off
		}
		return plan.On
	}
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(6*time.Second, say)
	say["a"].status, gone = isOff, true
	p.goOn(6*time.Second, say)
	say["a"].status = onBattery
	p.goOn(10*time.Second, say)
	silent = true
	p.goOn(3*time.Minute, say)
	require.NotContains(t, p.commands, "stop nas")
}

// TestWhatIsToBePutBackIsLookedAt: a watch has told that a cache was put back by somebody, who has thought better of it since.
func TestWhatIsToBePutBackIsLookedAt(t *testing.T) {
	p := play(t, aSupply("a"), aNAS("a"), aCache("cache", "nas"))
	protected, off := plan.No, false
	p.did = func(verb plan.Verb, node string) {
		switch {
		case verb == plan.Protect:
			protected = plan.Yes
		case verb == plan.Unprotect:
			protected = plan.No
		case node == "nas":
			off = verb == plan.Stop
		}
	}
	p.answer = func(node string) plan.State {
		if off && node != "a" {
			return plan.Off
		}
		return plan.On
	}
	p.seen = func(node string, seen *plan.Observation) {
		if node == "cache" {
			seen.Protected, seen.Clean = protected, plan.Yes
		}
	}
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(20*time.Second, say)
	require.Equal(t, plan.Yes, protected)
	say["a"].status = onLine
	p.goOn(10*time.Second, say)
	p.apply(engine.Observed{Node: "cache", Seen: plan.Observation{State: plan.On, Protected: plan.No, Clean: plan.Yes}})
	p.goOn(time.Minute, say)
	require.Equal(t, plan.No, protected)
	require.False(t, p.e.Open())
	for i := range p.records {
		require.NotEqual(t, ledger.Reopened, p.records[i].Kind, "it was proven put back by a look of before")
	}
}

// TestWhatRanOnAHostThatIsOffIsOff: all of it was proven off, one after the other, and then Ebbtide was not running for a moment. What was
// asked through the host does not answer any more, and is in nobody's way.
func TestWhatRanOnAHostThatIsOffIsOff(t *testing.T) {
	service := aNode("guest", plan.Other, plan.VerbSet(plan.Stop, plan.Start), nil, []string{"host", "nas"})
	for kind, guest := range map[string]plan.Node{"a VM": aVM("guest", "host", "nas"), "a service": service} {
		host := aHost("host", "nas", "a")
		host.OffAfter = 3 * time.Second
		p := play(t, aSupply("a"), aNAS("a"), host, guest)
		off := map[string]bool{}
		p.did = func(verb plan.Verb, node string) { off[node] = off[node] || verb == plan.Stop }
		p.reached = func(_ plan.Verb, node string) ledger.Outcome {
			if off["host"] && (node == "guest" || node == "host") {
				return ledger.Unreached
			}
			return ledger.Done
		}
		p.answer = func(node string) plan.State {
			switch {
			case off["host"] && (node == "guest" || node == "host"):
				return plan.Unreachable
			case off[node]:
				return plan.Off
			}
			return plan.On
		}
		say := supplies{"a": {onLine, 900, false}}
		p.begin(say)
		say["a"].status = onBattery
		p.until(say, func() bool { return slices.Contains(p.commands, "stop host") })
		p.goOn(time.Second, say)
		require.NotContains(t, p.commands, "stop nas", kind)
		p.crash()
		p.goOn(2*time.Minute, say)
		require.Contains(t, p.commands, "stop nas", kind)
	}
}

// TestAnOutputThatIsSaidToBeOffOnLineIsToldOf: some UPSes always say OFF beside OL, and one that begins to is told of once.
func TestAnOutputThatIsSaidToBeOffOnLineIsToldOf(t *testing.T) {
	p := play(t, aSupply("a"), aHost("host", "", "a"))
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	require.Empty(t, p.told)
	say["a"].status = power.OL | power.OFF
	p.goOn(10*time.Second, say)
	require.Len(t, p.told, 1)
	require.Contains(t, p.told[0], "a is on line but reports that its output is off")
	require.False(t, p.e.Open())
}

// TestWhatCameBackDoesNotHang: a VM hung on its way down while its power came back, Ebbtide was not running right after it had it powered
// off, and the VM is on again. It is left alone.
func TestWhatCameBackDoesNotHang(t *testing.T) {
	p := play(t, aSupply("a"), aHost("host", "", "a"), aVM("guest", "host"))
	guest := plan.On
	p.did = func(verb plan.Verb, node string) {
		if node == "guest" && verb == plan.Stop {
			guest = plan.Stopping
		}
	}
	p.shows("guest", &guest)
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(40*time.Second, say)
	require.Contains(t, p.commands, "stop guest")
	say["a"].status = onLine
	p.until(say, func() bool { return slices.Contains(p.commands, "force guest") })
	require.Contains(t, p.commands, "force guest")
	p.commands, guest = nil, plan.On
	p.crash()
	p.goOn(5*time.Minute, say)
	require.NotContains(t, p.commands, "force guest")
	require.False(t, p.e.Open())
}

// TestAStopThatHasWaitedAsksAgain: of two hosts one goes at a time, and their UPS is silent meanwhile. The first was busy, and gave its
// place back; when the second is off it starts, as its power was gone and is back.
func TestAStopThatHasWaitedAsksAgain(t *testing.T) {
	nodes := []plan.Node{aSupply("a"), aHost("one", "", "a"), aHost("two", "", "a")}
	nodes[1].Type, nodes[2].Type = "host", "host"
	p := play(t, nodes...)
	estate, err := plan.NewEstate(nodes, []plan.Limit{{Class: "host", Total: 1}})
	require.NoError(t, err)
	p.settings.Estate = estate
	p.e = engine.New(p.settings)
	busy, isBack := "", false
	p.reached = func(verb plan.Verb, node string) ledger.Outcome {
		if verb == plan.Stop && (busy == "" || busy == node) {
			busy = node
			return ledger.Unreached
		}
		return ledger.Done
	}
	p.answer = func(node string) plan.State {
		switch {
		case node == "a", !isBack:
			return plan.On
		case node == busy:
			return plan.Starting
		}
		return plan.Off
	}
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool { return len(p.commands) == 2 })
	say["a"].deaf = true
	p.goOn(25*time.Second, say)
	isBack = true
	p.goOn(20*time.Second, say)
	require.Len(t, p.commands, 2, "%v", p.commands)
}

// TestWhatIsOrderedWithTheReserveLeftIsForced: an outage was called off, and is ordered after all when only the reserve is left.
func TestWhatIsOrderedWithTheReserveLeftIsForced(t *testing.T) {
	p := play(t, aSupply("a"), aHost("host", "", "a"), aVM("guest", "host"))
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(10*time.Second, say)
	p.apply(engine.Order{Verb: ledger.Abort, By: "test"})
	say["a"].left = 40
	p.goOn(10*time.Second, say)
	require.Empty(t, p.commands)
	p.apply(engine.Order{Verb: ledger.Go, By: "test"})
	require.Contains(t, p.commands, "force guest")
	require.NotContains(t, p.commands, "stop guest")
}

// TestABMCThatHasPowerAgainProvesNothing: a machine did not answer, nor did its BMC, for longer than it takes to start; then the BMC says
// off, while the UPS is not heard. It has its power again, and the machine with it.
func TestABMCThatHasPowerAgainProvesNothing(t *testing.T) {
	p := play(t, aSupply("a"), aHost("host", "", "a"))
	state := plan.On
	p.shows("host", &state)
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(20*time.Second, say)
	say["a"].deaf = true
	for _, state = range []plan.State{plan.Unreachable, plan.Off, plan.Unreachable} { // it said so once, and that was long ago
		p.goOn(20*time.Second, say)
	}
	p.goOn(5*time.Minute, say)
	p.records, state = nil, plan.Off
	p.goOn(30*time.Second, say)
	for i := range p.records {
		require.NotEqual(t, ledger.Proven, p.records[i].Kind)
	}
	p.goOn(5*time.Minute, say)
	require.True(t, slices.ContainsFunc(p.records, func(r ledger.Record) bool { return r.Kind == ledger.Proven && r.Node == "host" }),
		"it does not start")
}

// TestAStopThatNobodyAnsweredMayArriveStill: a VM shows as on for a while after its stop was given up, and goes then.
func TestAStopThatNobodyAnsweredMayArriveStill(t *testing.T) {
	p := play(t, aSupply("a"), aHost("host", "", "a"), aVM("guest", "host"))
	p.reached = func(verb plan.Verb, node string) ledger.Outcome {
		if node == "guest" && verb == plan.Stop {
			return ledger.TimedOut
		}
		return ledger.Done
	}
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool { return slices.Contains(p.commands, "stop guest") })
	say["a"].status = onLine
	p.goOn(20*time.Second, say)
	for i := range p.records {
		require.False(t, p.records[i].Kind == ledger.Proven && p.records[i].Node == "guest", "it is called on, and goes")
	}
}

// TestWhatGoesWithItsHostIsNotOn: a host was powered off with a VM on it, its power is back, and it goes all the same. What needs that
// VM is not started on its being on still.
func TestWhatGoesWithItsHostIsNotOn(t *testing.T) {
	base := aVM("base", "host")
	base.Can = plan.VerbSet(plan.Stop, plan.Start)
	p := play(t, aSupply("a"), aHost("host", "", "a"), aHost("other", "", "a"), base, aVM("app", "other", "base"))
	state := map[string]plan.State{}
	p.did = func(verb plan.Verb, node string) {
		switch {
		case node == "base" && verb == plan.Stop: // it hangs, and can't be powered off
		case node == "host" && verb != plan.Start:
			state[node] = plan.Stopping
		case verb == plan.Stop, verb == plan.Force:
			state[node] = plan.Off
		case verb == plan.Start:
			state[node] = plan.On
		}
	}
	p.answer = func(node string) plan.State {
		if s, ok := state[node]; ok {
			return s
		}
		return plan.On
	}
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool { return state["host"] == plan.Stopping })
	require.Equal(t, plan.Stopping, state["host"])
	p.commands = nil
	say["a"].status = onLine
	p.goOn(40*time.Second, say)
	require.NotContains(t, p.commands, "start app", "its base goes with its host")
	state["host"], state["base"] = plan.Off, plan.Off
	p.goOn(2*time.Minute, say)
	require.Equal(t, []string{"start host", "start base", "start app"}, slices.DeleteFunc(slices.Clone(p.commands), func(c string) bool { return c == "start other" }))
}

// TestAHostThatTakesItsVMsAlongSaysSoOnce: it takes no command for a while, so that it is tried again and again.
func TestAHostThatTakesItsVMsAlongSaysSoOnce(t *testing.T) {
	base := aVM("base", "host")
	base.Can = plan.VerbSet(plan.Stop, plan.Start)
	p := play(t, aSupply("a"), aHost("host", "", "a"), base)
	tries := 0
	p.reached = func(_ plan.Verb, node string) ledger.Outcome {
		if node != "host" {
			return ledger.Done
		}
		if tries++; tries < 5 {
			return ledger.Busy
		}
		return ledger.Done
	}
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(4*time.Minute, say)
	require.Greater(t, tries, 3)
	told := slices.DeleteFunc(slices.Clone(p.told), func(s string) bool { return !strings.HasPrefix(s, "powering off host: ") })
	require.Len(t, told, 1)
}

// TestADrillOfABatteryIsAbortedBeforeItBegins: it waits for an estimate, and somebody thinks better of it.
func TestADrillOfABatteryIsAbortedBeforeItBegins(t *testing.T) {
	p := play(t, aSupply("a"), aHost("host", "", "a"))
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	for _, one := range p.e.Apply(p.now, engine.Drill{Supply: "a", Floor: 50, By: "test"}) {
		if a, ok := one.(effect.Append); ok {
			p.records = append(p.records, a.Record)
		}
	}
	require.True(t, p.e.Open(), "%v", p.told)
	p.apply(engine.Order{Verb: ledger.Abort, By: "test"})
	require.False(t, p.e.Open())
}

// TestASlowAnswerIsAnAnswer: a system that takes seconds to say that its machine is on again is asked for that, and not for ever.
func TestASlowAnswerIsAnAnswer(t *testing.T) {
	p := play(t, aSupply("a"), aHost("host", "", "a"), aVM("guest", "host"))
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	up := true
	p.did = func(_ plan.Verb, node string) { up = up && node != "guest" }
	p.answer = func(node string) plan.State {
		if node == "guest" && !up {
			return plan.Off
		}
		return plan.On
	}
	say["a"].status = onBattery
	p.until(say, func() bool { return !up })
	require.False(t, up)
	up = true // somebody started it
	say["a"].status = onLine
	var waiting []ledger.Op
	ask := func(effects []effect.Effect) {
		for _, one := range effects {
			switch f := one.(type) {
			case effect.Probe:
				waiting = append(waiting, f.Op)
			case effect.Do: // it showed as on for as long as its stop may take: it may be told to start
				waiting = append(waiting, f.Op)
			case effect.Append:
				p.records = append(p.records, f.Record)
			default:
			}
		}
	}
	asked := 0
	for range 90 {
		ask(p.e.Apply(p.now, engine.Woke{}))
		ask(p.e.Apply(p.now, engine.Read{Reading: power.Reading{Supply: "a", Status: onLine, Charge: power.Known(90), Runtime: power.Known(900), Load: power.Known(50), Voltage: power.Known(230)}}))
		p.now = p.now.Add(2 * time.Second)
		answered := waiting
		waiting = nil
		for _, op := range answered {
			asked++
			ask(p.e.Apply(p.now, engine.Finished{Op: op, Outcome: ledger.Done, Seen: plan.Observation{State: plan.On}}))
		}
	}
	require.True(t, slices.ContainsFunc(p.records, func(r ledger.Record) bool {
		return r.Kind == ledger.Proven && r.Node == "guest" && r.Verb != nil && *r.Verb == plan.Start
	}))
	require.Less(t, asked, 60)
}

// TestAHostWhoseVMsAreOffAfterAllIsShutDown: it was to be powered off with a VM on it that was given up, could not be told for a while,
// and the VM went off meanwhile.
func TestAHostWhoseVMsAreOffAfterAllIsShutDown(t *testing.T) {
	base := aVM("base", "host")
	base.Can = plan.VerbSet(plan.Stop, plan.Start)
	p := play(t, aSupply("a"), aHost("host", "", "a"), base)
	state := map[string]plan.State{}
	p.reached = func(verb plan.Verb, node string) ledger.Outcome {
		if node == "host" && verb == plan.Force {
			state["base"] = plan.Off
			return ledger.Unreached
		}
		return ledger.Done
	}
	p.answer = func(node string) plan.State {
		if s, ok := state[node]; ok {
			return s
		}
		return plan.On
	}
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(4*time.Minute, say)
	require.Contains(t, p.commands, "force host")
	require.Contains(t, p.commands, "stop host", "%v", p.commands)
}

// TestACacheBehindASilentOutputIsGivenUp: its UPS said that its output is off, and is silent since. Whether it has its power again nobody
// knows, and it does not answer: it is tried and given up, and the VMs of another host do not wait for it.
func TestACacheBehindASilentOutputIsGivenUp(t *testing.T) {
	p, shows, say := playACache(t)
	p.reached = func(_ plan.Verb, node string) ledger.Outcome {
		if shows[node] == plan.Unreachable {
			return ledger.Unreached
		}
		return ledger.Done
	}
	say["a"].status = isOff
	shows["a"], shows["host-a"], shows["cache"] = plan.Off, plan.Unreachable, plan.Unreachable
	p.goOn(6*time.Second, say)
	say["a"].deaf, shows["a"] = true, plan.Unreachable
	p.goOn(20*time.Second, say)
	say["b"].status = onBattery
	p.goOn(4*time.Minute, say)
	require.Contains(t, p.commands, "stop vm")
	require.NotContains(t, p.commands, "stop nas", "who writes to it through the cache may be on")
}

// TestWhatWasOnBeforeASilenceWasOn: a UPS is silent for a while before it says that it is on battery, and what hangs on it does not answer
// the survey. It was on when it was last seen, and is brought back.
func TestWhatWasOnBeforeASilenceWasOn(t *testing.T) {
	p := play(t, aSupply("a"), aNAS("a"))
	dark := false
	p.answer = func(node string) plan.State {
		if dark && node == "nas" {
			return plan.Unreachable
		}
		return plan.On
	}
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	say["a"].deaf, dark = true, true
	p.goOn(2*time.Minute, say)
	say["a"].deaf, say["a"].status = false, onBattery
	p.goOn(4*time.Second, say)
	require.True(t, p.e.Open())
	opened := p.records[slices.IndexFunc(p.records, func(r ledger.Record) bool { return r.Kind == ledger.Opened })]
	require.Contains(t, opened.Nodes, ledger.NodeState{Node: "nas", State: plan.On})
}

// TestACutOfBeforeACrashIsJudgedFirst: Ebbtide was killed between the command of a cut and its answer, and is back when the output and the
// host on it are on again. The host is up since its power came back: nobody stops it once more.
func TestACutOfBeforeACrashIsJudgedFirst(t *testing.T) {
	host := aHost("host", "", "a")
	host.ByPower, host.Can = true, plan.VerbSet(plan.Stop, plan.Force)
	p := play(t, aSupply("a"), host)
	state := map[string]plan.State{"a": plan.On, "host": plan.On}
	p.answer = func(node string) plan.State { return state[node] }
	p.did = func(verb plan.Verb, node string) {
		if verb == plan.Stop {
			state[node] = plan.Off
		}
	}
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	say["a"].status = onBattery
	cut := func() int {
		return slices.IndexFunc(p.records, func(r ledger.Record) bool { return r.Kind == ledger.Intent && *r.Verb == plan.Cut })
	}
	p.until(say, func() bool { return cut() >= 0 })
	p.records, p.commands = p.records[:cut()+1], nil
	say["a"].status, state["host"] = onLine, plan.On
	p.crash()
	p.goOn(3*time.Minute, say)
	require.Empty(t, p.commands)
	require.True(t, slices.ContainsFunc(p.records, func(r ledger.Record) bool {
		return r.Kind == ledger.Mains &&
			r.Cause == ledger.Cycled
	}))
	require.Equal(t, ledger.Closed, p.records[len(p.records)-1].Kind)
	require.Empty(t, p.records[len(p.records)-1].Nodes)
}

// TestWhatAnswersOnItsOtherFeedIsStopped: the output of one UPS gives out, and a switch on it; the machines go on with the other one, and
// are stopped as that demands it.
func TestWhatAnswersOnItsOtherFeedIsStopped(t *testing.T) {
	sw := aNode("sw", plan.Passive, 0, []string{"a"}, nil)
	nas := aNode("nas", plan.Other, plan.VerbSet(plan.Stop, plan.Start), []string{"a", "b"}, []string{"sw"})
	host := aNode("host", plan.Host, plan.VerbSet(plan.Stop, plan.Force, plan.Start), []string{"a", "b"}, []string{"nas", "sw"})
	p := play(t, aSupply("a"), aSupply("b"), sw, nas, host)
	off := map[string]bool{}
	p.did = func(verb plan.Verb, node string) { off[node] = off[node] || verb == plan.Stop }
	p.answer = func(node string) plan.State {
		if off[node] {
			return plan.Off
		}
		return plan.On
	}
	say := supplies{"a": {onLine, 900, false}, "b": {onLine, 900, false}}
	p.begin(say)
	say["a"].status, say["b"].status = onBattery, onBattery
	p.goOn(6*time.Second, say)
	say["a"].status = isOff
	p.goOn(2*time.Minute, say)
	require.Greater(t, len(p.commands), 2, "%v", p.commands)
	require.Equal(t, []string{"stop host", "stop nas", "cut b"}, p.commands[:3])
}

// TestAUPSThatFailsWhileEbbtideIsAwayWasOnLine: it was on line when Ebbtide was last there, and is on battery when it is back. What it
// feeds may have lost its power meanwhile, and have it again.
func TestAUPSThatFailsWhileEbbtideIsAwayWasOnLine(t *testing.T) {
	for _, wasBack := range []bool{true, false} {
		p := play(t, aSupply("a"), aHost("host", "", "a"))
		off := false
		p.did = func(verb plan.Verb, node string) { off = off || verb == plan.Stop && node == "host" }
		p.answer = func(node string) plan.State {
			if off && node == "host" {
				return plan.Off
			}
			return plan.On
		}
		say := supplies{"a": {onLine, 900, false}}
		p.begin(say)
		say["a"].status = onBattery
		p.until(say, func() bool { return off })
		if wasBack {
			say["a"].status = onLine
			back := func(r ledger.Record) bool { return r.Cause == ledger.Returned }
			p.until(say, func() bool { return slices.ContainsFunc(p.records, back) })
			p.records = p.records[:slices.IndexFunc(p.records, back)+1] // it was killed right then
			say["a"].status = onBattery
		}
		p.crash()
		p.goOn(4*time.Second, say)
		unseen := slices.ContainsFunc(p.records, func(r ledger.Record) bool { return r.Kind == ledger.Mains && r.Cause == ledger.Unseen })
		require.Equal(t, wasBack, unseen, "on line before: %t", wasBack)
	}
}

// TestWhatIsPutBackAfterACrashHasItsTime: Ebbtide was killed right after it had announced an Unprotect. The cache shows as put back, which
// it may have done before it was told, and may be told by half yet: it has its time, and is not told again.
func TestWhatIsPutBackAfterACrashHasItsTime(t *testing.T) {
	p := play(t, aSupply("a"), aNAS("a"), aCache("cache", "nas"))
	protected := plan.No
	p.did = func(verb plan.Verb, _ string) {
		switch verb {
		case plan.Protect:
			protected = plan.Yes
		case plan.Unprotect:
			protected = plan.No
		default:
		}
	}
	p.seen = func(node string, seen *plan.Observation) {
		if node == "cache" {
			seen.Protected, seen.Clean = protected, plan.Yes
		}
	}
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(20*time.Second, say)
	say["a"].status = onLine
	told := func() int {
		return slices.IndexFunc(p.records, func(r ledger.Record) bool { return r.Kind == ledger.Intent && *r.Verb == plan.Unprotect })
	}
	p.until(say, func() bool { return told() >= 0 })
	p.records, p.commands = p.records[:told()+1], nil
	p.crash()
	proven := func() bool {
		return slices.ContainsFunc(p.records, func(r ledger.Record) bool { return r.Kind == ledger.Proven && *r.Verb == plan.Unprotect })
	}
	p.goOn(50*time.Second, say)
	require.False(t, proven(), "its time is a minute")
	p.goOn(time.Minute, say)
	require.True(t, proven())
	require.Empty(t, p.commands)
}
