// Package ledger is what is durable of an outage: the records that the journal holds, and what they come to. Everything shown anywhere
// is a fold over records; this one is the engine's. It holds nothing that the records do not say, and changes by Apply and by nothing else:
// the live engine applies each record that it appends, and a restarted one those of its journal.
package ledger

import (
	"fmt"
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// Ledger is what the records of an estate come to. Whoever reads it changes nothing of it (test/arch).
type Ledger struct {
	estate      *plan.Estate
	Stages      []plan.Stage // of the policy, in the order in which they begin: protect, those that shed, shutdown
	SupplyNodes []int        // per supply of the engine: its node
	SupplyOf    []int        // per node: its supply, -1 for what is none
	Caches      []int        // the nodes that are flushed
	Outage      *Outage      // the open one, nil while all is well
	Newest      string       // the id of the newest outage
	Op          Op           // the highest number of an operation on record
}

// Outage is one run: from mains lost to everything restored, or from a drill's order to its end.
type Outage struct {
	ID       string
	Seq      uint64
	Format   int // of its records: see record.go
	Drill    Drill
	Orders   Orders
	Snapped  bool // the snapshot is on record
	Supplies []Standing
	Nodes    []Node
	// What follows from the standing of the supplies, kept so that nobody has to find it anew.
	Lost  []bool    // per node: no supply that carries it will go on carrying it
	Scope []bool    // per node: it was lost at any time in this outage, or is part of the drill
	Due   [][]bool  // per stage and node: the stage has begun for supplies whose loss takes the node down
	Cut   []bool    // per node: it is dark because supplies were cut that are not back
	clock time.Time // of the newest record
}

// Orders are what operators have ordered and not taken back, beside what holds for single supplies (standing).
type Orders struct {
	Hold  bool
	Abort bool // of a drill
}

// New makes the ledger of an estate on which no outage is open. Newest is the id of the newest outage that is known, "" if none is.
func New(estate *plan.Estate, policy *power.Policy, supplies []power.Supply, newest string) Ledger {
	l := Ledger{estate: estate, Newest: newest, SupplyOf: make([]int, estate.Len())}
	l.Stages = append(l.Stages, plan.ProtectStage)
	for _, st := range policy.Shed {
		l.Stages = append(l.Stages, plan.Stage(st.Name))
	}
	l.Stages = append(l.Stages, plan.ShutdownStage)
	for i := range l.SupplyOf {
		l.SupplyOf[i] = -1
		if estate.Node(i).Can.Has(plan.Flush) {
			l.Caches = append(l.Caches, i)
		}
	}
	for _, decl := range supplies {
		if at, ok := estate.Index(decl.ID); ok {
			l.SupplyOf[at] = len(l.SupplyNodes)
			l.SupplyNodes = append(l.SupplyNodes, at)
		}
	}
	return l
}

// Apply takes one record. It fails if the record names something that the estate no longer has.
func (l *Ledger) Apply(r *Record) error {
	nodes, err := l.named(r)
	if err != nil {
		return err
	}
	if r.Kind == Opened {
		l.open(r)
	}
	o := l.Outage
	if o == nil {
		return fmt.Errorf("the outage does not begin with its %q record", Opened)
	}
	o.Seq, l.Op = r.Seq, max(l.Op, r.Op)
	o.followClock(r.At)
	l.take(nodes, r)
	return nil
}

// take takes a record that names what there is.
func (l *Ledger) take(nodes []int, r *Record) {
	o := l.Outage
	switch r.Kind {
	case Opened:
		l.opened(r)
	case Snapshot, Widened:
		o.take(nodes, r)
	case Seen:
		l.lastSeen(r)
	case Mains:
		l.mains(r)
	case Turned:
		l.turned(r)
	case Triggered:
		l.triggered(r)
	case NoReturn:
		l.noReturn(r)
	case Ordered:
		l.ordered(r)
	case Closed:
		l.Outage = nil
	case Intent, Asked, Accepted, Proven, Failed, HeldBack, Reopened:
		l.step(nodes[0], r)
	case Gap:
		l.gap()
	case Still:
		l.still(r)
	case Spent:
		l.spent(r)
	default: // Forbidden changes nothing
	}
}

// noReturn takes the begin of the cycle of supplies.
func (l *Ledger) noReturn(r *Record) {
	l.rememberOff(r)
	l.eachSupply(r, func(s *Standing) {
		if s.Cycle == Uncut {
			s.Cycle, s.Unseen, s.Twice = Committed, false, r.Cause == AfterAll
		}
	})
}

// rememberOff marks what a supply feeds that was shown off before its cycle begins: that it is on after a silence tells of no cycle since.
// What a cut comes after all for is off, and only that starts it.
func (l *Ledger) rememberOff(r *Record) {
	if r.Cause == AfterAll {
		return
	}
	for _, id := range r.Supplies {
		if supply, known := l.estate.Index(id); known {
			for _, i := range l.estate.Dependents(supply) {
				l.Outage.Nodes[i].Early = l.Outage.Nodes[i].Shown == ShownOff
			}
		}
	}
}

// runs takes that Ebbtide runs, whatever was done to its own machine before.
func (l *Ledger) runs() {
	for i := range l.Outage.Nodes {
		if n := &l.Outage.Nodes[i]; l.estate.Node(i).Kind == plan.Self && n.Shown == ShownOff {
			n.Shown = ShownOn
		}
	}
}

// named finds the nodes that a record is about: its Node, or those of its list. It fails if the record names what the estate
// does not have, before anything is changed by it. The node of an order is as the operator wrote it.
func (l *Ledger) named(r *Record) ([]int, error) {
	if err := l.known(r); err != nil {
		return nil, err
	}
	if r.Node != "" && r.Kind != Ordered {
		i, known := l.estate.Index(r.Node)
		if !known {
			return nil, fmt.Errorf("node %q is in the journal but not in the runbook: start with the runbook that the outage began with", r.Node)
		}
		return []int{i}, nil
	}
	if r.Kind != Snapshot && r.Kind != Widened {
		return nil, nil
	}
	nodes := make([]int, len(r.Nodes))
	for k, ns := range r.Nodes {
		i, known := l.estate.Index(ns.Node)
		if !known {
			return nil, fmt.Errorf("node %q is in the snapshot but not in the runbook: start with the runbook that the outage began with", ns.Node)
		}
		nodes[k] = i
	}
	return nodes, nil
}

// known reports whether the estate has the supplies that a record names, and what a drill takes.
func (l *Ledger) known(r *Record) error {
	for _, id := range r.Supplies {
		if _, known := l.estate.Index(id); !known {
			return fmt.Errorf("supply %q is in the journal but not in the runbook: start with the runbook that the outage began with", id)
		}
	}
	for _, id := range r.Scope {
		if _, known := l.estate.Index(id); !known {
			return fmt.Errorf("node %q is in the journal but not in the runbook: start with the runbook that the drill began with", id)
		}
	}
	return nil
}

func (l *Ledger) open(r *Record) {
	n := l.estate.Len()
	o := &Outage{
		ID: r.Outage, Format: r.Format, Supplies: make([]Standing, len(l.SupplyNodes)), Nodes: make([]Node, n),
		Lost: make([]bool, n), Scope: make([]bool, n), Due: make([][]bool, len(l.Stages)), Cut: make([]bool, n),
	}
	for k := range o.Supplies {
		o.Supplies[k].Stages = make([]bool, len(l.Stages))
	}
	for k := range o.Due {
		o.Due[k] = make([]bool, n)
	}
	l.Outage, l.Newest = o, r.Outage
}

func (l *Ledger) opened(r *Record) {
	l.lastSeen(r)
	for _, ns := range r.Nodes {
		if i, known := l.estate.Index(ns.Node); known {
			l.Outage.Nodes[i].Late = ns.Late
		}
	}
	if r.Mode == ModeDrill {
		l.openDrill(r)
		return
	}
	l.failing(r)
}

// lastSeen takes what was last seen on, or on its way up. Then it has not obeyed a stop that it took before, or something has started it
// since.
func (l *Ledger) lastSeen(r *Record) {
	for _, ns := range r.Nodes {
		if i, known := l.estate.Index(ns.Node); known {
			n := &l.Outage.Nodes[i]
			if ns.State != plan.Unknown { // else what runs on it was seen
				n.Snap.SeenOn = ns.State == plan.On || ns.State == plan.Starting && n.Snap.SeenOn
			}
			if ns.State == plan.On || ns.State == plan.Starting || r.Cause == CameAgain || r.Cause == Disproved {
				n.Last.Taken, n.Last.Heard = false, false
			}
			switch {
			case r.Cause == Disproved:
				n.disproved()
				l.mayCarry(i)
			case r.Cause == CameAgain && l.estate.Node(i).Kind == plan.Outlet:
				l.cycled(i, r)
			case r.Cause == CameAgain:
				l.mayCarry(i)
			}
			n.seen(ns.State)
		}
	}
}

// take takes a snapshot, or what is added to one.
func (o *Outage) take(nodes []int, r *Record) {
	o.Snapped = true
	for k, i := range nodes {
		o.Nodes[i].take(&r.Nodes[k])
	}
}

// ordered takes an operator's order. An abort is for the supplies that fail now: one that fails later is followed as any.
func (l *Ledger) ordered(r *Record) {
	o := l.Outage
	if r.Reason != "" {
		return // it was refused
	}
	switch r.Order {
	case Hold:
		o.Orders.Hold = true
	case Resume:
		o.Orders.Hold = false
	case Abort:
		o.Orders.Abort = o.Drill.On()
		l.callOff(true)
	case Go:
		o.Orders = Orders{}
		l.callOff(false)
	case Confirm, Skip: // the Proven or Failed record says it
	}
}

// settle finds what follows from the standing of the supplies. A node that gains or loses its power begins anew: what was
// tried on it before says nothing of what can be had now.
func (l *Ledger) settle() {
	o := l.Outage
	for k := range o.Supplies {
		if s := &o.Supplies[k]; !s.IsDark() {
			clear(s.Stages)
			s.Reason = ""
		}
	}
	lost := l.goesDark(func(s *Standing) bool { return s.IsDark() })
	for i, is := range lost {
		if is != o.Lost[i] {
			o.Nodes[i].GivenUp, o.Nodes[i].Relapses = 0, 0
		}
		o.Scope[i] = o.Scope[i] || is
	}
	o.Lost, o.Cut = lost, l.goesDark(func(s *Standing) bool { return s.Cycle >= CutProven })
	calledOff := func(s *Standing) bool { return s.Fails == CalledOff }
	left := l.goesDark(calledOff)
	for st := range o.Due {
		o.Due[st] = l.goesDark(func(s *Standing) bool { return s.Stages[st] || s.Cycle.IsDark() && !calledOff(s) })
		// What is called off keeps nothing that another supply's stage takes: its battery is all that would carry it then.
		for i, is := range l.goesDark(func(s *Standing) bool { return s.Stages[st] || s.Cycle.IsDark() || calledOff(s) }) {
			o.Due[st][i] = o.Due[st][i] || is && !left[i]
		}
	}
}

// goesDark tells which nodes go dark with the supplies that stand in some way.
func (l *Ledger) goesDark(with func(*Standing) bool) []bool {
	return l.estate.Scope(func(i int) bool {
		k := l.SupplyOf[i]
		return k >= 0 && with(&l.Outage.Supplies[k])
	})
}
