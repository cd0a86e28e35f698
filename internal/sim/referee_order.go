package sim

import (
	"fmt"
	"slices"

	"ebbtide/internal/plan"
)

// mayStop is what must hold when a node is told to go off: nothing that uses it is on.
func (r *Referee) mayStop(t truth, i int, verb plan.Verb, again bool) {
	decl := r.estate.Node(i)
	if t.stateOf(i) == plan.Starting {
		r.violate(t.time(), fmt.Sprintf("6: %s was told to stop while it starts", decl.ID))
	}
	dark := r.goesDark(func(s int) bool {
		f := &r.feeds[s]
		return f.polls < pollsBack || f.cycled || r.goal == plan.Down && f.cutDue
	})
	drilled := r.drill != nil && r.goal == plan.Down      // was looked at
	hung := verb == plan.Force && t.stateOf(i) != plan.On // it is powered off to be started again
	if !dark(i) && !drilled && !hung {
		r.violate(t.time(), fmt.Sprintf("21: %s keeps its power and was told to stop", decl.ID))
	}
	if verb == plan.Force {
		r.mayForce(t.time(), i)
	}
	for _, u := range r.realUsers(i) {
		st := t.stateOf(u)
		if st == plan.Off || st == plan.Gone || !r.wasOn[u] && st != plan.On {
			continue
		}
		user := r.estate.Node(u)
		switch decl.Kind {
		case plan.Host:
			if user.Kind != plan.VM || verb != plan.Force || r.last[i].Reason == "" {
				r.violate(t.time(), fmt.Sprintf("2: host %s was told to stop with %s %s on it", decl.ID, user.ID, st))
			}
		case plan.VM:
			if !r.failed[u].Has(plan.Stop) && !r.meddled[u] {
				r.violate(t.time(), fmt.Sprintf("10: %s was told to stop before its user %s was off", decl.ID, user.ID))
			}
		case plan.Outlet:
			r.violate(t.time(), fmt.Sprintf("3: outlet %s was told to go off while %s is %s", decl.ID, user.ID, st))
		default:
			r.violate(t.time(), fmt.Sprintf("1: %s was told to stop while %s is %s", decl.ID, user.ID, st))
		}
	}
	r.mayStopUnder(t, i, verb, again)
}

// mayCut is rule 3.
func (r *Referee) mayCut(t truth, i int) {
	r.feeds[i].cutDue = true
	if r.last[i].Reason != "" {
		return // by deadline, on record
	}
	for u := range r.estate.Len() {
		decl := r.estate.Node(u)
		if !decl.Can.Has(plan.Stop) || decl.Kind == plan.Self || decl.Kind == plan.Person || !slices.Contains(r.estate.Feeds(u), i) {
			continue
		}
		if decl.Kind == plan.Outlet {
			r.mayCutOver(t, i, u)
			continue
		}
		other := slices.ContainsFunc(r.estate.Feeds(u), func(f int) bool { return f != i && r.feeds[f].online })
		if st := t.stateOf(u); !other && st != plan.Off && st != plan.Gone {
			r.violate(t.time(), fmt.Sprintf("3: the output of %s is cut while %s is %s", r.estate.Node(i).ID, decl.ID, st))
		}
	}
}

// mayCutOver holds a cut against an outlet of the same supply: it was off before, or was given up, on record. It drops with the
// output in any case, so that nothing else is made to wait for it, nor for one that came on again by itself.
func (r *Referee) mayCutOver(t truth, supply, outlet int) {
	if t.stateOf(outlet) == plan.On && r.listed[outlet] && !r.failed[outlet].Has(plan.Stop) && !r.meddled[outlet] && !r.shownOff[outlet] {
		r.violate(t.time(), fmt.Sprintf("10: the output of %s is cut before its outlet %s is off", r.estate.Node(supply).ID, r.estate.Node(outlet).ID))
	}
}

// mayStart is what must hold when a node is started: it was on, it has its power, and so has what it needs.
func (r *Referee) mayStart(t truth, i int) {
	decl := r.estate.Node(i)
	if !r.wasOn[i] && !r.owed[i] && !r.meddled[i] && !t.liedOf(i) {
		r.violate(t.time(), fmt.Sprintf("4: %s is started and was not on before", decl.ID))
	}
	if t.stateOf(i) == plan.Stopping {
		r.violate(t.time(), fmt.Sprintf("6: %s was told to start while it stops", decl.ID))
	}
	r.gate(t.time(), i, "started")
	for _, d := range r.estate.Needs(i) {
		if n := r.estate.Node(d); n.Kind != plan.Supply && n.Can.Has(plan.Stop) && r.listed[d] && n.Kind != plan.Person && !r.meddled[d] && t.stateOf(d) != plan.On {
			r.violate(t.time(), fmt.Sprintf("10: %s is started before %s is on", decl.ID, n.ID))
		}
	}
}

// realUsers looks through nodes that have no stop of their own.
func (r *Referee) realUsers(i int) []int {
	var users []int
	seen := map[int]bool{}
	queue := slices.Clone(r.estate.Users(i))
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		if seen[u] {
			continue
		}
		seen[u] = true
		switch n := r.estate.Node(u); {
		case n.Kind == plan.Self, n.Kind == plan.Person, n.Kind == plan.Supply:
		case n.Can.Has(plan.Stop):
			users = append(users, u)
		default:
			queue = append(queue, r.estate.Users(u)...)
		}
	}
	return users
}
