package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/engine"
	"ebbtide/internal/journal"
	"ebbtide/internal/ledger"
	"ebbtide/internal/nut"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/runbook"
	"ebbtide/internal/runner"
)

// side is Ebbtide's side of the demo: what a daemon is made of, without its settings and its API. It can be thrown away
// and made anew from the journal.
type side struct {
	witness  *witness
	families []adapter.Family
	runbook  []byte
	secrets  adapter.Secrets
	journal  string
	log      *slog.Logger
	recorded func([]ledger.Record)
	notify   func(urgent bool, text string)
}

// life is one run of Ebbtide, from its start to its end or its crash.
type life struct {
	set     *registry.Registry
	outputs map[string]adapter.Node
	journal *journal.Journal
	trip    *tripwire
	witness *witness
	runner  *runner.Runner
	poller  *nut.Poller
	closed  chan struct{} // closed when the outage is over
	gone    chan struct{} // closed when the runner has ended
	resumed bool          // the journal had an open outage
	stop    context.CancelFunc
	all     sync.WaitGroup
	failed  error // of the runner; valid after the end
}

// start begins a life. It crashes when the journal has crashAfter records; 0: never.
func (s *side) start(ctx context.Context, crashAfter uint64) (_ *life, err error) {
	l := &life{outputs: map[string]adapter.Node{}, closed: make(chan struct{}), gone: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	schema := adapter.Schema(s.families)
	rb, problems := runbook.Load("demo.yaml", s.runbook, schema)
	if problems.HasErrors() {
		return nil, fmt.Errorf("the demo's runbook has mistakes:\n%s", problems.Text())
	}
	l.journal, err = journal.Open(s.journal, journal.Options{CreatedBy: "ebbtide demo"})
	if err != nil {
		return nil, err
	}
	past, err := openRecords(l.journal)
	if err != nil {
		return nil, err
	}
	l.resumed = past != nil
	connections, nodes := rb.Declared()
	l.set, err = registry.Open(s.families, connections, nodes, s.secrets)
	if err != nil {
		return nil, err
	}
	inventory, err := l.inventory(ctx, rb, past)
	if err != nil {
		return nil, err
	}
	compiled, err := runbook.Compile(rb, schema, inventory)
	if err != nil {
		return nil, err
	}
	for id, m := range compiled.Members {
		if err := l.set.AddMember(id, m.Selector, m.MemberID); err != nil {
			return nil, err
		}
	}
	s.witness.know(compiled.Estate, compiled.Policy)
	eng, err := engineFor(engine.Settings{
		Estate: compiled.Estate, Policy: compiled.Policy, Supplies: compiled.Supplies, Members: inventory, Mode: ledger.ModeRun,
	}, past)
	if err != nil {
		return nil, err
	}
	ctx, l.stop = context.WithCancel(ctx)
	l.trip = &tripwire{journal: l.journal, after: crashAfter, crash: l.stop, durable: s.witness.recorded}
	l.witness = s.witness
	l.runner = runner.New(runner.Options{
		Engine: eng, Journal: l.trip, Log: s.log, Notify: s.notify, Nodes: l.node,
		Recorded: func(records []ledger.Record) {
			s.recorded(records)
			for i := range records {
				if records[i].Kind == ledger.Closed && !l.trip.crashed() {
					close(l.closed)
				}
			}
		},
	})
	l.poller = nut.NewPoller(nut.PollerOptions{Interval: 200 * time.Millisecond, OnBattery: 100 * time.Millisecond, Log: s.log},
		l.servers(rb, s.secrets), func(r power.Reading) { l.runner.Post(engine.Read{Reading: r}) })
	l.all.Go(func() {
		defer close(l.gone)
		l.failed = l.runner.Run(ctx)
	})
	l.all.Go(func() { l.poller.Run(ctx) })
	return l, nil
}

// openRecords reads the outage that the journal left open; nil if there is none.
func openRecords(j *journal.Journal) ([]ledger.Record, error) {
	id, open, err := j.OpenOutage()
	if err != nil || !open {
		return nil, err
	}
	return j.Records(id)
}

func engineFor(s engine.Settings, past []ledger.Record) (*engine.Engine, error) {
	if past == nil {
		return engine.New(s), nil
	}
	return engine.Restored(s, past)
}

// inventory is what the selectors cover: as the open outage began, or now.
func (l *life) inventory(ctx context.Context, rb *runbook.Runbook, past []ledger.Record) (map[string][]plan.Member, error) {
	if past != nil {
		return past[0].Members, nil
	}
	members := map[string][]plan.Member{}
	for i := range rb.Nodes {
		id := rb.Nodes[i].ID
		selector, ok := l.set.Selector(id)
		if !ok {
			continue
		}
		ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Second, errors.New("no answer within 10s"))
		defer cancel()
		var err error
		if members[id], err = selector.Members(ctx); err != nil {
			return nil, fmt.Errorf("cannot list the members of %q: %w", id, err)
		}
	}
	return members, nil
}

