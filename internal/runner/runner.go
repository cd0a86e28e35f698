// Package runner drives the engine in real time: it takes events to it and carries out its effects, journal first.
//
// One goroutine owns the engine. Commands, probes and estimates run beside it and come back as events. What a batch of
// events wants on record is made durable, in one commit, before any other effect of that batch is carried out.
package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/english"
	"ebbtide/internal/forecast"
	"ebbtide/internal/foresight"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Journal makes records durable, all of them or none. With no records it says whether it could.
type Journal interface {
	Append(records ...ledger.Record) error
}

// Options are what a runner works with. Its functions are called from the runner's own goroutine and must not block.
type Options struct {
	Engine  *engine.Engine
	Journal Journal
	Lost    error // why the journal can't be written from the start; nil: it can
	// Nodes gives the node that carries out commands and answers probes. It is asked anew for each of them.
	Nodes  func(id string) (adapter.Node, bool)
	Log    *slog.Logger                   // nil: slog.Default
	Notify func(urgent bool, text string) // tells people; nil: they are told by the log alone
	// Forecast answers how long the rest of a plan takes, beside the loop, one question at a time. Nil: from what the
	// runbook says.
	Forecast func(*plan.Estate, effect.Estimate) foresight.Estimate
	// Recorded is given each record once: when it is durable, or when the journal has refused it and it waits to be
	// written. Nil: nobody asks.
	Recorded func([]ledger.Record)
}

// Runner is made by New and does its work in Run. Its other methods may be called at any time and from anywhere but the
// functions of Options.
type Runner struct {
	options  Options
	log      *slog.Logger
	engine   *engine.Engine
	appender appender

	events   chan engine.Event
	readings *readings
	silences silences
	calls    chan func(context.Context)
	ended    chan struct{} // closed when the loop has ended
	all      sync.WaitGroup

	// The loop's own.
	own       []engine.Event // its own answers, to be taken first
	wake      *time.Timer
	ops       map[ledger.Op]context.CancelCauseFunc
	estimates estimates
	unwatch   context.CancelFunc
}

// Keys of log attributes.
const (
	keyComponent = "component"
	keyNode      = "node"
	keyVerb      = "verb"
	keyOp        = "op"
	keyError     = "error"
)

const (
	backlog      = 1024             // events that may wait; a sender waits beyond it
	closeTimeout = 10 * time.Second // how long the end waits for adapters that do not end with their context
)

// ErrEnded says that the runner has stopped: what was asked was not done.
var ErrEnded = errors.New("the runner has ended")

// errStopped is the cause with which operations end when the runner does.
var errStopped = errors.New("ebbtide is stopping")

// New makes a runner. Nothing happens before Run.
func New(o Options) *Runner {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Notify == nil {
		o.Notify = func(bool, string) {}
	}
	if o.Recorded == nil {
		o.Recorded = func([]ledger.Record) {}
	}
	if o.Forecast == nil {
		o.Forecast = forecast.New(nil, forecast.DefaultTrials).Answer
	}
	return &Runner{
		options: o, log: o.Log.With(keyComponent, "runner"), engine: o.Engine,
		appender: appender{journal: o.Journal, result: make(chan error, 1)},
		events:   make(chan engine.Event, backlog), readings: newReadings(), calls: make(chan func(context.Context)),
		silences: silences{why: map[string]string{}}, ended: make(chan struct{}),
		ops: map[ledger.Op]context.CancelCauseFunc{}, estimates: estimates{answers: make(chan foresight.Estimate, 1)},
	}
}

// Run takes the engine through its life until ctx ends, once. An outage that is open then stays open in the journal, to
// be resumed. It returns nil, or says what it had to leave behind.
func (r *Runner) Run(ctx context.Context) error {
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(errStopped)
	r.wake = time.NewTimer(time.Hour)
	defer r.wake.Stop()
	r.watch(run)
	r.process(run, engine.Started{})
	if r.options.Lost != nil {
		r.appender.lose()
		r.lost(run, r.options.Lost)
	}
	for run.Err() == nil {
		r.turn(run)
	}
	close(r.ended)
	cancel(errStopped)
	r.unwatch()
	return r.leave()
}

// turn takes what comes next: all events that are there in one batch, or a question.
func (r *Runner) turn(ctx context.Context) {
	if len(r.own) > 0 {
		batch := r.own
		r.own = nil
		r.process(ctx, batch...)
		return
	}
	select {
	case <-ctx.Done():
	case ev := <-r.events:
		r.process(ctx, r.drain(ev)...)
	case <-r.readings.come:
		r.process(ctx, r.readings.take()...)
	case <-r.wake.C:
		r.process(ctx, engine.Woke{})
	case est := <-r.estimates.answers:
		r.nextEstimate()
		r.process(ctx, engine.Estimated(est))
	case call := <-r.calls:
		call(ctx)
	case err := <-r.appender.result:
		r.written(ctx, err)
	case <-r.appender.retryAt():
		r.appender.timer = nil
		r.appender.write(r.all.Go)
	}
}

func (r *Runner) drain(first engine.Event) []engine.Event {
	batch := []engine.Event{first}
	for len(batch) < backlog {
		select {
		case ev := <-r.events:
			batch = append(batch, ev)
		default:
			return batch
		}
	}
	return batch
}

// process takes events to the engine and carries out what follows: all records first, then the rest in its order.
func (r *Runner) process(ctx context.Context, events ...engine.Event) {
	var records []ledger.Record
	var effects []effect.Effect
	for _, ev := range events {
		if done, ok := ev.(engine.Finished); ok {
			delete(r.ops, done.Op)
		}
		for _, one := range r.engine.Apply(time.Now(), ev) {
			if a, ok := one.(effect.Append); ok {
				records = append(records, a.Record)
			} else {
				effects = append(effects, one)
			}
		}
	}
	lost := r.record(records)
	for _, one := range effects {
		r.carryOut(ctx, one)
	}
	if lost != nil {
		r.lost(ctx, lost)
	}
}

// lost tells the engine that the journal is lost.
func (r *Runner) lost(ctx context.Context, why error) {
	r.log.Error("the journal can't be written: a shutdown continues without it, a power-up waits", keyError, why)
	r.process(ctx, engine.JournalLost{Detail: why.Error()})
}

// leave waits for what is still under way. Everything that was started ends with the runner's context.
func (r *Runner) leave() error {
	gone := make(chan struct{})
	go func() {
		r.all.Wait()
		close(gone)
	}()
	late := time.NewTimer(closeTimeout)
	defer late.Stop()
	select {
	case <-gone:
		return nil
	case <-late.C:
		return fmt.Errorf("cannot stop cleanly: some calls to the estate or the journal have not returned within %s",
			english.Span(closeTimeout))
	}
}
