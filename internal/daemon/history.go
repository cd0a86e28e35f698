package daemon

import (
	"sync"

	"ebbtide/internal/ledger"
	"ebbtide/internal/timeline"
)

// history follows the newest outage that this process has seen.
type history struct {
	mu sync.Mutex
	tl timeline.Timeline
}

func newHistory(past []ledger.Record) *history {
	return &history{tl: timeline.Fold(past)}
}

func (h *history) add(r ledger.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tl.Add(r)
}

// latest gives a copy. Its Outage is empty if there was none.
func (h *history) latest() timeline.Timeline {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tl.Clone()
}

// isOpen reports whether an outage is under way.
func (h *history) isOpen() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tl.Outage != "" && h.tl.End.IsZero()
}

func (h *history) summary() (s timeline.Summary, open bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tl.Summary, h.tl.Outage != "" && h.tl.End.IsZero()
}
