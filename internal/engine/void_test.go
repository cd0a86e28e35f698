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

// TestWhatIsGivenUpWhileItAnswersIsNotOffByItsSilence: a box takes its stop and does not go: somebody has called that off. It answers in
// all the time of its stop, is given up, and falls silent a second after that.
func TestWhatIsGivenUpWhileItAnswersIsNotOffByItsSilence(t *testing.T) {
	nas := aNAS("a")
	nas.OffAfter, nas.Times[plan.Stop] = 20*time.Second, plan.Times{Nominal: 10 * time.Second, Within: 30 * time.Second}
	p := play(t, aSupply("a"), nas)
	now := plan.On
	p.answersAs("nas", &now)
	say := supplies{"a": {onLine, 1800, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool { return p.recorded(ledger.Failed) })
	p.goOn(time.Second, say)
	now = plan.Unreachable
	p.goOn(3*time.Minute, say)
	require.NotContains(t, p.commands, "cut a")
}

// TestWhatComesUpIsOnRecordWhereTheAnswerToItsStopIsNot: Ebbtide is killed before the answer to a stop is on record. The machine goes, and
// somebody switches it on again. Then it is killed once more, and the network of the machine is gone.
func TestWhatComesUpIsOnRecordWhereTheAnswerToItsStopIsNot(t *testing.T) {
	nas := aNAS("a")
	nas.OffAfter, nas.Times[plan.Stop].Within = 20*time.Second, 4*time.Minute
	p := play(t, aSupply("a"), nas)
	now := plan.On
	p.answersAs("nas", &now)
	p.did = func(verb plan.Verb, _ string) {
		if verb == plan.Stop {
			now = plan.Stopping
		}
	}
	say := supplies{"a": {onLine, 3600, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool { return p.recorded(ledger.Accepted) })
	p.records = p.records[:slices.IndexFunc(p.records, func(r ledger.Record) bool { return r.Kind == ledger.Intent })+1]
	p.now = p.now.Add(10 * time.Second)
	p.crash()
	p.goOn(4*time.Second, say)
	now = plan.Unreachable
	p.goOn(10*time.Second, say)
	now = plan.Starting
	p.goOn(20*time.Second, say)
	now = plan.Unreachable
	p.now = p.now.Add(5 * time.Second)
	p.crash()
	p.goOn(5*time.Minute, say)
	require.NotContains(t, p.commands, "cut a")
}

// TestAGuestMayComeUpWithAHostThatNobodyProvedOff: a host takes its stop, goes, and is switched on before its silence proves it off. Its
// guest, which does not answer, may be up with it, and stands on storage of its own.
func TestAGuestMayComeUpWithAHostThatNobodyProvedOff(t *testing.T) {
	esx := aHost("esx", "", "a")
	esx.OffAfter, esx.Can = 30*time.Second, plan.VerbSet(plan.Stop, plan.Start)
	guest := aNode("guest", plan.Other, plan.VerbSet(plan.Stop, plan.Start), nil, []string{"esx", "nas"})
	guest.Host, guest.OffAfter = "esx", 20*time.Second
	box := aNode("box", plan.Other, plan.VerbSet(plan.Stop, plan.Start), []string{"a"}, []string{"nas"})
	box.Times[plan.Stop] = plan.Times{Nominal: 5 * time.Minute, Within: 15 * time.Minute}
	p := play(t, aSupply("a"), aNAS("a"), esx, guest, box)
	states := map[string]plan.State{"a": plan.On, "nas": plan.On, "esx": plan.On, "guest": plan.On, "box": plan.On}
	becomes := map[string]plan.State{"esx": plan.Stopping, "box": plan.Stopping, "guest": plan.Unreachable, "nas": plan.Off}
	p.answer = func(node string) plan.State { return states[node] }
	p.did = func(verb plan.Verb, node string) {
		if verb == plan.Stop {
			states[node] = becomes[node]
		}
	}
	p.reached = func(_ plan.Verb, node string) ledger.Outcome {
		if states[node] == plan.Unreachable {
			return ledger.Unreached
		}
		return ledger.Done
	}
	say := supplies{"a": {onLine, 7200, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool { return states["esx"] == plan.Stopping })
	p.goOn(6*time.Second, say)
	states["esx"] = plan.Unreachable
	p.goOn(10*time.Second, say)
	states["esx"] = plan.Starting
	p.goOn(20*time.Second, say)
	states["esx"] = plan.On
	p.goOn(3*time.Minute, say)
	states["box"] = plan.Off
	p.goOn(20*time.Second, say)
	require.Contains(t, p.commands, "stop box")
	require.NotContains(t, p.commands, "stop nas")
}

// answersAs has a node answer as is said there, and all else that it is on.
func (p *played) answersAs(node string, now *plan.State) {
	p.answer = func(asked string) plan.State {
		if asked == node {
			return *now
		}
		return plan.On
	}
}

// recorded reports whether a record of a kind was written.
func (p *played) recorded(kind ledger.Kind) bool {
	return slices.ContainsFunc(p.records, func(r ledger.Record) bool { return r.Kind == kind })
}

// TestWhatStaysOnBringsNoGuestUp: a host takes its stop and does not go, its guest is off, and Ebbtide is killed in between. The host is
// told once more, and all goes in order.
func TestWhatStaysOnBringsNoGuestUp(t *testing.T) {
	esx := aHost("esx", "nas", "a")
	esx.OffAfter, esx.Can = 30*time.Second, plan.VerbSet(plan.Stop, plan.Start)
	guest := aNode("guest", plan.Other, plan.VerbSet(plan.Stop, plan.Start), nil, []string{"esx", "nas"})
	guest.Host, guest.OffAfter = "esx", 20*time.Second
	p := play(t, aSupply("a"), aNAS("a"), esx, guest)
	states := map[string]plan.State{"a": plan.On, "nas": plan.On, "esx": plan.On, "guest": plan.On}
	stops := 0
	p.answer = func(node string) plan.State { return states[node] }
	p.did = func(verb plan.Verb, node string) {
		switch {
		case verb != plan.Stop:
		case node == "guest":
			states[node] = plan.Unreachable
		case node == "nas":
			states[node] = plan.Off
		default:
			if stops++; stops > 1 {
				states[node] = plan.Unreachable
			}
		}
	}
	say := supplies{"a": {onLine, 1300, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool { return stops == 1 })
	p.goOn(3*time.Second, say)
	p.now = p.now.Add(3 * time.Second)
	p.crash()
	p.goOn(6*time.Minute, say)
	require.Equal(t, 2, stops)
	require.Contains(t, p.commands, "stop nas")
}

// TestCutsOfWhatFeedsOneThingAreMadeAtOnce: the mains are back when a box is off that hangs on two outputs, and another on one of them goes
// down still. Neither output is cut before the other can be: a box that keeps one feed at each moment is not started by either. A UPS that
// is silent is not waited for.
func TestCutsOfWhatFeedsOneThingAreMadeAtOnce(t *testing.T) {
	for _, silent := range []bool{false, true} {
		cuts := playTwoFeeds(t, silent)
		if silent {
			require.Contains(t, cuts, "a")
			continue
		}
		require.Len(t, cuts, 2)
		require.LessOrEqual(t, cuts["a"].Sub(cuts["b"]).Abs(), 3*time.Second)
	}
}

// playTwoFeeds plays that, and gives when each output was cut.
func playTwoFeeds(t *testing.T, silent bool) map[string]time.Time {
	t.Helper()
	nas, box := aNAS("a", "b"), aNode("box", plan.Other, plan.VerbSet(plan.Stop), []string{"b"}, nil)
	for _, n := range []*plan.Node{&nas, &box} {
		n.Can, n.ByPower = plan.VerbSet(plan.Stop), true
		n.Times[plan.Stop] = plan.Times{Nominal: 2 * time.Minute, Within: 10 * time.Minute}
	}
	p := play(t, aSupply("a"), aSupply("b"), nas, box)
	states := map[string]plan.State{"a": plan.On, "b": plan.On, "nas": plan.On, "box": plan.On}
	p.answer = func(node string) plan.State { return states[node] }
	cuts := map[string]time.Time{}
	p.did = func(verb plan.Verb, node string) {
		switch verb {
		case plan.Stop:
			states[node] = plan.Stopping
		case plan.Cut:
			cuts[node] = p.now
		default:
		}
	}
	say := supplies{"a": {onLine, 3600, false}, "b": {onLine, 3600, false}}
	p.begin(say)
	say["a"].status, say["b"].status = onBattery, onBattery
	p.until(say, func() bool { return states["nas"] == plan.Stopping && states["box"] == plan.Stopping })
	say["a"].status, say["b"].status = onLine, onLine
	p.goOn(20*time.Second, say)
	states["nas"] = plan.Off
	say["b"].deaf = silent
	p.goOn(2*time.Minute, say)
	require.Equal(t, silent, len(cuts) > 0)
	if !silent {
		require.Equal(t, "waiting for box, which is fed by another output that is cut at the same time", p.e.View().Waiting)
	}
	states["box"] = plan.Off
	p.goOn(15*time.Second, say)
	return cuts
}

// TestWhatKeptItsPowerIsCutAfterAll: a box on two outputs goes down, the battery of the one gives out, and that is back before the box is
// off. The cut of the other would leave the box its power, and waits. When the box is proven off both are cut, in the same moment, but not
// while something else is on.
func TestWhatKeptItsPowerIsCutAfterAll(t *testing.T) {
	cuts := playAKeptFeed(t, keptFeed{})
	require.Len(t, cuts["a"], 1)
	require.Len(t, cuts["b"], 1)
	require.LessOrEqual(t, cuts["a"][0].Sub(cuts["b"][0]).Abs(), 3*time.Second)
	require.Empty(t, playAKeptFeed(t, keptFeed{somethingIsOn: true})["b"])
	require.Empty(t, playAKeptFeed(t, keptFeed{staysOff: true})["b"])
	require.Empty(t, playAKeptFeed(t, keptFeed{wornOut: true})["b"])
}

// keptFeed is what speaks against the cut after all: another box on the first output that somebody switches on, the other output, which
// would stay off, or the battery behind it, which is to be replaced.
type keptFeed struct{ somethingIsOn, staysOff, wornOut bool }

// playAKeptFeed plays that, and gives when each output was cut.
func playAKeptFeed(t *testing.T, against keptFeed) map[string][]time.Time {
	t.Helper()
	nas, box := aNAS("a", "b"), aNode("box", plan.Other, plan.VerbSet(plan.Stop, plan.Start), []string{"a"}, nil)
	nas.Can, nas.ByPower = plan.VerbSet(plan.Stop), true
	nas.Times[plan.Stop] = plan.Times{Nominal: 4 * time.Minute, Within: 10 * time.Minute}
	strip := aNode("strip", plan.Outlet, plan.VerbSet(plan.Stop, plan.Start), []string{"a"}, nil) // an outlet that says on keeps nothing from being cut
	p := play(t, aSupply("a"), aSupply("b"), nas, box, strip)
	p.settings.Policy.Restore.For = time.Hour
	p.settings.Supplies[1].StaysOff = against.staysOff
	p.e = engine.New(p.settings)
	states := map[string]plan.State{"a": plan.On, "b": plan.On, "nas": plan.On, "box": plan.On, "strip": plan.On}
	becomes := map[string]plan.State{"nas": plan.Stopping, "box": plan.Off, "strip": plan.Off}
	p.answer = func(node string) plan.State { return states[node] }
	off, cuts := map[string]time.Time{}, map[string][]time.Time{}
	p.did = func(verb plan.Verb, node string) {
		switch verb {
		case plan.Stop:
			states[node] = becomes[node]
		case plan.Cut:
			cuts[node] = append(cuts[node], p.now)
			states[node], off[node] = plan.Stopping, p.now.Add(20*time.Second)
		default:
		}
	}
	say := supplies{"a": {onLine, 3600, false}, "b": {onLine, 3600, false}}
	goOn := func(d time.Duration) {
		for end := p.now.Add(d); p.now.Before(end); p.goOn(2*time.Second, say) {
			for id, at := range off {
				switch since := p.now.Sub(at); {
				case since >= 30*time.Second:
					states[id], say[id].status = plan.On, onLine
					delete(off, id)
				case since >= 0:
					states[id], say[id].status = plan.Off, isOff
				}
			}
		}
	}
	p.begin(say)
	say["a"].status, say["b"].status = onBattery, onBattery
	p.until(say, func() bool { return states["nas"] == plan.Stopping && states["box"] == plan.Off })
	goOn(10 * time.Second)
	off["b"] = p.now // its battery gives out
	goOn(10 * time.Second)
	say["a"].status = onLine
	goOn(time.Minute + 20*time.Second)
	require.Equal(t, against.staysOff, len(cuts["a"]) > 0, "it waits for what can be cut with it")
	require.Empty(t, cuts["b"])
	states["strip"] = plan.On // it came on with its supply
	if against.somethingIsOn {
		states["box"], becomes["box"] = plan.On, plan.On // and does not go again
	}
	if against.wornOut {
		say["b"].status = onLine | power.RB
	}
	goOn(20 * time.Second)
	states["nas"] = plan.Off
	goOn(5 * time.Minute)
	after := slices.ContainsFunc(p.records, func(r ledger.Record) bool { return r.Kind == ledger.NoReturn && r.Cause == ledger.AfterAll })
	require.Equal(t, against == keptFeed{}, after)
	if nas := slices.IndexFunc(p.e.View().Nodes, func(n engine.NodeView) bool { return n.ID == "nas" }); against.somethingIsOn {
		require.Equal(t, "waiting for a power cycle of a and b: nothing else starts this node", p.e.View().Nodes[nas].Why)
	}
	return cuts
}

// TestAStartIsVoidWhereThePowerMayHaveBeenOffSince: Ebbtide falls away while a box comes up, and the battery with both. The box is told to
// start again.
func TestAStartIsVoidWhereThePowerMayHaveBeenOffSince(t *testing.T) {
	box := aNAS("a")
	box.Times[plan.Start] = plan.Times{Nominal: 5 * time.Minute, Within: 40 * time.Minute}
	p := play(t, aSupply("a"), box)
	states := map[string]plan.State{"a": plan.On, "nas": plan.On}
	p.answer = func(node string) plan.State { return states[node] }
	say := supplies{"a": {onLine, 3600, false}}
	p.did = func(verb plan.Verb, node string) {
		states[node] = plan.Off
		switch verb {
		case plan.Start:
			states[node] = plan.Unreachable
		case plan.Cut:
			say["a"].status = isOff
		default:
		}
	}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool { return slices.Contains(p.commands, "cut a") })
	p.goOn(20*time.Second, say)
	states["a"] = plan.On
	say["a"].status = onLine
	p.until(say, func() bool { return slices.Contains(p.commands, "start nas") })
	p.goOn(20*time.Second, say)
	p.now = p.now.Add(30 * time.Minute)
	p.crash()
	p.commands = nil
	p.goOn(10*time.Minute, say)
	require.Contains(t, p.commands, "start nas")
}
