package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// What a crash must not forget: each of these nights is played twice, without a crash and with one, and ends the same.

// killedNight is a night of a UPS a with storage, a host on it (silence proves it off) and a slow box on it that keeps the storage waiting.
type killedNight struct {
	*played
	states map[string]plan.State
	say    supplies
}

// aKilledNight has each node answer what states says of it, and that it is on where that says nothing.
func aKilledNight(p *played, say supplies) *killedNight {
	a := &killedNight{played: p, states: map[string]plan.State{}, say: say}
	p.answer = func(node string) plan.State {
		if s, ok := a.states[node]; ok {
			return s
		}
		return plan.On
	}
	return a
}

func aNightOf(t *testing.T, left float64, within time.Duration, more ...plan.Node) *killedNight {
	t.Helper()
	esx := aHost("esx", "nas", "a")
	esx.OffAfter, esx.Can = 30*time.Second, plan.VerbSet(plan.Stop, plan.Start)
	esx.Times[plan.Stop] = plan.Times{Nominal: within / 2, Within: within}
	box := aNode("box", plan.Other, plan.VerbSet(plan.Stop, plan.Start), []string{"a"}, []string{"nas"})
	box.Times[plan.Stop] = plan.Times{Nominal: 20 * time.Minute, Within: time.Hour}
	p := play(t, append([]plan.Node{aSupply("a"), aNAS("a"), esx, box}, more...)...)
	a := aKilledNight(p, supplies{"a": {onLine, left, false}})
	for i := range more {
		if more[i].Kind == plan.Supply {
			a.say[more[i].ID] = &says{onLine, left, false}
		}
	}
	becomes := map[string]plan.State{"esx": plan.Unreachable, "box": plan.Stopping, "nas": plan.Off, "guest": plan.Unreachable}
	p.did = func(verb plan.Verb, node string) {
		if verb == plan.Stop {
			a.states[node] = becomes[node]
		}
	}
	p.reached = func(_ plan.Verb, node string) ledger.Outcome {
		if a.states[node] == plan.Unreachable {
			return ledger.Unreached
		}
		return ledger.Done
	}
	p.begin(a.say)
	return a
}

func (a *killedNight) is(kind ledger.Kind, node string, verb plan.Verb) bool {
	return slices.ContainsFunc(a.records, func(r ledger.Record) bool {
		return r.Kind == kind && r.Node == node && r.Verb != nil && *r.Verb == verb
	})
}

func (a *killedNight) kill(killed bool, away time.Duration) {
	if killed {
		a.now = a.now.Add(away).Truncate(time.Second)
		a.crash()
		return
	}
	a.goOn(away, a.say)
}

func both(t *testing.T, night func(t *testing.T, killed bool)) {
	t.Run("without a crash", func(t *testing.T) { night(t, false) })
	t.Run("killed", func(t *testing.T) { night(t, true) })
}

// TestOneAnswerOfWhatSilenceHasShownOffAfterACrash: silence has shown the host off. It is switched on, and answers once.
func TestOneAnswerOfWhatSilenceHasShownOffAfterACrash(t *testing.T) {
	both(t, func(t *testing.T, killed bool) {
		a := aNightOf(t, 7200, time.Minute)
		a.say["a"].status = onBattery
		a.until(a.say, func() bool { return a.is(ledger.Proven, "esx", plan.Stop) })
		a.goOn(10*time.Second, a.say)
		once, was := true, a.answer
		a.answer = func(node string) plan.State { // switched on by now; its network is bad
			if node == "esx" && once {
				once = false
				return plan.On
			}
			return was(node)
		}
		a.kill(killed, 5*time.Second)
		a.goOn(time.Minute+30*time.Second, a.say)
		a.states["box"] = plan.Off
		a.goOn(3*time.Minute, a.say)
		require.False(t, once)
		require.NotContains(t, a.commands, "stop nas")
	})
}

// TestOneAnswerOfWhatSilenceHasShownOffBehindAnUnheardUPS: a host that silence has
// shown off, its UPS silent right after the restart, answers once.
func TestOneAnswerOfWhatSilenceHasShownOffBehindAnUnheardUPS(t *testing.T) {
	both(t, func(t *testing.T, killed bool) {
		a := aNightOf(t, 7200, time.Minute)
		a.say["a"].status = onBattery
		a.until(a.say, func() bool { return a.is(ledger.Proven, "esx", plan.Stop) })
		a.goOn(10*time.Second, a.say)
		once, was := true, a.answer
		a.answer = func(node string) plan.State {
			if node == "esx" && once {
				once = false
				return plan.On
			}
			return was(node)
		}
		a.say["a"].deaf = true
		a.kill(killed, 5*time.Second)
		a.goOn(20*time.Second, a.say)
		a.say["a"].deaf = false
		a.goOn(time.Minute, a.say)
		a.states["box"] = plan.Off
		a.goOn(3*time.Minute, a.say)
		require.NotContains(t, a.commands, "stop nas")
	})
}

