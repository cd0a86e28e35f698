package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/foresight"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// A second operator has read the engine. Each of these nights went wrong.

// TestAUPSThatFailedBeforeARestartIsSilentOnBattery: Ebbtide is killed with the mains away, and the UPS is not heard any more after it.
func TestAUPSThatFailedBeforeARestartIsSilentOnBattery(t *testing.T) {
	p := play(t, uncuttable("a"), aNAS("a"), aHost("host", "nas", "a"), aVM("vm", "host", "nas"))
	p.settings.Policy.Shutdown = power.Condition{Kind: power.Any, Of: []power.Condition{
		{Kind: power.OnBattery, For: 10 * time.Minute}, {Kind: power.SilentOnBattery, For: time.Minute},
	}}
	p.e = engine.New(p.settings)
	obeys(p)
	say := supplies{"a": {onLine, 1800, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(10*time.Second, say)
	p.now = p.now.Add(time.Minute)
	p.crash()
	say["a"].deaf = true
	p.goOn(50*time.Second, say)
	require.Empty(t, p.commands)
	p.goOn(2*time.Minute, say)
	require.Equal(t, []string{"stop vm", "stop host", "stop nas"}, p.commands)
}

// TestAVMThatWentWithEveryHostIsOff: it hangs, its host takes it along, and nobody is left to ask after it. Its storage goes down all the
// same, and not before no host is left that could run it.
func TestAVMThatWentWithEveryHostIsOff(t *testing.T) {
	p := play(t, uncuttable("a"), uncuttable("b"), aNAS("a", "b"), aHost("host", "nas", "a", "b"), aHost("other", "nas", "a", "b"), aVM("vm", "host", "nas"))
	states := obeys(p)
	did := p.did
	p.did = func(verb plan.Verb, node string) {
		switch node {
		case "vm":
			states["vm"] = plan.Stopping
			return
		case "host":
			states["vm"] = plan.Unreachable // nobody answers for it any more
		}
		did(verb, node)
	}
	say := supplies{"a": {onLine, 7200, false}, "b": {onLine, 7200, false}}
	p.begin(say)
	say["a"].status, say["b"].status = onBattery, onBattery
	p.goOn(10*time.Minute, say)
	require.Contains(t, p.commands, "force host")
	require.Equal(t, "stop nas", p.commands[len(p.commands)-1])
	require.Contains(t, p.commands, "stop other")
}

// TestAForcedShutdownIsNoWordOfTheBattery: NUT's secondaries are told to go by FSD, which upsd then shows to all. There is as much battery
// as before.
func TestAForcedShutdownIsNoWordOfTheBattery(t *testing.T) {
	secondary := aNode("desktops", plan.Other, plan.VerbSet(plan.Stop), []string{"a"}, nil)
	p := play(t, uncuttable("a"), secondary, aNAS("a"), aHost("host", "nas", "a"))
	p.settings.Policy.Reserve = 3 * time.Minute
	p.e = engine.New(p.settings)
	states := obeys(p)
	did := p.did
	status, left := onLine, 2400.0
	p.did = func(verb plan.Verb, node string) {
		if node == "desktops" {
			status |= power.FSD
		}
		if node == "host" && verb == plan.Stop { // it takes its time
			states["host"] = plan.Stopping
			return
		}
		did(verb, node)
	}
	reading := func() power.Reading {
		if status.Has(power.OB) {
			left -= 2
		}
		return power.Reading{Supply: "a", Status: status, Charge: power.Known(left / 24), Runtime: power.Known(left), RuntimeLow: power.Known(120), Load: power.Known(50)}
	}
	p.apply(engine.Started{})
	p.reads(20*time.Second, reading)
	status = onBattery
	p.reads(90*time.Second, reading)
	require.Contains(t, p.commands, "stop desktops")
	require.Contains(t, p.commands, "stop host")
	require.NotContains(t, p.commands, "force host")
	require.False(t, p.saidOf("only the reserve is left"), p.told)
}

// TestNothingMoreIsStartedUnderAnOverload: the first starts bring the UPS into bypass. The others wait for its end, and people are told.
func TestNothingMoreIsStartedUnderAnOverload(t *testing.T) {
	p := play(t, uncuttable("a"), aNAS("a"), aHost("host", "nas", "a"))
	states := obeys(p)
	did := p.did
	say := supplies{"a": {onLine, 900, false}}
	p.did = func(verb plan.Verb, node string) {
		did(verb, node)
		if verb == plan.Start && node == "nas" {
			states["nas"] = plan.Starting
			say["a"].status = onLine | power.BYPASS | power.OVER
		}
	}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(90*time.Second, say)
	say["a"].status = onLine
	p.until(say, func() bool { return len(p.commands) == 3 })
	p.goOn(20*time.Second, say)
	states["nas"] = plan.On
	p.goOn(5*time.Minute, say)
	require.Equal(t, []string{"stop host", "stop nas", "start nas"}, p.commands)
	require.True(t, p.saidOf("nothing more is started on it until that ends"), p.told)
	say["a"].status = onLine
	p.goOn(2*time.Minute, say)
	require.Equal(t, []string{"stop host", "stop nas", "start nas", "start host"}, p.commands)
}

// TestLowMainsKeepNothingOffWhereNobodyWatchesThem: a policy that watches the temperature watches no brown-out by that.
func TestLowMainsKeepNothingOffWhereNobodyWatchesThem(t *testing.T) {
	p := play(t, uncuttable("a"), aNAS("a"), aHost("host", "nas", "a"))
	p.settings.Policy.Shutdown = power.Condition{Kind: power.Any, Of: []power.Condition{
		{Kind: power.OnBattery, For: 30 * time.Second}, {Kind: power.TemperatureAbove, Than: 40},
	}}
	p.e = engine.New(p.settings)
	obeys(p)
	volts, status := 230.0, onLine
	reading := func() power.Reading {
		return power.Reading{Supply: "a", Status: status, Charge: power.Known(100), Runtime: power.Known(900), Load: power.Known(50), Voltage: power.Known(volts), Nominal: power.Known(230), Temperature: power.Known(25)}
	}
	p.apply(engine.Started{})
	p.reads(20*time.Second, reading)
	status = onBattery
	p.reads(2*time.Minute, reading)
	status, volts = onLine|power.BOOST, 205
	p.reads(10*time.Minute, reading)
	require.Equal(t, []string{"stop host", "stop nas", "start nas", "start host"}, p.commands)
}

// TestStorageThatComesLateBringsItsHostsWithIt: its start is given up while it imports its pool. The outage is not over before it had half
// an hour for that, and what stands on it is started when it comes.
func TestStorageThatComesLateBringsItsHostsWithIt(t *testing.T) {
	for _, late := range []time.Duration{5 * time.Minute, 2 * time.Hour} {
		p := play(t, uncuttable("a"), aNAS("a"), aHost("host", "nas", "a"), aVM("vm", "host", "nas"))
		states := obeys(p)
		did := p.did
		p.did = func(verb plan.Verb, node string) {
			did(verb, node)
			if verb == plan.Start && node == "nas" {
				states["nas"] = plan.Unreachable
			}
		}
		say := supplies{"a": {onLine, 7200, false}}
		p.begin(say)
		say["a"].status = onBattery
		p.goOn(90*time.Second, say)
		say["a"].status = onLine
		p.until(say, func() bool { return p.saidOf("for a node whose start was given up") })
		require.NotContains(t, p.commands, "start host")
		p.goOn(late, say)
		states["nas"] = plan.On
		p.goOn(5*time.Minute, say)
		require.False(t, p.e.Open())
		if late < 30*time.Minute {
			require.Equal(t, "start vm", p.commands[len(p.commands)-1])
			require.True(t, p.saidOf("everything that was on is on again"), p.told)
		} else {
			require.NotContains(t, p.commands, "start host")
			require.True(t, p.saidOf("not brought back: nas, host, vm"), p.told)
		}
	}
}

// TestMainsThatHuntFillNoBattery: four seconds away, two there, for as long as the battery lasts. Flaps begin no stage; that the battery
// has run down does.
func TestMainsThatHuntFillNoBattery(t *testing.T) {
	p := play(t, uncuttable("a"), aNAS("a"), aHost("host", "nas", "a"))
	p.settings.Policy.Shutdown = power.Condition{
		Kind: power.Any,
		Of:   []power.Condition{{Kind: power.OnBattery, For: 30 * time.Second}, {Kind: power.SlackBelow, For: 2 * time.Minute}},
	}
	p.e = engine.New(p.settings)
	obeys(p)
	say := supplies{"a": {onLine, 7200, false}}
	p.begin(say)
	hunt := func(left float64) {
		say["a"].left = left
		for range 15 {
			say["a"].status = onBattery
			p.goOn(4*time.Second, say)
			say["a"].status = onLine
			p.goOn(2*time.Second, say)
		}
	}
	hunt(7200)
	require.Empty(t, p.commands)
	hunt(100)
	require.Equal(t, []string{"stop host", "stop nas"}, p.commands)
}

// TestAnAbortHoldsNobodyUpElsewhere: the failure of one UPS is called off, with a cache behind it that stays as it is. When another fails
// later, what hangs on that goes down.
func TestAnAbortHoldsNobodyUpElsewhere(t *testing.T) {
	p := play(t, uncuttable("a"), uncuttable("b"), aNAS("a"), aCache("cache", "nas"), aHost("host", "", "b"), aVM("vm", "host"))
	obeys(p)
	say := supplies{"a": {onLine, 900, false}, "b": {onLine, 900, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(6*time.Second, say)
	p.apply(engine.Order{Verb: ledger.Abort, By: "op"})
	p.goOn(time.Minute, say)
	say["b"].status = onBattery
	p.goOn(2*time.Minute, say)
	require.Equal(t, []string{"stop vm", "stop host"}, p.commands)
}

// TestAnAbortIsForWhatMayStillTurn: one UPS was cut hours ago. That another can't be called off for that would be a surprise.
func TestAnAbortIsForWhatMayStillTurn(t *testing.T) {
	p := play(t, aSupply("a"), aSupply("b"), aHost("host-a", "", "a"), aHost("host-b", "", "b"))
	obeys(p)
	say := supplies{"a": {onLine, 900, false}, "b": {onLine, 9000, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(2*time.Minute, say)
	say["a"].status = isOff
	p.goOn(2*time.Hour, say)
	say["b"].status = onBattery
	p.goOn(4*time.Second, say)
	p.apply(engine.Order{Verb: ledger.Abort, By: "op"})
	require.True(t, p.saidOf("nothing more is shut down for b until mains power is back there"), p.told)
	p.goOn(2*time.Minute, say)
	require.NotContains(t, p.commands, "stop host-b")
}

// TestAnOutputThatStaysOffIsToldOf: after its cut the mains are back, and the UPS waits for a button. Whoever is to press it hears of it,
// once.
func TestAnOutputThatStaysOffIsToldOf(t *testing.T) {
	p := play(t, aSupply("a"), aNAS("a"), aHost("host", "nas", "a"))
	states := obeys(p)
	did := p.did
	p.did = func(verb plan.Verb, node string) {
		if did(verb, node); verb == plan.Cut {
			states["a"] = plan.Stopping
		}
	}
	say := supplies{"a": {onLine, 1800, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool { return states["a"] == plan.Stopping })
	states["a"], states["nas"], states["host"] = plan.Off, plan.Unreachable, plan.Unreachable
	say["a"].status = isOff
	p.goOn(10*time.Minute, say)
	require.False(t, p.saidOf("switches it on"))
	say["a"].status, p.told = power.OL|power.OFF, nil
	p.goOn(time.Minute, say)
	require.False(t, p.saidOf("switches it on"))
	p.goOn(time.Hour, say)
	require.Len(t, p.told, 1, p.told)
	require.True(t, p.saidOf("the mains of a are back, but its output is still off"))
}

// TestASwitchThatSomethingAnswersBehindIsThere: the UPS of the switch is not heard, so that it may be dark. The host that took its stop and
// fell silent is off all the same where the storage, behind the same switch, goes on answering, and is not where that falls silent too.
func TestASwitchThatSomethingAnswersBehindIsThere(t *testing.T) {
	for _, dark := range []bool{false, true} {
		host := aHost("host", "nas", "a")
		host.OffAfter, host.DependsOn = 30*time.Second, append(host.DependsOn, "switch")
		nas := aNAS("a")
		nas.DependsOn, nas.OffAfter = []string{"switch"}, 30*time.Second
		p := play(t, aSupply("a"), aSupply("b"), aNode("switch", plan.Passive, 0, []string{"b"}, nil), nas, host)
		states := obeys(p)
		answer := p.answer
		p.answer = func(node string) plan.State {
			if state := answer(node); state != plan.Off && (!dark || states["host"] != plan.Off) {
				return state
			}
			return plan.Unreachable
		}
		say := supplies{"a": {onLine, 7200, false}, "b": {onLine, 7200, false}}
		p.begin(say)
		say["a"].status = onBattery
		p.goOn(5*time.Second, say)
		say["b"].deaf = true
		p.goOn(4*time.Minute, say)
		if dark {
			require.NotContains(t, p.commands, "stop nas")
			continue
		}
		require.Equal(t, []string{"stop host", "stop nas"}, p.commands[:min(2, len(p.commands))])
	}
}

// TestAListThatIsReadAnewIsNoEnd: a hypervisor that starts its management anew does not know a VM for some seconds. That VM runs, and what
// it runs on is not stopped under it. One that is gone for good is in nobody's way for long.
func TestAListThatIsReadAnewIsNoEnd(t *testing.T) {
	for _, forGood := range []bool{false, true} {
		p := play(t, aSupply("a"), aHost("host", "", "a"), aVM("vm", "host"))
		states := obeys(p)
		answer, p0 := p.answer, p.now
		told := time.Time{}
		p.did = func(_ plan.Verb, node string) {
			if node == "vm" && told.IsZero() {
				told = p.now
			}
			if node == "host" {
				states[node] = plan.Off
			}
		}
		p.answer = func(node string) plan.State {
			switch since := p.now.Sub(told); {
			case node != "vm" || told.IsZero():
				return answer(node)
			case forGood, since < 4*time.Second:
				return plan.Gone
			}
			return plan.Stopping
		}
		say := supplies{"a": {onLine, 7200, false}}
		p.begin(say)
		say["a"].status = onBattery
		p.goOn(45*time.Second, say)
		require.Equal(t, []string{"stop vm"}, p.commands, "after %s", p.now.Sub(p0))
		if forGood {
			p.goOn(time.Minute, say)
			require.Contains(t, p.commands, "stop host")
		}
	}
}

// TestABatteryThatEndsUnderAnOrderIsToldOf: a person keeps everything on, and has to know what comes of it.
func TestABatteryThatEndsUnderAnOrderIsToldOf(t *testing.T) {
	for verb, words := range map[ledger.OrderVerb]string{ledger.Hold: "`ebbtide resume` ends the hold", ledger.Abort: "shut down by hand"} {
		p := play(t, aSupply("a"), aHost("host", "", "a"))
		say := supplies{"a": {onLine, 600, false}}
		p.begin(say)
		say["a"].status = onBattery
		p.goOn(20*time.Second, say)
		p.apply(engine.Order{Verb: verb, By: "op"})
		p.goOn(time.Minute, say)
		require.False(t, p.saidOf("its battery is giving out"), p.told)
		p.goOn(8*time.Minute+30*time.Second, say)
		require.True(t, p.saidOf(words), p.told)
		require.Empty(t, p.commands)
		if verb == ledger.Hold {
			require.True(t, p.saidOf("its battery may not last for the rest of the plan"), p.told)
			require.True(t, p.saidOf("stage shutdown is due for a: "), p.told)
			require.False(t, p.saidOf("stage shutdown starts"), p.told)
			require.Contains(t, p.e.View().Supplies[0].Why, "the shutdown is due (")
		}
	}
}

// TestALowBatteryThatThePolicyDoesNotAskForIsToldOf: a UPS calls its battery low beside a runtime that is too good to be true.
func TestALowBatteryThatThePolicyDoesNotAskForIsToldOf(t *testing.T) {
	p := play(t, aSupply("a"), aHost("host", "", "a"))
	p.settings.Policy.Shutdown = power.Condition{Kind: power.SlackBelow}
	p.e = engine.New(p.settings)
	say := supplies{"a": {onLine, 7200, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(time.Minute, say)
	require.False(t, p.saidOf("its battery is giving out"), p.told)
	say["a"].status = onBattery | power.LB
	p.goOn(20*time.Second, say)
	require.True(t, p.saidOf("its shutdown has not started (trigger: "), p.told)
	require.Empty(t, p.commands)
	p.apply(engine.Order{Verb: ledger.Go, By: "op"})
	p.goOn(time.Minute, say)
	require.Equal(t, []string{"stop host"}, p.commands[:1])
}

// TestAHoldFromBeforeIsSaidAgain: it was given for one failure, and holds in the next as well.
func TestAHoldFromBeforeIsSaidAgain(t *testing.T) {
	p := play(t, aSupply("a"), aSupply("b"), aHost("host", "", "a"), aHost("other", "", "b"))
	say := supplies{"a": {onLine, 7200, false}, "b": {onLine, 7200, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(10*time.Second, say)
	p.apply(engine.Order{Verb: ledger.Hold, By: "op"})
	say["a"].status = onLine
	p.goOn(time.Minute, say)
	require.True(t, p.saidOf("the outage is already on hold, so nothing is started on it"), p.told)
	say["b"].status = onBattery
	p.goOn(time.Minute, say)
	require.True(t, p.saidOf("the outage is already on hold, so nothing is stopped for it"), p.told)
	require.Empty(t, p.commands)
}

// TestAHostInItsSelfTestIsPoweredOffInTheReserve: the mains fail again while it comes up, and its storage can't be stopped before it is
// off.
func TestAHostInItsSelfTestIsPoweredOffInTheReserve(t *testing.T) {
	guest := aVM("guest", "host")
	guest.Bound = true
	p := play(t, aSupply("a"), aNAS("a"), aHost("host", "nas", "a"), guest)
	p.settings.Policy.Reserve = 2 * time.Minute
	p.e = engine.New(p.settings)
	obeys(p)
	say := supplies{"a": {onLine, 3600, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool { return slices.Contains(p.commands, "cut a") })
	say["a"].status = onBattery | power.OFF
	p.goOn(30*time.Second, say)
	say["a"].status, say["a"].left = onLine, 300
	p.until(say, func() bool { return slices.Contains(p.commands, "start host") })
	answer := p.answer
	p.answer = func(node string) plan.State {
		switch st := answer(node); {
		case node == "guest":
			return plan.Unreachable
		case node == "host" && st == plan.On:
			return plan.Starting
		default:
			return st
		}
	}
	p.reached = func(_ plan.Verb, node string) ledger.Outcome {
		if node == "guest" {
			return ledger.Unreached
		}
		return ledger.Done
	}
	p.goOn(5*time.Second, say)
	p.commands = nil
	say["a"].status, say["a"].left = onBattery, 180
	p.goOn(3*time.Minute, say)
	told := slices.DeleteFunc(slices.Clone(p.commands), func(c string) bool { return strings.HasSuffix(c, " guest") })
	require.Equal(t, []string{"force host", "stop nas", "cut a"}, told[:3], p.commands)
}

// TestAGuestOfAHostThatIsOffAfterARestart: it was proven off before, can't be asked any more, and nothing waits for it.
func TestAGuestOfAHostThatIsOffAfterARestart(t *testing.T) {
	guest := aVM("guest", "host")
	guest.Bound = true
	host := aHost("host", "nas", "a")
	host.OffAfter = 5 * time.Second
	p := play(t, aSupply("a"), aNAS("a"), host, guest)
	obeys(p)
	say := supplies{"a": {onLine, 3600, false}}
	p.begin(say)
	answer := p.answer
	p.answer = func(node string) plan.State {
		if node == "host" && answer(node) == plan.Off || node == "guest" && answer("host") == plan.Off {
			return plan.Unreachable
		}
		return answer(node)
	}
	p.reached = func(_ plan.Verb, node string) ledger.Outcome {
		if p.answer(node) == plan.Unreachable {
			return ledger.Unreached
		}
		return ledger.Done
	}
	say["a"].status = onBattery
	p.until(say, func() bool { return slices.Contains(p.commands, "stop host") })
	p.goOn(time.Second, say)
	p.commands = nil
	p.crash()
	p.goOn(90*time.Second, say)
	require.Equal(t, []string{"stop nas", "cut a"}, p.commands[:2])
}

// TestAVMThatIsStartedOnAnotherHost: it was proven off, and whoever manages the hosts has started it on the one whose mains are there. When
// those fail too, it goes before that host.
func TestAVMThatIsStartedOnAnotherHost(t *testing.T) {
	p := play(t, aSupply("a"), aSupply("b"), aNAS("a", "b"), aHost("host-a", "nas", "a"), aHost("host-b", "nas", "b"), aVM("vm", "host-a", "nas"))
	obeys(p)
	say := supplies{"a": {onLine, 7200, false}, "b": {onLine, 7200, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool { return slices.Contains(p.commands, "cut a") })
	say["a"].status = onBattery | power.OFF
	p.goOn(10*time.Minute, say)
	answer, elsewhere := p.answer, true
	p.answer = func(node string) plan.State {
		if node == "vm" && elsewhere {
			return plan.On
		}
		return answer(node)
	}
	did := p.did
	p.did = func(verb plan.Verb, node string) {
		elsewhere = elsewhere && (node != "vm" || verb != plan.Stop)
		did(verb, node)
	}
	p.goOn(70*time.Second, say)
	p.commands = nil
	say["b"].status = onBattery
	p.goOn(3*time.Minute, say)
	require.Equal(t, []string{"stop vm", "stop host-b", "stop nas"}, p.commands[:3])
}

// TestACutThatIsNotMadeAndNotNeeded: the mains are back before it is seen that the UPS does not make it, and something else starts all that
// is off: it is not cut once more, and nothing waits for that.
func TestACutThatIsNotMadeAndNotNeeded(t *testing.T) {
	p := play(t, aSupply("a"), aNAS("a"), aHost("host", "nas", "a"))
	obeys(p)
	answer := p.answer
	p.answer = func(node string) plan.State {
		if node == "a" {
			return plan.On
		}
		return answer(node)
	}
	p.seen = func(node string, seen *plan.Observation) {
		if node == "a" && slices.Contains(p.commands, "cut a") {
			seen.State, seen.RemainFor = plan.Stopping, 5*time.Second
		}
	}
	say := supplies{"a": {onLine, 3600, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool { return slices.Contains(p.commands, "cut a") })
	p.goOn(3*time.Second, say)
	p.seen = nil
	say["a"].status = onLine
	p.goOn(90*time.Second, say)
	require.Equal(t, []string{"start nas", "start host"}, p.commands[len(p.commands)-2:], p.commands)
	require.Equal(t, 1, strings.Count(strings.Join(p.commands, " "), "cut a"))
}

// TestWhatRefusesIsAskedOnceMore: a UPS or a machine that is at something else for a moment. Before anything worse is done, or nothing at
// all, it is told again.
func TestWhatRefusesIsAskedOnceMore(t *testing.T) {
	nas := aNAS("a")
	p := play(t, aSupply("a"), nas, aHost("host", "nas", "a"))
	obeys(p)
	refused := map[string]int{}
	p.reached = func(_ plan.Verb, node string) ledger.Outcome {
		if refused[node]++; refused[node] == 1 {
			return ledger.Refused
		}
		return ledger.Done
	}
	did := p.did
	p.did = func(verb plan.Verb, node string) {
		if refused[node] > 1 {
			did(verb, node)
		}
	}
	say := supplies{"a": {onLine, 7200, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(3*time.Minute, say)
	require.Equal(t, []string{"stop host", "stop host", "stop nas", "stop nas", "cut a", "cut a"}, p.commands[:min(6, len(p.commands))])
}

// TestAPoweroffThatDidNothingIsToldAgain: it was accepted, and nothing came of it. Nothing else takes such a machine down.
func TestAPoweroffThatDidNothingIsToldAgain(t *testing.T) {
	p := play(t, aSupply("a"), aNAS("a"))
	states := obeys(p)
	told := 0
	p.did = func(_ plan.Verb, node string) {
		if told++; told == 2 {
			states[node] = plan.Off
		}
	}
	say := supplies{"a": {onLine, 7200, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(3*time.Minute, say)
	require.Equal(t, []string{"stop nas", "stop nas", "cut a"}, p.commands[:min(3, len(p.commands))])
}

// TestAGateThatStaysShutIsToldOf: it waits for a charge that a worn battery never comes to.
func TestAGateThatStaysShutIsToldOf(t *testing.T) {
	p := play(t, aNode("a", plan.Supply, 0, nil, nil), aHost("host", "", "a"))
	p.settings.Policy.Restore = power.Condition{Kind: power.ChargeAbove, Than: 60}
	p.e = engine.New(p.settings)
	obeys(p)
	charge := 100.0
	status := onLine
	reading := func() power.Reading {
		return power.Reading{Supply: "a", Status: status, Charge: power.Known(charge), Runtime: power.Known(900), Load: power.Known(50), Voltage: power.Known(230)}
	}
	p.apply(engine.Started{})
	p.reads(time.Minute, reading)
	status, charge = onBattery, 50
	p.reads(2*time.Minute, reading)
	status = onLine
	p.reads(time.Hour, reading)
	require.False(t, p.saidOf("its recharge gate is still closed"), p.told)
	p.reads(90*time.Minute, reading)
	require.True(t, p.saidOf("its recharge gate is still closed. Condition: charge is at least 60%"), p.told)
}

// TestAGateThatSilencesKeepShutIsToldOf: each silence of the UPS begins the time on line anew that the gate waits for. Each night is told
// of for itself.
func TestAGateThatSilencesKeepShutIsToldOf(t *testing.T) {
	p := play(t, aSupply("a"), aHost("host", "", "a"))
	p.settings.Policy.Restore = power.Condition{Kind: power.Online, For: 10 * time.Minute}
	p.e = engine.New(p.settings)
	obeys(p)
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	for range 2 {
		say["a"].status = onBattery
		p.goOn(2*time.Minute, say)
		say["a"].status = onLine
		p.goOn(5*time.Minute, say)
		require.False(t, p.saidOf("still closed"), p.told)
		for range 3 * 12 {
			say["a"].deaf = true
			p.goOn(20*time.Second, say)
			say["a"].deaf = false
			p.goOn(5*time.Minute, say)
		}
		require.True(t, p.saidOf("still closed, and each time it falls silent its time on line starts again from zero"), p.told)
		p.goOn(3*time.Hour, say)
		p.told = nil
	}
}

// TestASlowEstimateIsTaken: each answer takes longer than it takes until the next question.
func TestASlowEstimateIsTaken(t *testing.T) {
	p := play(t, aSupply("a"), aHost("host", "", "a"))
	p.settings.Policy.Shutdown = power.Condition{Kind: power.SlackBelow, For: time.Minute}
	p.e = engine.New(p.settings)
	var late []foresight.Estimate
	p.apply(engine.Started{})
	for range 400 {
		p.now = p.now.Add(time.Second)
		for _, ev := range []engine.Event{engine.Woke{}, engine.Read{Reading: power.Reading{Supply: "a", Status: onBattery, Runtime: power.Known(500 - float64(len(late))), Load: power.Known(50)}}} {
			for _, one := range p.e.Apply(p.now, ev) {
				switch f := one.(type) {
				case effect.Append:
					p.records = append(p.records, f.Record)
				case effect.Probe:
					p.e.Apply(p.now, engine.Finished{Op: f.Op, Seen: plan.Observation{State: plan.On}})
				case effect.Estimate:
					late = append(late, foresight.Estimate{
						Serial: f.Serial, Need: []time.Duration{10 * time.Minute}, Hosts: time.Second,
						Tail: time.Second, Whole: time.Minute,
					})
				default:
				}
			}
		}
		if n := len(late); n > 1 {
			p.e.Apply(p.now, engine.Estimated(late[n-2]))
		}
	}
	require.True(t, slices.ContainsFunc(p.records, func(r ledger.Record) bool {
		return r.Kind == ledger.Triggered &&
			r.Stage == plan.ShutdownStage
	}))
}

// TestKilledAsAHostIsToldToGo: the answer to its stop is lost, and it goes. It answered right before, so that its silence counts as after a
// stop that it took. One that did not answer then may be silent for anything.
func TestKilledAsAHostIsToldToGo(t *testing.T) {
	host := aHost("host", "nas", "a")
	host.Can, host.OffAfter = plan.VerbSet(plan.Stop, plan.Start), 10*time.Second
	p := play(t, aSupply("a"), aNAS("a"), host)
	states := obeys(p)
	answer, killed := p.answer, false
	p.answer = func(node string) plan.State {
		if state := answer(node); node != "host" || state != plan.Off {
			return state
		}
		return plan.Unreachable
	}
	say := supplies{"a": {onLine, 7200, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool {
		intents := slices.ContainsFunc(p.records, func(r ledger.Record) bool { return r.Kind == ledger.Intent && r.Node == "host" })
		if intents && !killed {
			killed = true
			p.records = slices.DeleteFunc(p.records, func(r ledger.Record) bool { return r.Kind == ledger.Accepted && r.Node == "host" })
			p.crash()
		}
		return killed
	})
	require.Equal(t, plan.Off, states["host"])
	p.goOn(90*time.Second, say)
	require.Contains(t, p.commands, "stop nas")
}

// TestASecondPoweroffThatIsRefused: the first is at work, and refuses another. Its silence proves it off all the same.
func TestASecondPoweroffThatIsRefused(t *testing.T) {
	nas := aNAS("a")
	nas.OffAfter = 20 * time.Second
	p := play(t, aSupply("a"), nas)
	gone := time.Time{}
	p.reached = func(verb plan.Verb, node string) ledger.Outcome {
		if verb == plan.Stop && slices.Contains(p.commands[:len(p.commands)-1], "stop "+node) {
			gone = p.now.Add(20 * time.Second)
			return ledger.Refused
		}
		return ledger.Done
	}
	p.answer = func(node string) plan.State {
		if node == "nas" && !gone.IsZero() && p.now.After(gone) {
			return plan.Unreachable
		}
		return plan.On
	}
	say := supplies{"a": {onLine, 7200, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(3*time.Minute+30*time.Second, say)
	require.Equal(t, []string{"stop nas", "stop nas", "cut a"}, p.commands[:min(3, len(p.commands))])
	require.False(t, p.saidOf("not proven"), p.told)
}

// TestAGaugeThatSaysFullAfterARestart: Ebbtide's own machine goes down in each outage. What its battery had come to is on record.
func TestAGaugeThatSaysFullAfterARestart(t *testing.T) {
	p := play(t, aNode("a", plan.Supply, 0, nil, nil), aHost("host", "", "a"))
	p.settings.Policy.Restore = power.Condition{Kind: power.ChargeAbove, Than: 60}
	p.e = engine.New(p.settings)
	obeys(p)
	charge, status := 100.0, onLine
	reading := func() power.Reading {
		return power.Reading{Supply: "a", Status: status, Charge: power.Known(charge), Runtime: power.Known(20 * charge), Load: power.Known(50), Voltage: power.Known(230)}
	}
	p.apply(engine.Started{})
	p.reads(time.Minute, reading)
	status = onBattery
	for ; charge > 20; charge -= 10 {
		p.reads(time.Minute, reading)
	}
	status, charge = onLine, 100
	p.reads(8*time.Second, reading) // back, and on record
	p.crash()
	p.reads(5*time.Minute, reading)
	require.NotContains(t, p.commands, "start host")
	p.reads(10*time.Minute, reading)
	require.Contains(t, p.commands, "start host")
}

// TestAnAnswerOfTheEstateBeforeIsOld: it was asked for before a reload. What is asked after that has a number of its own, so that no late
// answer is taken for the one to it, or for a newer one.
func TestAnAnswerOfTheEstateBeforeIsOld(t *testing.T) {
	p := play(t, aSupply("a"), aHost("host", "", "a"))
	asks := func(ev engine.Event) int {
		for _, one := range p.e.Apply(p.now, ev) {
			if ask, ok := one.(effect.Estimate); ok {
				return ask.Serial
			}
		}
		return 0
	}
	before := asks(engine.Started{})
	require.Positive(t, before)
	require.Greater(t, asks(engine.Reload{Estate: p.settings.Estate, Policy: p.settings.Policy, Supplies: p.settings.Supplies}), before)
}

// TestOFFSinceItsFirstWordWasMeant: some UPSes always say OFF. After a restart one that says it on battery may be one of these, until it
// speaks without: then its output was off, and what hangs on it lost its power.
func TestOFFSinceItsFirstWordWasMeant(t *testing.T) {
	p := play(t, aSupply("a"), aHost("host", "", "a"), aVM("vm", "host"))
	say := supplies{"a": {onLine, 7200, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(4*time.Second, say)
	p.crash()
	say["a"].deaf = true
	p.goOn(4*time.Minute, say)
	say["a"].deaf, say["a"].status = false, onBattery|power.OFF
	p.goOn(20*time.Second, say)
	off := func(r ledger.Record) bool { return r.Kind == ledger.Mains && r.Cause == ledger.Dark }
	require.False(t, slices.ContainsFunc(p.records, off))
	say["a"].status = onLine
	p.goOn(4*time.Second, say)
	require.True(t, slices.ContainsFunc(p.records, off))
	require.True(t, slices.ContainsFunc(p.records, func(r ledger.Record) bool {
		return r.Kind == ledger.Mains &&
			r.Reason == "its output is on again"
	}))
}

// TestAShortSilenceIsNoCycle: a driver or a card that starts anew is silent for half a minute. A battery that lasts for long has not given
// out meanwhile, so that what took its stop and does not answer is off.
func TestAShortSilenceIsNoCycle(t *testing.T) {
	for left, unseen := range map[float64]bool{7200: false, 130: true} {
		p := play(t, aSupply("a"), aNAS("a"), aHost("host", "nas", "a"))
		say := supplies{"a": {onLine, left, false}}
		p.begin(say)
		say["a"].status = onBattery
		p.goOn(40*time.Second, say)
		say["a"].deaf = true
		p.goOn(30*time.Second, say)
		say["a"].deaf, say["a"].status = false, onLine
		p.goOn(10*time.Second, say)
		is := func(r ledger.Record) bool {
			return r.Kind == ledger.Mains && (r.Cause == ledger.Unseen || r.Cause == ledger.Cycled)
		}
		require.Equal(t, unseen, slices.ContainsFunc(p.records, is), "%v s left", left)
	}
}

// TestAVMWaitsForTheStorageOfItsHost: a host that comes up with its power is on before the storage that its VMs live on is.
func TestAVMWaitsForTheStorageOfItsHost(t *testing.T) {
	p := play(t, aNode("a", plan.Supply, 0, nil, nil), aNAS("a"), aHost("host", "nas", "a"), aVM("vm", "host"))
	states := map[string]plan.State{"nas": plan.On, "host": plan.On, "vm": plan.On}
	p.answer = func(node string) plan.State { return states[node] }
	p.did = func(verb plan.Verb, node string) {
		if verb == plan.Stop || verb == plan.Force {
			states[node] = plan.Off
		}
	}
	say := supplies{"a": {onLine, 7200, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool { return slices.Contains(p.commands, "stop nas") })
	p.goOn(20*time.Second, say)
	say["a"].status = onLine
	states["host"] = plan.On // by itself
	p.until(say, func() bool { return slices.Contains(p.commands, "start nas") })
	p.goOn(20*time.Second, say)
	require.NotContains(t, p.commands, "start vm")
	states["nas"] = plan.On
	p.until(say, func() bool { return slices.Contains(p.commands, "start vm") })
}

// goesDown lets the mains of a fail, and a nas and a host on it go down as they are told, until a command is given. What is off shows so.
func (p *played) goesDown(off plan.State, until string) (states map[string]plan.State, say supplies) {
	p.t.Helper()
	states, say = map[string]plan.State{"nas": plan.On, "host": plan.On, "a": plan.On}, supplies{"a": {onLine, 7200, false}}
	p.answer = func(node string) plan.State { return states[node] }
	p.did = func(verb plan.Verb, node string) {
		states[node] = map[plan.Verb]plan.State{plan.Stop: off, plan.Cut: plan.Stopping, plan.Start: plan.On}[verb]
	}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool { return slices.Contains(p.commands, until) })
	return states, say
}

// TestACutThatNothingNeedsIsGivenUp: Ebbtide is killed as a cut goes on record, and its mains are back before it is. A host can't be proven
// off any more. Where it starts without a cycle there is nothing to wait for.
func TestACutThatNothingNeedsIsGivenUp(t *testing.T) {
	for _, byPower := range []bool{false, true} {
		host := aHost("host", "nas", "a")
		host.ByPower = byPower
		p := play(t, aSupply("a"), aNAS("a"), host)
		states, say := p.goesDown(plan.Off, "cut a")
		begun := slices.IndexFunc(p.records, func(r ledger.Record) bool { return r.Kind == ledger.Intent && *r.Verb == plan.Cut })
		p.records, p.commands, states["a"], states["host"] = p.records[:begun], nil, plan.On, plan.Unknown
		p.did = nil
		p.crash()
		say["a"].status = onLine
		p.goOn(40*time.Second, say)
		released := func(r ledger.Record) bool { return r.Kind == ledger.Mains && r.Cause == ledger.Released }
		require.Equal(t, !byPower, slices.ContainsFunc(p.records, released), "by power: %v", byPower)
		require.NotContains(t, p.commands, "cut a", "by power: %v", byPower)
	}
}

// TestAShortAbsenceIsNoCycle: Ebbtide is killed when its hosts are off, their mains return, and it is back ten seconds later. A battery
// that lasts for long has not given out meanwhile, so that they are off, and what only its cycle starts has it.
func TestAShortAbsenceIsNoCycle(t *testing.T) {
	host := aHost("host", "nas", "a")
	host.ByPower, host.OffAfter = true, 10*time.Second
	host.Times[plan.Start] = plan.Times{Nominal: 5 * time.Minute, Within: 10 * time.Minute}
	nas := aNAS("a")
	nas.OffAfter = 10 * time.Second
	p := play(t, aSupply("a"), nas, host)
	_, say := p.goesDown(plan.Unreachable, "stop nas")
	p.now = p.now.Add(10 * time.Second)
	say["a"].status = onLine
	p.crash()
	p.until(say, func() bool { return slices.Contains(p.commands, "cut a") })
}

// TestOnBatteryAsBeforeIsNoCycle: a UPS is silent for longer than any card takes, and is on battery when it is heard again, as before. What
// is proven off then stays so when the mains return.
func TestOnBatteryAsBeforeIsNoCycle(t *testing.T) {
	p := play(t, aSupply("a"), aNAS("a"), aHost("host", "nas", "a"))
	say := supplies{"a": {onLine, 7200, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(20*time.Second, say)
	say["a"].deaf = true
	p.goOn(90*time.Second, say)
	say["a"].deaf = false
	p.goOn(30*time.Second, say)
	say["a"].status = onLine
	p.goOn(10*time.Second, say)
	require.False(t, slices.ContainsFunc(p.records, func(r ledger.Record) bool {
		return r.Kind == ledger.Mains && (r.Cause == ledger.Unseen || r.Cause == ledger.Cycled)
	}))
}

// TestWhoIsAskedIsSaid: what waits for a person says for whom, what is to be done, and until when; under a hold what becomes of the
// battery.
func TestWhoIsAskedIsSaid(t *testing.T) {
	p := play(t, aSupply("a"), aNode("doors", plan.Manual, plan.VerbSet(plan.Stop, plan.Start), []string{"a"}, nil))
	say := supplies{"a": {onLine, 7200, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(40*time.Second, say)
	view := p.e.View()
	at := slices.IndexFunc(view.Nodes, func(n engine.NodeView) bool { return n.ID == "doors" })
	require.True(t, view.Nodes[at].Asks)
	require.Regexp(t, "^waiting for someone to do doors by hand and then run `ebbtide confirm doors`; skipped in [0-9]+s$", view.Nodes[at].Why)
	require.Equal(t, view.Nodes[at].Why, view.Waiting)
	p.apply(engine.Order{Verb: ledger.Abort, By: "op"})
	require.Regexp(t, "^not starting: it was aborted by an operator; its battery lasts at least .*, and whatever is on when it gives out loses power; `ebbtide go` starts it anyway$", p.e.View().Supplies[0].Why)
}

// TestAGuestIsStartedWhoseDatabaseHasMoved: the host of a database does not come back, and whoever manages the VMs has started that on
// another. What needs the database is started all the same.
func TestAGuestIsStartedWhoseDatabaseHasMoved(t *testing.T) {
	p := play(t, aSupply("a"), aNAS("a"), aHost("host-a", "nas", "a"), aHost("host-b", "nas", "a"), aVM("db", "host-b", "nas"), aVM("web", "host-a", "nas", "db"))
	states := obeys(p)
	did := p.did
	p.did = func(verb plan.Verb, node string) {
		if node != "host-b" || verb != plan.Start {
			did(verb, node)
		}
	}
	say := supplies{"a": {onLine, 7200, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool { return slices.Contains(p.commands, "cut a") })
	say["a"].status = onBattery | power.OFF
	states["a"] = plan.Off
	p.goOn(3*time.Minute, say)
	say["a"].status, say["a"].left = onLine, 7200
	states["a"] = plan.On
	p.until(say, func() bool { return slices.Contains(p.commands, "start host-a") })
	p.goOn(20*time.Second, say)
	states["db"] = plan.On
	p.goOn(90*time.Minute, say)
	require.Contains(t, p.commands, "start web")
	require.True(t, p.saidOf("not brought back: host-b"))
	require.Nil(t, p.e.Ledger.Outage)
}
