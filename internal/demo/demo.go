// Package demo is an outage to watch, with nothing installed and nothing left behind: in this one process a UPS with a
// modelled battery behind a NUT server, a vSphere simulator with two hosts and a dozen VMs, and a NAS with a dirty
// write-back cache behind an SSH server, all on loopback. Ebbtide's side is the real thing: runbook, adapters, engine,
// runner and journal. A witness watches the estate and tells the referee, who says whether the rules held.
package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/secrets"
	"ebbtide/internal/english"
	"ebbtide/internal/journal"
	"ebbtide/internal/ledger"
)

// Options say how a demo goes.
type Options struct {
	Families   []adapter.Family // all of them, as the program knows them
	Fails      []Fail           // what goes wrong
	CrashAfter uint64           // Ebbtide crashes after this record, once; 0: it does not
	View       View             // who watches; nil: nobody
	Log        *slog.Logger     // nil: nothing is logged
}

// Outcome is how a demo went.
type Outcome struct {
	Result  Result
	Records []ledger.Record // Ebbtide's journal
}

// View is told what happens. Its methods are called one at a time, from several goroutines.
type View interface {
	// Says tells of something that is no record: the mains, a crash.
	Says(text string)
	// Recorded gives the records as they are made durable.
	Recorded(records []ledger.Record)
	// Power tells how the UPS is, several times a second.
	Power(mains, output bool, charge, left float64)
}

// longest is how long a demo may take. Nothing in it should come near.
const longest = 3 * time.Minute

const (
	calm      = time.Second             // with everything well, before the mains fail
	middle    = 500 * time.Millisecond  // from the snapshot to what goes wrong in the middle
	darkness  = 4500 * time.Millisecond // from the output's end until the mains are back
	failing   = 29 * time.Second        // after which the mains are back in any case (see below)
	powerless = 20 * time.Second        // likewise with a UPS that fails itself: no battery decides then
	showEvery = 200 * time.Millisecond
)

// The battery is sped up, and Ebbtide's clock is not. After 30 s on battery Ebbtide takes the slope of the charge for
// true, finds that a whole charge lasts no longer than half a minute, and keeps the gate shut until it has forgotten
// that, two minutes into the recharge. An outage of the demo is shorter.

// Run plays one outage and tells what came of it. An error says that it could not be played to its end; rules that
// were broken are in the result.
func Run(ctx context.Context, o Options) (_ Outcome, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("the demo did not finish within %s", english.Span(longest)))
	defer cancel()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	dir, err := os.MkdirTemp("", "ebbtide-demo-")
	if err != nil {
		return Outcome{}, fmt.Errorf("cannot create a directory for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	e, err := openEstate()
	if err != nil {
		return Outcome{}, err
	}
	defer e.close()
	s, err := newSide(e, o, dir)
	if err != nil {
		return Outcome{}, err
	}
	p := &play{estate: e, side: s, options: o, view: newGuarded(o.View)}
	snapped := make(chan struct{})
	p.middle, p.snapped = snapped, sync.OnceFunc(func() { close(snapped) }) // once more after a crash, if that lost the record
	s.recorded = p.recorded
	outcome, err := p.run(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return outcome, err
}

func newSide(e *estate, o Options, dir string) (*side, error) {
	text, err := e.runbook()
	if err != nil {
		return nil, err
	}
	for name, secret := range e.secrets() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(secret), 0o600); err != nil {
			return nil, fmt.Errorf("cannot write a credential of the demo: %w", err)
		}
	}
	return &side{
		witness: e.witness, families: o.Families, runbook: text, secrets: secrets.New(dir), log: o.Log,
		journal: filepath.Join(dir, "journal.db"), notify: func(bool, string) {},
	}, nil
}

// play is a demo under way.
type play struct {
	estate  *estate
	side    *side
	options Options
	view    *guarded
	snapped func()          // the snapshot is taken
	middle  <-chan struct{} // closed by snapped
	crashes int
}

// recorded shows records as they come.
func (p *play) recorded(records []ledger.Record) {
	p.view.Recorded(records)
	for i := range records {
		if records[i].Kind == ledger.Snapshot {
			p.snapped()
		}
	}
}

