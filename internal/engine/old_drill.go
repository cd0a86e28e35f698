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