// TestAGuestThatIsNoVMBootsWithItsHostAfterACrash: a host that was told and fell silent comes again; its guest, which was off, boots
// with it.
func TestAGuestThatIsNoVMBootsWithItsHostAfterACrash(t *testing.T) {
	both(t, func(t *testing.T, killed bool) {
		guest := aNode("guest", plan.Other, plan.VerbSet(plan.Stop, plan.Start), nil, []string{"esx", "nas"})
		guest.Host, guest.OffAfter = "esx", 20*time.Second
		guest.Times[plan.Start] = plan.Times{Nominal: 40 * time.Second, Within: 80 * time.Second}
		a := aNightOf(t, 7200, 5*time.Minute, guest)
		a.say["a"].status = onBattery
		a.until(a.say, func() bool { return a.is(ledger.Accepted, "esx", plan.Stop) })
		from := len(a.records)
		a.goOn(10*time.Second, a.say)
		a.states["esx"] = plan.On
		a.until(a.say, func() bool {
			return slices.ContainsFunc(a.records[from:], func(r ledger.Record) bool { return r.Kind == ledger.Seen })
		})
		n := len(a.commands)
		a.kill(killed, 4*time.Second)
		a.goOn(50*time.Second, a.say)
		require.NotContains(t, a.commands[n:], "stop guest")
		require.NotContains(t, a.commands[n:], "stop esx")
	})
}

// TestAUPSThatFellSilentRightAfterItFailed: the battery gives out meanwhile, and a host that shows as on in its stop
// is back with the mains.
func TestAUPSThatFellSilentRightAfterItFailed(t *testing.T) {
	both(t, func(t *testing.T, killed bool) {
		nap := aNode("nap", plan.Other, plan.VerbSet(plan.Stop, plan.Start), []string{"a"}, nil)
		nap.Times[plan.Stop] = plan.Times{Nominal: 30 * time.Second, Within: time.Minute}
		a := aNightOf(t, 420, 8*time.Minute, nap)
		was := a.did
		a.did = func(verb plan.Verb, node string) {
			was(verb, node)
			if node == "nap" || node == "esx" { // it shows as on while it goes, or does not heed
				a.states[node] = plan.On
			}
		}
		a.say["a"].status = onBattery
		a.goOn(4*time.Second, a.say)
		a.say["a"].deaf = true
		a.until(a.say, func() bool { return a.is(ledger.Intent, "esx", plan.Stop) })
		from := len(a.records)
		a.until(a.say, func() bool { return a.is(ledger.Failed, "nap", plan.Stop) })
		a.goOn(30*time.Second, a.say)
		a.states["esx"], a.states["box"] = plan.Unreachable, plan.Unreachable
		a.kill(killed, 5*time.Second)
		a.say["a"].deaf = false
		a.goOn(50*time.Second, a.say) // it boots, for a minute at most
		isProven := func(r ledger.Record) bool { return r.Kind == ledger.Proven && r.Node == "esx" }
		require.False(t, slices.ContainsFunc(a.records[from:], isProven))
	})
}

// TestALifeThatHeardNobody: Ebbtide is killed in an outage, and comes back after ten minutes, in which a UPS that was well may have
// failed; it is killed again before it hears anything.
func TestALifeThatHeardNobody(t *testing.T) {
	both(t, func(t *testing.T, killed bool) {
		a := aNightOf(t, 420, time.Minute, aSupply("b"), aHost("other", "", "b"))
		a.say["a"].status = onBattery
		a.until(a.say, func() bool { return len(a.records) > 0 })
		a.goOn(2*time.Second, a.say)
		a.now = a.now.Add(10 * time.Minute)
		a.crash()
		if killed {
			a.now = a.now.Add(5 * time.Second)
			a.crash()
		}
		a.goOn(10*time.Second, a.say)
		require.True(t, slices.ContainsFunc(a.records, func(r ledger.Record) bool {
			return r.Kind == ledger.Mains && r.Cause == ledger.Unseen && slices.Contains(r.Supplies, "b")
		}))
	})
}

