package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/decorate"
	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/runner"
	"ebbtide/internal/timeline"
)

// RehearsalLine is one thing that a rehearsed drill would have done, or the end of it.
type RehearsalLine struct {
	Text   string         `json:"text,omitempty"`
	Record *ledger.Record `json:"record,omitempty"` // what a journal would have
	Fault  *Fault         `json:"fault,omitempty"`  // it can't go on, or would not have begun
}

// modeRehearsal stands in the records of a rehearsal, which no journal keeps.
const modeRehearsal = "rehearsal"

const (
	looksWithin   = 15 * time.Second // for the nodes of a rehearsal to answer
	looksEvery    = 200 * time.Millisecond
	readingsEvery = time.Second
)

// rehearse goes through a drill with an engine of its own, whose probes are real and whose commands reach nobody, and
// tells what it does. It returns when that is over, or why it did not begin.
func (d *Daemon) rehearse(ctx context.Context, o *DrillOrder, tell func(RehearsalLine) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	site := d.site.Load()
	var mu sync.Mutex
	nodes := map[string]adapter.Node{}
	records := newBacklog()
	r := runner.New(runner.Options{
		Engine: engine.New(engine.Settings{
			Estate: site.compiled.Estate, Policy: site.compiled.Policy, Supplies: site.compiled.Supplies,
			Members: site.inventory, Mode: modeRehearsal,
		}),
		Journal: records, Log: slog.New(slog.DiscardHandler),
		Nodes: func(id string) (adapter.Node, bool) {
			mu.Lock()
			defer mu.Unlock()
			if n, ok := nodes[id]; ok {
				return n, true
			}
			n, ok := site.Node(id)
			if ok {
				n = decorate.Rehearse(n)
				nodes[id] = n
			}
			return n, ok
		},
	})
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel(nil)
	all.Go(func() { _ = r.Run(ctx) }) // what it leaves behind are probes that end by themselves
	all.Go(func() { d.readAlong(ctx, r) })
	if err := d.beginRehearsal(ctx, r, o); err != nil {
		return err
	}
	var told timeline.Timeline
	for {
		rec, err := records.next(ctx)
		if err != nil {
			return err
		}
		if rec.Kind == ledger.Opened {
			told.Add(asObserved(rec))
		} else {
			told.Add(rec)
		}
		if err := tell(RehearsalLine{Text: rehearsedText(&told, &rec), Record: &rec}); err != nil {
			return err
		}
		if rec.Kind == ledger.Closed {
			return nil
		}
		if rec.Kind == ledger.Mains {
			return errors.New("a power failure began: the rehearsal ends here; see `ebbtide status`")
		}
	}
}

// asObserved makes of the beginning of a rehearsed drill that of one that is only observed: what its records tell would be so.
func asObserved(rec ledger.Record) ledger.Record {
	rec.Mode = ledger.ModeObserve
	return rec
}

// rehearsedText says a record of a rehearsal, as what would be so, with what the probe said that proved it.
func rehearsedText(told *timeline.Timeline, rec *ledger.Record) string {
	text := strings.TrimPrefix(told.Phrase(rec), effect.Observing)
	switch {
	case rec.Kind == ledger.Closed:
		return "the rehearsal is over; in a drill: " + rec.Reason
	case rec.Kind == ledger.Proven && rec.Reason != "":
		return text + " [" + rec.Reason + "]"
	case rec.Kind == ledger.Intent && text == "" && rec.Verb != nil:
		return "would " + rec.Verb.String() + " " + rec.Node
	}
	return text
}

// readAlong gives a rehearsal the readings of the supplies.
func (d *Daemon) readAlong(ctx context.Context, r *runner.Runner) {
	tick := time.NewTicker(readingsEvery)
	defer tick.Stop()
	for {
		rb := d.site.Load().Runbook
		for i := range rb.Supplies {
			if reading := d.heard.reading(rb.Supplies[i].ID); reading.Supply != "" {
				r.Read(reading)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// beginRehearsal begins when the first look at the estate is over: until then much is not known.
func (d *Daemon) beginRehearsal(ctx context.Context, r *runner.Runner, o *DrillOrder) error {
	late := time.NewTimer(looksWithin)
	defer late.Stop()
	tick := time.NewTicker(looksEvery)
	defer tick.Stop()
	for waiting := true; waiting; {
		look, err := r.PreviewDrill(ctx, o.event())
		if err != nil {
			return err
		}
		if !look.Looking {
			break
		}
		select {
		case <-tick.C:
		case <-late.C:
			waiting = false
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	_, err := r.Drill(ctx, o.event())
	return err
}

// streamRehearsal answers with a line for each thing that a rehearsal tells.
func (d *Daemon) streamRehearsal(w http.ResponseWriter, r *http.Request, o *DrillOrder) {
	switch {
	case o.Battery != "":
		d.answer(w, http.StatusBadRequest, Fault{
			Error: "a battery drill can't be rehearsed: all that can be probed is what the UPS offers",
			Hint:  "ask with preview=1",
		})
		return
	case d.history.isOpen():
		d.answer(w, http.StatusConflict, Fault{Error: "an outage or a drill is under way", Hint: "wait until it is over"})
		return
	case !d.rehearsing.TryLock():
		d.answer(w, http.StatusConflict, Fault{Error: "a rehearsal is under way", Hint: "wait until it is over"})
		return
	}
	defer d.rehearsing.Unlock()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	go func() { // the server does not wait for it when it ends
		select {
		case <-d.streams.ended:
			cancel(errors.New("the daemon is stopping"))
		case <-ctx.Done():
		}
	}()
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Time{}) // the server's own limits are for short answers
	w.Header().Set("Content-Type", jsonLines)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	lines := json.NewEncoder(w)
	tell := func(line RehearsalLine) error {
		_ = conn.SetWriteDeadline(time.Now().Add(streamWithin))
		if err := lines.Encode(line); err != nil {
			return err
		}
		return conn.Flush()
	}
	err := d.rehearse(ctx, o, tell)
	var refused *runner.RefusedError
	switch {
	case err == nil:
	case errors.As(err, &refused):
		_ = tell(RehearsalLine{Fault: faultOf(refused)}) // a client that has gone misses nothing
	default:
		_ = tell(RehearsalLine{Fault: faultOf(err)})
	}
}
