// Package fake is an estate in memory that really has state: what is stopped takes its time and is off then. It
// passes the contract suite, so that what works on it is what the port promises. Time is that of package time and of
// the clock that New is given, so it works in testing/synctest bubbles.
package fake

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
)

// Fault is a way in which a node can misbehave.
type Fault uint8

// The faults of a verb. Probes are not touched by them: see Node.Break for those.
const (
	None       Fault = iota
	Hang             // the call never answers, and nothing happens
	LoseAnswer       // the call never answers, but the verb is carried out
	Ignore           // accepted, but nothing happens: a guest that ignores its shutdown
	Refuse           // refused
	Busy             // not now
)

// Breakage is a way in which a whole node can be broken.
type Breakage uint8

// The breakages. Whatever was under way goes on behind them.
const (
	Whole    Breakage = iota
	Silent            // unreachable, and known to be: it refuses connections
	Frozen            // no call ever answers
	Vanished          // the node no longer exists
)

// Call is a command that reached a node: what the estate saw, whoever sent it and whatever came of it.
type Call struct {
	At   time.Time
	Node string
	Verb plan.Verb
	Was  plan.State // the node's state when it came
}

// Estate is a set of nodes. Its methods may be called at the same time.
type Estate struct {
	now func() time.Time

	mu    sync.Mutex
	nodes map[string]*Node
	order []string
	calls []Call
}

// New makes an empty estate.
func New(now func() time.Time) *Estate {
	return &Estate{now: now, nodes: map[string]*Node{}}
}

// Spec says what a new node is like.
type Spec struct {
	State   plan.State                  // On if not given (Unknown)
	Takes   map[plan.Verb]time.Duration // how long a verb takes from accepted to done; 0 if not given
	Latency time.Duration               // of each call
	Can     plan.Verbs                  // Stop, Force and Start if none is given; with Cache also Protect, Flush, Unprotect
	Cache   bool                        // has a write-back cache, not protected at first
	Dirty   int64                       // bytes in the cache; they go evenly while a flush takes its time
	Healthy plan.Fact                   // what a probe says of its health while it is on
}

// Add puts a node into the estate, replacing one of the same id.
func (e *Estate) Add(id string, s Spec) *Node {
	if s.State == plan.Unknown {
		s.State = plan.On
	}
	if s.Can == 0 {
		s.Can = plan.VerbSet(plan.Stop, plan.Force, plan.Start)
		if s.Cache {
			s.Can |= plan.VerbSet(plan.Protect, plan.Flush, plan.Unprotect)
		}
	}
	n := &Node{
		estate: e, id: id, can: s.Can, takes: s.Takes, latency: s.Latency, cache: s.Cache, healthy: s.Healthy,
		state: s.State, dirty: s.Dirty, faults: map[plan.Verb]Fault{}, changed: make(chan struct{}),
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, there := e.nodes[id]; !there {
		e.order = append(e.order, id)
	}
	e.nodes[id] = n
	return n
}

// Node gives a node by its id, or nil.
func (e *Estate) Node(id string) *Node {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.nodes[id]
}

// States gives the true state of every node, by id.
func (e *Estate) States() map[string]plan.State {
	e.mu.Lock()
	defer e.mu.Unlock()
	states := make(map[string]plan.State, len(e.nodes))
	for id, n := range e.nodes {
		n.settle()
		states[id] = n.state
	}
	return states
}

// Calls gives the commands that reached the estate, in their order.
func (e *Estate) Calls() []Call {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.calls)
}

// Selector gives a node that stands for the nodes with these ids, or for all if none is named.
func (e *Estate) Selector(ids ...string) adapter.Node { return selector{e, ids} }

type selector struct {
	estate *Estate
	ids    []string
}

func (s selector) Members(ctx context.Context) ([]plan.Member, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.estate.mu.Lock()
	defer s.estate.mu.Unlock()
	var members []plan.Member
	for _, id := range s.estate.order {
		n := s.estate.nodes[id]
		if n.breakage == Vanished || len(s.ids) > 0 && !slices.Contains(s.ids, id) {
			continue
		}
		n.settle()
		members = append(members, plan.Member{ID: id, Name: id, On: n.state == plan.On})
	}
	return members, nil
}

func (s selector) Member(id string) (adapter.Node, error) {
	if n := s.estate.Node(id); n != nil {
		return n, nil
	}
	return nil, fmt.Errorf("there is no %q: %w", id, adapter.ErrGone)
}

func (s selector) Probe(context.Context) (plan.Observation, error) {
	return plan.Observation{}, fmt.Errorf("a selector has no state: %w", adapter.ErrRefused)
}

func (s selector) Do(_ context.Context, do adapter.Command) error {
	return fmt.Errorf("a selector cannot %s: %w", do.Verb, adapter.ErrRefused)
}
