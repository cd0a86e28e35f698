package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// What happens on the way up besides: the mains fail again, an operator says hold, a manager is late, a person is asked.

// anUps is a UPS a that fails and comes back, and storage, a host and a VM behind it.
type anUps struct {
	*played
	states map[string]plan.State
	say    supplies
	starts map[string]int
}

// behindOne has each node do what it is told. What tells may be no more: false: nothing of that came of it.
func behindOne(t *testing.T, heeds func(verb plan.Verb, node string, nth int) bool, nodes ...plan.Node) *anUps {
	t.Helper()
	p := play(t, append([]plan.Node{uncuttable("a")}, nodes...)...)
	a := &anUps{played: p, states: obeys(p), say: supplies{"a": {onLine, 900, false}}, starts: map[string]int{}}
	did := p.did
	p.did = func(verb plan.Verb, node string) {
		key := verb.String() + " " + node
		if a.starts[key]++; heeds == nil || heeds(verb, node, a.starts[key]) {
			did(verb, node)
		}
	}
	p.begin(a.say)
	return a
}

// mains sets whether they are there, and goes on for a while.
func (a *anUps) mains(on bool, d time.Duration) {
	a.say["a"].status = onBattery
	if on {
		a.say["a"].status = onLine
	}
	a.goOn(d, a.say)
}

// failsAgain goes on until a battery of ten minutes is empty, and gives what was commanded meanwhile.
func (a *anUps) failsAgain() []string {
	at := len(a.commands)
	a.say["a"].left = 600
	a.mains(false, 11*time.Minute)
	return a.commands[at:]
}

// hold has an operator hold the outage for five minutes, and gives what was commanded meanwhile.
func (a *anUps) hold() []string {
	at := len(a.commands)
	a.apply(engine.Order{Verb: ledger.Hold, By: "op"})
	a.goOn(5*time.Minute, a.say)
	during := slices.Clone(a.commands[at:])
	a.apply(engine.Order{Verb: ledger.Resume, By: "op"})
	return during
}

func theThree() (nas, host, vm plan.Node) {
	return aNAS("a"), aHost("host", "nas", "a"), aVM("vm", "host", "nas")
}

// TestAHoldUsesUpNoTry: the first packet is lost, and an operator says hold: after that there is the second.
func TestAHoldUsesUpNoTry(t *testing.T) {
	nas, host, _ := theThree()
	second := func(verb plan.Verb, node string, nth int) bool {
		return verb != plan.Start || node != "host" || nth > 1
	}
	a := behindOne(t, second, nas, host)
	a.mains(false, 90*time.Second)
	a.say["a"].status = onLine
	a.until(a.say, func() bool { return a.starts["start host"] == 1 })
	require.Empty(t, a.hold())
	a.goOn(time.Hour, a.say)
	require.Equal(t, plan.On, a.states["host"])
}

// TestAHoldUsesUpNoStop likewise, on the way down.
func TestAHoldUsesUpNoStop(t *testing.T) {
	nas, host, _ := theThree()
	a := behindOne(t, func(verb plan.Verb, node string, nth int) bool { return verb != plan.Stop || node != "nas" || nth > 1 }, nas, host)
	a.say["a"].left, a.say["a"].status = 3600, onBattery
	a.until(a.say, func() bool { return a.starts["stop nas"] == 1 })
	require.Empty(t, a.hold())
	a.goOn(20*time.Minute, a.say)
	require.Equal(t, plan.Off, a.states["nas"])
}

