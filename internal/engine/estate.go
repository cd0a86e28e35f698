package engine

import (
	"slices"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// Estate is what is known and believed of an estate: what is on record, what was seen of its nodes, what its supplies say.
type Estate struct {
	now    time.Time
	estate *plan.Estate
	policy *power.Policy
	ledger ledger.Ledger

	beliefs    []belief // per node
	protectors []int    // caches and clusters
	hosts      []int
	users      [][]int // per node: see usersOf; nil: not asked yet
	grid
	past
}

// grid is what is known of the supplies, and what follows for what they carry.
type grid struct {
	supplies     []supply
	well         ledger.Standing // that of every supply while no outage is open: the zero one, which nothing changes
	fed          []bool          // per node: it may be started as far as power goes
	firm         []bool          // per node: it is lost, also if supplies that are on line again stay so
	losses       [][][]int       // per node: the sets of supplies with which it loses its power: see lossesOf
	unheard      bool            // a supply is to be heard before anything begins on what it feeds: see unheardFor
	watchesMains bool            // the policy watches more than the batteries
}

// past is what is of the lives of Ebbtide before this one.
type past struct {
	resumedAt time.Time // when an outage from before a crash was taken up; zero: none was
	life      ledger.Op // the highest number of an operation of before
}

// newEstate takes an estate of which nothing is known yet.
func newEstate(s *Settings, newest string) Estate {
	n := s.Estate.Len()
	e := Estate{
		estate: s.Estate, policy: &s.Policy, ledger: ledger.New(s.Estate, &s.Policy, s.Supplies, newest), beliefs: make([]belief, n), users: make([][]int, n),
		grid: grid{fed: make([]bool, n), firm: make([]bool, n), losses: make([][][]int, n), watchesMains: watchesMains(&s.Policy)},
	}
	for _, at := range e.ledger.SupplyNodes {
		declared := slices.IndexFunc(s.Supplies, func(d power.Supply) bool { return d.ID == e.id(at) })
		e.supplies = append(e.supplies, supply{node: at, tracker: power.NewTracker(s.Supplies[declared])})
	}
	for i := range n {
		e.losses[i] = e.lossesOf(i)
		if s.Estate.Node(i).Can.Has(plan.Protect) {
			e.protectors = append(e.protectors, i)
		}
		if s.Estate.Node(i).Kind == plan.Host {
			e.hosts = append(e.hosts, i)
		}
	}
	return e
}

// keep takes over what was known of an estate that was declared otherwise, of what has the same name.
func (e *Estate) keep(old *Estate, declared []power.Supply) {
	e.now, e.past = old.now, old.past
	for i := range e.beliefs {
		if was, ok := old.estate.Index(e.id(i)); ok {
			e.beliefs[i] = old.beliefs[was]
		}
	}
	for k := range e.supplies {
		s := &e.supplies[k]
		was := slices.IndexFunc(old.supplies, func(o supply) bool { return old.id(o.node) == e.id(s.node) })
		if was < 0 {
			continue
		}
		at := slices.IndexFunc(declared, func(d power.Supply) bool { return d.ID == e.id(s.node) })
		s.tracker, s.state = old.supplies[was].tracker, old.supplies[was].state
		s.tracker.Declare(declared[at])
		s.harmful = e.harms(s)
	}
}

// lossesOf lists the sets of supplies with each of which a node loses its power: its own feeds, and those of what it needs,
// which are known already.
func (e *Estate) lossesOf(i int) [][]int {
	if k := e.ledger.SupplyOf[i]; k >= 0 {
		return [][]int{{k}}
	}
	var losses [][]int
	if feeds := e.estate.Feeds(i); len(feeds) > 0 {
		own := make([]int, len(feeds))
		for at, f := range feeds {
			own[at] = e.ledger.SupplyOf[f]
		}
		losses = append(losses, own)
	}
	for _, d := range e.estate.Needs(i) {
		if e.ledger.SupplyOf[d] < 0 {
			losses = append(losses, e.losses[d]...)
		}
	}
	slices.SortFunc(losses, slices.Compare)
	return slices.Clip(slices.CompactFunc(losses, slices.Equal))
}
