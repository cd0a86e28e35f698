package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// ModeDrill is the mode of a run that began as a drill, in its first record.
const ModeDrill = "drill"

// drillSilence is how long a supply may say nothing before a drill goes no further.
const drillSilence = 15 * time.Second

// drill begins a rehearsal for real, or says why not. It is a run like an outage: the same snapshot, order, guards,
// limits, proofs and retries. Only what begins it, what it covers and what turns it up differ.
func (e *Engine) drill(d Drill) {
	if refusal := e.RefusesDrill(d); refusal != "" {
		e.notify(false, "drill by "+d.By+" refused: "+refusal)
		return
	}
	if d.Supply != "" {
		e.openDischarge(d)
		return
	}
	in, _ := e.takes(d)
	e.openRun()
	r := e.run
	r.drilled, r.drill, r.dark = true, in, in
	copy(r.scope, in)
	ids := e.ids(func(i int) bool { return in[i] })
	e.record(Record{
		Kind: Opened, Mode: ModeDrill, Scope: ids, By: d.By, Members: e.settings.Members,
		Digest: e.estate.Plan(plan.Down, func(i int) bool { return in[i] }).Digest(), Reason: "ordered by " + d.By, Nodes: e.lastSeenOn(),
	})
	e.notify(false, "drill by "+d.By+": "+some(ids))
	e.surveyScope()
	e.askForEstimate()
}

// Outlook is what a drill of nodes would do.
type Outlook struct {
	Scope   []string // the nodes that it takes, in the estate's order
	On      []string // those of them that are on: what goes down and comes back
	Refusal string   // why not, and after a semicolon what to do instead; "": nothing speaks against it
	Looking bool     // the first look at the estate is not over: what is refused now may not be in a moment
}

// Outlook tells what a drill would do now. Before its first command a drill asks all of it anew.
func (e *Engine) Outlook(d Drill) Outlook {
	o := Outlook{Refusal: e.RefusesDrill(d)}
	if in, _ := e.takes(d); in != nil {
		o.Scope = e.ids(func(i int) bool { return in[i] })
		o.On = e.ids(func(i int) bool { return in[i] && e.runs(i) })
	}
	o.Looking = slices.ContainsFunc(e.supplies, func(s supply) bool { return s.state.Supply == "" })
	for i := range e.nodes {
		o.Looking = o.Looking || e.nodes[i].probe != 0 && e.nodes[i].seenAt.IsZero()
	}
	return o
}

// RefusesDrill tells why a drill would not begin now, and after a semicolon what to do instead; "" if it would.
func (e *Engine) RefusesDrill(d Drill) string {
	switch {
	case e.run != nil && e.inDrill():
		return "a drill is under way; wait for its end, or use abort to end it now"
	case e.run != nil:
		return "an outage is under way; wait until it is over"
	case e.journalLost:
		return "the journal can't be written, so that nobody would know what to bring back; mend its disk first"
	}
	for k := range e.supplies {
		if s := &e.supplies[k]; s.unfit() != "" {
			return "supply " + e.id(s.node) + " is " + s.unfit() + "; wait until every supply is on line"
		}
	}
	if d.Supply != "" {
		return e.refusesDischarge(d)
	}
	in, unknown := e.takes(d)
	if unknown != "" {
		return unknown
	}
	for _, check := range []func([]bool) string{e.cannotComeBack, e.notSeen, e.needed} {
		if why := check(in); why != "" {
			return why
		}
	}
	return ""
}

// unfit says what about a supply speaks against taking anything down on purpose; "": nothing.
func (s *supply) unfit() string {
	st := &s.state
	switch {
	case st.Failing(), st.Mains != power.MainsOnline, st.SilentFor > 0, st.BrownoutFor > 0, st.Calibrating:
		return st.String()
	case s.out:
		return "on line, but not for long enough"
	}
	return ""
}

// takes tells which nodes a drill names; or what it names that there is not.
func (e *Engine) takes(d Drill) (in []bool, unknown string) {
	in = make([]bool, len(e.nodes))
	pick := func(fits func(*plan.Node) bool) (any bool) {
		for i := range e.nodes {
			if fits(e.estate.Node(i)) {
				in[i], any = true, true
			}
		}
		return any
	}
	shed := func(s power.Stage) bool { return s.Name == d.Stage }
	switch {
	case d.Supply != "":
		return nil, ""
	case d.Stage != "" && !slices.ContainsFunc(e.settings.Policy.Shed, shed):
		return nil, fmt.Sprintf("no shed stage is called %q; name one of the policy's, or nodes", d.Stage)
	case d.Stage != "" && !pick(func(n *plan.Node) bool { return n.Stage == d.Stage }):
		return nil, fmt.Sprintf("stage %q has no nodes; name another", d.Stage)
	case d.Stage == "" && len(d.Nodes) == 0:
		return nil, "nothing is named to be drilled; name nodes, a shed stage or a supply"
	}
	for _, word := range d.Nodes {
		key, value, label := strings.Cut(word, "=")
		found := pick(func(n *plan.Node) bool {
			return n.ID == word || n.Group == word || label && slices.Contains(n.Labels, plan.Label{Key: key, Value: value})
		})
		if !found {
			return nil, fmt.Sprintf("no node has the name or label %q; see `ebbtide status` for what there is", word)
		}
	}
	return in, ""
}

