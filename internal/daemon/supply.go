package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/estate"
	"ebbtide/internal/nut"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/runbook"
	"ebbtide/internal/schema"
)

// How often it is asked again whether what lacked is there by now, and whether all is still there.
const (
	lackedEach = 5 * time.Minute
	thereEach  = 6 * time.Hour
)

// watchMeans asks whether there is all that the last steps of an outage need, when it is too late to ask: at the start,
// after each reload, and now and then.
func (d *Daemon) watchMeans(ctx context.Context) {
	for {
		each := thereEach
		if d.checkMeans(ctx, d.site.Load()) {
			each = lackedEach
		}
		again := time.NewTimer(each)
		select {
		case <-ctx.Done():
			again.Stop()
			return
		case <-d.reloaded:
			again.Stop()
		case <-again.C:
		}
	}
}

// checkMeans asks for what cuts the outputs, and for what powers this machine off. It tells people, once, what is wrong,
// and reports whether anything is.
func (d *Daemon) checkMeans(ctx context.Context, s *site) bool {
	lacks := append(d.checkSupplies(ctx, s), d.checkSelf(ctx, s)...)
	if ctx.Err() != nil {
		return false
	}
	before := d.lacked()
	d.lacks.Store(&lacks)
	for _, lack := range lacks {
		if !slices.Contains(before, lack) {
			d.log.Error("a system can't do what the runbook needs at the end of an outage", "lack", lack)
			d.notify(false, lack)
		}
	}
	return len(lacks) > 0
}

// lacked lists what was not there when it was asked for last.
func (d *Daemon) lacked() []string {
	if lacks := d.lacks.Load(); lacks != nil {
		return *lacks
	}
	return nil
}

// checkSelf asks whether this machine can be powered off by us.
func (d *Daemon) checkSelf(ctx context.Context, s *site) (lacks []string) {
	for i := range s.compiled.Estate.Len() {
		id := s.compiled.Estate.Node(i).ID
		if s.compiled.Estate.Node(i).Kind != plan.Self {
			continue
		}
		n, ok := s.Node(id)
		if !ok {
			continue
		}
		if seen, err := n.Probe(ctx); err == nil && seen.Caution != "" {
			lacks = append(lacks, id+": "+seen.Caution)
		}
	}
	return lacks
}

// checkSupplies asks each server whether its UPS offers what the runbook wants of it, and whether it knows the user that a
// supply names.
func (d *Daemon) checkSupplies(ctx context.Context, s *site) (lacks []string) {
	for i := range s.Runbook.Supplies {
		decl := &s.Runbook.Supplies[i]
		offer, err := s.Examine(ctx, decl)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			d.log.Warn("it is unknown what a supply offers", "supply", decl.ID, keyError, err)
			of := func(lack string) bool { return strings.HasPrefix(lack, decl.ID+": ") }
			lacks = append(lacks, slices.DeleteFunc(slices.Clone(d.lacked()), func(l string) bool { return !of(l) })...)
			continue
		case decl.Cut != schema.CutNone && len(offer.Ways) == 0:
			d.uncut.Store(decl.ID, strings.Join(offer.Lacks, "; "))
		default:
			d.uncut.Delete(decl.ID)
		}
		for _, lack := range offer.Lacks {
			lacks = append(lacks, decl.ID+": "+printable.Text(lack, 1000))
		}
		for _, q := range offer.Quirks {
			if _, told := d.quirks.LoadOrStore(decl.ID+": "+q.Says, true); !told {
				d.log.Warn("a supply has a quirk", "supply", decl.ID, "quirk", q.Says, "source", q.Source, "hint", q.Do)
			}
		}
		if err := s.VerifyUser(ctx, decl); err != nil && ctx.Err() == nil {
			lacks = append(lacks, decl.ID+": it is unknown whether its output can be cut: "+printable.Text(err.Error(), 1000))
		}
	}
	return lacks
}