func (p *play) run(ctx context.Context) (Outcome, error) {
	e := p.estate
	if len(p.options.Fails) > 0 {
		e.ups.isScant()
	}
	if err := e.fail(p.options.Fails, false); err != nil {
		return Outcome{}, err
	}
	background, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 1)
	e.all.Go(func() { e.ups.run(background) })
	e.all.Go(func() { p.show(background) })
	l, err := p.side.start(ctx, p.options.CrashAfter)
	if err != nil {
		return Outcome{}, err
	}
	if err := l.settle(ctx); err != nil {
		return Outcome{}, errors.Join(err, l.end())
	}
	began := time.Now()
	p.view.Says("all is well: everything is on, and the NAS cache holds dirty blocks")
	e.all.Go(func() { failed <- p.mains(background) })
	if err := p.live(ctx, l, failed); err != nil {
		return Outcome{}, err
	}
	seconds := time.Since(began).Seconds()
	stop()
	records, err := p.records()
	if err != nil {
		return Outcome{}, err
	}
	result := e.witness.result(records, e.vsphere.VCenter().Calls()["PowerOffVM_Task"])
	result.Crashes, result.Seconds = p.crashes, math.Round(10*seconds)/10
	return Outcome{Result: result, Records: records}, nil
}

// live lets Ebbtide live until the outage is over, and again after each crash.
func (p *play) live(ctx context.Context, l *life, failed <-chan error) error {
	for {
		err := p.wait(ctx, l, failed)
		over := err != nil || !l.trip.crashed()
		if err := errors.Join(err, l.end()); err != nil || over {
			return err
		}
		p.crashes++
		p.view.Says(fmt.Sprintf("Ebbtide crashes after record %d and restarts from its journal", p.options.CrashAfter))
		if l, err = p.side.start(ctx, 0); err != nil {
			return err
		}
		if !l.resumed { // the last record was the end of the outage
			return l.end()
		}
	}
}

// wait returns when the outage is over, or Ebbtide has crashed.
func (p *play) wait(ctx context.Context, l *life, failed <-chan error) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.closed:
			return nil
		case <-l.gone:
			if !l.trip.crashed() {
				return errors.New("ebbtide ended before the outage was over")
			}
			return nil
		case err := <-failed:
			if err != nil {
				return err
			}
			failed = nil // the mains are back: nothing more comes from there
		}
	}
}

// mains takes the mains away and gives them back when the output is off.
func (p *play) mains(ctx context.Context) error {
	e := p.estate
	if !pause(ctx, calm) {
		return nil
	}
	e.witness.begin()
	p.view.Says("the mains fail")
	e.ups.setMains(false)
	limit := failing
	if slices.ContainsFunc(p.options.Fails, func(f Fail) bool { return f.Node == upsName }) {
		limit = powerless
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-p.middle:
	case <-limited.Done():
	}
	if !pause(ctx, middle) {
		return nil
	}
	if err := e.fail(p.options.Fails, true); err != nil {
		return err
	}
	if e.ups.awaitOff(limited) == nil {
		pause(limited, darkness)
	}
	if ctx.Err() != nil {
		return nil // it is over already
	}
	p.view.Says("the mains are back")
	e.ups.setMains(true)
	return nil
}

// pause tells false if ctx ends meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// show tells the view how the UPS is.
func (p *play) show(ctx context.Context) {
	tick := time.NewTicker(showEvery)
	defer tick.Stop()
	for {
		now := p.estate.ups.truth()
		p.view.Power(now.mains, now.output, now.charge, now.left)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// records reads the journal of the outage.
func (p *play) records() ([]ledger.Record, error) {
	j, err := journal.Open(p.side.journal, journal.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = j.Close() }() // nothing was written
	latest, found, err := j.Latest()
	if err != nil || !found {
		return nil, errors.Join(err, errors.New("the journal holds no outage"))
	}
	return j.Records(latest.ID)
}

// guarded calls a view one at a time.
type guarded struct {
	mu   sync.Mutex
	view View
}

func newGuarded(v View) *guarded {
	if v == nil {
		v = nobody{}
	}
	return &guarded{view: v}
}

func (g *guarded) Says(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.view.Says(text)
}

func (g *guarded) Recorded(records []ledger.Record) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.view.Recorded(records)
}

func (g *guarded) Power(mains, output bool, charge, left float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.view.Power(mains, output, charge, left)
}

type nobody struct{}

func (nobody) Says(string)                   {}
func (nobody) Recorded([]ledger.Record)      {}
func (nobody) Power(_, _ bool, _, _ float64) {}