// TestACacheThatIsDirtyAgainAfterItsFlush: a cache was flushed, and is seen dirty after that; it is silent after the restart.
func TestACacheThatIsDirtyAgainAfterItsFlush(t *testing.T) {
	both(t, func(t *testing.T, killed bool) {
		a := aNightOf(t, 7200, time.Minute, aCache("cache", "nas"))
		protected, clean, flushes := plan.No, plan.No, 0
		a.seen = func(node string, seen *plan.Observation) {
			if node == "cache" {
				seen.Protected, seen.Clean = protected, clean
			}
		}
		was := a.did
		a.did = func(verb plan.Verb, node string) {
			was(verb, node)
			switch verb {
			case plan.Protect:
				protected = plan.Yes
			case plan.Flush:
				if flushes++; flushes == 1 {
					clean = plan.Yes
				}
			default:
			}
		}
		a.goOn(10*time.Minute, a.say)
		a.say["a"].status = onBattery
		a.until(a.say, func() bool { return a.is(ledger.Proven, "cache", plan.Flush) && a.is(ledger.Proven, "esx", plan.Stop) })
		clean = plan.No
		a.goOn(2*time.Minute, a.say)
		a.states["box"] = plan.Off // the storage asks its users, and finds it dirty
		a.goOn(20*time.Second, a.say)
		a.states["cache"] = plan.Unreachable
		a.kill(killed, 5*time.Second)
		a.goOn(2*time.Minute, a.say)
		require.NotContains(t, a.commands, "stop nas")
	})
}

// TestWhatIsBackBehindAnEmptyUnheardUPS: a UPS is silent until long after its battery has given out by all that is reckoned; a host
// that was off is on again. Nobody stops it.
func TestWhatIsBackBehindAnEmptyUnheardUPS(t *testing.T) {
	both(t, func(t *testing.T, killed bool) {
		a := aNightOf(t, 300, time.Minute)
		a.say["a"].status = onBattery
		a.until(a.say, func() bool { return a.is(ledger.Proven, "esx", plan.Stop) })
		a.say["a"].deaf = true
		a.goOn(8*time.Minute, a.say)
		a.states["esx"], a.states["box"], a.states["nas"] = plan.On, plan.On, plan.On
		a.goOn(30*time.Second, a.say)
		n := len(a.commands)
		a.kill(killed, 5*time.Second)
		a.goOn(4*time.Minute, a.say)
		require.NotContains(t, a.commands[n:], "stop esx")
	})
}

// TestASwitchThatBootsAfterACrash: the switch before a host has had its power back and boots; the host, on another UPS, has taken its
// stop, and is on.
func TestASwitchThatBootsAfterACrash(t *testing.T) {
	both(t, func(t *testing.T, killed bool) {
		sw := aNode("switch", plan.Passive, 0, []string{"b"}, nil)
		sw.Times[plan.Start] = plan.Times{Nominal: 2 * time.Minute, Within: 4 * time.Minute}
		esx := aHost("esx", "nas", "a")
		esx.DependsOn = []string{"nas", "switch"}
		esx.OffAfter, esx.Can = 30*time.Second, plan.VerbSet(plan.Stop, plan.Start)
		esx.Times[plan.Stop] = plan.Times{Nominal: 5 * time.Minute, Within: 10 * time.Minute}
		p := play(t, aSupply("a"), aSupply("b"), aNAS("a"), sw, esx)
		a := aKilledNight(p, supplies{"a": {onLine, 3600, false}, "b": {onLine, 3600, false}})
		p.did = func(verb plan.Verb, node string) {
			if verb == plan.Stop && node == "nas" {
				a.states["nas"] = plan.Off
			}
		}
		p.begin(a.say)
		a.say["a"].status, a.say["b"].status = onBattery, onBattery
		a.until(a.say, func() bool { return a.is(ledger.Accepted, "esx", plan.Stop) })
		a.goOn(10*time.Second, a.say)
		a.say["b"].status, a.states["esx"], a.states["b"] = isOff, plan.Unreachable, plan.Off
		a.goOn(6*time.Second, a.say)
		a.say["b"].status, a.states["b"] = onBattery, plan.On
		a.goOn(32*time.Second, a.say)
		a.kill(killed, 4*time.Second)
		a.goOn(130*time.Second, a.say)
		require.NotContains(t, a.commands, "stop nas")
	})
}

// TestWhatIsOffAndStopsByItsBMC: silence has shown the host off; somebody switches it on, and its BMC says so, while nothing else
// answers: it boots. Then the BMC is silent too.
func TestWhatIsOffAndStopsByItsBMC(t *testing.T) {
	both(t, func(t *testing.T, killed bool) {
		a := aNightOf(t, 7200, time.Minute)
		a.say["a"].status = onBattery
		a.until(a.say, func() bool { return a.is(ledger.Proven, "esx", plan.Stop) })
		a.states["esx"], a.states["box"] = plan.Stopping, plan.Off
		a.goOn(6*time.Second, a.say)
		a.states["esx"] = plan.Unreachable
		a.kill(killed, 4*time.Second)
		a.goOn(48*time.Second, a.say)
		require.NotContains(t, a.commands, "stop nas")
	})
}

