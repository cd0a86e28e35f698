package retrospect

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"ebbtide/internal/effect"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Wait is what a step waited for, as far as it is on record. Durations are in seconds.
type Wait struct {
	Node   string     `json:"node,omitempty"`  // empty: all that was still to be done
	Group  string     `json:"group,omitempty"` // the selector that the node is a member of
	Verb   *plan.Verb `json:"verb,omitempty"`  // null: whatever is done to the node
	From   time.Time  `json:"from"`            //
	To     time.Time  `json:"to,omitzero"`     // zero: it was never done, or is not yet
	Waited float64    `json:"waited"`          // up to the last record, if it was never done
	For    string     `json:"for"`             //
	By     WaitBy     `json:"by"`              // how that is known
}

// WaitBy is how it is known what a step waited for.
type WaitBy string

// The ways in which it is known.
const (
	WaitRecord WaitBy = "record" // a record says so
	WaitPlan   WaitBy = "plan"   // the plan says that it comes after a step, and a record when that ended
	WaitPlace  WaitBy = "place"  // it began when a step of its type ended: it took over that one's place under a limit
	WaitUnsaid WaitBy = "unsaid" // no record says
)

// From when on a wait is told of: one that nothing went wrong in, and one that a record tells of.
const (
	notable = time.Minute
	odd     = 10 * time.Second
)

// waits tells what each late step, and each that was never made, waited for. What no record says is told as not on record.
func (f *fold) waits() {
	f.waitsOnRecord()
	f.waitsForPower()
	down, up := f.orderOf(plan.Down), f.orderOf(plan.Up)
	for i := range f.story.Steps {
		s := &f.story.Steps[i]
		f.waitToBegin(s, map[plan.Goal]*order{plan.Down: down, plan.Up: up}[goalOf(s.Verb)])
	}
	f.neverBegun(down, up)
	f.Waits = slices.DeleteFunc(f.Waits, func(w Wait) bool {
		least := notable
		if w.By == WaitRecord { // something was not as it was planned
			least = odd
		}
		return w.Waited < least.Seconds() && !w.To.IsZero()
	})
	slices.SortStableFunc(f.Waits, func(a, b Wait) int {
		return cmp.Or(-cmp.Compare(a.Waited, b.Waited), a.From.Compare(b.From), cmp.Compare(a.Node, b.Node))
	})
}

// waited adds a wait; until the zero time, what was never done.
func (f *fold) waited(node string, verb *plan.Verb, from, to time.Time, by WaitBy, what string) {
	until := to
	if to.IsZero() {
		until = f.Until
	}
	f.Waits = append(f.Waits, Wait{
		Node: node, Group: f.group(node), Verb: verb, From: from, To: to, Waited: max(0, until.Sub(from)).Seconds(),
		For: f.would("", effect.Observing) + what, By: by,
	})
}

// pendingWait is a wait that has not ended where the records have been followed to.
type pendingWait struct {
	node  string
	verb  plan.Verb
	from  time.Time
	what  string
	sent  bool      // it is for the answer to a command: another attempt may end it,
	again time.Time // made then, unless that has no good answer either
	spare bool      // a supply turned up since: it may be needed no more
}

// waitsOnRecord finds the waits that records speak of themselves: steps held back, commands that were put off or reached
// nobody, steps of people, refusals of the permit, and orders to hold.
func (f *fold) waitsOnRecord() {
	w := recordedWaits{fold: f}
	for i := range f.records {
		r := &f.records[i]
		switch {
		case r.Kind == ledger.Ordered && r.Reason == "":
			w.ordered(r)
		case r.Kind == ledger.Turned && r.Goal == plan.Up, r.Kind == ledger.Closed:
			w.spare(r.Kind == ledger.Closed)
		case r.Verb != nil && r.Node != "":
			w.follow(r)
		}
	}
	w.end(time.Time{}, func(p *pendingWait) bool { return !p.spare })
	if !w.held.IsZero() {
		f.waited("", nil, w.held, time.Time{}, WaitRecord, "the hold ordered by "+w.by)
	}
}

// recordedWaits follows what records say of waits.
type recordedWaits struct {
	*fold
	open []pendingWait
	held time.Time // since when an order holds everything; zero: none does
	by   string    // whose
}

