package ledger

import "ebbtide/internal/plan"

// Protection is what the records show of a cache or a cluster.
type Protection uint8

// What the records show of a cache or a cluster.
const (
	AsSet     Protection = iota
	Announced            // Protect is about to be commanded, for the first time
	Changing             // it was commanded
	Protected            // and proven
	PutBack              // Unprotect was proven
	BackAgain            // and it was seen otherwise since: it is put back once more
)

// suspends follows the stop of what goes down in a mode of its own: it is to be taken out of that.
func (l *Ledger) suspends(i int, r *Record) {
	n := &l.Outage.Nodes[i]
	switch {
	case r.Verb == nil || *r.Verb != plan.Stop || !l.estate.Node(i).SuspendsItself():
	case r.Kind == Intent:
		n.changes()
	case r.Kind == Accepted && r.Op == n.Last.Op:
		n.changed(r.Outcome)
	default:
	}
}

// changes follows that a command is about to leave which changes how a node is set.
func (n *Node) changes() {
	if n.Protection == AsSet {
		n.Protection = Announced
	} else {
		n.Protection = Changing
	}
}

// changed follows the answer to that: one that did not come to its node has changed nothing.
func (n *Node) changed(outcome Outcome) {
	if n.Protection != Announced {
		return
	}
	n.Protection = Changing
	if outcome == Unreached {
		n.Protection = AsSet
	}
}

// mayComeLate follows an Unprotect that nobody waits for any more: what was protected need not stay so.
func (n *Node) mayComeLate() {
	n.Late = true
	if n.Protection == Protected {
		n.Protection = Changing
	}
}

// TookProtect reports whether what was told to be protected was seen to be: where it was not, a look that shows nothing of that may
// be too early.
func (n *Node) TookProtect() bool { return n.Protection == Protected || n.Protection == BackAgain }

// IsChanged reports whether this outage has changed a cache or a cluster, and not put it back.
func (n *Node) IsChanged() bool {
	return n.Protection != AsSet && n.Protection != PutBack
}