// TestABatteryThatGaveOutWhileEbbtideWasAway: the battery lasts for less than Ebbtide is away; its UPS tells a runtime and no charge.
// It has given out, its mains came back and failed again meanwhile; the host boots.
func TestABatteryThatGaveOutWhileEbbtideWasAway(t *testing.T) {
	both(t, func(t *testing.T, killed bool) {
		esx := aHost("esx", "nas", "a")
		esx.OffAfter, esx.Can = 30*time.Second, plan.VerbSet(plan.Stop, plan.Start)
		esx.Times[plan.Stop] = plan.Times{Nominal: 2 * time.Minute, Within: 5 * time.Minute}
		p := play(t, aSupply("a"), aNAS("a"), esx)
		p.settings.Policy.Reserve = 5 * time.Second
		p.e = engine.New(p.settings)
		a := aKilledNight(p, nil)
		left, deaf, status := 100.0, false, onLine
		on := func(d time.Duration) {
			for end := p.now.Add(d); p.now.Before(end); {
				p.now = p.now.Add(2 * time.Second)
				p.apply(engine.Woke{})
				if status.Has(power.OB) {
					left -= 2
				}
				r := power.Reading{Supply: "a", Status: status, Runtime: power.Known(left), Load: power.Known(50), Voltage: power.Known(230)}
				if deaf {
					r = power.Reading{Supply: "a", Link: power.Stale}
				}
				p.apply(engine.Read{Reading: r})
			}
		}
		p.apply(engine.Started{})
		on(10 * time.Second)
		status = onBattery
		for !a.is(ledger.Accepted, "esx", plan.Stop) {
			on(2 * time.Second)
		}
		on(6 * time.Second)
		if killed {
			p.now = p.now.Add(80 * time.Second)
			left = 100
			a.states["esx"] = plan.Unreachable // its power was off and is back: it boots
			p.crash()
		} else {
			deaf = true
			on(80 * time.Second)
			a.states["esx"] = plan.Unreachable
			deaf, left = false, 100
		}
		on(50 * time.Second)
		require.False(t, a.is(ledger.Proven, "esx", plan.Stop))
	})
}

// TestAnOutletThatSomebodySwitchesOnAndACrash: what hangs on it comes up with its power, whatever it took before that, and its silence
// after a crash does not show it off.
func TestAnOutletThatSomebodySwitchesOnAndACrash(t *testing.T) {
	both(t, func(t *testing.T, killed bool) {
		esx := aHost("esx", "nas", "a")
		esx.OffAfter, esx.Can, esx.ByPower = 30*time.Second, plan.VerbSet(plan.Stop, plan.Start), true
		esx.DependsOn = append(esx.DependsOn, "strip")
		box := aNode("box", plan.Other, plan.VerbSet(plan.Stop, plan.Start), []string{"a"}, []string{"nas"})
		box.Times[plan.Stop] = plan.Times{Nominal: 20 * time.Minute, Within: time.Hour}
		p := play(t, uncuttable("a"), aNAS("a"), aNode("strip", plan.Outlet, plan.VerbSet(plan.Stop, plan.Start), []string{"a"}, nil), esx, box)
		a := aKilledNight(p, supplies{"a": {onLine, 36000, false}})
		becomes := map[string]plan.State{"esx": plan.Unreachable, "box": plan.Stopping, "nas": plan.Off, "strip": plan.Off}
		p.did = func(verb plan.Verb, node string) {
			if verb == plan.Stop {
				a.states[node] = becomes[node]
			}
		}
		p.begin(a.say)
		a.say["a"].status = onBattery
		a.until(a.say, func() bool { return a.is(ledger.Proven, "strip", plan.Stop) })
		a.goOn(10*time.Second, a.say)
		a.states["strip"] = plan.On
		a.goOn(8*time.Minute, a.say)
		a.kill(killed, 5*time.Second)
		a.states["box"] = plan.Off
		a.goOn(10*time.Minute, a.say)
		require.NotContains(t, a.commands, "stop nas")
	})
}

// TestAUPSThatIsHeardFirstWhenTheOutageIsOver: after a restart it is not heard, and the outage that was open, which was none of its, is
// over before it is.
func TestAUPSThatIsHeardFirstWhenTheOutageIsOver(t *testing.T) {
	p := play(t, uncuttable("a"), uncuttable("b"), aHost("host-a", "", "a"), aHost("host-b", "", "b"))
	obeys(p)
	say := supplies{"a": {onLine, 900, false}, "b": {onLine, 900, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(6*time.Second, say)
	p.crash()
	say["a"].status, say["b"].deaf = onLine, true
	p.until(say, func() bool { return !p.e.Open() })
	say["b"].deaf = false
	p.goOn(time.Minute, say)
	require.False(t, p.e.Open())
}
