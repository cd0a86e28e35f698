package engine_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// slow is an engine that is played by hand in an estate whose systems take their time to answer. A look shows how its node was when it was
// asked.
type slow struct {
	*played
	takes  func(node string) time.Duration // a look at it
	goes   map[string]time.Duration        // until it is off, once it was told to stop
	offAt  map[string]time.Time
	due    []slowAnswer
	looked map[string]time.Time // when the newest look was asked that was answered
	vain   map[string]int       // looks in a row that nobody answered
}

type slowAnswer struct {
	at time.Time
	ev engine.Event
	of func() // what follows from its being heard
}

func playSlowly(t *testing.T, nodes ...plan.Node) *slow {
	t.Helper()
	s := &slow{
		played: play(t, nodes...), offAt: map[string]time.Time{}, looked: map[string]time.Time{}, vain: map[string]int{},
		takes: func(string) time.Duration { return 20 * time.Millisecond }, goes: map[string]time.Duration{},
	}
	s.answer = func(node string) plan.State {
		switch at, told := s.offAt[node]; {
		case !told:
			return plan.On
		case s.now.Before(at):
			return plan.Stopping
		}
		return plan.Off
	}
	s.take(engine.Started{})
	return s
}

// take gives the engine an event. What its questions and commands come to follows later.
func (s *slow) take(ev engine.Event) {
	for _, one := range s.e.Apply(s.now, ev) {
		switch f := one.(type) {
		case effect.Append:
			s.records = append(s.records, f.Record)
		case effect.Do:
			s.commands = append(s.commands, f.Verb.String()+" "+f.Node)
			outcome := ledger.Done
			if s.reached != nil {
				outcome = s.reached(f.Verb, f.Node)
			}
			if f.Verb == plan.Stop {
				s.offAt[f.Node] = s.now.Add(cmp.Or(s.goes[f.Node], 5*time.Second))
			}
			if s.did != nil {
				s.did(f.Verb, f.Node)
			}
			s.due = append(s.due, slowAnswer{s.now.Add(50 * time.Millisecond), engine.Finished{Op: f.Op, Outcome: outcome}, nil})
		case effect.Probe:
			asked, state := s.now, s.answer(f.Node)
			s.due = append(s.due, slowAnswer{
				s.now.Add(s.takes(f.Node)),
				engine.Finished{Op: f.Op, Outcome: ledger.Done, Seen: plan.Observation{State: state}},
				func() {
					s.looked[f.Node] = asked
					if s.vain[f.Node]++; state != plan.Unreachable {
						s.vain[f.Node] = 0
					}
				},
			})
		case effect.Estimate:
			s.due = append(s.due, slowAnswer{s.now, engine.Estimated{
				Serial: f.Serial, Need: []time.Duration{10 * time.Second},
				Hosts: 5 * time.Second, Tail: 5 * time.Second, Whole: 20 * time.Second,
			}, nil})
		default:
		}
	}
}

// goOn lets time pass in tenths of a second.
func (s *slow) goOn(d time.Duration, say supplies) {
	for end := s.now.Add(d); s.now.Before(end); {
		s.now = s.now.Add(100 * time.Millisecond)
		for {
			at := slices.IndexFunc(s.due, func(a slowAnswer) bool { return !a.at.After(s.now) })
			if at < 0 {
				break
			}
			a := s.due[at]
			s.due = slices.Delete(s.due, at, at+1)
			if a.of != nil {
				a.of()
			}
			s.take(a.ev)
		}
		s.take(engine.Woke{})
		if s.now.UnixMilli()%2000 == 0 {
			for id, says := range say {
				s.take(engine.Read{Reading: power.Reading{
					Supply: id, Status: says.status, Charge: power.Known(90),
					Runtime: power.Known(says.left), Load: power.Known(50), Voltage: power.Known(230),
				}})
			}
		}
	}
}

// TestWhoFellSilentIsAskedAsOftenAsAny: while a slow host is asked, somebody starts the one that answered before it. That one question to
// it comes to nothing proves nothing: their storage is not stopped before it was asked as often as any that does not answer.
func TestWhoFellSilentIsAskedAsOftenAsAny(t *testing.T) {
	s := playSlowly(t, aSupply("a"), aNAS("a"), aHost("h1", "nas", "a"), aHost("h2", "nas", "a"))
	boots, guard := false, time.Time{}
	s.takes = func(node string) time.Duration {
		if node == "nas" && s.answer("h2") == plan.Off && guard.IsZero() {
			guard = s.now
		}
		if node == "h2" || node == "nas" {
			return 8 * time.Second
		}
		return 20 * time.Millisecond
	}
	s.goes["h2"] = 12 * time.Second
	shows := s.answer
	s.answer = func(node string) plan.State {
		boots = boots || !guard.IsZero() && s.now.After(guard.Add(300*time.Millisecond))
		if node == "h1" && boots {
			return plan.Unreachable
		}
		return shows(node)
	}
	s.did = func(_ plan.Verb, node string) {
		if node == "nas" && boots {
			require.GreaterOrEqual(t, s.vain["h1"], 3, "storage was stopped although h1 might be up, after so many questions in vain")
		}
	}
	say := supplies{"a": {onLine, 1800, false}}
	s.goOn(30*time.Second, say)
	say["a"].status = onBattery
	s.goOn(4*time.Minute, say)
	require.True(t, boots)
	require.Subset(t, s.commands, []string{"stop h1", "stop h2"})
}

