package runner_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/journal"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/runner"
	"ebbtide/internal/sim"
)

// life is what the simulator told of one life of the engine, from its start to its crash or the end.
type life struct {
	started time.Time
	last    time.Time          // when its engine was given the last event
	polls   []told             // what comes from outside: readings, orders and what watches saw
	ends    map[ledger.Op]told // of operations, as far as the engine lived to hear of them
	wants   []want             // commands, probes and notices, in order
	tripped bool               // it crashed at its last record
	records int                // on disk at its end, since the beginning of all
}

type told struct {
	at time.Time
	ev engine.Event
}

type want struct {
	at     time.Time
	effect effect.Effect
}

// simulate plays a scenario in the simulator and tells it as lives.
func simulate(sc sim.Scenario) (*sim.Result, []*life) {
	sc.Apart = true
	var heard []told
	sc.Witness = func(at time.Time, ev engine.Event) { heard = append(heard, told{at, ev}) }
	result := sim.Run(sc)
	var lives []*life
	for _, h := range heard {
		switch ev := h.ev.(type) {
		case engine.Started:
			lives = append(lives, &life{started: h.at, ends: map[ledger.Op]told{}})
		case engine.Finished:
			lives[len(lives)-1].ends[ev.Op] = h
		case engine.Read, engine.Order, engine.Drill, engine.Observed:
			l := lives[len(lives)-1]
			l.polls = append(l.polls, h)
		default: // the shell's own: wakes and estimates
		}
		lives[len(lives)-1].last = h.at
	}
	k, records := 0, 0
	for _, line := range result.Lines {
		at := sim.Epoch.Add(line.At)
		for k+1 < len(lives) && !at.Before(lives[k+1].started) {
			k++
			lives[k].records = records
		}
		switch e := line.Effect.(type) {
		case effect.Append:
			records++
			lives[k].records = records
		case effect.Do, effect.Probe, effect.Notify:
			lives[k].wants = append(lives[k].wants, want{at, e})
		default:
		}
	}
	written := 0
	for _, l := range lives {
		counted := len(sim.Counted(result.Records[:min(l.records, len(result.Records))]))
		l.tripped = l.records > written && slices.Contains(sc.CrashAt, uint64(counted))
		written = max(written, l.records)
	}
	return result, lives
}

// sabotage breaks the shell on purpose; the zero one does not.
type sabotage struct {
	journal func(runner.Journal) runner.Journal
	node    func(adapter.Node) adapter.Node
	lose    func(n int) bool // whether the nth event from outside is lost
	forget  bool             // starts anew after a crash
}

// replay stands for the world around a real runner: whatever the runner wants done gets the very answer at the very
// instant that the simulator gave it. It must be called in a bubble.
type replay struct {
	path     string
	settings engine.Settings
	spoil    sabotage

	mu      sync.Mutex
	life    *life
	watched int                    // nodes that the runner still asks for their watches
	next    int                    // in the wants of the life
	records int                    // durable, since the beginning of all
	intents map[ledger.Op]struct{} // durable in this life
	watches map[string]func(plan.Observation)
	killed  context.CancelFunc
	over    <-chan struct{} // closed when the life is
	broken  string          // where the stories part first; "": nowhere
}

// parted notes where the runner does what the simulator did not.
func (p *replay) parted(format string, args ...any) {
	if p.broken == "" {
		p.broken = fmt.Sprintf("%s: ", time.Since(sim.Epoch)) + fmt.Sprintf(format, args...)
		p.killed()
	}
}

// play lives all the lives and gives the view of the last one.
func (p *replay) play(t require.TestingT, lives []*life) (last engine.View) {
	sleepUntil(context.Background(), sim.Epoch)
	for _, l := range lives {
		if last = p.live(t, l); p.broken != "" {
			break
		}
	}
	return last
}

