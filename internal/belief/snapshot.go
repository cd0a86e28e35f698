package belief

import (
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// LastSeen lists, over the whole estate, what was seen on not long ago: what drops unseen, under a controller that drops with it, is
// brought back as well. That its supply was silent meanwhile, so that it may be otherwise now, makes no difference to that; that its newest
// look shows it off does, also while it is asked once more. And it lists what may be on its way up, as from the outage before this one, or
// after a silence of its supply, whether it was seen on before that or not, and what may be put back late.
func (e *Estate) LastSeen() []ledger.NodeState {
	var list []ledger.NodeState
	for i := range e.Beliefs {
		b := &e.Beliefs[i]
		ns := ledger.NodeState{Node: e.ID(i), Late: e.Now.Before(b.Late)}
		wasOn := e.Now.Sub(b.OnAt) < TrustLast && !IsDown(b.Doubt)
		if ns.Late && !wasOn && !e.Rises(i) {
			list = append(list, ns)
		}
		if ns.State = plan.On; wasOn {
			list = append(list, ns)
		}
		isBooting := e.IsMute(i) && e.Now.Before(b.UpUntil()) // by the return of its power, as far as anybody knows
		if ns.State = plan.Starting; e.Rises(i) || isBooting {
			list = append(list, ns)
		}
	}
	return list
}

// wentAlone reports whether a node has shown as off while its host showed as on: one look is asked for again, and the other is not.
func (e *Estate) wentAlone(i int) bool {
	b, host := &e.Beliefs[i], e.HostOf(i)
	return IsDown(b.Seen.State) && host >= 0 && !e.Beliefs[host].OnAt.Before(b.Since.Add(-ProofStands))
}

// followAlone takes down who went alone, as a node has answered outside an outage, or its host: what either says, or is taken to say, after
// that tells nothing of it.
func (e *Estate) followAlone(i int, state plan.State) {
	if e.Ledger.Outage != nil {
		return
	}
	asked := []int{i}
	if state == plan.On && e.Graph.Node(i).Kind == plan.Host {
		asked = e.Graph.Users(i)
	}
	for _, u := range asked {
		if e.wentAlone(u) {
			e.Beliefs[u].OnAt = time.Time{}
		}
	}
}

// lateBy is how many times as long as it may an Unprotect may take that nobody waits for.
const lateBy = 5

// RememberLate notes, as an outage ends, what an Unprotect of it may still put back in the next one.
func (e *Estate) RememberLate() {
	for i := range e.Beliefs {
		if e.Entry(i).Late {
			e.Beliefs[i].Late = e.Now.Add(lateBy * e.Graph.Node(i).Time(plan.Unprotect).Within)
		}
	}
}

// HostDropped reports whether the host of a node was on not long before, does not answer, and was told nothing: it has dropped, and what
// ran on it with it, whatever whoever manages them says of that.
func (e *Estate) HostDropped(i int) bool {
	host := e.HostOf(i)
	return host >= 0 && e.Entry(host).Snap.SeenOn && e.IsMute(host) && e.Entry(host).Last.Op == 0
}

// SnapshotOf gives what the snapshot says of a node. One that can't be asked now, dropped with its supply, or goes off without having
// been told to, was on if it was not long before.
func (e *Estate) SnapshotOf(i int, lostOutput bool) ledger.NodeState {
	b := &e.Beliefs[i]
	state := b.Answer
	if state == plan.Off && b.Seen.ByBMC { // of another machine, it may be: what answers later was on
		state = plan.Unreachable
	}
	silent := state == plan.Unknown || state == plan.Unreachable
	snap := &e.Entry(i).Snap
	if snap.SeenOn && (silent || state == plan.Stopping || state == plan.Gone || state == plan.Off && (lostOutput || snap.Past)) {
		state = plan.On
	}
	return ledger.NodeState{Node: e.ID(i), State: state, Protected: b.Seen.Protected, Settings: b.Seen.Settings}
}
