package runner

import (
	"context"
	"fmt"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
)

const (
	patience   = 3 * time.Second // how long the loop waits for a commit before it counts as failed
	retryEvery = time.Second     // how often a lost journal is tried again
)

// ledger keeps the order of records through a journal that fails, hangs and comes back. A write runs beside the loop:
// a disk that hangs may be one that this very shutdown takes away.
type ledger struct {
	journal Journal
	pending []engine.Record // not durable yet, in order
	writing int             // how many of them are on their way
	busy    bool            // a write is on its way
	result  chan error      // of the write on its way
	lost    bool
	timer   *time.Timer // nil: no retry is due
}

// write sends all that is pending on its way, unless something is already. Of a lost journal it asks with nothing, too,
// whether it is back.
func (l *ledger) write(spawn func(func())) {
	if l.busy || len(l.pending) == 0 && !l.lost {
		return
	}
	l.writing, l.busy = len(l.pending), true
	batch := l.pending[:l.writing:l.writing]
	spawn(func() { l.result <- l.append(batch) })
}

func (l *ledger) append(batch []engine.Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the journal broke: %v", p)
		}
	}()
	return l.journal.Append(batch...)
}

// settle takes the end of a write.
func (l *ledger) settle(err error) {
	if err == nil {
		l.pending = l.pending[l.writing:]
	}
	l.writing, l.busy = 0, false
}

// retryAt tells when a lost journal is to be tried again; nil while it is not.
func (l *ledger) retryAt() <-chan time.Time {
	if l.timer == nil {
		return nil
	}
	return l.timer.C
}

// record makes records durable before it returns. The error says that the journal is lost by now; later ones only wait.
func (r *Runner) record(records []engine.Record) (lost error) {
	if len(records) == 0 {
		return nil
	}
	defer func() { r.options.Recorded(records) }()
	l := &r.ledger
	l.pending = append(l.pending, records...)
	if l.lost {
		return nil
	}
	l.write(r.all.Go)
	late := time.NewTimer(patience)
	defer late.Stop()
	var err error
	select {
	case err = <-l.result:
		l.settle(err)
	case <-late.C:
		err = fmt.Errorf("the journal has not answered for %s", plan.Span(patience))
	}
	if err == nil {
		return nil
	}
	l.lose()
	return err
}

// lose notes that the journal is lost, and when it is to be tried again: after the write that is on its way, if one is.
func (l *ledger) lose() {
	l.lost = true
	if !l.busy {
		l.timer = time.NewTimer(retryEvery)
	}
}

// written takes the end of a write while the journal is lost.
func (r *Runner) written(ctx context.Context, err error) {
	l := &r.ledger
	l.settle(err)
	switch {
	case err != nil:
		r.log.Debug("the journal still can't be written", keyError, err)
		l.timer = time.NewTimer(retryEvery)
	case len(l.pending) > 0:
		l.write(r.all.Go)
	default:
		l.lost = false
		r.log.Warn("the journal can be written again; nothing is missing from it")
		r.process(ctx, engine.JournalBack{})
	}
}
