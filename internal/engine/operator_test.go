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
	"ebbtide/internal/want"
)

// obeys has each node do what it is told, and gives how each is: a test may change that.
func obeys(p *played) map[string]plan.State {
	states := map[string]plan.State{}
	p.did = func(verb plan.Verb, node string) {
		switch verb {
		case plan.Stop, plan.Force:
			states[node] = plan.Off
		case plan.Start:
			states[node] = plan.On
		default:
		}
	}
	p.answer = func(node string) plan.State {
		if state, known := states[node]; known {
			return state
		}
		return plan.On
	}
	return states
}

// uncuttable is a supply that takes no command: its load is off until its mains are back.
func uncuttable(id string) plan.Node { return aNode(id, plan.Supply, 0, nil, nil) }

// saidOf reports whether people were told something.
func (p *played) saidOf(words string) bool {
	return slices.ContainsFunc(p.told, func(text string) bool { return strings.Contains(text, words) })
}

// reads gives the engine readings of one supply, made by a test, for a while.
func (p *played) reads(d time.Duration, reading func() power.Reading) {
	p.t.Helper()
	for end := p.now.Add(d); p.now.Before(end); {
		p.now = p.now.Add(500 * time.Millisecond)
		p.apply(engine.Woke{})
		if p.now.UnixMilli()%2000 == 0 {
			p.apply(engine.Read{Reading: reading()})
		}
	}
}

// unfitEstate is a NAS and a host on a UPS that is watched for brown-outs and heat.
func unfitEstate(t *testing.T) *played {
	t.Helper()
	p := play(t, uncuttable("a"), aNAS("a"), aHost("host", "nas", "a"))
	p.settings.Policy.Restore = power.Condition{Kind: power.Online, For: 10 * time.Minute}
	p.settings.Policy.Shutdown = power.Condition{Kind: power.Any, Of: []power.Condition{
		{Kind: power.OnBattery, For: 30 * time.Second}, {Kind: power.Brownout, For: time.Minute}, {Kind: power.TemperatureAbove, Than: 40},
	}}
	p.e = engine.New(p.settings)
	obeys(p)
	p.apply(engine.Started{})
	return p
}

// TestAGateCountsFromWhenASupplyIsFit: ten minutes on line are ten minutes after the heat or the brown-out, and not the hours in which it
// was on line in it.
func TestAGateCountsFromWhenASupplyIsFit(t *testing.T) {
	for name, harm := range map[string]func(*power.Reading){
		"brown-out": func(r *power.Reading) { r.Voltage = power.Known(190) },
		"heat":      func(r *power.Reading) { r.Temperature = power.Known(41) },
	} {
		t.Run(name, func(t *testing.T) {
			p, harms := unfitEstate(t), false
			reading := func() power.Reading {
				r := power.Reading{Supply: "a", Status: onLine, Charge: power.Known(100), Runtime: power.Known(900), Load: power.Known(50), Voltage: power.Known(230), TransferLow: power.Known(200), Temperature: power.Known(25)}
				if harms {
					harm(&r)
				}
				return r
			}
			p.reads(15*time.Minute, reading)
			for range 3 { // it comes and goes
				harms = true
				p.reads(80*time.Second, reading)
				harms = false
				p.reads(time.Minute, reading)
			}
			require.Equal(t, []string{"stop host", "stop nas"}, p.commands)
			p.reads(8*time.Minute, reading)
			require.Len(t, p.commands, 2)
			p.reads(2*time.Minute, reading)
			require.Equal(t, []string{"stop host", "stop nas", "start nas", "start host"}, p.commands)
		})
	}
}

// TestASensorThatDiesOfTheHeatSaysThatItIsHot: what is not told any more is as it was.
func TestASensorThatDiesOfTheHeatSaysThatItIsHot(t *testing.T) {
	p := unfitEstate(t)
	temperature := power.Known(25)
	reading := func() power.Reading {
		return power.Reading{Supply: "a", Status: onLine, Charge: power.Known(100), Runtime: power.Known(900), Load: power.Known(50), Temperature: temperature}
	}
	p.reads(15*time.Minute, reading)
	temperature = power.Known(55)
	p.reads(time.Minute, reading)
	temperature = power.Figure{}
	p.reads(30*time.Minute, reading)
	require.Equal(t, []string{"stop host", "stop nas"}, p.commands)
	temperature = power.Known(25)
	p.reads(11*time.Minute, reading)
	require.Equal(t, []string{"stop host", "stop nas", "start nas", "start host"}, p.commands)
}

