package runner

import (
	"context"
	"errors"
	"fmt"

	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/power"
)

// RefusedError says why an operator's command is not carried out now, and what to do instead.
type RefusedError struct {
	Order  engine.Order
	Reason string
}

func (e *RefusedError) Error() string {
	if e.Order.Node != "" {
		return fmt.Sprintf("cannot %s %q: %s", e.Order.Verb, e.Order.Node, e.Reason)
	}
	return fmt.Sprintf("cannot %s: %s", e.Order.Verb, e.Reason)
}

// ErrOutageOpen says that something has to wait until the outage is over.
var ErrOutageOpen = errors.New("an outage is under way")

// Post gives an event to the engine. It waits while many others do; after the end of Run it does nothing.
func (r *Runner) Post(ev engine.Event) {
	select {
	case r.events <- ev:
	case <-r.ended:
	}
}

// Read gives a reading to the engine and never waits. Where the loop is behind (it waits for a slow disk, say) only the
// newest reading of a supply counts: an old one would pass for what is so now, and whoever polls must go on polling.
func (r *Runner) Read(reading power.Reading) { r.readings.put(reading) }

// Order gives an operator's command to the engine and returns when it has been taken. A refusal is a *RefusedError.
func (r *Runner) Order(ctx context.Context, o engine.Order) error {
	refusal := ""
	err := r.inside(ctx, func(loop context.Context) {
		refusal = r.engine.Refuses(o)
		r.process(loop, o)
	})
	if err == nil && refusal != "" {
		return &RefusedError{Order: o, Reason: refusal}
	}
	return err
}

// Drill asks the engine for a drill and gives its id when it has begun. A refusal is a *RefusedError.
func (r *Runner) Drill(ctx context.Context, d engine.Drill) (id string, err error) {
	refusal := ""
	err = r.inside(ctx, func(loop context.Context) {
		if refusal = r.engine.RefusesDrill(d); refusal == "" {
			r.process(loop, d)
			id = r.engine.View().Outage
		}
	})
	if err == nil && refusal != "" {
		err = &RefusedError{Order: engine.Order{Verb: ledger.OrderVerb(ledger.ModeDrill), By: d.By}, Reason: refusal}
	}
	return id, err
}

// PreviewDrill tells what a drill would do now, or why it can't be. Errors are those of View.
func (r *Runner) PreviewDrill(ctx context.Context, d engine.Drill) (engine.DrillPreview, error) {
	var o engine.DrillPreview
	err := r.inside(ctx, func(context.Context) { o = r.engine.PreviewDrill(d) })
	return o, err
}

// View gives a copy of what the engine knows, and beside it why nodes do not answer. It comes in its turn among the events: the error is
// that of ctx where that ended before, or says that the runner has ended.
func (r *Runner) View(ctx context.Context) (engine.View, error) {
	var view engine.View
	err := r.inside(ctx, func(context.Context) { view = r.engine.View() })
	r.silences.tell(&view)
	return view, err
}

// Ping returns when the loop has come round: a loop that is stuck does not answer.
func (r *Runner) Ping(ctx context.Context) error {
	return r.inside(ctx, func(context.Context) {})
}

// Reload gives the engine a new estate, unless an outage is open: then it is ErrOutageOpen and nothing changes. swap is
// called between the old estate and the new one: from then on Nodes must give the nodes of the new one.
func (r *Runner) Reload(ctx context.Context, ev engine.Reload, swap func()) error {
	var refused error
	err := r.inside(ctx, func(loop context.Context) {
		if r.engine.Open() {
			refused = ErrOutageOpen
			return
		}
		r.unwatch()
		for _, cancel := range r.ops {
			cancel(errReloaded)
		}
		swap()
		r.process(loop, ev)
		r.watch(loop)
	})
	return errors.Join(err, refused)
}

var errReloaded = errors.New("the runbook was reloaded")

// inside runs f in the loop, with the context of what the loop starts.
func (r *Runner) inside(ctx context.Context, f func(loop context.Context)) error {
	done := make(chan struct{})
	select {
	case r.calls <- func(loop context.Context) { defer close(done); f(loop) }:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.ended:
		return ErrEnded
	}
	<-done // it has begun: nothing else can end it
	return nil
}
