package engine

import (
	"fmt"
	"slices"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// ledger is what is durable: it holds nothing that the records of the journal do not say, and changes by apply and by
// nothing else. The live engine applies each record that it appends, and resume applies those of the journal.
type ledger struct {
	estate *plan.Estate
	stages []string // of the policy, in the order in which they begin: protect, those that shed, shutdown
	node   []int    // per supply of the engine: its node
	supply []int    // per node: its supply, -1 for what is none
	caches []int    // the nodes that are flushed
	outage *outage  // the open one, nil while all is well
	newest string   // the id of the newest outage
	op     Op       // the highest number of an operation on record
}

// outage is one run: from mains lost to everything restored, or from a drill's order to its end.
type outage struct {
	id       string
	seq      uint64
	format   int // of its records: see record.go
	drill    drill
	orders   orders
	snapped  bool // the snapshot is on record
	supplies []standing
	nodes    []entry
	// What follows from the standing of the supplies, kept so that nobody has to find it anew.
	lost  []bool   // per node: no supply that carries it will go on carrying it
	scope []bool   // per node: it was lost at any time in this outage, or is part of the drill
	due   [][]bool // per stage and node: the stage has begun for supplies whose loss takes the node down
	cut   []bool   // per node: it is dark because supplies were cut that are not back
}

// orders are what operators have ordered and not taken back, beside what holds for single supplies (standing).
type orders struct {
	hold  bool
	abort bool // of a drill
}

// standing is how a supply stands in the outage.
type standing struct {
	fails  failure
	cycle  cycle
	stages []bool // which have been triggered for it
	reason string // of the last trigger
	missed int    // cuts that it took and did not make
	unseen bool   // since something was stopped that only its power cycle starts, its output may have been off unseen
}

// failure is whether a supply fails; it counts as failing until a record says that it has returned.
type failure uint8

const (
	wasWell   failure = iota // it has not failed in this outage
	isBack                   // it has, or may have, and does not any more
	failing                  // it fails
	calledOff                // it fails, and an operator has called off what that takes down: no stage begins for it until it is back
)

func (s *standing) failed() bool { return s.fails != wasWell }
func (s *standing) out() bool    { return s.fails >= failing }

// cycle is how far a supply is on the way of a power cycle: cut, and back.
type cycle uint8

const (
	uncut     cycle = iota
	committed       // something was told to stop that only its power cycle starts again
	cutSent         // the cut was commanded
	cutProven       // the cut counts down
	wentDark        // and the output was seen to be off: when it is on, it has come back
	gaveOut         // its output is off, and nobody has cut it: likewise
)

// isDark reports whether its output was seen to be off.
func (c cycle) isDark() bool { return c >= wentDark }

// isOurs reports whether it was begun by what we have commanded.
func (c cycle) isOurs() bool { return c != uncut && c != gaveOut }

// entry is what is on record of a node.
type entry struct {
	snap     snapshot
	last     command
	givenUp  plan.Verbs // steps that ended without proof since the node last gained or lost its power
	untried  plan.Verbs // those of them whose command has not reached the node
	stays    plan.Verbs // Flush, where it was proven: what is silent since is clean until what may write to it is up again
	falls    int        // how often what was brought about did not last, since then
	shown    shown      // what the records show of its power
	settings settings   // what was done to its cache, or cluster
	lit      lit        // what may have begun to bring it up, where nothing since shows what became of it
	late     bool       // an Unprotect may take effect that nobody waits for any more
	early    bool       // it was shown off before the cycle began that its supply is on the way of
}

// lit is what may have begun to bring a node up.
type lit uint8

const (
	unlit        lit = iota
	poweredAgain     // its power came back, or may have
	seenStarting     // it was seen on its way up
)

// seen takes down that a node was seen on its way up.
func (n *entry) seen(state plan.State) {
	if state == plan.Starting {
		n.lit = seenStarting
	}
}

// snapshot is what the snapshot says of a node.
type snapshot struct {
	was      then
	seenOn   bool      // not long before the outage
	past     bool      // it was off since, or had its power back: what it answers now says nothing of then
	cacheWas plan.Fact // whether its cache was in write-through
	set      string    // what Unprotect puts back
}

// then is how a node was when it came into the snapshot.
type then uint8

const (
	notThere then = iota // it is in none yet
	thenOff
	thenGoing  // it was on its way off
	thenOn     // it is to be on when the outage is over
	thenSilent // it could not be asked
)

func (s *snapshot) taken() bool  { return s.was != notThere }
func (s *snapshot) on() bool     { return s.was == thenOn }
func (s *snapshot) silent() bool { return s.was == thenSilent }

// command is the last command to a node.
type command struct {
	verb    plan.Verb // of the step
	rung    plan.Verb // Force, where Stop was not enough
	op      Op
	attempt int
	open    bool // neither proven nor given up nor held back
	answer  answer
	earlier reach // of the step's earlier commands
	was     shown // what the records showed of its power before the step
	taken   bool  // a stop was accepted, and nothing since can have started the node again
	cause   Cause
	reason  string
}

// reach is whether a command has come to its node.
type reach uint8

const (
	notReached reach = iota
	mayHaveReached
	hasReached
)

// reach tells whether this command has come to its node, or an earlier one of its step.
func (c *command) reach() reach {
	switch c.answer {
	case unreached:
		return c.earlier
	case noAnswer:
		return max(c.earlier, mayHaveReached)
	default:
		return hasReached
	}
}

// answer is what is on record of a command's answer.
type answer uint8

const (
	noAnswer answer = iota // maybe sent, maybe done
	accepted
	denied    // refused, or not now
	unreached // did not reach its node
	unknown   // sent, and nobody knows whether it was taken
)

// shown is what the records show of a node's power.
type shown uint8

const (
	asFound shown = iota
	told          // a stop, a cut or a start was commanded
	shownOff
	shownOn // after it had been off
)

// settings is what the records show of a cache or a cluster.
type settings uint8

const (
	asSet     settings = iota
	announced          // Protect is about to be commanded, for the first time
	changing           // it was commanded
	protected          // and proven
	putBack            // Unprotect was proven
	backAgain          // and it was seen otherwise since: it is put back once more
)

// newLedger makes the ledger of an estate on which no outage is open. Newest is the id of the newest outage that is known, "" if none is.
func newLedger(estate *plan.Estate, policy *power.Policy, supplies []power.Supply, newest string) ledger {
	l := ledger{estate: estate, newest: newest, supply: make([]int, estate.Len())}
	l.stages = append(l.stages, power.ProtectStage)
	for _, st := range policy.Shed {
		l.stages = append(l.stages, st.Name)
	}
	l.stages = append(l.stages, power.ShutdownStage)
	for i := range l.supply {
		l.supply[i] = -1
		if estate.Node(i).Can.Has(plan.Flush) {
			l.caches = append(l.caches, i)
		}
	}
	for _, decl := range supplies {
		if at, ok := estate.Index(decl.ID); ok {
			l.supply[at] = len(l.node)
			l.node = append(l.node, at)
		}
	}
	return l
}

// apply takes one record. It fails if the record names something that the estate no longer has.
func (l *ledger) apply(r *Record) error {
	nodes, err := l.named(r)
	if err != nil {
		return err
	}
	if r.Kind == Opened {
		l.open(r)
	}
	o := l.outage
	if o == nil {
		return fmt.Errorf("the outage does not begin with its %q record", Opened)
	}
	o.seq, l.op = r.Seq, max(l.op, r.Op)
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
		o.rememberOff()
		l.eachSupply(r, func(s *standing) {
			if s.cycle == uncut {
				s.cycle, s.unseen = committed, false
			}
		})
	case Ordered:
		l.ordered(r)
	case Closed:
		l.outage = nil
	case Intent, Asked, Accepted, Proven, Failed, HeldBack, Reopened:
		l.step(nodes[0], r)
	case Gap:
		l.runs()
	default: // Spent and Forbidden change nothing
	}
	return nil
}

