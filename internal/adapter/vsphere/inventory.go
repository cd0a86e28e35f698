package vsphere

import (
	"context"
	"sync"
	"time"
)

// phase says how a watch is doing.
type phase uint8

const (
	idle    phase = iota // nobody has asked yet
	mending              // being made, or made anew
	live                 // the tables are what the server last said
	broken               // the last attempt failed; another follows
	closed               // for good
)

// inventory is the tables, whether they can be believed, and who wants to know of changes.
type inventory struct {
	mu        sync.Mutex
	tables    *tables // never nil; of the last watch that was live
	phase     phase
	agent     bool // the server is a host's own agent; valid once heard is set
	heard     time.Time
	failure   error              // of the last attempt; nil if it worked
	failed    time.Time          // when
	turn      chan struct{}      // closed, and replaced, when phase changes
	kick      chan struct{}      // a watch is wanted
	batch     *batch             // what is to be asked next; nil: nothing
	asked     chan struct{}      // there is a batch
	starts    map[ref][]*starts  // by datacenter: what is to be powered on next, in order
	toStart   chan struct{}      // there are starts
	ended     bool               // no more batches and starts are sent
	interrupt context.CancelFunc // ends the watch; nil before the first
	observers map[string]map[*observer]struct{}
}

// observer is told that something under one of its keys may have changed.
type observer struct {
	keys []string
	ping chan struct{}
}

const hostKey = "host"

func nameKey(name string) string { return "name/" + name }
func uuidKey(uuid string) string { return "uuid/" + uuid }

func newInventory() *inventory {
	return &inventory{
		tables: newTables(), turn: make(chan struct{}), kick: make(chan struct{}, 1), asked: make(chan struct{}, 1),
		starts: make(map[ref][]*starts), toStart: make(chan struct{}, 1),
		observers: make(map[string]map[*observer]struct{}),
	}
}

// observe adds an observer; stop removes it.
func (inv *inventory) observe(o *observer) (stop func()) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	for _, k := range o.keys {
		if inv.observers[k] == nil {
			inv.observers[k] = make(map[*observer]struct{})
		}
		inv.observers[k][o] = struct{}{}
	}
	return func() {
		inv.mu.Lock()
		defer inv.mu.Unlock()
		for _, k := range o.keys {
			if delete(inv.observers[k], o); len(inv.observers[k]) == 0 {
				delete(inv.observers, k)
			}
		}
	}
}

// tell pings the observers of keys. inv.mu is held.
func (inv *inventory) tell(keys ...string) {
	for _, k := range keys {
		for o := range inv.observers[k] {
			poke(o.ping)
		}
	}
}

// poke sends to a channel that holds one, unless it is full.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// change moves to another phase and lets everybody who waits look again. inv.mu is held.
func (inv *inventory) change(to phase) {
	inv.phase = to
	close(inv.turn)
	inv.turn = make(chan struct{})
	if to == mending { // nothing is known yet: observers are told of the outcome
		return
	}
	for k := range inv.observers {
		inv.tell(k)
	}
}

// ask wants a watch that isn't there to be made now. inv.mu is held.
func (inv *inventory) ask() {
	inv.change(mending)
	poke(inv.kick)
}
