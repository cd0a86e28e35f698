package sim

import (
	"cmp"
	"slices"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Habit is how a node answers and comes up, where that is not as usual. The zero Habit is the usual one.
type Habit struct {
	// Fails: a look that gets no answer fails, as with adapters that can't tell silence from trouble of their own, and is
	// not answered with Unreachable.
	Fails bool
	// SelfTest is how long a machine is silent when it begins to start; 0: half of its nominal start
	// if it is its own system that answers for it (plan.Node.OffAfter), and not at all otherwise; below 0: not at all.
	SelfTest time.Duration
	// Refuses: from the end of its self-test until it is on it refuses connections, which tells nothing, and does not say
	// that it starts.
	Refuses bool
	// Network, of a passive node: what depends on it is reached through it. Of several any one will do.
	Network bool
	// ThroughHost, of a VM: its host alone answers for it, as without a manager of several hosts.
	ThroughHost bool
	// Lags is for how long after a command looks show what was before it.
	Lags time.Duration
	// ShowsOn: while it goes down looks show it as on, until it falls silent. So do most machines that answer for themselves. Of what hangs
	// on its way they would show nothing else for ever, which is as good as on: that shows how it is.
	ShowsOn bool
	// Slow is how long a look takes, up to the time that it may take; 0: some milliseconds. It shows how the node is half way
	// through. A real system that is logged in to first takes a second, and a busy one several.
	Slow time.Duration
	// Way is how long a command takes to arrive.
	Way time.Duration
	// BootsAfter is how long after the return of its power it starts by itself. It does so even if Boots does not have it.
	BootsAfter time.Duration
}

// quiet reports whether a question or a command to a node gets no answer whatever, though the node may well be there.
func (s *simulation) quiet(i int) bool {
	return s.nodes[i].silent || s.selfTests(i) || s.cutOff(i) || s.mutelyFed(i) || s.hostIsMute(i)
}

// isManaged reports whether a VM's state is known whatever becomes of its host, since a manager of several hosts answers for it.
func (s *simulation) isManaged(i int) bool {
	return s.nodes[i].host >= 0 && !s.estate.Node(i).Bound && !s.nodes[i].habit.ThroughHost
}

// hostIsMute reports whether nobody answers for a VM, since its host does not.
func (s *simulation) hostIsMute(i int) bool {
	host := s.nodes[i].host
	return host >= 0 && !s.isManaged(i) && (!s.runs(host) || s.quiet(host))
}

// selfTests reports whether a machine is in the part of its start in which it answers nobody.
func (s *simulation) selfTests(i int) bool {
	t := &s.nodes[i]
	return t.state == plan.Starting && s.now.Before(t.testing)
}

// cutOff reports whether no way through the network leads to a node. Of a VM its host is asked.
func (s *simulation) cutOff(i int) bool {
	if len(s.scenario.Habits) == 0 {
		return false
	}
	if host := s.nodes[i].host; host >= 0 {
		return s.cutOff(host)
	}
	ways := 0
	for _, j := range s.estate.Needs(i) {
		if !s.nodes[j].habit.Network {
			continue
		}
		if ways++; s.nodes[j].state == plan.On {
			return false
		}
	}
	return ways > 0
}

// mutelyFed reports whether a node is a supply whose UPS is silent, or an outlet of one: it is asked through that.
func (s *simulation) mutelyFed(i int) bool {
	kind := s.estate.Node(i).Kind
	if kind != plan.Supply && kind != plan.Outlet {
		return false
	}
	for k := range s.supplies {
		c := &s.supplies[k]
		asks := c.node == i || kind == plan.Outlet && slices.Contains(s.estate.Feeds(i), c.node)
		if asks && (c.silent || c.dead) {
			return true
		}
	}
	return false
}

// noAnswer is what a look at a node tells that nobody answers. Where a runbook says that silence after a stop counts as
// off, it is the runbook's word that such a node is not silent for another reason: then it can't be asked at all.
func (s *simulation) noAnswer(i int) (ledger.Outcome, plan.Observation) {
	t, counts := &s.nodes[i], s.estate.Node(i).OffAfter > 0
	if t.habit.Fails && !counts || (t.silent || t.frozen && s.cutOff(i)) && t.counts && counts {
		s.meet(MetFailedLook)
		return ledger.Unreached, plan.Observation{}
	}
	if !t.took {
		s.meet(MetUnreachable)
	}
	return ledger.Done, plan.Observation{State: plan.Unreachable}
}

// meetQuiet counts why a question or a command got no answer.
func (s *simulation) meetQuiet(i int, dark, selfTest, supply string) {
	switch t := &s.nodes[i]; {
	case t.silent:
	case s.selfTests(i):
		s.meet(selfTest)
	case s.mutelyFed(i):
		s.meet(supply)
	case t.state != plan.Off:
		s.meet(dark)
	}
}

// selfTest is how long a machine is silent when it starts. Usually only one whose own system answers for it is: of one that
// is told as off when it is off somebody else knows.
func (s *simulation) selfTest(i int) time.Duration {
	n := s.estate.Node(i)
	usual := n.Time(plan.Start).Nominal / 2
	if s.scenario.Awake || n.OffAfter == 0 {
		usual = 0
	}
	if n.Kind == plan.VM || n.Kind == plan.Outlet {
		return 0
	}
	return max(0, cmp.Or(s.nodes[i].habit.SelfTest, usual))
}

// keepView keeps what a node looks like before a command, for as long as its system tells no better.
func (s *simulation) keepView(i int) {
	if t := &s.nodes[i]; t.habit.Lags > 0 {
		t.before, t.staleUntil = s.view(i, t.state), s.now.Add(t.habit.Lags)
	}
}

// goesUnseen reports whether a node goes down, and shows as on. Nobody could know of one that does so long after it was given up.
func (t *simNode) goesUnseen() bool {
	return t.habit.ShowsOn && t.state == plan.Stopping && t.fault != Hang && t.fault != Stuck && t.fault != Freeze && t.fault != Late
}

// withHost starts the VMs that come up by themselves when their host does.
func (s *simulation) withHost(host int) {
	if s.nodes[host].protected { // nothing starts on it
		return
	}
	for _, u := range s.estate.Users(host) {
		if t := &s.nodes[u]; t.boots && t.state == plan.Off && t.host == host {
			s.meet(MetBootedWithHost)
			s.referee.Followed(s.now, u, host)
			s.boot(u, s.took(u, plan.Start))
		}
	}
}
