// Package belief is what is known of an estate: of its nodes by looks that are of their present epoch, of its supplies by their readings,
// and what follows from both together with what is on record. It asks and answers and decides nothing: what is to be done about it is the
// engine's. What is believed lives no longer than Ebbtide does; after a crash nothing is.
package belief

import (
	"cmp"
	"slices"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// How old what was seen may be, and how long what was not.
const (
	FirstRetry    = 2 * time.Second  // after a busy or unreachable system; doubling from there
	ProofAge      = 2 * time.Second  // older proofs of users are renewed before what they use goes
	ProofStands   = 15 * time.Second // for so long a proof that was renewed, or asked for in vain, stands while others are asked
	ProofLooks    = 2                // so many looks in a row prove a user off
	LookAge       = 30 * time.Second // what an earlier look showed saves the command
	TrustLast     = 15 * time.Minute // how old an earlier look may be where the survey got no answer
	GoneAfterStop = 5 * time.Second  // for so long a node is gone, after a stop that it took, before it is off
	DeafAfter     = 15 * time.Second // a supply that was silent for longer may have lost its output and have it again
	longSilence   = time.Minute      // or than this, if its battery lasts for long (docs/adr/0019)
	lastsLonger   = 5                // so many times as long as the silence
	onBattery     = 2 * time.Minute  // or than this, if it is on battery then as it was before
	cutCycle      = 3 * DeafAfter    // no cut from before a restart is made and over in less, mains and all
	fallsUnheard  = 5.0              // percent of a charge that is missing after a silence: its mains were gone
	onLong        = 5 * time.Minute  // or than this, if its gauge has fallen since by what it may
	fallsBy       = 4                // a part of what that time costs at most
	finest        = 2                // percent: what a gauge that counts in steps tells all the same
	usualOffDelay = 20 * time.Second // NUT's own, where the run book does not say
	usualOnDelay  = 30 * time.Second // NUT's own, where the run book does not say
	Unwatched     = 8 * time.Second  // for so long an output may be off and on again without having been seen
)

// Estate is what is known and believed of an estate: what is on record, what was seen of its nodes, what its supplies say.
type Estate struct {
	Now    time.Time
	Graph  *plan.Estate
	Policy *power.Policy
	Ledger ledger.Ledger

	Beliefs    []Belief // per node
	Protectors []int    // caches and clusters
	hosts      []int
	hostOf     []int    // per node: see HostOf
	users      [][]int  // per node: see UsersOf; nil: not asked yet
	grounds    []ground // per node
	grid
	past
}

// grid is what is known of the supplies, and what follows for what they carry.
type grid struct {
	Supplies     []Supply
	well         ledger.Standing // that of every supply while no outage is open: the zero one, which nothing changes
	Fed          []bool          // per node: it may be started as far as power goes
	firm         []bool          // per node: it is lost, also if supplies that are on line again stay so
	losses       [][][]int       // per node: the sets of supplies with which it loses its power: see lossesOf
	Unheard      bool            // a supply is to be heard before anything begins on what it feeds: see UnheardFor
	watchesMains bool            // the policy watches more than the batteries
	watchesSag   bool            // and brown-outs
}

// past is what is of the lives of Ebbtide before this one.
type past struct {
	ResumedAt time.Time // when an outage from before a crash was taken up; zero: none was
	Life      ledger.Op // the highest number of an operation of before
	AwayFrom  time.Time // when the newest record of before was made; zero: there is none
}

// New takes an estate of which nothing is known yet.
func New(declared *plan.Estate, policy *power.Policy, supplies []power.Supply, newest string) Estate {
	n := declared.Len()
	e := Estate{
		Graph: declared, Policy: policy, Ledger: ledger.New(declared, policy, supplies, newest), Beliefs: make([]Belief, n),
		users: make([][]int, n), grounds: make([]ground, n), hostOf: make([]int, n),
		grid: grid{
			Fed: make([]bool, n), firm: make([]bool, n), losses: make([][][]int, n),
			watchesMains: watches(policy, power.Brownout, power.TemperatureAbove), watchesSag: watches(policy, power.Brownout),
		},
	}
	for _, node := range e.Ledger.SupplyNodes {
		at := slices.IndexFunc(supplies, func(d power.Supply) bool { return d.ID == e.ID(node) })
		e.Supplies = append(e.Supplies, Supply{
			Node: node, Tracker: power.NewTracker(supplies[at]),
			delays: delays{
				cmp.Or(supplies[at].OffDelay, usualOffDelay), cmp.Or(supplies[at].OnDelay, usualOnDelay),
				supplies[at].StaysOff,
			},
		})
	}
	for i := range n {
		e.losses[i] = e.lossesOf(i)
		e.hostOf[i] = declared.HostOf(i)
		if declared.Node(i).Can.Has(plan.Protect) {
			e.Protectors = append(e.Protectors, i)
		}
		if declared.Node(i).Kind == plan.Host {
			e.hosts = append(e.hosts, i)
		}
	}
	return e
}

// Keep takes over what was known of an estate that was declared otherwise, of what has the same name.
func (e *Estate) Keep(old *Estate, declared []power.Supply) {
	e.Now, e.past = old.Now, old.past
	for i := range e.Beliefs {
		if was, ok := old.Graph.Index(e.ID(i)); ok {
			e.Beliefs[i] = old.Beliefs[was]
		}
	}
	for k := range e.Supplies {
		s := &e.Supplies[k]
		was := slices.IndexFunc(old.Supplies, func(o Supply) bool { return old.ID(o.Node) == e.ID(s.Node) })
		if was < 0 {
			continue
		}
		at := slices.IndexFunc(declared, func(d power.Supply) bool { return d.ID == e.ID(s.Node) })
		s.Tracker, s.State, s.Heard = old.Supplies[was].Tracker, old.Supplies[was].State, old.Supplies[was].Heard
		s.Tracker.Declare(declared[at])
		s.harmful = e.harms(s)
	}
}

// lossesOf lists the sets of supplies with each of which a node loses its power: its own feeds, and those of what it needs,
// which are known already.
func (e *Estate) lossesOf(i int) [][]int {
	if k := e.Ledger.SupplyOf[i]; k >= 0 {
		return [][]int{{k}}
	}
	var losses [][]int
	if feeds := e.Graph.Feeds(i); len(feeds) > 0 {
		own := make([]int, len(feeds))
		for at, f := range feeds {
			own[at] = e.Ledger.SupplyOf[f]
		}
		losses = append(losses, own)
	}
	for _, d := range e.Graph.Needs(i) {
		if e.Ledger.SupplyOf[d] < 0 {
			losses = append(losses, e.losses[d]...)
		}
	}
	slices.SortFunc(losses, slices.Compare)
	return slices.Clip(slices.CompactFunc(losses, slices.Equal))
}

// Last is the last command to a node.
func (e *Estate) Last(i int) *ledger.Command { return &e.Entry(i).Last }

// Standing is how a supply stands in the open outage; the zero one while there is none.
func (e *Estate) Standing(k int) *ledger.Standing {
	if e.Ledger.Outage == nil {
		return &e.well
	}
	return &e.Ledger.Outage.Supplies[k]
}

// Open reports whether an outage is under way.
func (e *Estate) Open() bool { return e.Ledger.Outage != nil }

// ID is the name of a node.
func (e *Estate) ID(i int) string { return e.Graph.Node(i).ID }

// Entry is what is on record of a node in the open outage.
func (e *Estate) Entry(i int) *ledger.Node { return &e.Ledger.Outage.Nodes[i] }
