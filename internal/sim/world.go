// Package sim drives the engine in virtual time against a modelled estate and battery. It is product code: the dry run
// and the simulation use it, and so do the engine's own tests.
package sim

import (
	"cmp"
	"slices"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/referee"
)

// simNode is the truth about one node.
type simNode struct {
	state     plan.State
	protected bool
	dirty     bool
	fault     Fault
	commands  int    // commands that it got
	looks     int    // probes that it got
	liesAt    int    // the probe that is answered with the opposite
	goneAt    int    // the probe that is answered as if it did not exist
	wasOn     bool   // at the start
	change    int    // numbers its transitions: an older one under way is void
	crashed   bool   // lost its power while on, at any time
	dark      bool   // lost its power while on, and was not on since
	away      bool   // was on at the start and is not on now
	silent    bool   // nothing reaches it
	boots     bool   // starts by itself whenever its power comes back
	outlet    int    // that it hangs on, -1: none
	host      int    // that it runs on: of a VM whose host is declared; -1: none
	frozen    bool   // took a stop, and neither goes down nor answers
	set       string // a cache, a cluster: what it is set to
	halved    bool   // it was put back by half, once
	tardied   bool   // it was told to be put back, and takes its time
	habit     Habit
	testing   time.Time // its self-test ends then, while it starts
	lit       int       // numbers the returns of its power
	took      bool      // the controller knows that it accepted a stop, and it has not come up since
	// the same, and as far as the controller knows it has not: its silence is its being off, by the runbook's word
	counts     bool
	before     plan.Observation // what it looked like before its last command: shown until staleUntil
	staleUntil time.Time
	asked      int          // questions and commands that its BMC got
	flips      []flip       // of its power, the oldest first, for a BMC that is out of date
	proofs     adapter.Node // itself and its BMC, as the product holds them together; nil: it has none
}

const (
	latency = 20 * time.Millisecond
	lateBy  = 3 // a late command takes so many times as long as it may
	// deadAfter is how long nobody answers before an address is given up, as in most adapters.
	deadAfter = 5 * time.Second
)

// world is the modelled estate.
type world struct {
	estate   *plan.Estate
	nodes    []simNode
	supplies []simSupply
	drawing  []int // nodes that draw power
	weighed  bool  // the loads of the cells are those of now
}

// become gives a node a state. Where the systems are watched, they tell of it.
func (s *simulation) become(i int, state plan.State) {
	t := &s.nodes[i]
	if t.state == state {
		return
	}
	var dead []bool // before an outlet comes on
	if s.estate.Node(i).Kind == plan.Outlet && state == plan.On {
		dead = s.unpowered()
	}
	if s.scenario.BMCs[s.estate.Node(i).ID] == OutOfDate {
		t.flips = append(t.flips, flip{s.now, t.state != plan.Off})
	}
	t.state, t.frozen, s.weighed, s.stirred = state, false, false, s.passed
	t.took = t.took && state != plan.Starting && state != plan.On
	s.absent(t, state)
	if dead != nil {
		s.light(dead)
	}
	t.change++
	t.dark = t.dark && state != plan.On
	s.show(i)
	if state == plan.On {
		s.withHost(i)
	}
	if s.estate.Node(i).Kind == plan.Self {
		switch {
		case state == plan.Off && !s.stopped:
			s.crash()
		case state == plan.On && s.stopped:
			s.restart()
		}
	}
	if s.scenario.Watched && !s.quiet(i) && s.estate.Node(i).Kind == plan.VM && state != plan.Gone {
		s.tell(i)
	}
}

// tell lets a watch tell of the state that a node has now.
func (s *simulation) tell(i int) {
	t := &s.nodes[i]
	t.staleUntil = time.Time{} // who has told of it does not show what was before any more
	seen := plan.Observation{State: t.state}
	if s.estate.Node(i).Healthy && t.state == plan.On {
		seen.Healthy = plan.NotKnown // a watch sees no health
	}
	life := s.life
	s.after(latency, func() {
		if s.life == life {
			s.apply(engine.Observed{Node: s.estate.Node(i).ID, Seen: seen})
		}
	})
}

// took is how long an action on a node takes.
func (s *simulation) took(i int, verb plan.Verb) time.Duration {
	n := s.estate.Node(i)
	if took, drawn := s.scenario.Took[Action{n.ID, verb}]; drawn {
		return took
	}
	return n.Time(verb).Nominal
}

// adjust carries out what is no matter of power. Late, it is as if somebody else did it.
func (s *simulation) adjust(i int, verb plan.Verb, was string, late bool) {
	t, decl := &s.nodes[i], s.estate.Node(i)
	if !s.runs(i) || !s.reached(i) || t.fault == Stuck && !decl.Can.Has(plan.Stop) {
		return
	}
	defer s.show(i)
	if late {
		s.referee.Meddled(s.now, i)
	}
	switch verb {
	case plan.Protect:
		t.protected, t.set = true, setAside
	case plan.Unprotect:
		if decl.SuspendsItself() {
			t.protected = t.fault == Dud // as a host whose task to leave maintenance mode fails
			return
		}
		t.protected = false
		t.dirty, t.set = decl.Kind != plan.Cluster, cmp.Or(was, referee.AsUsual)
		if t.fault == Halves && was != "" && !t.halved { // of what is on record; of anything else nobody could tell
			t.halved, t.set = true, "half "+t.set
		}
	default:
		t.dirty = false
	}
}

func (s *simulation) stop(i int, took time.Duration, never bool) {
	t := &s.nodes[i]
	if t.state != plan.On && t.state != plan.Stopping {
		return
	}
	s.become(i, plan.Stopping)
	if never {
		return
	}
	t.change++
	change := t.change
	s.after(took, func() {
		if t.change == change {
			s.goOff(i)
		}
	})
}

