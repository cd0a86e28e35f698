package engine

import (
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/belief"
	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// RefusesDrill tells why a drill would not begin now, and after a semicolon what to do instead; "" if it would.
func (e *Engine) RefusesDrill(d Drill) string {
	switch {
	case e.Ledger.Outage != nil && e.Ledger.Outage.Drill.On():
		return "a drill is under way; wait for its end, or use abort to end it now"
	case e.Ledger.Outage != nil:
		return "an outage is under way; wait until it is over"
	case e.JournalLost:
		return "the journal can't be written, so what to bring back would be forgotten after a crash; fix its disk first"
	}
	for k := range e.Supplies {
		if s := &e.Supplies[k]; e.notWell(k) != "" {
			return "supply " + e.ID(s.Node) + ": " + e.notWell(k) + "; wait until every supply is on line"
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

// notWell says what about a supply speaks against taking anything down on purpose; "": nothing.
func (e *Engine) notWell(k int) string {
	s := &e.Supplies[k]
	switch {
	case !isSteady(&s.State):
		return s.State.String()
	case e.IsUnfit(s):
		return "on line, but a shutdown trigger other than a power failure is met"
	case e.Standing(k).IsDark():
		return "on line, but not for long enough"
	}
	return ""
}

// isWell reports whether notWell has nothing to say: it is asked at each event.
func (e *Engine) isWell(k int) bool {
	s := &e.Supplies[k]
	return isSteady(&s.State) && !e.IsUnfit(s) && !e.Standing(k).IsDark()
}

// isSteady reports whether a supply is heard, on line, and neither in a test nor browned out.
func isSteady(st *power.State) bool {
	return !st.Failing() && st.Mains == power.MainsOnline && st.SilentFor == 0 && st.BrownoutFor == 0 && !st.Calibrating
}

// takes tells which nodes a drill names; or what it names that there is not.
func (e *Engine) takes(d Drill) (in []bool, unknown string) {
	in = make([]bool, len(e.Beliefs))
	pick := func(fits func(*plan.Node) bool) (any bool) {
		for i := range e.Beliefs {
			if fits(e.Graph.Node(i)) {
				in[i], any = true, true
			}
		}
		return any
	}
	shed := func(s power.Stage) bool { return plan.Stage(s.Name) == d.Stage }
	switch {
	case d.Supply != "":
		return nil, ""
	case d.Stage != "" && !slices.ContainsFunc(e.Policy.Shed, shed):
		return nil, fmt.Sprintf("there is no shed stage %q; name one from the policy, or name nodes", d.Stage)
	case d.Stage != "" && !pick(func(n *plan.Node) bool { return n.Stage == d.Stage }):
		return nil, fmt.Sprintf("stage %q has no nodes; name another", d.Stage)
	case d.Stage == "" && len(d.Nodes) == 0:
		return nil, "there is nothing to drill; name nodes, a shed stage or a supply"
	}
	for _, word := range d.Nodes {
		key, value, label := strings.Cut(word, "=")
		found := pick(func(n *plan.Node) bool {
			return n.ID == word || n.Group == word || label && slices.Contains(n.Labels, plan.Label{Key: key, Value: value})
		})
		if !found {
			return nil, fmt.Sprintf("no node has the name or label %q; `ebbtide plan` lists the nodes", word)
		}
	}
	return in, ""
}

// cannotComeBack names what a drill must not take since nothing that Ebbtide can command starts it again.
func (e *Engine) cannotComeBack(in []bool) string {
	for i := range e.Beliefs {
		decl := e.Graph.Node(i)
		switch {
		case !in[i]:
		case decl.Kind == plan.Self:
			return decl.ID + " is the machine that Ebbtide runs on; leave it out"
		case decl.Kind == plan.Supply:
			return decl.ID + " is a supply: cutting its output is not a drill; leave it out, or drill its battery (--battery)"
		case decl.Kind == plan.Manual:
			return decl.ID + " is a manual step; leave it out"
		case decl.Can.Has(plan.Stop) && (decl.ByPower || !decl.Can.Has(plan.Start)):
			return "only the return of its power or a person can start " + decl.ID + " again; leave it out, or give it a way to be woken (up: {wake: …})"
		}
	}
	return ""
}

// notSeen names nodes of which nobody knows whether they are on.
func (e *Engine) notSeen(in []bool) string {
	unknown := e.ids(func(i int) bool {
		st := e.Beliefs[i].Answer
		return in[i] && belief.Probed(e.Graph.Node(i)) && e.Graph.Node(i).Can.Has(plan.Stop) && st != plan.On && st != plan.Off &&
			st != plan.Gone && !e.IsOff(i)
	})
	switch {
	case len(unknown) > 0:
		return "it is unknown whether these are on or off: " + english.List(unknown, 6) + "; wait until they answer, or leave them out"
	case len(e.ids(func(i int) bool { return in[i] && e.runs(i) })) == 0:
		return "none of these nodes is on; there is nothing to drill"
	}
	return ""
}

// runs reports whether a node is one that a drill would stop and start.
func (e *Engine) runs(i int) bool {
	return e.Graph.Node(i).Can&plan.VerbSet(plan.Stop, plan.Protect, plan.Flush) != 0 && e.Beliefs[i].Seen.State == plan.On
}

// needed names what uses a part of the drill from outside and is not off: it is not stopped, and must not lose what it
// stands on.
func (e *Engine) needed(in []bool) string {
	for i := range e.Beliefs {
		if !in[i] || !e.Graph.Node(i).Can.Has(plan.Stop) || e.IsOff(i) {
			continue
		}
		var on []string
		for _, u := range e.usersBeyond(i, in) {
			if !e.IsOff(u) {
				on = append(on, e.ID(u))
			}
		}
		for _, c := range e.Protectors { // a cache has no stop of its own, and data to lose
			if !in[c] && slices.Contains(e.Graph.Needs(c), i) && !e.IsOff(c) && !slices.Contains(on, e.ID(c)) {
				on = append(on, e.ID(c))
			}
		}
		if len(on) > 0 {
			if len(on) > 1 {
				return english.Series(on, 6) + ", outside the drill, need " + e.ID(i) + " and are not off; include them in the drill, or stop them first"
			}
			return on[0] + ", outside the drill, needs " + e.ID(i) + " and is not off; include it in the drill, or stop it first"
		}
	}
	return ""
}

// usersBeyond lists what rests on a node and is not in a drill, looking through nodes that have no stop of their own.
// Ebbtide's own machine counts, and is never off.
func (e *Engine) usersBeyond(i int, in []bool) []int {
	var users []int
	for _, u := range e.UsersOf(i) {
		if !in[u] {
			users = append(users, u)
		}
	}
	if self, needed := e.Lifeline(); self >= 0 && needed[i] {
		users = append(users, self)
	}
	return users
}