// live is one life, as the daemon lives it: from what the journal holds to a hard stop.
func (p *replay) live(t require.TestingT, l *life) engine.View {
	sleepUntil(context.Background(), l.started)
	disk, err := journal.Open(p.path, journal.Options{CreatedBy: "test"})
	require.NoError(t, err)
	defer func() { require.NoError(t, disk.Close()) }()
	e, err := p.resume(disk)
	require.NoError(t, err)
	ctx, kill := context.WithCancel(context.Background())
	p.life, p.watched, p.next, p.killed, p.over = l, p.settings.Estate.Len(), 0, kill, ctx.Done()
	p.intents, p.watches = map[ledger.Op]struct{}{}, map[string]func(plan.Observation){}
	var log runner.Journal = tripwire{p, disk}
	if p.spoil.journal != nil {
		log = p.spoil.journal(log)
	}
	r := runner.New(runner.Options{
		Engine: e, Journal: log, Nodes: p.node, Notify: p.notify, Log: slog.New(slog.DiscardHandler),
		Forecast: forecasting(),
	})
	ran := make(chan error)
	go func() { ran <- r.Run(ctx) }()
	for n, poll := range l.polls {
		if !sleepUntil(ctx, poll.at) {
			break
		}
		if p.spoil.lose != nil && p.spoil.lose(n) {
			continue
		}
		switch ev := poll.ev.(type) {
		case engine.Order:
			_ = r.Order(ctx, ev) // a refusal is on record, or not worth one
		case engine.Observed:
			p.watch(ev.Node)(ev.Seen)
		default:
			r.Post(ev)
		}
	}
	sleepUntil(ctx, l.last)
	synctest.Wait()
	view, _ := r.View(ctx) // of a life that crashed nobody asks
	for i := range view.Nodes {
		view.Nodes[i].NoAnswer = "" // it is the runner's own
	}
	p.mu.Lock()
	if p.next < len(l.wants) {
		p.parted("the runner is done and did not %s", l.wants[p.next])
	}
	if l.tripped && ctx.Err() == nil {
		p.parted("the simulator crashed with %d records, and the runner has %d", l.records, p.records)
	}
	p.mu.Unlock()
	kill()
	require.NoError(t, <-ran)
	return view
}

// resume makes an engine from what the journal holds.
func (p *replay) resume(disk *journal.Journal) (*engine.Engine, error) {
	id, open, err := disk.OpenOutage()
	if err != nil || !open || p.spoil.forget {
		return engine.New(p.settings), err
	}
	records, err := disk.Records(id)
	if err != nil {
		return nil, err
	}
	return engine.Restored(p.settings, records)
}