// TestACutRestsOnLooksOfItsOwn: the UPS does not take its cut, and its time is over while the host that hangs on it is asked. What it said
// for the try before is too old for the next.
func TestACutRestsOnLooksOfItsOwn(t *testing.T) {
	ups := aSupply("a")
	ups.Times[plan.Cut].Within = 30800 * time.Millisecond
	s := playSlowly(t, ups, aHost("h1", "", "a"))
	const look = 8 * time.Second
	s.takes = func(node string) time.Duration {
		if node == "h1" {
			return look
		}
		return 20 * time.Millisecond
	}
	s.reached = func(verb plan.Verb, _ string) ledger.Outcome {
		if verb == plan.Cut {
			return ledger.Unreached
		}
		return ledger.Done
	}
	cuts := 0
	s.did = func(verb plan.Verb, _ string) {
		if verb == plan.Cut {
			cuts++
			require.LessOrEqual(t, s.now.Sub(s.looked["h1"]), look+3*time.Second)
		}
	}
	say := supplies{"a": {onLine, 3600, false}}
	s.goOn(30*time.Second, say)
	say["a"].status = onBattery
	s.goOn(4*time.Minute, say)
	require.Greater(t, cuts, 2)
}

// TestTwoGuardsDoNotShareAnOldLook: two arrays stand under the same host. What it was asked for the one, a while ago, is not fresh for the
// other.
func TestTwoGuardsDoNotShareAnOldLook(t *testing.T) {
	nas2 := aNAS("a")
	nas2.ID, nas2.Type = "nas2", "nas2"
	h1 := aHost("h1", "nas", "a")
	h1.DependsOn = []string{"nas", "nas2"}
	s := playSlowly(t, aSupply("a"), aNAS("a"), nas2, h1, aHost("h2", "nas", "a"))
	const look = 8 * time.Second
	s.takes = func(node string) time.Duration {
		switch node {
		case "nas2":
			return look / 2
		case "a":
			return 20 * time.Millisecond
		}
		return look
	}
	stopped := false
	s.did = func(verb plan.Verb, node string) {
		if verb == plan.Stop && node == "nas" {
			stopped = true
			require.False(t, s.looked["h1"].Before(s.looked["h2"]), "h1 was asked for the other array, before this one asked h2")
		}
	}
	say := supplies{"a": {onLine, 3600, false}}
	s.goOn(30*time.Second, say)
	say["a"].status = onBattery
	s.goOn(4*time.Minute, say)
	require.True(t, stopped)
}

// TestWhatWasOffLongAgoIsAskedOnceMore: a VM says twice that it is off as the outage opens, and comes up by itself while a slow box is
// waited for. In the snapshot it is on.
func TestWhatWasOffLongAgoIsAskedOnceMore(t *testing.T) {
	s := playSlowly(t, uncuttable("a"), aHost("host", "", "a"), aVM("vm", "host"), aNode("box", plan.Other, plan.VerbSet(plan.Stop), []string{"a"}, nil))
	var opened time.Time
	shows := s.answer
	s.answer = func(node string) plan.State {
		isUp := !opened.IsZero() && s.now.After(opened.Add(5*time.Second))
		if _, told := s.offAt[node]; node == "vm" && !told && !isUp {
			return plan.Off
		}
		return shows(node)
	}
	s.takes = func(node string) time.Duration {
		if node == "box" && !opened.IsZero() {
			return 25 * time.Second
		}
		return 20 * time.Millisecond
	}
	say := supplies{"a": {onLine, 3600, false}}
	s.goOn(time.Minute, say)
	opened, say["a"].status = s.now, onBattery
	s.goOn(time.Minute, say)
	at := slices.IndexFunc(s.records, func(r ledger.Record) bool { return r.Kind == ledger.Snapshot })
	require.Positive(t, at)
	require.Contains(t, s.records[at].Nodes, ledger.NodeState{Node: "vm", State: plan.On})
}