// servers gives the poller the supplies of the runbook, all on one server, and makes the nodes of their outputs.
func (l *life) servers(rb *runbook.Runbook, secrets adapter.Secrets) []nut.Server {
	server := nut.Server{}
	for i := range rb.Supplies {
		s := &rb.Supplies[i]
		server.Options = nut.Options{Address: s.Address}
		server.Supplies = append(server.Supplies, nut.Supply{ID: s.ID, UPS: s.UPS})
		l.outputs[s.ID] = nut.NewOutput(nut.Options{
			Address: s.Address, Username: s.Username, Password: func() (string, error) { return secrets.Secret(s.Password) },
		}, s.UPS, nut.Cutting{Way: s.Cut, Off: s.OffDelay, On: s.OnDelay})
	}
	return []nut.Server{server}
}

// node gives a node to the runner. After a crash there is nothing left that could be commanded.
func (l *life) node(id string) (adapter.Node, bool) {
	if l.trip.crashed() {
		return nil, false
	}
	if output, ok := l.outputs[id]; ok {
		return l.witness.watch(id, output), true
	}
	n, ok := l.set.Node(id)
	if !ok {
		return nil, false
	}
	return l.witness.watch(id, n), true
}

// settle returns when every node has been asked after and the supply is on line.
func (l *life) settle(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		view, err := l.runner.View(ctx)
		if err != nil {
			return err
		}
		ready := view.PlanLeft > 0
		for _, s := range view.Supplies {
			ready = ready && s.State.OnlineFor > 0
		}
		for _, n := range view.Nodes {
			ready = ready && (!n.SeenAt.IsZero() || n.Type == "vsphere.vms")
		}
		if ready {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// end stops a life and everything in it.
func (l *life) end() error {
	l.stop()
	l.all.Wait()
	if l.trip.crashed() {
		l.failed = nil // it was killed in the middle
	}
	return errors.Join(l.failed, l.close())
}

func (l *life) close() error {
	var errs []error
	if l.set != nil {
		errs = append(errs, l.set.Close())
	}
	if l.journal != nil {
		errs = append(errs, l.journal.Close())
	}
	return errors.Join(errs...)
}

// tripwire is a journal that makes Ebbtide crash: what comes after the last record is neither written nor done.
type tripwire struct {
	journal *journal.Journal
	after   uint64
	crash   context.CancelFunc
	durable func([]ledger.Record) // told what is written
	tripped atomic.Bool
}

func (t *tripwire) crashed() bool { return t.tripped.Load() }

// Append writes records up to the one after which it crashes.
func (t *tripwire) Append(records ...ledger.Record) error {
	if t.crashed() {
		return errCrashed
	}
	for i := range records {
		if t.after > 0 && records[i].Seq == t.after {
			err := t.append(records[:i+1]...)
			t.tripped.Store(true)
			t.crash()
			return errors.Join(err, errCrashed)
		}
	}
	return t.append(records...)
}

func (t *tripwire) append(records ...ledger.Record) error {
	err := t.journal.Append(records...)
	if err == nil {
		t.durable(records)
	}
	return err
}

var errCrashed = errors.New("crashed, as it was asked to")
