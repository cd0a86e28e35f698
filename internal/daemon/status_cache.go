package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"ebbtide/internal/engine"
)

// statusCache makes one status document for all who ask at the same time. A document is never older than the question
// that it answers: who asks while one is being made gets the next. Between two of them there is a rest in proportion
// to what the last one cost, so that however many ask, the status takes a quarter of a processor at most.
type statusCache struct {
	status func(context.Context) (Status, error)
	maker  chan struct{} // holds one token: who has it may make a document

	mu   sync.Mutex
	last *cachedStatus // the newest that was begun; nil before the first
	next *cachedStatus // that is waited for and not yet begun; nil: nobody asks

	// Of who has the token.
	rested time.Time // when the next may begin
	before Status    // as it was in the last document
	change int
}

// cachedStatus is one document.
type cachedStatus struct {
	begun  time.Time     // valid once it is the last
	ready  chan struct{} // closed when what follows is there
	line   []byte        // JSON that ends with its only newline; not to be changed
	change int           // grows with every change that is more than time passing
	err    error
}

// restFor is how long the rest is, in times what the last document cost.
const restFor = 3

func newStatusCache(status func(context.Context) (Status, error)) *statusCache {
	b := &statusCache{status: status, maker: make(chan struct{}, 1)}
	b.maker <- struct{}{}
	return b
}

// get gives a document that was begun at since or later.
func (b *statusCache) get(ctx context.Context, since time.Time) (*cachedStatus, error) {
	e := b.current(since)
	select {
	case <-e.ready:
		return e, e.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (b *statusCache) current(since time.Time) *cachedStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last != nil && !b.last.begun.Before(since) {
		return b.last
	}
	if b.next == nil {
		b.next = &cachedStatus{ready: make(chan struct{})}
		go b.make()
	}
	return b.next
}

// make makes the next edition. It ends within the bounds of status.
func (b *statusCache) make() {
	<-b.maker
	defer func() { b.maker <- struct{}{} }()
	rest := time.NewTimer(time.Until(b.rested))
	<-rest.C
	b.mu.Lock()
	e := b.next
	e.begun = time.Now()
	b.last, b.next = e, nil
	b.mu.Unlock()
	defer close(e.ready)
	status, err := b.status(context.Background()) // many ask: that one of them goes away must not end it
	if err != nil {
		e.err = err
		return
	}
	if b.change == 0 || !calm(&b.before, &status) {
		b.change++
	}
	b.before, e.change = status, b.change
	if e.line, err = json.Marshal(status); err != nil {
		e.err = fmt.Errorf("cannot write the status: %w", err)
		return
	}
	e.line = append(e.line, '\n')
	now := time.Now()
	b.rested = now.Add(restFor * now.Sub(e.begun))
}

// calm reports whether nothing has happened between two documents but that time went by.
func calm(before, now *Status) bool {
	return before.View.Outage == "" && now.View.Outage == "" && before.Text == now.Text && before.Digest == now.Digest &&
		before.View.Journal == now.View.Journal && slices.Equal(before.Blind, now.Blind) && slices.Equal(before.Lacks, now.Lacks) &&
		slices.EqualFunc(before.View.Supplies, now.View.Supplies, func(a, b engine.SupplyView) bool {
			a.State.OnlineFor, b.State.OnlineFor = 0, 0 // what is reckoned follows from the rest
			return a.ID == b.ID && a.State == b.State && a.Failing == b.Failing && a.Cut == b.Cut && a.Gate == b.Gate
		}) && slices.Equal(before.View.Nodes, now.View.Nodes)
}