func (w *recordedWaits) ordered(r *ledger.Record) {
	switch {
	case r.Order == ledger.Hold && w.held.IsZero():
		w.held, w.by = r.At, r.By
	case !w.held.IsZero() && (r.Order == ledger.Resume || r.Order == ledger.Go):
		w.waited("", nil, w.held, r.At, WaitRecord, "the hold ordered by "+w.by)
		w.held = time.Time{}
	}
}

func (w *recordedWaits) follow(r *ledger.Record) {
	switch r.Kind {
	case ledger.HeldBack:
		w.begins(r, r.Reason, false)
	case ledger.Forbidden:
		w.begins(r, "Ebbtide itself, because of a bug: "+r.Reason, false)
	case ledger.Asked:
		w.begins(r, "a person", false)
	case ledger.Accepted:
		if r.Outcome == ledger.Busy || r.Outcome == ledger.Unreached {
			w.begins(r, answerOf(r), true)
			return
		}
		w.end(r.At, of(r))
	case ledger.Intent:
		own := of(r)
		w.end(r.At, func(p *pendingWait) bool { return own(p) && !p.sent })
		for k := range w.open {
			if own(&w.open[k]) {
				w.open[k].again = r.At
			}
		}
	case ledger.Proven, ledger.Failed:
		w.end(r.At, of(r))
	default:
	}
}

// spare notes that what waited to go down may be needed no more, which it was not if the outage closes without another word of it.
func (w *recordedWaits) spare(closes bool) {
	for k := range w.open {
		p := &w.open[k]
		p.spare = p.spare || !p.sent && goalOf(p.verb) == plan.Down
	}
	w.open = slices.DeleteFunc(w.open, func(p pendingWait) bool { return p.spare && closes })
}

// begins notes that a step waits from a record on, unless it did for the same already.
func (w *recordedWaits) begins(r *ledger.Record, what string, sent bool) {
	own := of(r)
	for k := range w.open {
		if p := &w.open[k]; own(p) && p.what == what {
			p.again = time.Time{}
			return
		}
	}
	w.end(r.At, own)
	w.open = append(w.open, pendingWait{node: r.Node, verb: stepOf(r), from: r.At, what: what, sent: sent})
}

// end ends the waits that are meant; at the zero time, those that never did.
func (w *recordedWaits) end(at time.Time, meant func(*pendingWait) bool) {
	w.open = slices.DeleteFunc(w.open, func(p pendingWait) bool {
		if !meant(&p) {
			return false
		}
		to := at
		if !p.again.IsZero() {
			to = p.again
		}
		w.waited(p.node, &p.verb, p.from, to, WaitRecord, p.what)
		return true
	})
}

// of tells the waits of the step that a record is about.
func of(r *ledger.Record) func(*pendingWait) bool {
	return func(p *pendingWait) bool { return p.node == r.Node && p.verb == stepOf(r) }
}

// stepOf is the verb of the step that a record is about: force is the last rung of a stop.
func stepOf(r *ledger.Record) plan.Verb {
	if *r.Verb == plan.Force {
		return plan.Stop
	}
	return *r.Verb
}

// answerOf says what a command waited for that was put off or reached nobody.
func answerOf(r *ledger.Record) string {
	text := "an answer from its system, which could not be reached"
	if r.Outcome == ledger.Busy {
		text = "its system, which was busy"
	}
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	return text
}

// waitsForPower tells how long what a supply carries waited for its gate after the mains were back.
func (f *fold) waitsForPower() {
	back := map[string]time.Time{}
	for i := range f.records {
		r := &f.records[i]
		switch {
		case r.Kind == ledger.Mains:
			for _, id := range r.Supplies {
				switch r.Cause {
				case ledger.Returned:
					back[id] = r.At
				case ledger.Failing:
					delete(back, id)
				default:
				}
			}
		case r.Kind == ledger.Turned && r.Goal == plan.Up:
			ids := r.Supplies
			if len(ids) == 0 { // as of before each supply turned by itself
				ids = slices.Sorted(maps.Keys(back))
			}
			for _, id := range ids {
				if at, ok := back[id]; ok {
					delete(back, id)
					if r.At.Sub(at) >= notable {
						f.waited(id, nil, at, r.At, WaitRecord, "its recharge gate to open after mains power was back; nothing that it feeds was started before that")
					}
				}
			}
		}
	}
}