// goOff takes a node down, and with a host the VMs on it.
func (s *simulation) goOff(i int) {
	t := &s.nodes[i]
	s.become(i, plan.Off)
	if s.estate.Node(i).Kind == plan.Outlet {
		s.darken()
		return
	}
	for _, u := range s.estate.Users(i) {
		if s.nodes[u].host == i && s.nodes[u].state != plan.Off && s.nodes[u].state != plan.Gone {
			s.nodes[u].crashed = t.crashed
			s.referee.Followed(s.now, u, i)
			s.goOff(u)
			s.nodes[u].dark = t.dark
			s.show(u)
		}
	}
}

func (s *simulation) start(i int, took time.Duration) (ledger.Outcome, string) {
	t := &s.nodes[i]
	if t.state == plan.On || t.state == plan.Starting {
		return ledger.Done, ""
	}
	if !s.powered(i) || t.host >= 0 && s.nodes[t.host].state != plan.On {
		return ledger.Refused, "nothing to start it on"
	}
	if t.host >= 0 && s.nodes[t.host].protected {
		return ledger.Busy, "its host is in maintenance mode"
	}
	if t.fault != Dud {
		s.boot(i, took)
	}
	return ledger.Done, ""
}

func (s *simulation) boot(i int, took time.Duration) {
	t := &s.nodes[i]
	s.become(i, plan.Starting)
	t.testing = s.now.Add(min(took, s.selfTest(i)))
	change := t.change
	s.after(took, func() {
		if t.change == change && s.powered(i) {
			s.become(i, plan.On)
		}
	})
}

// meddle is somebody else's doing.
func (s *simulation) meddle(i int, state plan.State) {
	switch t := &s.nodes[i]; {
	case state == plan.Gone && t.state != plan.Gone, state == plan.On && t.state == plan.Off && s.powered(i):
		s.referee.Meddled(s.now, i)
		s.become(i, state)
	case state == plan.Off && t.state == plan.On:
		s.referee.Meddled(s.now, i)
		s.goOff(i)
	}
}

// hostOf gives the host that a guest runs on, -1 if it is none or its host is not declared.
func hostOf(estate *plan.Estate, i int) int {
	if n := estate.Node(i); n.Kind != plan.VM && n.Host == "" {
		return -1
	}
	return estate.HostOf(i)
}

// opposite is what a system says that answers wrongly.
func opposite(state plan.State) plan.State {
	switch state {
	case plan.On, plan.Stopping:
		return plan.Off
	case plan.Off:
		return plan.On
	default:
		return state
	}
}

// observe is what a probe of a node answers.
func (s *simulation) observe(i int) (ledger.Outcome, plan.Observation) {
	t, decl := &s.nodes[i], s.estate.Node(i)
	if decl.Kind == plan.Supply {
		return ledger.Done, s.observeSupply(i)
	}
	if s.quiet(i) && (!s.isManaged(i) || t.state != plan.Off || t.silent) {
		s.meetQuiet(i, MetDarkLook, MetSelfTestLook, MetSupplyLook)
		return s.noAnswer(i)
	}
	t.looks++
	state := t.state
	switch {
	case state == plan.Gone:
		return ledger.NoSuchThing, plan.Observation{}
	case t.looks == t.goneAt:
		s.meet(MetGoneLook)
		return ledger.NoSuchThing, plan.Observation{}
	case s.now.Before(t.staleUntil):
		if t.before != s.view(i, state) {
			s.meet(MetOldLook)
		}
		return ledger.Done, t.before
	case t.looks == t.liesAt:
		s.meet(MetOppositeLook)
		state = opposite(state)
	case state == plan.Starting && t.habit.Refuses:
		s.meet(MetRefusedLook)
		return ledger.Done, plan.Observation{State: plan.Unknown, Detail: "it refuses the connection"}
	}
	seen := s.view(i, state)
	if seen.State == plan.Unreachable {
		return s.noAnswer(i)
	}
	return ledger.Done, seen
}

// view is what a node in a state looks like to who can ask it.
func (s *simulation) view(i int, state plan.State) plan.Observation {
	t, decl := &s.nodes[i], s.estate.Node(i)
	if state == plan.Off && decl.OffAfter > 0 || !s.powered(i) && t.host < 0 || !s.reached(i) || t.frozen {
		return plan.Observation{State: plan.Unreachable}
	}
	if state == plan.Stopping && t.goesUnseen() {
		state = plan.On
	}
	o := plan.Observation{State: state}
	if decl.SuspendsItself() {
		o.Protected = plan.FactOf(t.protected)
	}
	if decl.Can.Has(plan.Protect) {
		o.Protected, o.Clean = plan.FactOf(t.protected), plan.FactOf(!t.dirty)
		if !t.protected {
			o.Settings = t.set
		}
	}
	if decl.Healthy {
		o.Healthy = plan.FactOf(state == plan.On)
	}
	return o
}

// reached reports whether a node can be asked. A cluster, or a cache of something else, is asked through what it stands on, as
// long as any of that is on.
func (s *simulation) reached(i int) bool {
	n, needs := s.estate.Node(i), s.estate.Needs(i)
	return !n.Can.Has(plan.Protect) || n.Can.Has(plan.Stop) || len(needs) == 0 ||
		slices.ContainsFunc(needs, func(j int) bool { return s.runs(j) && !s.cutOff(j) })
}

func (s *simulation) runs(i int) bool {
	return s.nodes[i].state == plan.On || s.nodes[i].state == plan.Stopping
}

// What a cache or a cluster is set to: setBy is what people have chosen for it.
const (
	setAside = "suspended"
)

func setBy(id string) string { return "as " + id + " was set" }
