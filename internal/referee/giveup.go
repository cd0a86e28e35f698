package referee

import (
	"slices"
	"time"

	"ebbtide/internal/plan"
)

// failed takes that something is given up. It excuses what rests on it only where it was tried, and might be.
func (r *Referee) failed(at time.Time, i int, verb plan.Verb) {
	n := &r.nodes[i]
	hangs := n.commanded.Has(plan.Force) && n.now.State == plan.Stopping // and was powered off in vain
	tried := r.wasTried(at, i, verb)
	if !tried && verb == plan.Stop && r.boots(at, i) { // and can't be told, before it has said twice that it is on
		tried, n.spared = true, looksLater
	}
	if tried && (r.mayGo(i) || hangs || verb == plan.Start || verb == plan.Unprotect) {
		n.failed |= plan.VerbSet(verb)
	}
	if verb == plan.Cut && r.place[i] >= 0 { // it stays on
		r.supplyAt(i).due = false
		r.release(r.supplyAt(i))
	}
	n.shownOff = n.shownOff && verb != plan.Start
	n.denied = n.denied || verb == plan.Protect
}

// boots reports whether a machine is on its way up, or may be since its power came back, or since the host comes up that it is a guest of.
func (r *Referee) boots(at time.Time, i int) bool {
	n, decl := &r.nodes[i], r.estate.Node(i)
	start := decl.Time(plan.Start)
	mayBoot := n.now.State == plan.Off && at.Sub(n.roused) <= max(start.Within, start.Nominal)
	host, hasHost := r.estate.Index(decl.Host)
	return decl.Kind != plan.VM && (n.now.State == plan.Starting || mayBoot || hasHost && r.boots(at, host))
}

// wasTried reports whether a node was commanded, or there was no way to, and what was waited for: its answer, or the node.
func (r *Referee) wasTried(at time.Time, i int, verb plan.Verb) bool {
	n := &r.nodes[i]
	waited := !n.intent.at.IsZero() && at.Sub(n.intent.at) >= slowness && at.Sub(r.resumed) >= slowness
	silent := !n.vain.IsZero() && (waited || n.vain.Sub(n.vainSince) >= slowness)
	isPlug := r.estate.Node(i).Switches && verb == plan.Stop && slices.ContainsFunc(r.usersOf(i), func(u int) bool {
		return r.nodes[u].failed.Has(plan.Stop) && !r.nodes[u].isDown()
	})
	isOfCache := verb == plan.Flush || verb == plan.Protect
	mayBeSent := isOfCache && n.intent.verb == verb && n.intent.life < r.life // before a crash, and nobody knows
	return isPlug || mayBeSent || n.commanded.Has(verb) || n.commanded.Has(plan.Force) || silent || r.estate.Node(i).Kind == plan.Manual ||
		n.now.State == plan.Gone || n.now.State == plan.Stopping
}
