package runner

import (
	"sync"

	"ebbtide/internal/engine"
	"ebbtide/internal/power"
)

// readings are those that the loop has not taken yet: the newest of each supply, in the order in which they first came.
type readings struct {
	come chan struct{} // holds one while there are any

	mu     sync.Mutex
	order  []string // supplies
	newest map[string]power.Reading
}

func newReadings() *readings {
	return &readings{come: make(chan struct{}, 1), newest: map[string]power.Reading{}}
}

func (rs *readings) put(r power.Reading) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if _, waits := rs.newest[r.Supply]; !waits {
		rs.order = append(rs.order, r.Supply)
	}
	rs.newest[r.Supply] = r
	select {
	case rs.come <- struct{}{}:
	default:
	}
}

// take gives the readings that wait, as events.
func (rs *readings) take() []engine.Event {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	events := make([]engine.Event, len(rs.order))
	for i, supply := range rs.order {
		events[i] = engine.Read{Reading: rs.newest[supply]}
	}
	rs.order = rs.order[:0]
	clear(rs.newest)
	return events
}