// TestASilentUPSIsToldOf: it fails and is never heard again. People are told soon, and again when its battery may have given out. What they
// start by hand then is not stopped for a battery that has long been empty, and their word ends the outage.
func TestASilentUPSIsToldOf(t *testing.T) {
	p := play(t, aSupply("a"), aNAS("a"), aHost("host", "nas", "a"), aVM("vm", "host", "nas"))
	states := obeys(p)
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	require.NotEmpty(t, p.e.Refuses(engine.Order{Verb: ledger.Confirm, Node: "a"}))
	say["a"].status = onBattery
	p.goOn(20*time.Second, say)
	say["a"].deaf = true
	p.goOn(2*time.Minute, say)
	require.True(t, p.saidOf("a: silent for 1m"), p.told)
	p.goOn(time.Hour, say)
	require.True(t, p.saidOf("its battery may have given out"), p.told)
	require.Equal(t, []string{"stop vm", "stop host", "stop nas"}, p.commands)

	for range 3 {
		states["nas"], states["host"], states["vm"] = plan.On, plan.On, plan.On
		p.apply(engine.Observed{Node: "vm", Seen: plan.Observation{State: plan.On}})
		p.goOn(3*time.Minute, say)
	}
	require.Len(t, p.commands, 3, p.commands)
	p.apply(engine.Order{Verb: ledger.Confirm, Node: "a", By: "op"})
	p.goOn(5*time.Minute, say)
	require.False(t, p.e.Open(), p.e.View().Waiting)
	require.Len(t, p.commands, 3, p.commands)
	say["a"].deaf = false // and is on battery
	p.goOn(time.Minute, say)
	require.True(t, p.e.Open())
}

// TestAUPSThatFallsSilentOnLineIsToldOf: a failure would not be heard.
func TestAUPSThatFallsSilentOnLineIsToldOf(t *testing.T) {
	p := play(t, aSupply("a"), aHost("host", "", "a"))
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	say["a"].deaf = true
	p.goOn(4*time.Minute, say)
	require.Empty(t, p.told)
	p.goOn(2*time.Hour, say)
	require.Len(t, p.told, 1)
	say["a"].deaf = false
	p.goOn(10*time.Second, say)
	require.True(t, p.saidOf("a answers again"), p.told)
}

