package work

import (
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/effect"
	"ebbtide/internal/ledger"
)

// question is a probe that is under way.
type question struct {
	op     ledger.Op // 0: none is
	asked  time.Time
	guards []int     // nodes whose step waits for the answer
	told   time.Time // when a watch last told of the node
}

// Probe asks after a node, unless that is under way.
func (e *Works) Probe(i int) {
	n := &e.nodes[i]
	if n.question.op != 0 || !belief.Probed(e.Graph.Node(i)) {
		return
	}
	n.question.op, n.question.asked = e.NewOp(i), e.Now
	e.Out = append(e.Out, effect.Probe{Op: n.question.op, Node: e.ID(i), Within: probeWithin})
}

// Question is a probe that was answered.
type Question struct {
	Op    ledger.Op
	Asked time.Time
	Older bool // a watch has told of the node since
}

// Claim takes an operation whose end has come, and gives its node; false: nobody waits for it any more.
func (e *Works) Claim(op ledger.Op) (node int, waits bool) {
	node, waits = e.ops[op]
	delete(e.ops, op)
	return node, waits
}

// Asked is the probe of a node that is under way, 0: none is.
func (e *Works) Asked(i int) ledger.Op { return e.nodes[i].question.op }

// Told takes down that a watch has told of a node.
func (e *Works) Told(i int) { e.nodes[i].question.told = e.Now }

// TakeAnswer takes down that the probe of a node is answered.
func (e *Works) TakeAnswer(i int) Question {
	q := &e.nodes[i].question
	answered := Question{Op: q.op, Asked: q.asked, Older: q.told.After(q.asked)}
	q.op = 0
	return answered
}

// PassOn tells the guards that wait for a node that it has answered.
func (e *Works) PassOn(i int) {
	q := &e.nodes[i].question
	waiting := q.guards
	q.guards = nil
	for _, g := range waiting {
		e.guardAnswered(g)
	}
}