// TestNothingIsToldAgainInAHold: what was refused, or could not be told, has not begun.
func TestNothingIsToldAgainInAHold(t *testing.T) {
	for _, verb := range []plan.Verb{plan.Stop, plan.Start} {
		for _, outcome := range []ledger.Outcome{ledger.Refused, ledger.Busy, ledger.Unreached} {
			nas, host, vm := theThree()
			refuses := true
			a := behindOne(t, func(v plan.Verb, node string, _ int) bool { return v != verb || node != "vm" || !refuses }, nas, host, vm)
			a.reached = func(v plan.Verb, node string) ledger.Outcome {
				if v == verb && node == "vm" && refuses {
					return outcome
				}
				return ledger.Done
			}
			a.say["a"].left, a.say["a"].status = 3600, onBattery
			if verb == plan.Start {
				a.goOn(90*time.Second, a.say)
				a.say["a"].status = onLine
			}
			a.until(a.say, func() bool { return a.starts[verb.String()+" vm"] == 1 })
			refuses = false
			require.Empty(t, a.hold(), "%s %s", verb, outcome)
			a.goOn(3*time.Minute, a.say)
			require.GreaterOrEqual(t, a.starts[verb.String()+" vm"], 2)
		}
	}
}

func aPerson() plan.Node {
	person := aNode("tape", plan.Manual, plan.VerbSet(plan.Stop, plan.Start), nil, []string{"nas"})
	person.Times[plan.Stop] = plan.Times{Nominal: 20 * time.Second, Within: 40 * time.Second}
	person.Times[plan.Start] = plan.Times{Nominal: 2 * time.Minute, Within: 30 * time.Minute}
	return person
}

// TestAPersonIsNotAskedToUndoWhatLosesItsPower: the mains fail again meanwhile, and storage waits for nobody.
func TestAPersonIsNotAskedToUndoWhatLosesItsPower(t *testing.T) {
	nas, host, _ := theThree()
	a := behindOne(t, nil, nas, host, aPerson())
	a.mains(false, 2*time.Minute)
	a.apply(engine.Order{Verb: ledger.Confirm, Node: "tape", By: "op"})
	a.mains(false, 40*time.Second)
	a.say["a"].status = onLine
	a.until(a.say, func() bool { return a.saidOf("please undo by hand") })
	a.goOn(30*time.Second, a.say)
	require.Contains(t, a.failsAgain(), "stop nas")
}

// TestWhatWasSkippedIsNotUndone: an operator says that a person has not done it.
func TestWhatWasSkippedIsNotUndone(t *testing.T) {
	nas, host, _ := theThree()
	a := behindOne(t, nil, nas, host, aPerson())
	a.say["a"].status = onBattery
	a.until(a.say, func() bool { return a.saidOf("please do by hand") })
	a.apply(engine.Order{Verb: ledger.Skip, Node: "tape", By: "op"})
	a.mains(false, 2*time.Minute)
	a.mains(true, time.Hour)
	require.False(t, a.saidOf("please undo by hand"))
	require.False(t, a.e.Open())
}

// TestWhatIsNotWellYetIsStopped: storage, a host or a VM has taken its start and answers, its check says no for long, and the mains fail
// again.
func TestWhatIsNotWellYetIsStopped(t *testing.T) {
	for id := range 3 {
		nas, host, vm := theThree()
		one := []*plan.Node{&nas, &host, &vm}[id]
		one.Healthy, one.Times[plan.Start] = true, plan.Times{Nominal: 5 * time.Minute, Within: 40 * time.Minute}
		well := plan.Yes
		a := behindOne(t, nil, nas, host, vm)
		a.seen = func(node string, seen *plan.Observation) {
			if node == one.ID {
				seen.Healthy = well
			}
		}
		a.mains(false, 2*time.Minute)
		well = plan.No
		a.mains(true, 3*time.Minute)
		require.Contains(t, a.failsAgain(), "stop nas", one.ID)
		require.Contains(t, a.commands, "stop "+one.ID)
	}
}