// sleepUntil tells false if ctx ends before.
func sleepUntil(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// tripwire is the journal on its disk. It kills the runner where the simulator crashed: the rest of the batch is lost.
type tripwire struct {
	p    *replay
	disk runner.Journal
}

func (w tripwire) Append(records ...ledger.Record) error {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	l := w.p.life
	if rest := l.records - w.p.records; l.tripped && len(records) >= rest {
		records = records[:rest]
		defer w.p.killed()
	}
	if err := w.disk.Append(records...); err != nil {
		return err
	}
	w.p.records += len(records)
	for i := range records {
		if records[i].Kind == ledger.Intent {
			w.p.intents[records[i].Op] = struct{}{}
		}
	}
	return nil
}

// node is asked for each watch at the start, and then for each command and each probe, in the order in which the runner
// carries them out.
func (p *replay) node(id string) (adapter.Node, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watched > 0 {
		p.watched--
		return watched{p: p, id: id}, true
	}
	w, ok := p.pop("turns to " + id)
	if !ok {
		return nil, false
	}
	n := answer{p: p, want: w.effect}
	switch e := w.effect.(type) {
	case effect.Do:
		n.end, n.heard = p.life.ends[e.Op]
		if e.Node != id {
			p.parted("the runner turns to %s, the simulator did %s", id, w)
		}
		if _, durable := p.intents[e.Op]; !durable {
			p.parted("%s %s is commanded before its intent is durable", e.Verb, id)
		}
	case effect.Probe:
		n.end, n.heard = p.life.ends[e.Op]
		if e.Node != id {
			p.parted("the runner turns to %s, the simulator did %s", id, w)
		}
	default:
		p.parted("the runner turns to %s, the simulator did %s", id, w)
		return nil, false
	}
	if p.spoil.node != nil {
		return p.spoil.node(n), true
	}
	return n, true
}

// pop gives what the simulator did where the runner does something; nothing once the life is over.
func (p *replay) pop(does string) (want, bool) {
	if p.next == len(p.life.wants) {
		if !p.life.tripped || p.records < p.life.records {
			p.parted("the runner %s, the simulator did nothing more", does)
		}
		return want{}, false
	}
	w := p.life.wants[p.next]
	p.next++
	if !w.at.Equal(time.Now()) {
		p.parted("the runner %s, the simulator did %s", does, w)
	}
	return w, true
}

func (p *replay) notify(urgent bool, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w, ok := p.pop("says " + text); ok && w.effect != (effect.Notify{Urgent: urgent, Text: text}) {
		p.parted("the runner says %q, the simulator did %s", text, w)
	}
}

func (w want) String() string {
	return fmt.Sprintf("%T%+v at %s", w.effect, w.effect, w.at.Sub(sim.Epoch))
}

// watched is a node that tells of changes when the simulator's did.
type watched struct {
	adapter.Node
	p  *replay
	id string
}

func (w watched) Watch(ctx context.Context, seen func(plan.Observation)) error {
	w.p.mu.Lock()
	w.p.watches[w.id] = seen
	w.p.mu.Unlock()
	<-ctx.Done()
	return context.Cause(ctx)
}

func (p *replay) watch(id string) func(plan.Observation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.watches[id]
}

// answer is the node of one operation.
type answer struct {
	p     *replay
	want  effect.Effect
	end   told
	heard bool // the simulator's engine lived to hear of its end
}

func (a answer) Do(ctx context.Context, told adapter.Command) error {
	if do, ok := a.want.(effect.Do); !ok || do.Verb != told.Verb {
		a.p.mu.Lock()
		a.p.parted("the runner commands %s, the simulator did %v", told.Verb, a.want)
		a.p.mu.Unlock()
	}
	_, err := a.await(ctx)
	return err
}

func (a answer) Probe(ctx context.Context) (plan.Observation, error) {
	if _, ok := a.want.(effect.Probe); !ok {
		a.p.mu.Lock()
		a.p.parted("the runner probes, the simulator did %v", a.want)
		a.p.mu.Unlock()
	}
	return a.await(ctx)
}

// await ends when the operation ended in the simulator. One that was cancelled there has to be cancelled here, or be
// past its deadline and then too late to matter; one that found no answer there may outlast its deadline a little, as
// adapters do.
func (a answer) await(ctx context.Context) (plan.Observation, error) {
	end, _ := a.end.ev.(engine.Finished)
	early, at := ctx.Done(), a.end.at
	switch {
	case !a.heard || end.Detail == "cancelled":
		<-ctx.Done()
		early, at = a.p.over, at.Add(time.Nanosecond)
	case end.Outcome == ledger.TimedOut:
		early = a.p.over
	}
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-early:
		return plan.Observation{}, context.Cause(ctx)
	}
	if end.Outcome == ledger.Done {
		return end.Seen, nil
	}
	return end.Seen, reply{end.Detail, map[ledger.Outcome]error{
		ledger.Refused: adapter.ErrRefused, ledger.Busy: adapter.ErrBusy, ledger.Unreached: adapter.ErrUnreachable,
		ledger.NoSuchThing: adapter.ErrGone,
	}[end.Outcome]}
}

// reply is an adapter's error with the simulator's words.
type reply struct {
	text string
	is   error
}

func (r reply) Error() string { return r.text }
func (r reply) Unwrap() error { return r.is }