// TestNobodyIsWaitedForInTheReserve: a person who does not answer has no share in it.
func TestNobodyIsWaitedForInTheReserve(t *testing.T) {
	person := aNode("tape", plan.Manual, plan.VerbSet(plan.Stop), nil, []string{"nas"})
	person.Times[plan.Stop] = plan.Times{Nominal: 2 * time.Minute, Within: 15 * time.Minute}
	p := play(t, aSupply("a"), aNAS("a"), aHost("host", "nas", "a"), person)
	obeys(p)
	say := supplies{"a": {onLine, 600, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(9*time.Minute+30*time.Second, say)
	require.Equal(t, []string{"stop host", "stop nas"}, p.commands[:2])
	require.True(t, p.saidOf("only the reserve is left: skipped"), p.told)
}

// TestWhatIsGoneForAMomentIsNotGone: several systems say so of what whoever asks can't see. One such look is neither a snapshot nor a
// proof, nor the end of a start.
func TestWhatIsGoneForAMomentIsNotGone(t *testing.T) {
	estate := func(t *testing.T) (*played, map[string]plan.State, supplies) {
		t.Helper()
		p := play(t, uncuttable("a"), aNAS("a"), aHost("host", "nas", "a"), aVM("vm", "host", "nas"))
		return p, obeys(p), supplies{"a": {onLine, 900, false}}
	}
	once := func(p *played, node string, is func() bool) {
		answer := p.answer
		p.answer = func(asked string) plan.State {
			if asked == node && is() {
				return plan.Gone
			}
			return answer(asked)
		}
	}
	t.Run("in the survey", func(t *testing.T) {
		p, _, say := estate(t)
		var until time.Time
		once(p, "vm", func() bool { return p.now.Before(until) })
		p.begin(say)
		until = p.now.Add(3 * time.Second)
		say["a"].status = onBattery
		p.goOn(90*time.Second, say)
		say["a"].status = onLine
		p.goOn(3*time.Minute, say)
		require.Equal(t, "start vm", p.commands[len(p.commands)-1])
	})
	t.Run("before its stop", func(t *testing.T) {
		p, states, say := estate(t)
		gone := false
		once(p, "host", func() bool { was := gone; gone = false; return was && states["host"] != plan.Off })
		p.begin(say)
		say["a"].status = onBattery
		p.until(say, func() bool { return len(p.commands) > 0 })
		gone = true
		p.goOn(90*time.Second, say)
		require.Equal(t, []string{"stop vm", "stop host", "stop nas"}, p.commands)
	})
	t.Run("as it is to start", func(t *testing.T) {
		p, states, say := estate(t)
		p.begin(say)
		say["a"].status = onBattery
		p.until(say, func() bool { return states["vm"] == plan.Off })
		p.goOn(20*time.Second, say)
		say["a"].status = onLine
		p.reached = func(verb plan.Verb, node string) ledger.Outcome {
			if verb == plan.Start && node == "vm" {
				p.reached = nil
				p.did = nil
				return ledger.NoSuchThing
			}
			return ledger.Done
		}
		p.until(say, func() bool { return p.reached == nil })
		states["vm"] = plan.Off
		obeyed := p.answer
		obeys(p)
		p.answer = obeyed
		p.did = func(verb plan.Verb, node string) {
			if verb == plan.Start {
				states[node] = plan.On
			}
		}
		p.goOn(5*time.Minute, say)
		require.Equal(t, plan.On, states["vm"], p.told)
		require.False(t, p.e.Open())
	})
}

// TestWhatWasOnBeforeIsOfBeforeItsOwnFailure: an outage of another UPS has been open for long, and somebody has powered off for good what
// hangs on the one that fails now.
func TestWhatWasOnBeforeIsOfBeforeItsOwnFailure(t *testing.T) {
	p := play(t, uncuttable("a"), uncuttable("b"), aNAS("a"), aHost("host", "", "b"))
	p.settings.Policy.Restore = power.Condition{Kind: power.Online, For: 10 * time.Minute}
	p.e = engine.New(p.settings)
	states := obeys(p)
	say := supplies{"a": {onLine, 3600, false}, "b": {onLine, 3600, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(90*time.Second, say)
	states["host"] = plan.Unreachable // it has no BMC
	p.goOn(30*time.Minute, say)
	say["b"].status = onBattery
	p.goOn(90*time.Second, say)
	say["a"].status, say["b"].status = onLine, onLine
	p.goOn(15*time.Minute, say)
	require.NotContains(t, p.commands, "start host")
}

// TestAUPSThatTellsNothingOfItsBatteryIsNotEmpty: half a minute without its word says nothing of what hangs on it.
func TestAUPSThatTellsNothingOfItsBatteryIsNotEmpty(t *testing.T) {
	host := aHost("host", "nas", "a")
	host.Times[plan.Start].Within = 15 * time.Minute
	p := play(t, uncuttable("a"), aNAS("a"), host, aVM("vm", "host"))
	states := obeys(p)
	var offAt time.Time
	did := p.did
	p.did = func(verb plan.Verb, node string) {
		if did(verb, node); node == "host" && verb == plan.Stop {
			states[node], offAt = plan.Stopping, p.now.Add(30*time.Second)
		}
	}
	p.apply(engine.Started{})
	reads := func(d time.Duration, link power.Link, status power.Status) {
		p.reads(d, func() power.Reading {
			if !offAt.IsZero() && p.now.After(offAt) {
				states["host"] = plan.Off
			}
			return power.Reading{Supply: "a", Link: link, Status: status}
		})
	}
	reads(10*time.Second, power.Fresh, power.OL)
	reads(35*time.Second, power.Fresh, power.OB)
	reads(24*time.Second, power.Stale, 0)
	reads(time.Minute, power.Fresh, power.OB)
	require.Equal(t, []string{"stop vm", "stop host", "stop nas"}, p.commands)
}

// TestWhatAnswersIsStoppedThoughItIsNotWell: it was given up without having been reached, and its health check fails.
func TestWhatAnswersIsStoppedThoughItIsNotWell(t *testing.T) {
	nas := aNAS("a")
	nas.Healthy = true
	p := play(t, aSupply("a"), nas, aHost("host", "", "a"))
	states, sick := obeys(p), false
	p.seen = func(_ string, seen *plan.Observation) { seen.Healthy = plan.FactOf(!sick) }
	say := supplies{"a": {onLine, 3600, false}}
	p.begin(say)
	states["nas"], sick = plan.Unreachable, true
	p.reached = func(_ plan.Verb, node string) ledger.Outcome {
		if states[node] == plan.Unreachable {
			return ledger.Unreached
		}
		return ledger.Done
	}
	did := p.did
	p.did = func(verb plan.Verb, node string) {
		if states[node] != plan.Unreachable {
			did(verb, node)
		}
	}
	say["a"].status = onBattery
	p.goOn(4*time.Minute, say)
	states["nas"] = plan.On
	p.goOn(2*time.Minute, say)
	require.Equal(t, plan.Off, states["nas"])
}

// TestNothingIsStartedOnABypass: no battery stands behind it.
func TestNothingIsStartedOnABypass(t *testing.T) {
	p := play(t, uncuttable("a"), aNAS("a"), aHost("host", "nas", "a"))
	obeys(p)
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(90*time.Second, say)
	say["a"].status = onLine | power.BYPASS
	p.goOn(10*time.Minute, say)
	require.Equal(t, []string{"stop host", "stop nas"}, p.commands)
	require.Contains(t, p.e.View().Waiting, "on bypass")
	say["a"].status = onLine
	p.goOn(time.Minute, say)
	require.Equal(t, []string{"stop host", "stop nas", "start nas", "start host"}, p.commands)
}

// TestAnAbortIsForTheFailureOfThen: a UPS that fails later is followed as any, and people are told so.
func TestAnAbortIsForTheFailureOfThen(t *testing.T) {
	p := play(t, uncuttable("a"), uncuttable("b"), aHost("host-a", "", "a"), aHost("host-b", "", "b"), aHost("both", "", "a", "b"))
	obeys(p)
	say := supplies{"a": {onLine, 900, false}, "b": {onLine, 900, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(6*time.Second, say)
	p.apply(engine.Order{Verb: ledger.Abort, By: "op"})
	require.True(t, p.saidOf("nothing more is shut down for a until mains power is back there"), p.told)
	require.NotEmpty(t, p.e.Refuses(engine.Order{Verb: ledger.Abort}), "it is aborted")
	p.goOn(2*time.Minute, say)
	say["b"].status = onBattery
	p.goOn(time.Minute, say)
	require.ElementsMatch(t, []string{"stop host-b", "stop both"}, p.commands) // a battery that is left alone is no other feed
	p.apply(engine.Order{Verb: ledger.Go, By: "op"})
	p.goOn(10*time.Second, say)
	require.ElementsMatch(t, []string{"stop host-b", "stop both", "stop host-a"}, p.commands)
}

// TestAStopThatWasTakenAndNotObeyedProvesNothing: it was given up, and the machine was seen on for minutes. That it does not answer then,
// behind a network that is down, is no proof, also after a crash.
func TestAStopThatWasTakenAndNotObeyedProvesNothing(t *testing.T) {
	for _, crash := range []bool{false, true} {
		host := aHost("host", "nas", "a")
		host.Can = plan.VerbSet(plan.Stop, plan.Start)
		host.OffAfter = 30 * time.Second
		p := play(t, aSupply("a"), aNAS("a"), host)
		shows := plan.On
		p.shows("host", &shows)
		say := supplies{"a": {onLine, 7200, false}}
		p.begin(say)
		say["a"].status = onBattery
		p.goOn(40*time.Second, say)
		require.Equal(t, []string{"stop host"}, p.commands)
		shows = plan.Unreachable // by its agent, which ends first
		p.goOn(15*time.Second, say)
		shows = plan.On
		p.goOn(3*time.Minute, say)
		shows = plan.Unreachable
		if crash {
			p.crash()
		}
		p.goOn(5*time.Minute, say)
		require.NotContains(t, p.commands, "stop nas", "after a crash: %v", crash)
	}
}

// TestAnOutageThatWaitsForALateStopSaysSo: a guest took its stop and is on as the mains are back for good. It may be an update that keeps
// it, and so the outage stays open, and says for what.
func TestAnOutageThatWaitsForALateStopSaysSo(t *testing.T) {
	p := play(t, uncuttable("a"), aHost("host", "", "a"), aVM("vm", "host"))
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool { return slices.Contains(p.commands, "stop vm") })
	say["a"].status = onLine
	waits := "waiting to see whether vm still carries out the stop that it accepted: if so, it is started again"
	p.until(say, func() bool { return p.e.View().Waiting == waits })
	p.until(say, func() bool { return !p.e.Open() })
	require.NotContains(t, p.commands, "start vm")
}

// TestAStartThatReachedNobodyIsMadeWhenItCanBe: who manages a guest is away for as long as its start is tried, and answers later.
func TestAStartThatReachedNobodyIsMadeWhenItCanBe(t *testing.T) {
	p := play(t, uncuttable("a"), aHost("host", "", "a"), aVM("vm", "host"))
	states, away := obeys(p), false
	answers, did := p.answer, p.did
	p.did = func(verb plan.Verb, node string) {
		if node != "vm" || !away {
			did(verb, node)
		}
	}
	p.answer = func(node string) plan.State {
		if node == "vm" && away {
			return plan.Unknown
		}
		return answers(node)
	}
	p.reached = func(verb plan.Verb, node string) ledger.Outcome {
		if node == "vm" && verb == plan.Start && away {
			return ledger.Unreached
		}
		return ledger.Done
	}
	say := supplies{"a": {onLine, 900, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool { return states["host"] == plan.Off })
	p.goOn(time.Minute, say)
	say["a"].status, away = onLine, true
	p.until(say, func() bool { return p.e.View().Nodes[2].Waits == want.GivenUp })
	p.goOn(10*time.Minute, say)
	away = false
	p.goOn(20*time.Minute, say)
	require.Equal(t, plan.On, states["vm"], "%v\n%v", p.commands, p.told)
	require.False(t, p.e.Open(), p.e.View().Waiting)
}