// rememberOff marks what was shown off before a cycle begins: that it is on after a silence tells of no cycle since.
func (o *outage) rememberOff() {
	for i := range o.nodes {
		o.nodes[i].early = o.nodes[i].shown == shownOff
	}
}

// runs takes that Ebbtide runs, whatever was done to its own machine before.
func (l *ledger) runs() {
	for i := range l.outage.nodes {
		if n := &l.outage.nodes[i]; l.estate.Node(i).Kind == plan.Self && n.shown == shownOff {
			n.shown = shownOn
		}
	}
}

// named finds the nodes that a record is about: its Node, or those of its list. It fails if the record names what the estate
// does not have, before anything is changed by it. The node of an order is as the operator wrote it.
func (l *ledger) named(r *Record) ([]int, error) {
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
func (l *ledger) known(r *Record) error {
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

func (l *ledger) open(r *Record) {
	n := l.estate.Len()
	o := &outage{
		id: r.Outage, format: r.Format, supplies: make([]standing, len(l.node)), nodes: make([]entry, n),
		lost: make([]bool, n), scope: make([]bool, n), due: make([][]bool, len(l.stages)), cut: make([]bool, n),
	}
	for k := range o.supplies {
		o.supplies[k].stages = make([]bool, len(l.stages))
	}
	for k := range o.due {
		o.due[k] = make([]bool, n)
	}
	l.outage, l.newest = o, r.Outage
}

func (l *ledger) opened(r *Record) {
	l.lastSeen(r)
	if r.Mode == ModeDrill {
		l.openDrill(r)
		return
	}
	l.failing(r)
}

// lastSeen takes what was last seen on, or on its way up. What is on has not obeyed a stop that it took before.
func (l *ledger) lastSeen(r *Record) {
	for _, ns := range r.Nodes {
		if i, known := l.estate.Index(ns.Node); known {
			n := &l.outage.nodes[i]
			n.snap.seenOn = ns.State == plan.On
			n.last.taken = n.last.taken && ns.State != plan.On
			n.seen(ns.State)
		}
	}
}

// take takes a snapshot, or what is added to one.
func (o *outage) take(nodes []int, r *Record) {
	o.snapped = true
	for k, i := range nodes {
		o.nodes[i].take(&r.Nodes[k])
	}
}

func (n *entry) take(ns *NodeState) {
	was := thenOff
	switch ns.State {
	case plan.On, plan.Starting:
		was = thenOn
	case plan.Unknown, plan.Unreachable:
		was = thenSilent
	case plan.Stopping:
		was = thenGoing
	default:
	}
	n.snap = snapshot{was: was, seenOn: n.snap.seenOn, cacheWas: ns.Protected, set: ns.Settings}
}

// eachSupply changes the standing of each supply that a record names.
func (l *ledger) eachSupply(r *Record, change func(*standing)) {
	for _, id := range r.Supplies {
		if i, known := l.estate.Index(id); known && l.supply[i] >= 0 {
			change(&l.outage.supplies[l.supply[i]])
		}
	}
	l.settle()
}

func (l *ledger) failing(r *Record) {
	if l.outage.drill.on() { // what was ordered was for that
		l.outage.orders = orders{}
	}
	l.outage.drill.leave()
	l.eachSupply(r, func(s *standing) {
		if s.fails = max(s.fails, failing); r.Off {
			s.darkens()
		}
	})
}

// mains takes a change of a supply's power.
func (l *ledger) mains(r *Record) {
	switch r.Cause {
	case Returned:
		l.eachSupply(r, func(s *standing) { s.fails = min(s.fails, isBack) })
	case Dark:
		l.eachSupply(r, (*standing).darkens)
	case Released:
		l.eachSupply(r, func(s *standing) { s.cycle = uncut })
	case Cycled, Unseen:
		for _, id := range r.Supplies {
			if i, known := l.estate.Index(id); known {
				l.cycled(i, r)
			}
		}
		l.eachSupply(r, func(s *standing) {
			if s.unseen = r.Cause == Unseen; !s.unseen {
				s.cycle, s.missed = uncut, 0
			}
			s.fails = max(s.fails, isBack) // or may have failed: its gate counts
		})
	default: // Failing, and records of before there were causes
		l.failing(r)
	}
}

// cycled follows the return of an output, or of an outlet: what hangs on it, and on nothing that carried it meanwhile, may be on
// its way up, whatever was known of it before. That it was told to stop says nothing any more, and what only its power starts need
// not be off. Where nobody knows whether the output was off, what is on tells that (see cycledUnseen). What goes on not to answer
// need not be off either: it may have come up behind a network that is down (seed 7058668).
func (l *ledger) cycled(source int, r *Record) {
	dark := l.estate.Scope(func(f int) bool { return !slices.Contains(r.Carriers, l.estate.Node(f).ID) })
	for _, i := range l.estate.Dependents(source) {
		if !dark[i] {
			continue
		}
		n := &l.outage.nodes[i]
		l.mayWrite(i)
		n.last.taken, n.lit, n.snap.past = false, max(n.lit, poweredAgain), true
		if r.Cause == Cycled && l.estate.Node(i).ByPower && n.shown == shownOff && slices.Contains(l.estate.Needs(i), source) {
			n.shown = told
		}
	}
}

// turned marks a change of course. In the records of today it is for people; in those of format 0 the whole outage turned.
func (l *ledger) turned(r *Record) {
	o := l.outage
	if o.drill.on() && r.Goal == plan.Up {
		o.drill.phase = drillUp
	}
	if o.format > 0 || r.Format > 0 {
		return
	}
	for k := range o.supplies {
		s := &o.supplies[k]
		if s.cycle < cutSent || r.Goal == plan.Down {
			s.cycle = uncut
		}
		clear(s.stages)
		if r.Goal == plan.Up && slices.Contains(r.Supplies, l.estate.Node(l.node[k]).ID) {
			s.fails, s.cycle = min(s.fails, isBack), uncut
		}
	}
	for i := range o.nodes {
		o.nodes[i].givenUp, o.nodes[i].falls = 0, 0
	}
	l.settle()
}

func (l *ledger) triggered(r *Record) {
	if at := slices.Index(l.stages, r.Stage); at >= 0 { // a stage that the runbook no longer has takes nothing
		l.eachSupply(r, func(s *standing) { s.stages[at], s.reason = true, r.Reason })
	}
}

// ordered takes an operator's order. An abort is for the supplies that fail now: one that fails later is followed as any.
func (l *ledger) ordered(r *Record) {
	o := l.outage
	if r.Reason != "" {
		return // it was refused
	}
	switch r.Order {
	case Hold:
		o.orders.hold = true
	case Resume:
		o.orders.hold = false
	case Abort:
		o.orders.abort = o.drill.on()
		l.callOff(true)
	case Go:
		o.orders = orders{}
		l.callOff(false)
	case Confirm, Skip: // the Proven or Failed record says it
	}
}

// callOff takes back the stages that have begun for the supplies that fail, or says that they may begin again.
func (l *ledger) callOff(is bool) {
	for k := range l.outage.supplies {
		switch s := &l.outage.supplies[k]; {
		case !s.out():
		case is:
			s.fails, s.reason = calledOff, ""
			clear(s.stages)
		default:
			s.fails = failing
		}
	}
	l.settle()
}

// step takes a record about a step of a node.
func (l *ledger) step(i int, r *Record) {
	verb := plan.Stop
	if r.Verb != nil && *r.Verb != plan.Force {
		verb = *r.Verb
	}
	if verb == plan.Discharge || verb == plan.EndDischarge {
		l.outage.drill.follow(r)
		return
	}
	l.outage.nodes[i].step(verb, r)
	switch {
	case r.Kind == Intent && verb.BringsUp():
		if verb == plan.Start && l.estate.Node(i).Kind == plan.Outlet {
			l.cycled(i, r)
		}
		l.mayWrite(i)
	case r.Kind == Reopened, r.Kind == Proven && verb == plan.Start:
		l.mayWrite(i)
	}
	if k := l.supply[i]; k >= 0 && (verb == plan.Cut || r.Kind == Reopened) {
		l.outage.supplies[k].cut(r)
		l.settle()
	}
}

// mayWrite follows a node that comes up, or is up again: what it stands on need not be clean any more, nor need it be itself.
func (l *ledger) mayWrite(i int) {
	l.outage.nodes[i].stays = 0
	for _, c := range l.caches {
		if _, uses := slices.BinarySearch(l.estate.Dependents(c), i); uses {
			l.outage.nodes[c].stays = 0
		}
	}
}

// step takes a record about a step of this node.
func (n *entry) step(verb plan.Verb, r *Record) {
	switch r.Kind {
	case Intent, Asked:
		n.begun(verb, r)
	case Accepted:
		n.answered(verb, r)
	case Proven:
		n.proven(verb)
	case Failed:
		n.failed(verb, r)
	case HeldBack:
		if verb == plan.Unprotect && n.last.open && n.last.reach() != notReached {
			n.mayComeLate()
		}
		n.last.open = false
	case Reopened:
		n.reopened(verb)
		if r.State != nil {
			n.seen(*r.State)
		}
	default:
	}
}

// darkens follows an output that is off.
func (s *standing) darkens() {
	if s.cycle.isOurs() {
		s.cycle = wentDark
		return
	}
	s.cycle = gaveOut
}

// cut takes a record about the cut of the supply's output.
func (s *standing) cut(r *Record) {
	switch r.Kind {
	case Intent:
		s.cycle = cutSent
	case Proven:
		s.cycle = cutProven
		if r.State != nil && *r.State == plan.Off {
			s.cycle = wentDark
		}
	case HeldBack:
		s.cycle = committed
	case Reopened: // it took its cut and did not make it
		s.cycle, s.missed = committed, s.missed+1
	case Failed:
		s.cycle = uncut
	default:
	}
}

func (n *entry) begun(verb plan.Verb, r *Record) {
	earlier, was := notReached, n.shown
	if n.last.open && n.last.verb == verb {
		earlier, was = n.last.reach(), n.last.was
	}
	n.last = command{
		verb: verb, rung: *r.Verb, op: r.Op, attempt: r.Attempt, open: true, cause: r.Cause, reason: r.Reason,
		earlier: earlier, was: was, taken: n.last.taken && verb != plan.Start,
	}
	switch verb {
	case plan.Stop, plan.Cut, plan.Start:
		n.shown = told
	case plan.Protect:
		if n.settings == asSet {
			n.settings = announced
		} else {
			n.settings = changing
		}
	default:
	}
}

func (n *entry) answered(verb plan.Verb, r *Record) {
	if n.last.verb != verb || n.last.op != r.Op {
		return
	}
	if verb == plan.Protect && n.settings == announced {
		n.settings = changing
		if r.Outcome == Unreached {
			n.settings = asSet
		}
	}
	switch r.Outcome {
	case Done:
		n.last.answer = accepted
		n.last.taken = n.last.taken || verb == plan.Stop
		if verb == plan.Stop {
			n.lit = unlit
		}
	case Unreached:
		n.last.answer = unreached
		if n.shown == told && n.last.reach() == notReached { // nothing of the step has come to it
			n.shown = n.last.was
		}
	case TimedOut:
		n.last.answer = unknown
		n.late = n.late || verb == plan.Unprotect
	default:
		n.last.answer = denied
	}
}

func (n *entry) proven(verb plan.Verb) {
	n.givenUp &^= plan.VerbSet(verb)
	n.last.open = n.last.open && n.last.verb != verb
	switch verb {
	case plan.Stop, plan.Cut:
		n.shown, n.lit, n.early, n.snap.past = shownOff, unlit, false, true
	case plan.Start:
		n.shown, n.lit, n.last.taken = shownOn, unlit, false
	case plan.Protect:
		if n.settings == changing || n.settings == announced {
			n.settings = protected
		}
	case plan.Flush:
		n.stays = plan.VerbSet(plan.Flush)
	case plan.Unprotect:
		n.settings = putBack
	default:
	}
}

// mayComeLate follows an Unprotect that nobody waits for any more: what was protected need not stay so.
func (n *entry) mayComeLate() {
	n.late = true
	if n.settings == protected {
		n.settings = changing
	}
}

func (n *entry) failed(verb plan.Verb, r *Record) {
	n.givenUp |= plan.VerbSet(verb)
	n.untried &^= plan.VerbSet(verb)
	if r.Outcome != Done && (r.Attempt == 0 || n.last.verb == verb && n.last.reach() != hasReached) {
		n.untried |= plan.VerbSet(verb)
	}
	n.last.open = n.last.open && n.last.verb != verb
	if verb == plan.Unprotect && r.Attempt > 0 {
		n.mayComeLate()
	}
	switch {
	case verb == plan.Start && n.shown == shownOn:
		n.shown = told
	case verb == plan.Protect && n.settings == protected:
		n.settings = changing
	}
}

// reopened follows what was shown to be so and is not any more.
func (n *entry) reopened(verb plan.Verb) {
	n.last.open = false
	n.falls++
	n.givenUp &^= plan.VerbSet(verb)
	switch verb {
	case plan.Protect:
		n.settings = changing
		return
	case plan.Unprotect:
		n.settings = backAgain
		return
	default:
	}
	n.shown, n.last.taken = told, false
}

// touched reports whether anything was commanded on a node in this outage.
func (n *entry) touched() bool { return n.shown != asFound || n.settings != asSet }

// tookProtect reports whether what was told to be protected was seen to be: where it was not, a look that shows nothing of that may
// be too early.
func (n *entry) tookProtect() bool { return n.settings == protected || n.settings == backAgain }

// changed reports whether this outage has changed a cache or a cluster, and not put it back.
func (n *entry) changed() bool {
	return n.settings != asSet && n.settings != putBack
}

// dark reports whether a supply that stands so will not go on carrying its load.
func (s *standing) dark() bool { return s.out() || s.cycle != uncut }

// settle finds what follows from the standing of the supplies. A node that gains or loses its power begins anew: what was
// tried on it before says nothing of what can be had now.
func (l *ledger) settle() {
	o := l.outage
	for k := range o.supplies {
		if s := &o.supplies[k]; !s.dark() {
			clear(s.stages)
			s.reason = ""
		}
	}
	lost := l.goesDark(func(s *standing) bool { return s.dark() })
	for i, is := range lost {
		if is != o.lost[i] {
			o.nodes[i].givenUp, o.nodes[i].falls = 0, 0
		}
		o.scope[i] = o.scope[i] || is
	}
	o.lost, o.cut = lost, l.goesDark(func(s *standing) bool { return s.cycle >= cutProven })
	for st := range o.due {
		o.due[st] = l.goesDark(func(s *standing) bool { return s.stages[st] || s.cycle.isDark() && s.fails != calledOff })
	}
}

// goesDark tells which nodes go dark with the supplies that stand in some way.
func (l *ledger) goesDark(with func(*standing) bool) []bool {
	return l.estate.Scope(func(i int) bool {
		k := l.supply[i]
		return k >= 0 && with(&l.outage.supplies[k])
	})
}

// openDrill takes the first record of a drill.
func (l *ledger) openDrill(r *Record) {
	o := l.outage
	for _, id := range r.Scope {
		i, _ := l.estate.Index(id)
		if l.supply[i] >= 0 {
			o.drill = drill{phase: drillBattery, supply: i}
			return
		}
		if o.drill.in == nil {
			o.drill = drill{phase: drillDown, in: make([]bool, len(o.nodes))}
		}
		o.drill.in[i], o.scope[i] = true, true
	}
}

// drill is what is on record of a drill.
type drill struct {
	phase   drillPhase
	was     bool   // the outage began as a drill
	in      []bool // the nodes that it takes
	supply  int    // whose battery it discharges
	battery batteryTest
}

type drillPhase uint8

const (
	noDrill      drillPhase = iota // none, or a supply has failed since
	drillDown                      // it takes its nodes down
	drillUp                        // and brings them back
	drillBattery                   // it discharges a battery
)

// batteryTest is how far the test of a battery is on record.
type batteryTest uint8

const (
	notBegun batteryTest = iota
	testTold
	testRuns
	endTold      // and that may not have left before a crash
	endToldAgain // one of the two has
	testEnded
)

func (d *drill) on() bool { return d.phase != noDrill }

// leave makes a drill an outage: nothing more is stopped for it, and what it has stopped stays in the snapshot as on.
func (d *drill) leave() { d.was, d.phase = d.was || d.on(), noDrill }

// follow takes a record about the test of a battery.
func (d *drill) follow(r *Record) {
	switch {
	case r.Kind == Intent && *r.Verb == plan.Discharge:
		d.battery = testTold
	case r.Kind == Proven && *r.Verb == plan.Discharge:
		d.battery = testRuns
	case r.Kind == Intent && d.battery >= endTold:
		d.battery = endToldAgain
	case r.Kind == Intent:
		d.battery = endTold
	case *r.Verb == plan.EndDischarge && (r.Kind == Proven || r.Kind == Failed):
		d.battery = testEnded
	}
}