// cantCut says why the output of a supply can't be cut, as far as its UPS has said so.
func (d *Daemon) cantCut(supply string) error {
	why, known := d.uncut.Load(supply)
	if !known {
		return nil
	}
	return adapter.As(fmt.Errorf("cannot cut %s: %s", supply, printable.Text(why.(string), 1000)), adapter.ErrRefused)
}

// servers gathers the supplies by the server that they are read from.
func (d *Daemon) servers(e *estate.Estate) []nut.Server {
	type key struct {
		address string
		tls     schema.TLS
		secure  bool
	}
	var order []key
	servers := map[key]*nut.Server{}
	for i := range e.Runbook.Supplies {
		s := &e.Runbook.Supplies[i]
		k := key{address: s.Address}
		if s.TLS != nil {
			k.tls, k.secure = *s.TLS, true
		}
		if servers[k] == nil {
			o, err := e.Server(s, false)
			if err != nil { // could be read when the outputs were made; the poll says what is wrong
				d.log.Error("a supply's NUT server can't be trusted", "supply", s.ID, keyError, err)
			}
			servers[k] = &nut.Server{Options: o}
			order = append(order, k)
		}
		servers[k].Supplies = append(servers[k].Supplies, nut.Supply{ID: s.ID, UPS: s.UPS})
	}
	list := make([]nut.Server, len(order))
	for i, k := range order {
		list[i] = *servers[k]
	}
	return list
}

func (d *Daemon) pollerOptions() nut.PollerOptions {
	return nut.PollerOptions{Interval: d.options.Config.Poll, OnBattery: d.options.Config.PollOnBattery, Log: d.options.Log}
}

// feed is the poller that runs now.
type feed struct {
	mu     sync.Mutex
	end    context.CancelFunc // nil: none runs
	done   chan struct{}
	closed bool
}

// start begins to poll these servers instead of those before, until stop.
func (f *feed) start(servers []nut.Server, o nut.PollerOptions, deliver func(power.Reading)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.halt()
	if f.closed {
		return
	}
	ctx, end := context.WithCancel(context.Background())
	done := make(chan struct{})
	f.end, f.done = end, done
	poller := nut.NewPoller(o, servers, deliver)
	go func() {
		defer close(done)
		poller.Run(ctx)
	}()
}

// stop ends the polling for good and waits until nothing is polled.
func (f *feed) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.halt()
}

func (f *feed) halt() {
	if f.end != nil {
		f.end()
		<-f.done
		f.end = nil
	}
}

// heard is what each supply said last, and since when it is waited for.
type heard struct {
	mu    sync.Mutex
	began time.Time
	last  map[string]power.Reading
	ever  map[string]bool // a fresh reading was had
}

func newHeard(rb *runbook.Runbook) *heard {
	h := &heard{}
	h.expect(rb)
	return h
}

// expect forgets the supplies that a runbook does not name and waits for those that are new.
func (h *heard) expect(rb *runbook.Runbook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ever, last := map[string]bool{}, map[string]power.Reading{}
	for i := range rb.Supplies {
		id := rb.Supplies[i].ID
		ever[id], last[id] = h.ever[id], h.last[id]
	}
	h.began, h.ever, h.last = time.Now(), ever, last
}

func (h *heard) note(r power.Reading) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last[r.Supply] = r
	if r.Link == power.Fresh {
		h.ever[r.Supply] = true
	}
}

func (h *heard) reading(id string) power.Reading {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last[id]
}

func (h *heard) onLine(id string) bool {
	r := h.reading(id)
	return r.Link == power.Fresh && r.Status.Has(power.OL) && !r.Status.Has(power.OB)
}

// givenUp is how long a supply is waited for before the daemon counts as ready without it.
const givenUp = 30 * time.Second

// ready says which supplies are still waited for.
func (h *heard) ready() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.began) >= givenUp {
		return nil
	}
	var errs []error
	for id, ever := range h.ever {
		if !ever {
			errs = append(errs, fmt.Errorf("supply %q has not been heard from yet", id))
		}
	}
	return errors.Join(errs...)
}
