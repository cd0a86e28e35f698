package runner

import (
	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
)

// news finds answers to probes that were overtaken: the system gave the answer, then told of a change by a watch, and
// the answer comes last. Taken for what is so now, it would turn a stopped VM on again in our eyes.
type news struct {
	probes map[engine.Op]string // nodes
	open   map[string]int       // probes under way, by node
	since  map[string]plan.State
}

func newNews() news {
	return news{probes: map[engine.Op]string{}, open: map[string]int{}, since: map[string]plan.State{}}
}

// asked notes a probe that begins.
func (n *news) asked(e engine.Probe) {
	n.probes[e.Op] = e.Node
	n.open[e.Node]++
}

// told notes what a watch saw while a probe is under way.
func (n *news) told(e engine.Observed) {
	if n.open[e.Node] > 0 {
		n.since[e.Node] = e.Seen.State
	}
}

// answered gives the end of an operation as it is to be taken: an answer that a watch has contradicted meanwhile is none,
// and the node will be asked again.
func (n *news) answered(e engine.Finished) engine.Finished {
	node, probe := n.probes[e.Op]
	if !probe {
		return e
	}
	delete(n.probes, e.Op)
	state, told := n.since[node]
	if n.open[node]--; n.open[node] == 0 {
		delete(n.open, node)
		delete(n.since, node)
	}
	if told && e.Outcome == engine.Done && e.Seen.State != state {
		return engine.Finished{Op: e.Op, Outcome: engine.TimedOut, Detail: "the answer was overtaken: it says " + e.Seen.State.String() + ", and " + state.String() + " was seen meanwhile"}
	}
	return e
}
