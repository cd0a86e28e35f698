package daemon

import (
	"context"
	"strings"
	"sync"

	"ebbtide/internal/ledger"
)

// backlog is a journal in memory, read as it is written.
type backlog struct {
	mu      sync.Mutex
	records []ledger.Record
	more    chan struct{} // has something when records were added
}

func newBacklog() *backlog { return &backlog{more: make(chan struct{}, 1)} }

// Append takes records.
func (b *backlog) Append(records ...ledger.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records = append(b.records, records...)
	select {
	case b.more <- struct{}{}:
	default:
	}
	return nil
}

// next waits for the next record and takes it.
func (b *backlog) next(ctx context.Context) (ledger.Record, error) {
	for {
		b.mu.Lock()
		if len(b.records) > 0 {
			rec := b.records[0]
			b.records = b.records[1:]
			b.mu.Unlock()
			return rec, nil
		}
		b.mu.Unlock()
		select {
		case <-b.more:
		case <-ctx.Done():
			return ledger.Record{}, context.Cause(ctx)
		}
	}
}

// faultOf makes the body of an answer from an error that may say after a semicolon what to do.
func faultOf(err error) *Fault {
	text, hint, _ := strings.Cut(err.Error(), "; ")
	return &Fault{Error: text, Hint: hint}
}
