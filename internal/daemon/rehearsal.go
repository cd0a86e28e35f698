package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/decorate"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// rehearsals are the nodes that send nothing. After an outage they begin anew: what was rehearsed in it is not so.
type rehearsals struct {
	mu      sync.Mutex
	nodes   map[string]rehearsing
	outputs map[string]*rehearsedOutput // of those, by supply
}

// rehearsing is a node that sends nothing, and can begin anew.
type rehearsing interface {
	adapter.Node
	forget()
}

func (rs *rehearsals) add(id string, r rehearsing) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.nodes == nil {
		rs.nodes = map[string]rehearsing{}
	}
	rs.nodes[id] = r
}

func (rs *rehearsals) forget() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, r := range rs.nodes {
		r.forget()
	}
}

// of makes a node that sends nothing.
func (rs *rehearsals) of(id string, n adapter.Node) adapter.Node {
	r := &rehearsal{real: n}
	r.forget()
	rs.add(id, r)
	if _, ok := n.(adapter.Watcher); ok {
		return watchedRehearsal{r}
	}
	return r
}

// again rehearses what a record of an outage says that was, which a restart has forgotten: else everything would be on again.
func (rs *rehearsals) again(estate *plan.Estate, r *ledger.Record) error {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	switch n := rs.nodes[r.Node]; {
	case r.Kind == ledger.Intent && n != nil:
		return n.Do(context.Background(), adapter.Command{Verb: *r.Verb})
	case r.Kind == ledger.Mains && r.Cause == ledger.Cycled:
		for _, id := range r.Supplies {
			if o := rs.outputs[id]; o != nil {
				o.forget()
			}
		}
	case r.Kind == ledger.Turned && r.Goal == plan.Up:
		return rs.power(estate)
	}
	return nil
}

// power starts what starts with its power, as that is back.
func (rs *rehearsals) power(estate *plan.Estate) error {
	var failed []error
	for i := range estate.Len() {
		if n := estate.Node(i); n.ByPower && n.Can.Has(plan.Stop) && rs.nodes[n.ID] != nil {
			failed = append(failed, rs.nodes[n.ID].Do(context.Background(), adapter.Command{Verb: plan.Start}))
		}
	}
	return errors.Join(failed...)
}

// ofOutput makes the node of a supply's output that sends nothing.
func (rs *rehearsals) ofOutput(supply string, n adapter.Node, onLine func() bool, refuses func() error) adapter.Node {
	o := &rehearsedOutput{inner: n, onLine: onLine, refuses: refuses}
	rs.add(supply, o)
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.outputs == nil {
		rs.outputs = map[string]*rehearsedOutput{}
	}
	rs.outputs[supply] = o
	return o
}

// reading is what a supply would have said if its output had been cut when that was rehearsed.
func (rs *rehearsals) reading(r power.Reading) power.Reading {
	rs.mu.Lock()
	o := rs.outputs[r.Supply]
	rs.mu.Unlock()
	if o == nil || r.Link != power.Fresh {
		return r
	}
	if remains, cut := o.remains(); cut && remains == 0 {
		r.Rehearsed = !r.Status.Has(power.OFF)
		r.Status |= power.OFF
	}
	return r
}

// rehearsal is a rehearsed node that can begin anew.
type rehearsal struct {
	real adapter.Node
	mu   sync.Mutex
	now  adapter.Node
	over chan struct{} // closed when now is replaced
}

func (r *rehearsal) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over != nil {
		close(r.over)
	}
	r.now, r.over = decorate.Rehearse(r.real), make(chan struct{})
}

func (r *rehearsal) present() (adapter.Node, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now, r.over
}

func (r *rehearsal) Probe(ctx context.Context) (plan.Observation, error) {
	n, _ := r.present()
	return n.Probe(ctx)
}

func (r *rehearsal) Do(ctx context.Context, do adapter.Command) error {
	n, _ := r.present()
	return n.Do(ctx, do)
}

type watchedRehearsal struct{ *rehearsal }

// Watch tells of changes until the rehearsal begins anew, and ends then: the runner starts it again.
func (w watchedRehearsal) Watch(ctx context.Context, seen func(plan.Observation)) error {
	n, over := w.present()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() { ended <- n.(adapter.Watcher).Watch(ctx, seen) }()
	select {
	case <-over:
		cancel(errBeginsAnew)
	case err := <-ended:
		return err
	}
	return <-ended
}

var errBeginsAnew = errors.New("the rehearsal starts over")

// rehearsedOutput is a supply's output whose cut is only said. It is off from then on, to who asks it and in what its supply says,
// until the mains are back: a real output comes back by itself then.
type rehearsedOutput struct {
	inner   adapter.Node
	onLine  func() bool
	refuses func() error // why its cut would be refused, as far as is known; nil: it would not

	mu    sync.Mutex
	cutAt time.Time // zero: no cut was rehearsed since the output came back
}

// A rehearsed cut comes after cutDelay, as with a real UPS, and lasts at least until cutShows, so that it is seen.
const (
	cutDelay = 2 * time.Second
	cutShows = 7 * time.Second
)

func (o *rehearsedOutput) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cutAt = time.Time{}
}

// Do notes a cut and sends nothing. One that is known to be impossible is refused, as the real one would be.
func (o *rehearsedOutput) Do(_ context.Context, do adapter.Command) error {
	if do.Verb == plan.Cut {
		if err := o.refuses(); err != nil {
			return err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if do.Verb == plan.Cut && o.cutAt.IsZero() {
		o.cutAt = time.Now()
	}
	return nil
}

// Probe asks the real output.
func (o *rehearsedOutput) Probe(ctx context.Context) (plan.Observation, error) {
	seen, err := o.inner.Probe(ctx)
	if err != nil {
		return seen, err
	}
	switch remains, cut := o.remains(); {
	case !cut || seen.State != plan.On:
	case remains > 0:
		seen.State, seen.RemainFor = plan.Stopping, remains
		seen.Detail = "rehearsed; really on: " + seen.Detail
	default:
		seen.State, seen.Detail = plan.Off, "rehearsed; really on: "+seen.Detail
	}
	return seen, nil
}

// remains reports whether a cut was rehearsed and the output has not come back, and how long it would stay on.
func (o *rehearsedOutput) remains() (_ time.Duration, cut bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	since := time.Since(o.cutAt)
	if !o.cutAt.IsZero() && since >= cutShows && o.onLine() {
		o.cutAt = time.Time{}
	}
	return max(cutDelay-since, 0), !o.cutAt.IsZero()
}
