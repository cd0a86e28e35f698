package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
)

// rehearsals are the nodes that send nothing. After an outage they begin anew: what was rehearsed in it is not so.
type rehearsals struct {
	mu  sync.Mutex
	all []interface{ forget() }
}

func (rs *rehearsals) add(r interface{ forget() }) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.all = append(rs.all, r)
}

func (rs *rehearsals) forget() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, r := range rs.all {
		r.forget()
	}
}

// of makes a node that sends nothing.
func (rs *rehearsals) of(n adapter.Node) adapter.Node {
	r := &rehearsal{real: n}
	r.forget()
	rs.add(r)
	if _, ok := n.(adapter.Watcher); ok {
		return watchedRehearsal{r}
	}
	return r
}

// ofOutput makes the node of a supply's output that sends nothing.
func (rs *rehearsals) ofOutput(n adapter.Node, onLine func() bool) adapter.Node {
	o := &rehearsedOutput{inner: n, onLine: onLine}
	rs.add(o)
	return o
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
	r.now, r.over = adapter.Rehearse(r.real), make(chan struct{})
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

func (r *rehearsal) Do(ctx context.Context, v plan.Verb) error {
	n, _ := r.present()
	return n.Do(ctx, v)
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

var errBeginsAnew = errors.New("the rehearsal begins anew")

// rehearsedOutput is a supply's output whose cut is only said. It tells Off from then on, until the mains are back: a
// real output comes back by itself then.
type rehearsedOutput struct {
	inner  adapter.Node
	onLine func() bool

	mu    sync.Mutex
	cutAt time.Time // zero: no cut was rehearsed since the output came back
}

// cutShows is how long a rehearsed cut lasts at least, so that it is seen.
const cutShows = 5 * time.Second

func (o *rehearsedOutput) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cutAt = time.Time{}
}

// Do notes a cut and sends nothing.
func (o *rehearsedOutput) Do(_ context.Context, v plan.Verb) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v == plan.Cut && o.cutAt.IsZero() {
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
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.cutAt.IsZero() && time.Since(o.cutAt) >= cutShows && o.onLine() {
		o.cutAt = time.Time{}
	}
	if !o.cutAt.IsZero() && seen.State == plan.On {
		seen.State, seen.Detail = plan.Off, "rehearsed; really on: "+seen.Detail
	}
	return seen, nil
}