// cannotComeBack names what a drill must not take since nothing that Ebbtide can command starts it again.
func (e *Engine) cannotComeBack(in []bool) string {
	for i := range e.nodes {
		decl := e.estate.Node(i)
		switch {
		case !in[i]:
		case decl.Kind == plan.Self:
			return decl.ID + " is the machine that Ebbtide runs on; leave it out"
		case decl.Kind == plan.Supply:
			return decl.ID + " is a supply: cutting its output is no drill; leave it out, or drill its battery (--battery)"
		case decl.Kind == plan.Person:
			return decl.ID + " is a person's step; leave it out"
		case decl.Can.Has(plan.Stop) && (decl.ByPower || !decl.Can.Has(plan.Start)):
			return "nothing but the return of its power or a person starts " + decl.ID + " again; leave it out, or give it a way to be woken (up: {wake: …})"
		}
	}
	return ""
}

// notSeen names nodes of which nobody knows whether they are on.
func (e *Engine) notSeen(in []bool) string {
	unknown := e.ids(func(i int) bool {
		st := e.nodes[i].seen.State
		return in[i] && probed(e.estate.Node(i)) && e.estate.Node(i).Can.Has(plan.Stop) && st != plan.On && st != plan.Off && st != plan.Gone && !e.nodes[i].down
	})
	switch {
	case len(unknown) > 0:
		return "nobody knows whether they are on or off: " + some(unknown) + "; wait until they answer, or leave them out"
	case len(e.ids(func(i int) bool { return in[i] && e.runs(i) })) == 0:
		return "nothing of it is on; there is nothing to drill"
	}
	return ""
}

// runs tells whether a node is one that a drill would stop and start.
func (e *Engine) runs(i int) bool {
	return e.estate.Node(i).Can&plan.VerbSet(plan.Stop, plan.Protect, plan.Flush) != 0 && e.nodes[i].seen.State == plan.On
}

// needed names what uses a part of the drill from outside and is not off: it is not stopped, and must not lose what it
// stands on.
func (e *Engine) needed(in []bool) string {
	for i := range e.nodes {
		if !in[i] || !e.estate.Node(i).Can.Has(plan.Stop) || e.nodes[i].down {
			continue
		}
		var on []string
		for _, u := range e.usersBeyond(i, in) {
			if !e.nodes[u].down {
				on = append(on, e.id(u))
			}
		}
		if len(on) > 0 {
			return some(on) + " outside the drill needs " + e.id(i) + " and is not off; take it into the drill, or stop it first"
		}
	}
	return ""
}

// usersBeyond lists what rests on a node and is not in a drill, looking through nodes that have no stop of their own.
// Ebbtide's own machine counts, and is never off.
func (e *Engine) usersBeyond(i int, in []bool) []int {
	var users []int
	for _, u := range e.usersOf(i) {
		if !in[u] {
			users = append(users, u)
		}
	}
	if self, needed := e.lifeline(); self >= 0 && needed[i] {
		users = append(users, self)
	}
	return users
}

// lifeline finds Ebbtide's own machine, -1 if it is not declared, and all that it needs.
func (e *Engine) lifeline() (self int, needed []bool) {
	self, needed = -1, make([]bool, len(e.nodes))
	for i := len(e.nodes) - 1; i >= 0; i-- { // what a node needs comes before it
		if e.estate.Node(i).Kind == plan.Self {
			self, needed[i] = i, true
		}
		for _, j := range e.estate.Needs(i) {
			needed[j] = needed[j] || needed[i]
		}
	}
	return self, needed
}

// inDrill tells whether the open run is a drill in which no supply has failed.
func (e *Engine) inDrill() bool {
	return e.run != nil && e.run.drilled && !slices.ContainsFunc(e.supplies, func(s supply) bool { return s.failed })
}

// word is what a run is called.
func (r *run) word() string {
	if r.drilled {
		return ModeDrill
	}
	return "outage"
}

// leaveDrill makes a drill an outage, when a supply fails: nothing more is stopped for the drill, and what it has stopped
// stays in the snapshot as on.
func (e *Engine) leaveDrill() {
	e.run.drill = nil
	e.endDischarge("a supply fails")
}

