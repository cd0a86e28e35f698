package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/english"
	"ebbtide/internal/foresight"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// carryOut carries out one effect that is no record.
func (r *Runner) carryOut(ctx context.Context, one effect.Effect) {
	switch e := one.(type) {
	case effect.Append: // was made durable before
	case effect.Do:
		r.do(ctx, e)
	case effect.Probe:
		r.probe(ctx, e)
	case effect.Cancel:
		if cancel, ok := r.ops[e.Op]; ok {
			cancel(errCancelled)
		}
	case effect.Wake:
		r.wake.Reset(time.Until(e.At))
	case effect.Estimate:
		r.estimate(e)
	case effect.Notify:
		if e.Urgent {
			r.log.Warn(e.Text) //nolint:sloglint // a sentence for people
		} else {
			r.log.Info(e.Text) //nolint:sloglint // a sentence for people
		}
		r.options.Notify(e.Urgent, e.Text)
	}
}

var errCancelled = errors.New("it was superseded by another command")

// do gives a command to a node. While the journal is lost nothing is brought up: its intent could not be durable.
func (r *Runner) do(ctx context.Context, e effect.Do) {
	node, ok := r.options.Nodes(e.Node)
	switch {
	case !ok:
		r.own = append(r.own, engine.Finished{
			Op: e.Op, Outcome: ledger.Refused,
			Detail: fmt.Sprintf("there is no node %q to command", e.Node),
		})
		return
	case r.appender.lost && (e.Verb == plan.Start || e.Verb == plan.Unprotect || e.Verb == plan.Discharge):
		r.own = append(r.own, engine.Finished{Op: e.Op, Outcome: ledger.Busy, Detail: "the journal can't be written"})
		return
	}
	log := r.log.With(keyNode, e.Node, keyVerb, e.Verb.String(), keyOp, uint64(e.Op))
	observing := r.observing()
	log.Debug(observing + "commanding") //nolint:sloglint // nothing may read as if it had been sent
	r.operate(ctx, e.Op, e.Within, func(ctx context.Context) (done engine.Finished) {
		defer func() {
			if p := recover(); p != nil {
				log.Error("the adapter crashed while it was being commanded", keyError, fmt.Sprint(p), "stack", string(debug.Stack()))
				done = engine.Finished{Outcome: ledger.TimedOut, Detail: fmt.Sprintf("the adapter crashed: %v", p)}
			}
		}()
		err := node.Do(ctx, adapter.Command{Verb: e.Verb, Settings: e.Settings})
		if err != nil {
			log.Warn(observing+"the command was not accepted", keyError, err) //nolint:sloglint // a sentence for people
		}
		return engine.Finished{Outcome: outcome(err), Detail: detail(err)}
	})
}

// observing begins what is logged of commands while none is sent.
func (r *Runner) observing() string {
	if r.engine.Settings().Mode == ledger.ModeObserve {
		return effect.Observing
	}
	return ""
}

func (r *Runner) probe(ctx context.Context, e effect.Probe) {
	node, ok := r.options.Nodes(e.Node)
	if !ok {
		r.own = append(r.own, engine.Finished{Op: e.Op, Outcome: ledger.Refused, Detail: fmt.Sprintf("there is no node %q to ask", e.Node)})
		return
	}
	r.operate(ctx, e.Op, e.Within, func(ctx context.Context) (done engine.Finished) {
		defer func() {
			if p := recover(); p != nil {
				r.log.Error("the adapter crashed while it was being asked", keyNode, e.Node, keyError, fmt.Sprint(p), "stack",
					string(debug.Stack()))
				done = engine.Finished{Outcome: ledger.TimedOut, Detail: fmt.Sprintf("the adapter crashed: %v", p)}
			}
		}()
		seen, err := node.Probe(ctx)
		r.silences.follow(e.Node, seen, err)
		if err != nil {
			r.log.Debug("a probe got no answer", keyNode, e.Node, keyError, err)
		}
		return engine.Finished{Outcome: outcome(err), Seen: seen, Detail: detail(err)}
	})
}

// operate runs one operation beside the loop, for so long at most. It gets exactly one Finished, when the time is up
// also if the adapter does not come back. It takes one goroutine: a survey runs thousands of them at once.
func (r *Runner) operate(ctx context.Context, op ledger.Op, within time.Duration, run func(context.Context) engine.Finished) {
	ctx, cancel := context.WithCancelCause(ctx)
	r.ops[op] = cancel
	var once sync.Once
	finish := func(done engine.Finished) {
		once.Do(func() {
			done.Op = op
			r.Post(done)
		})
	}
	r.all.Go(func() {
		defer cancel(nil)
		timed, end := context.WithTimeoutCause(ctx, within, fmt.Errorf("no answer within %s", english.Span(within)))
		defer end()
		answered := make(chan struct{})
		forget := context.AfterFunc(timed, func() {
			grace := time.NewTimer(overtime)
			defer grace.Stop()
			select {
			case <-answered:
			case <-grace.C:
				finish(engine.Finished{Outcome: ledger.TimedOut, Detail: context.Cause(timed).Error()})
			}
		})
		defer forget()
		done := run(timed)
		close(answered)
		finish(done)
	})
}

// overtime is how long after its deadline an adapter may take to say how it ended.
const overtime = time.Second

// outcome turns an adapter's error into what the engine needs to know. An error that says nothing else means that
// nobody knows: of a command, whether it was done; of a probe, what is so. It is never taken for unreachable, since a
// silence may prove a node off.
func outcome(err error) ledger.Outcome {
	switch {
	case err == nil:
		return ledger.Done
	case errors.Is(err, adapter.ErrGone):
		return ledger.NoSuchThing
	case errors.Is(err, adapter.ErrRefused):
		return ledger.Refused
	case errors.Is(err, adapter.ErrBusy):
		return ledger.Busy
	case errors.Is(err, adapter.ErrUnreachable):
		return ledger.Unreached
	}
	return ledger.TimedOut
}

func detail(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// estimates runs one estimate at a time. Of those that wait only the newest counts.
type estimates struct {
	running bool
	next    *effect.Estimate
	answers chan foresight.Estimate
}

func (r *Runner) estimate(ask effect.Estimate) {
	if r.estimates.running {
		r.estimates.next = &ask
		return
	}
	r.estimates.running = true
	estate, answer := r.engine.Settings().Estate, r.options.Forecast
	r.all.Go(func() { r.estimates.answers <- answer(estate, ask) })
}

func (r *Runner) nextEstimate() {
	r.estimates.running = false
	if next := r.estimates.next; next != nil {
		r.estimates.next = nil
		r.estimate(*next)
	}
}
