package runner

import (
	"context"
	"fmt"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/english"
	"ebbtide/internal/ledger"
)

const (
	commitTimeout = 3 * time.Second // how long the loop waits for a commit before it counts as failed
	retryEvery    = time.Second     // how often a lost journal is tried again
)

// appender keeps the order of records through a journal that fails, hangs and comes back. A write runs beside the loop:
// a disk that hangs may be one that this very shutdown takes away.
type appender struct {
	journal Journal
	pending []ledger.Record // not durable yet, in order
	writing int             // how many of them are on their way
	busy    bool            // a write is on its way
	result  chan error      // of the write on its way
	lost    bool
	timer   *time.Timer // nil: no retry is due
}

// write sends all that is pending on its way, unless something is already. Of a lost journal it asks with nothing, too,
// whether it is back.
func (a *appender) write(spawn func(func())) {
	if a.busy || len(a.pending) == 0 && !a.lost {
		return
	}
	a.writing, a.busy = len(a.pending), true
	batch := a.pending[:a.writing:a.writing]
	spawn(func() { a.result <- a.append(batch) })
}

func (a *appender) append(batch []ledger.Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the journal failed: %v", p)
		}
	}()
	return a.journal.Append(batch...)
}

// settle takes the end of a write.
func (a *appender) settle(err error) {
	if err == nil {
		a.pending = a.pending[a.writing:]
	}
	a.writing, a.busy = 0, false
}

// retryAt tells when a lost journal is to be tried again; nil while it is not.
func (a *appender) retryAt() <-chan time.Time {
	if a.timer == nil {
		return nil
	}
	return a.timer.C
}

// record makes records durable before it returns. The error says that the journal is lost by now; later ones only wait.
func (r *Runner) record(records []ledger.Record) (lost error) {
	if len(records) == 0 {
		return nil
	}
	defer func() { r.options.Recorded(records) }()
	a := &r.appender
	a.pending = append(a.pending, records...)
	if a.lost {
		return nil
	}
	a.write(r.all.Go)
	late := time.NewTimer(commitTimeout)
	defer late.Stop()
	var err error
	select {
	case err = <-a.result:
		a.settle(err)
	case <-late.C:
		err = fmt.Errorf("the journal has not answered for %s", english.Span(commitTimeout))
	}
	if err == nil {
		return nil
	}
	a.lose()
	return err
}

// lose notes that the journal is lost, and when it is to be tried again: after the write that is on its way, if one is.
func (a *appender) lose() {
	a.lost = true
	if !a.busy {
		a.timer = time.NewTimer(retryEvery)
	}
}

// written takes the end of a write while the journal is lost.
func (r *Runner) written(ctx context.Context, err error) {
	a := &r.appender
	a.settle(err)
	switch {
	case err != nil:
		r.log.Debug("the journal still can't be written", keyError, err)
		a.timer = time.NewTimer(retryEvery)
	case len(a.pending) > 0:
		a.write(r.all.Go)
	default:
		a.lost = false
		r.log.Warn("the journal can be written again; everything since Ebbtide started is in it")
		r.process(ctx, engine.JournalBack{})
	}
}