// findDark finds what goes dark as the supplies are, and what a drill on its way down takes.
func (e *Engine) findDark() []bool {
	dark := e.estate.Scope(e.darkNow)
	if e.run.drill != nil && e.run.goal == plan.Down {
		for i, in := range e.run.drill {
			dark[i] = dark[i] || in
		}
	}
	return dark
}

// outsiders lists what uses a part of a drill that goes down and is not part of it.
func (e *Engine) outsiders() []int {
	r := e.run
	if r.drill == nil || r.goal != plan.Down {
		return nil
	}
	var list []int
	for i, in := range r.drill {
		if in && e.estate.Node(i).Can.Has(plan.Stop) {
			list = append(list, e.usersBeyond(i, r.drill)...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// heedOutsiders ends a drill before it commands anything if the fresh look shows something on that needs a part of it.
func (e *Engine) heedOutsiders() {
	r := e.run
	if r.drill == nil || r.goal != plan.Down || r.aborted {
		return
	}
	if why := e.needed(r.drill); why != "" {
		r.aborted = true
		r.ends, _, _ = strings.Cut(why, ";")
	}
}

// mayDrill tells whether a drill may go on down as the supplies and the journal are. An outage always may.
func (e *Engine) mayDrill() bool {
	return e.run.drill == nil || !e.journalLost && !slices.ContainsFunc(e.supplies, func(s supply) bool { return s.unfit() != "" })
}

// maybeEndDrill turns a drill up when all of it is down or it can go no further, and ends it if it has commanded nothing.
func (e *Engine) maybeEndDrill() {
	why := e.isDown()
	if why == "" {
		return
	}
	touched := false
	for i := range e.nodes {
		touched = touched || e.nodes[i].touched
	}
	switch {
	case !touched:
		e.closeOutage("nothing was done: " + why)
	case e.journalLost:
		e.say("waiting for the journal: no power-up without it")
	default:
		e.turn(plan.Up, why)
	}
}

// isDown says why a drill goes no further down; "": it does, or is on hold.
func (e *Engine) isDown() string {
	r := e.run
	switch {
	case r.aborted:
		return cmp.Or(r.ends, "ended by an operator")
	case r.drill == nil:
		return "a supply failed for a moment"
	case e.journalLost:
		return "the journal can't be written"
	}
	if why := e.unfitForLong(); why != "" {
		return why
	}
	var held []string
	for i, st := range r.progress.status {
		s := &r.progress.plan.Steps[i]
		switch {
		case s.Milestone || !r.drill[s.Node] || st == settled || st == waiting || st == blocked: // what it waits for says it
		case st == parked && !e.nodes[s.Node].heldAt.IsZero():
			held = append(held, s.Name)
		default:
			return ""
		}
	}
	switch why := e.needed(r.drill); {
	case len(held) == 0:
		return "all of it is down, or was given up"
	case why != "":
		why, _, _ = strings.Cut(why, ";")
		return "held back: " + some(held) + ", since " + why
	case e.stalled(): // what it waits for may still be proven: after a crash a silence has to be heard out again
		return "held back: " + some(held)
	}
	return ""
}

// unfitForLong says which supply a drill does not go on with; "": all are well, or may be in a moment.
func (e *Engine) unfitForLong() string {
	for k := range e.supplies {
		s := &e.supplies[k]
		st := &s.state
		why := s.unfit()
		unheard := st.Mains == power.MainsUnknown && e.now.Sub(e.resumedAt) < silentFor
		if why == "" || unheard || st.Mains == power.MainsOnline && st.SilentFor > 0 && st.SilentFor < drillSilence {
			continue
		}
		return "supply " + e.id(s.node) + " is " + why
	}
	return ""
}

// foldDrill takes the first record of a drill.
func (e *Engine) foldDrill(rec *Record) error {
	r := e.run
	r.drilled = true
	for _, id := range rec.Scope {
		i, known := e.estate.Index(id)
		if !known {
			return fmt.Errorf("node %q is in the journal but not in the runbook: start with the runbook that the drill began with", id)
		}
		if e.estate.Node(i).Kind == plan.Supply {
			r.battery = e.newDischarge(i)
			return nil
		}
		if r.drill == nil {
			r.drill = make([]bool, len(e.nodes))
		}
		r.drill[i], r.scope[i] = true, true
	}
	return nil
}

// ids lists the nodes for which something holds, in the estate's order.
func (e *Engine) ids(holds func(int) bool) []string {
	var ids []string
	for i := range e.nodes {
		if holds(i) {
			ids = append(ids, e.id(i))
		}
	}
	return ids
}

// some names a few of many.
func some(ids []string) string {
	const few = 5
	if len(ids) > few+1 {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:few], ", "), len(ids)-few)
	}
	return strings.Join(ids, ", ")
}