// TestStorageIsStoppedUnderWhatBoots: a VM or a host shows nothing of its start, or only that it starts, for longer than the second battery
// lasts. In the reserve it is forced, or passed over.
func TestStorageIsStoppedUnderWhatBoots(t *testing.T) {
	for _, id := range []string{"host", "vm"} {
		for _, state := range []plan.State{plan.Unreachable, plan.Starting, plan.Unknown, plan.Off} {
			nas, host, vm := theThree()
			one := map[string]*plan.Node{"host": &host, "vm": &vm}[id]
			one.Times[plan.Start] = plan.Times{Nominal: 5 * time.Minute, Within: 40 * time.Minute}
			a := behindOne(t, nil, nas, host, vm)
			did := a.did
			a.did = func(verb plan.Verb, node string) {
				if did(verb, node); verb == plan.Start && node == id {
					a.states[id] = state
				}
			}
			a.mains(false, 2*time.Minute)
			a.mains(true, 3*time.Minute)
			require.Contains(t, a.failsAgain(), "stop nas", "%s %s", id, state)
		}
	}
}

// TestAClusterBehindALateManager is put back when that answers, though nothing else waits for it.
func TestAClusterBehindALateManager(t *testing.T) {
	nas, host, _ := theThree()
	cluster := aNode("cluster", plan.Cluster, plan.VerbSet(plan.Protect, plan.Unprotect), nil, []string{"vc"})
	cluster.Times[plan.Unprotect] = plan.Times{Nominal: 10 * time.Second, Within: time.Minute}
	a := behindOne(t, nil, nas, host, aVM("vc", "host", "nas"), cluster)
	did, answer, set := a.did, a.answer, plan.No
	a.did = func(verb plan.Verb, node string) {
		did(verb, node)
		switch {
		case verb == plan.Start && node == "vc":
			a.states["vc"] = plan.Unreachable // its VM is on, its service is not
		case node == "cluster":
			set = map[plan.Verb]plan.Fact{plan.Protect: plan.Yes, plan.Unprotect: plan.No}[verb]
		}
	}
	a.answer = func(node string) plan.State {
		if node == "cluster" && answer("vc") != plan.On {
			return plan.Unreachable
		}
		return answer(node)
	}
	a.seen = func(node string, seen *plan.Observation) {
		if node == "cluster" {
			seen.Protected = set
		}
	}
	a.mains(false, 2*time.Minute)
	require.Equal(t, plan.Yes, set)
	a.mains(true, 8*time.Minute)
	a.states["vc"] = plan.On
	a.mains(true, time.Hour)
	require.Equal(t, plan.No, set)
	require.False(t, a.e.Open())
}

// TestAHostThatIsOffLate: it is on its way down for longer than its start may take, which is given up without being told; then it is off.
func TestAHostThatIsOffLate(t *testing.T) {
	for _, late := range []plan.State{plan.Off, plan.Unreachable} {
		nas, host, vm := theThree()
		host.OffAfter = 30 * time.Second
		a := behindOne(t, nil, nas, host, vm)
		did := a.did
		a.did = func(verb plan.Verb, node string) {
			if did(verb, node); verb == plan.Stop && node == "host" {
				a.states["host"] = plan.Stopping
			}
		}
		a.say["a"].status = onBattery
		a.until(a.say, func() bool { return a.states["host"] == plan.Stopping })
		a.goOn(10*time.Second, a.say)
		a.mains(true, 5*time.Minute)
		a.states["host"] = late
		a.mains(true, time.Hour)
		require.Equal(t, plan.On, a.states["host"], late)
		require.Equal(t, plan.On, a.states["vm"], late)
	}
}

// TestWhatIsSwitchedOnByHandShows: while the gate is shut for hours, and is stopped in good time where the mains fail again.
func TestWhatIsSwitchedOnByHandShows(t *testing.T) {
	nas, host, vm := theThree()
	a := behindOne(t, nil, nas, host, vm)
	a.settings.Policy.Restore.For = 6 * time.Hour
	a.e = engine.New(a.settings)
	a.begin(a.say)
	a.mains(false, 2*time.Minute)
	a.mains(true, 2*time.Minute)
	a.states["nas"], a.states["host"], a.states["vm"] = plan.On, plan.On, plan.On
	a.mains(true, 20*time.Minute)
	for _, n := range a.e.View().Nodes[1:] {
		require.Equal(t, plan.On, n.Seen.State, n.ID)
	}
	require.Contains(t, a.failsAgain(), "stop nas")
}

