package runner

import (
	"context"
	"errors"
	"sync"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
)

// silences is why nodes have not answered when they were asked last. The engine decides nothing by that: it is for people, who are to see
// that it is a host key that changed, and not a network.
type silences struct {
	mu  sync.Mutex
	why map[string]string // by node; none: it answered
}

// follow takes what a node answered, or why it did not. A question that was taken back says nothing.
func (s *silences) follow(node string, seen plan.Observation, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		s.why[node] = err.Error()
	case isNoAnswer(seen.State) && seen.Detail != "":
		s.why[node] = seen.Detail
	default:
		delete(s.why, node)
	}
}

func isNoAnswer(state plan.State) bool { return state == plan.Unreachable || state == plan.Unknown }

// tell puts that beside the nodes that have not answered.
func (s *silences) tell(view *engine.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range view.Nodes {
		if n := &view.Nodes[i]; n.Probed && isNoAnswer(n.Seen.State) {
			n.NoAnswer = s.why[n.ID]
		}
	}
}
