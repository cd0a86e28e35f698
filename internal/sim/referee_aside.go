package sim

import (
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// aside is what the referee knows of a cache or a cluster in the open outage.
type aside struct {
	was  bool   // it was in write-through, or set aside, when it came into the snapshot
	set  string // and this is how it was set
	seen bool   // the snapshot has it: it could be asked
	told bool   // it was told to change, on record
	back bool   // it was shown as put back since
}

// set notes how a node is set when it comes into the snapshot.
func (r *Referee) set(t truth, i int, n engine.NodeState) {
	told := r.asides[i].told
	r.asides[i] = aside{told: told, was: t.protectedOf(i), set: t.setOf(i), seen: n.Protected != plan.NotKnown}
}

// mayStopUnder is rule 12: no VM is stopped while a cache is in write-back, and nothing that stands on a cluster, or that
// the cluster stands on, while that has not been set aside.
func (r *Referee) mayStopUnder(t truth, i int, verb plan.Verb, again bool) {
	decl := r.estate.Node(i)
	// What an Unprotect took off that was given up long ago is seen at the next look, and that is a while ago here.
	unseen := func(c int) bool { return r.meddled[c] && t.time().Sub(t.bareOf(c)) <= guarded }
	if decl.Can.Has(plan.Flush) && !t.cleanOf(i) && !unseen(i) {
		r.violate(t.time(), fmt.Sprintf("12: %s was told to stop with dirty data", decl.ID))
	}
	if verb != plan.Stop || again {
		return
	}
	known := r.goesDark(func(s int) bool { return r.feeds[s].outFor > 3 }) // what was on its way when it failed goes on
	for c := range r.estate.Len() {
		n := r.estate.Node(c)
		taken := known(c) || r.drill != nil && r.drill[c]
		if !n.Can.Has(plan.Protect) || !taken || t.stateOf(c) != plan.On || t.protectedOf(c) || r.failed[c].Has(plan.Protect) || unseen(c) {
			continue
		}
		switch {
		case n.Kind != plan.Cluster && decl.Kind == plan.VM:
			r.violate(t.time(), fmt.Sprintf("12: %s was told to stop while the cache %s is in write-back", decl.ID, n.ID))
		case n.Kind == plan.Cluster && decl.Stage == power.ShutdownStage && (slices.Contains(r.estate.Dependents(c), i) || r.carries(t, i, c)):
			r.violate(t.time(), fmt.Sprintf("12: %s was told to stop while the cluster %s is not set aside", decl.ID, n.ID))
		}
	}
}

// guarded is how old the look may be on which a command rests: 2 s, and for how long others are asked in the same guard.
const guarded = 15 * time.Second

// carries tells whether a cluster is asked through what stands on a node: through something there that is not off. What has
// no stop of its own is looked through.
func (r *Referee) carries(t truth, i, cluster int) bool {
	return r.estate.Node(i).Kind != plan.Outlet && slices.ContainsFunc(r.estate.Users(i), func(u int) bool {
		switch st := t.stateOf(u); {
		case u == cluster:
			return true
		case !r.estate.Node(u).Can.Has(plan.Stop):
			return r.carries(t, u, cluster)
		default:
			return st != plan.Off && st != plan.Gone && slices.Contains(r.estate.Dependents(u), cluster)
		}
	})
}

// mayPutBack is the last part of rule 12: only what was changed is put back, once, after the gate, and to what it was.
func (r *Referee) mayPutBack(t truth, i int, settings string) {
	r.gate(t.time(), i, "put back")
	a, id := &r.asides[i], r.estate.Node(i).ID
	switch {
	case a.was && a.seen:
		r.violate(t.time(), fmt.Sprintf("12: %s is put back, and was so before the outage", id))
	case !a.told:
		r.violate(t.time(), fmt.Sprintf("12: %s is put back, and was never changed", id))
	case a.back && !t.protectedOf(i):
		r.violate(t.time(), fmt.Sprintf("12: %s is put back once more", id))
	case settings != a.set && (a.seen || settings != ""):
		r.violate(t.time(), fmt.Sprintf("12: %s is put back to %q, and was set to %q", id, settings, a.set))
	}
}

// shown follows what is on record of a cache or a cluster.
func (r *Referee) shown(i int, kind engine.RecordKind, verb plan.Verb) {
	switch a := &r.asides[i]; {
	case kind == engine.Intent && verb == plan.Protect:
		a.told, a.back = true, false
	case kind == engine.Proven && verb == plan.Unprotect:
		a.back = true
	}
}

// putBack holds at the end that what was changed is as it was, or is reported.
func (r *Referee) putBack(t truth, reported []engine.NodeState) {
	for i, a := range r.asides {
		n := r.estate.Node(i)
		told := slices.ContainsFunc(reported, func(s engine.NodeState) bool { return s.Node == n.ID })
		if !a.told || told || !n.Can.Has(plan.Unprotect) || r.meddled[i] || t.stateOf(i) == plan.Gone {
			continue
		}
		if now := t.setOf(i); now != a.set && (a.seen || now != usual) {
			r.violate(t.time(), fmt.Sprintf("12: %s was changed for the outage and is left set to %q, and was set to %q", n.ID, now, a.set))
		}
	}
}