// TestWhatWasStoppedInTheSecondFailureIsNamed: a box that was off comes on while the outage is open, and goes down with the rest.
func TestWhatWasStoppedInTheSecondFailureIsNamed(t *testing.T) {
	nas, host, vm := theThree()
	a := behindOne(t, nil, nas, host, vm, aNode("box", plan.Other, plan.VerbSet(plan.Stop, plan.Start), []string{"a"}, nil))
	a.settings.Policy.Restore.For = 10 * time.Minute
	a.e = engine.New(a.settings)
	a.states["box"] = plan.Off
	a.begin(a.say)
	a.mains(false, 2*time.Minute)
	a.mains(true, 2*time.Minute)
	a.states["box"] = plan.On
	a.mains(true, 5*time.Minute)
	require.Contains(t, a.failsAgain(), "stop box")
	a.mains(true, time.Hour)
	require.True(t, a.saidOf("not on now: box"), "%v", a.told)
}

// TestACutThatDoesNotGetThroughEnds: the mains are back, and its UPS takes no cut, or makes none, for as long as it is told. What waits for
// that is started by hand, or comes.
func TestACutThatDoesNotGetThroughEnds(t *testing.T) {
	for _, outcome := range []ledger.Outcome{ledger.Done, ledger.Busy, ledger.Unreached, ledger.TimedOut} {
		nas := aNAS("a")
		nas.ByPower = true
		p := play(t, aSupply("a"), nas, aHost("esx", "nas", "a"))
		obeys(p)
		p.reached = func(verb plan.Verb, _ string) ledger.Outcome {
			if verb == plan.Cut {
				return outcome
			}
			return ledger.Done
		}
		say := supplies{"a": {onLine, 36000, false}}
		p.begin(say)
		say["a"].status = onBattery
		p.until(say, func() bool { return p.recorded(ledger.NoReturn) })
		say["a"].status = onLine
		p.goOn(2*time.Hour, say)
		require.False(t, p.e.Open(), "%s: %s", outcome, p.e.View().Waiting)
		cuts := slices.DeleteFunc(slices.Clone(p.commands), func(c string) bool { return c != "cut a" })
		require.Less(t, len(cuts), 50, outcome)
	}
}

// TestAGateThatStaysShutIsTold whatever shuts it.
func TestAGateThatStaysShutIsTold(t *testing.T) {
	for _, status := range []power.Status{power.OL | power.BYPASS, power.OL | power.OVER, power.OL | power.CAL} {
		nas, host, vm := theThree()
		a := behindOne(t, nil, nas, host, vm)
		a.mains(false, 2*time.Minute)
		a.say["a"].status = status
		a.goOn(3*time.Hour, a.say)
		require.True(t, a.saidOf("a has mains power, but nothing is started on it: waiting for a, which is"), "%v", a.told)
	}
}

// TestWhatSaysThatItIsOffIsOff though it did not answer when Ebbtide began, as what boots does not: its storage goes down at once.
func TestWhatSaysThatItIsOffIsOff(t *testing.T) {
	box := aNode("box", plan.Other, plan.VerbSet(plan.Stop, plan.Start), []string{"a"}, []string{"nas"})
	box.Times[plan.Start] = plan.Times{Nominal: 5 * time.Minute, Within: 10 * time.Minute}
	p := play(t, uncuttable("a"), aNAS("a"), box)
	states := obeys(p)
	states["box"] = plan.Unreachable
	say := supplies{"a": {onLine, 3600, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(40*time.Second, say)
	require.NotContains(t, p.commands, "stop nas")
	for _, n := range p.e.View().Nodes {
		require.True(t, n.ID != "box" || strings.HasPrefix(n.Why, "it may be starting up: no commands are sent to it for up to "), n.Why)
	}
	states["box"] = plan.Off
	p.goOn(time.Minute, say)
	require.Contains(t, p.commands, "stop nas")
}
