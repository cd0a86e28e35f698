package engine

import (
	"slices"
	"strings"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/english"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/want"
)

// drillSilence is how long a supply may say nothing before a drill goes no further.
const drillSilence = 15 * time.Second

// beginDrill begins a rehearsal for real, or says why not. It is a run like an outage: the same snapshot, order, guards,
// limits, proofs and retries. Only what begins it, what it covers and what turns it up differ.
func (e *Engine) beginDrill(d Drill) {
	if refusal := e.RefusesDrill(d); refusal != "" {
		e.Notify(false, "drill by "+d.By+" refused: "+refusal)
		return
	}
	if d.Supply != "" {
		e.openTest(d)
		return
	}
	in, _ := e.takes(d)
	ids := e.ids(func(i int) bool { return in[i] })
	e.DrillEnds = ""
	if !e.open(ledger.Record{
		Opening: ledger.Opening{
			Mode: ledger.ModeDrill, Scope: ids,
			Digest: e.Graph.Plan(plan.Down, func(i int) bool { return in[i] }).Digest(),
		},
		Word: ledger.Word{By: d.By}, Reason: "ordered by " + d.By,
	}) {
		return
	}
	e.Notify(false, "drill by "+d.By+": "+english.List(ids, 6))
	e.survey()
	e.askForEstimate()
}

// PreviewDrill tells what a drill would do now. Before its first command a drill asks all of it anew.
func (e *Engine) PreviewDrill(d Drill) DrillPreview {
	o := DrillPreview{Refusal: e.RefusesDrill(d)}
	if in, _ := e.takes(d); in != nil {
		o.Scope = e.ids(func(i int) bool { return in[i] })
		o.On = e.ids(func(i int) bool { return in[i] && e.runs(i) })
	}
	o.Looking = slices.ContainsFunc(e.Supplies, func(s belief.Supply) bool { return s.State.Supply == "" })
	for i := range e.Beliefs {
		o.Looking = o.Looking || e.Asked(i) != 0 && e.Beliefs[i].AskedAt.IsZero()
	}
	return o
}

// leaveDrill ends the test of a battery when a supply fails; the rest of what ends a drill is in the ledger.
func (e *Engine) leaveDrill() { e.endTest("a power failure began") }

// outsiders lists what uses a part of a drill that goes down and is not part of it.
func (e *Engine) outsiders() []int {
	d := &e.Ledger.Outage.Drill
	if d.Phase != ledger.DrillDown {
		return nil
	}
	var list []int
	for i, in := range d.In {
		if in && e.Graph.Node(i).Can.Has(plan.Stop) {
			list = append(list, e.usersBeyond(i, d.In)...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// heedOutsiders ends a drill before it commands anything if the fresh look shows something on that needs a part of it.
func (e *Engine) heedOutsiders() {
	d := &e.Ledger.Outage.Drill
	if d.Phase != ledger.DrillDown || e.DrillEnds != "" {
		return
	}
	if why := e.needed(d.In); why != "" {
		e.DrillEnds, _, _ = strings.Cut(why, ";")
		e.TouchAll()
	}
}

// mayDrill reports whether a drill that is on its way down, if any is, may go on as the supplies and the journal are.
func (e *Engine) mayDrill() bool {
	if o := e.Ledger.Outage; o == nil || o.Drill.Phase != ledger.DrillDown {
		return true
	}
	for k := range e.Supplies {
		if !e.isWell(k) {
			return false
		}
	}
	return !e.JournalLost && e.DrillEnds == ""
}

// followDrill turns a drill up when all of it is down or it can go no further, and ends it if it has commanded nothing.
func (e *Engine) followDrill() {
	o := e.Ledger.Outage
	if o.Drill.Phase != ledger.DrillDown || e.surveying > 0 || e.Working > 0 {
		return
	}
	why := e.drillIsDown()
	if why == "" {
		return
	}
	touched := slices.ContainsFunc(o.Nodes, func(n ledger.Node) bool { return n.IsTouched() })
	switch {
	case !touched && !e.AnythingAway():
		e.closeOutage("nothing was done: " + why)
	case e.JournalLost:
		e.say("waiting for the journal: no power-up without it")
	default:
		e.Record(ledger.Record{Kind: ledger.Turned, Power: ledger.Power{Goal: plan.Up}, Reason: why})
		e.Notify(false, "now bringing back what the drill stopped: "+why)
		e.evaluate()
	}
}

// drillIsDown says why a drill goes no further down; "": it does, or is on hold.
func (e *Engine) drillIsDown() string {
	o := e.Ledger.Outage
	switch {
	case e.DrillEnds != "":
		return e.DrillEnds
	case o.Orders.Abort:
		return "ended by an operator"
	case o.Orders.Hold:
		return ""
	case e.JournalLost:
		return "the journal can't be written"
	}
	if why := e.unfitForLong(); why != "" {
		return why
	}
	held, goesOn := e.heldInDrill()
	if goesOn {
		return ""
	}
	switch why := e.needed(o.Drill.In); {
	case len(held) == 0:
		return "everything in it is down, or its stop was given up"
	case why != "":
		why, _, _ = strings.Cut(why, ";")
		return "held back: " + english.List(held, 6) + ", since " + why
	case e.Now.Sub(e.MovedAt) >= stalledFor: // what it waits for may still be proven: after a crash a silence has to be heard out again
		return "held back: " + english.List(held, 6)
	}
	return ""
}

// heldInDrill names the steps down of a drill that are held back, and reports whether another goes on, or will.
func (e *Engine) heldInDrill() (held []string, goesOn bool) {
	for id := range e.Course.Steps {
		s := &e.Course.Steps[id]
		if s.Goal != plan.Down || s.Milestone || s.Node < 0 || !e.Ledger.Outage.Drill.In[s.Node] || e.Course.Stands[id] == want.Proven {
			continue
		}
		switch why := e.WaitsFor(id); why.Code {
		case want.GivenUp, want.NotProven, want.OthersFirst: // what it waits for says it
		case want.Pausing:
			held = append(held, s.Name)
		default:
			return nil, true
		}
	}
	return held, false
}

// unfitForLong says which supply a drill does not go on with; "": all are well, or may be in a moment.
func (e *Engine) unfitForLong() string {
	for k := range e.Supplies {
		st := &e.Supplies[k].State
		why := e.notWell(k)
		unheard := st.Mains == power.MainsUnknown && e.Now.Sub(e.ResumedAt) < silentFor
		if why == "" || unheard || st.Mains == power.MainsOnline && st.SilentFor > 0 && st.SilentFor < drillSilence {
			continue
		}
		return "supply " + e.ID(e.Supplies[k].Node) + ": " + why
	}
	return ""
}

// say notifies of what the outage waits for, once.
func (e *Engine) say(what string) {
	if e.said != what {
		e.said = what
		e.Notify(false, what)
	}
}

// ids lists the nodes for which something holds, in the estate's order.
func (e *Engine) ids(holds func(int) bool) []string {
	var ids []string
	for i := range e.Beliefs {
		if holds(i) {
			ids = append(ids, e.ID(i))
		}
	}
	return ids
}
