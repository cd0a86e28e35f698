package runner_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/fake"
	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/runner"
	"ebbtide/internal/sim"
)

// witness fails the test if a command arrives whose intent is not durable (docs/ARCHITECTURE.md, rule 7).
type witness struct {
	*fake.Node
	g  *rig
	id string
}

func (w witness) Do(ctx context.Context, do adapter.Command) error {
	intents := 0
	for _, r := range w.g.journal.all() {
		if kind(ledger.Intent, w.id, do.Verb)(r) {
			intents++
		}
	}
	calls := 0
	for _, c := range w.g.estate.Calls() {
		if c.Node == w.id && c.Verb == do.Verb {
			calls++
		}
	}
	require.Greater(w.g.t, intents, calls, "%s %s was commanded before its intent was durable", do.Verb, w.id)
	return w.Node.Do(ctx, do)
}

func TestIntentsAreDurableBeforeTheirCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.small()
		g.journal.takes = 15 * time.Millisecond
		g.wrap = func(id string, n adapter.Node) adapter.Node { return witness{n.(*fake.Node), g, id} }
		g.start()
		g.battery.Store(true)
		g.until("cut", kind(ledger.Proven, "ups", plan.Cut))
		g.battery.Store(false)
		g.until("closed", kind(ledger.Closed, "", 0))
		var verbs []string
		for _, c := range g.estate.Calls() {
			verbs = append(verbs, c.Verb.String()+" "+c.Node)
		}
		require.Equal(t, []string{
			"stop vm2", "stop vm1", "stop host", "stop nas", "cut ups", "start nas", "start host", "start vm1", "start vm2",
		}, verbs)
	})
}

func TestSimulatorAndRunnerTellTheSameStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.small()
		settings := g.settings()
		simulated := sim.Run(sim.Scenario{
			Settings: settings, For: 4 * time.Hour, Batteries: map[string]sim.Battery{"ups": {Charge: 0.9, Runtime: 8000 * time.Second}},
			Changes: []sim.Change{{At: time.Minute, Supply: "ups"}, {At: 20 * time.Minute, Supply: "ups", Mains: true}},
		})
		require.Empty(t, simulated.Violations)
		g.start()
		<-time.NewTimer(time.Minute).C
		g.battery.Store(true)
		<-time.NewTimer(19 * time.Minute).C
		g.battery.Store(false)
		g.until("closed", kind(ledger.Closed, "", 0))
		tell := func(records []ledger.Record) (story []string) {
			for _, r := range records {
				text := string(r.Kind) + " " + r.Node + string(r.Goal) + string(r.Stage)
				if r.Verb != nil {
					text += " " + r.Verb.String()
				}
				story = append(story, text)
			}
			return story
		}
		require.Equal(t, tell(sim.Counted(simulated.Records)), tell(sim.Counted(g.journal.all())))
	})
}

func TestAThousandNodesInOneCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.node(plan.Node{ID: "nas", Type: "nas", FedBy: []string{"ups"}})
		for h := range 20 {
			host := fmt.Sprint("host", h)
			g.node(plan.Node{ID: host, Type: "host", Kind: plan.Host, FedBy: []string{"ups"}, DependsOn: []string{"nas"}})
			for v := range 49 {
				g.node(plan.Node{ID: fmt.Sprintf("vm%d-%d", h, v), Type: "vm", Kind: plan.VM, Host: host, DependsOn: []string{host}})
			}
		}
		g.limits = []plan.Limit{{Class: "vm", Total: 60, PerHost: 8}, {Class: "host", Total: 4}}
		settings := g.settings()
		g.journal.takes = 2 * time.Millisecond
		g.wrap = func(_ string, n adapter.Node) adapter.Node { return plain(n) } // the simulator has no watches
		g.start()
		g.battery.Store(true)
		began := time.Now()
		g.until("cut", kind(ledger.Proven, "ups", plan.Cut))
		down := time.Since(began)
		for id, state := range g.estate.States() {
			if id != "ups" {
				require.Equal(t, plan.Off, state, id)
			}
		}
		g.battery.Store(false)
		g.until("closed", kind(ledger.Closed, "", 0))
		for id, state := range g.estate.States() {
			require.Equal(t, plan.On, state, id)
		}
		records, calls := g.journal.all(), g.estate.Calls()
		require.Len(t, calls, 2*1001+1)
		require.Less(t, g.journal.commits, len(records)*2/3, "records of one batch go in one commit")
		for i, r := range records {
			require.EqualValues(t, i+1, r.Seq)
		}

		simulated := sim.Run(sim.Scenario{
			Settings: settings, For: 4 * time.Hour, Batteries: map[string]sim.Battery{"ups": {Charge: 0.9, Runtime: 8000 * time.Second}},
			Changes: []sim.Change{{Supply: "ups"}, {At: time.Hour, Supply: "ups", Mains: true}},
		})
		var expected time.Duration
		for _, r := range simulated.Records {
			if kind(ledger.Proven, "ups", plan.Cut)(r) {
				expected = r.At.Sub(sim.Epoch)
			}
		}
		require.InDelta(t, expected.Seconds(), down.Seconds(), 0.02*expected.Seconds(),
			"no slower than the simulator of the same engine says")
	})
}

func TestAJournalThatIsLostAndComesBack(t *testing.T) {
	for _, how := range []string{"fails", "hangs"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				g.small()
				g.start()
				g.battery.Store(true)
				g.until("the first stop", kind(ledger.Intent, "vm2", plan.Stop))
				release := make(chan struct{})
				g.journal.set(func() {
					if how == "fails" {
						g.journal.fail = errors.New("no space left on device")
					} else {
						g.journal.hang = release
					}
				})
				g.afterwards(func() bool { return g.estate.Node("ups").State() == plan.Off }) // a shutdown goes on
				g.battery.Store(false)
				<-time.NewTimer(10 * time.Minute).C
				for _, c := range g.estate.Calls() {
					require.NotEqual(t, plan.Start, c.Verb, "no power-up without a journal")
				}
				view, err := g.runner.View(t.Context())
				require.NoError(t, err)
				require.False(t, view.Journal)
				require.Equal(t, 1, countOf(g.notices, "the journal can't be written"), "said once: %v", g.notices)
				g.journal.set(func() { g.journal.fail, g.journal.hang = nil, nil })
				close(release)
				g.until("closed", kind(ledger.Closed, "", 0))
				require.True(t, g.journal.has(kind(ledger.Gap, "", 0)))
				for i, r := range g.journal.all() {
					require.EqualValues(t, i+1, r.Seq, "nothing is missing, and all is in order")
				}
				require.Equal(t, plan.On, g.estate.Node("vm2").State())
			})
		})
	}
}

// TestReadingsNeverWaitForTheLoop: while the loop waits for a disk that hangs, polls go on.
func TestReadingsNeverWaitForTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.small()
		release := make(chan struct{})
		g.journal.hang = release
		g.battery.Store(true)
		g.start()
		synctest.Wait() // the first reading opens an outage, and its record hangs
		began := time.Now()
		for range 10_000 {
			g.runner.Read(power.Reading{Supply: "ups", Status: power.OB, Runtime: power.Known(7200)})
		}
		require.Zero(t, time.Since(began), "it waited")
		require.NoError(t, g.runner.Ping(t.Context()))
		require.Positive(t, time.Since(began), "the loop was not held up: nothing is shown")
		close(release)
		g.until("the first stop", kind(ledger.Intent, "vm2", plan.Stop))
	})
}

// A journal that can't be written when the runner starts is one that was lost: a shutdown goes on, a power-up waits.
func TestAJournalThatIsLostFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.small()
		g.lost = errors.New("read-only file system")
		g.journal.fail = g.lost
		g.start()
		<-time.NewTimer(10 * time.Second).C
		view, err := g.runner.View(t.Context())
		require.NoError(t, err)
		require.False(t, view.Journal, "people hear of it before anything fails")
		g.battery.Store(true)
		g.afterwards(func() bool { return g.estate.Node("ups").State() == plan.Off })
		g.battery.Store(false)
		<-time.NewTimer(10 * time.Minute).C
		for _, c := range g.estate.Calls() {
			require.NotEqual(t, plan.Start, c.Verb, "no power-up without a journal")
		}
		g.journal.set(func() { g.journal.fail = nil })
		g.until("closed", kind(ledger.Closed, "", 0))
		for i, r := range g.journal.all() {
			require.EqualValues(t, i+1, r.Seq, "nothing is missing, and all is in order")
		}
	})
}

// One that comes back before anything was to be written is noticed as well.
func TestAJournalThatComesBackWhileAllIsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.small()
		g.lost = errors.New("read-only file system")
		g.start()
		<-time.NewTimer(10 * time.Second).C
		view, err := g.runner.View(t.Context())
		require.NoError(t, err)
		require.True(t, view.Journal)
		g.battery.Store(true)
		g.until("a record", kind(ledger.Opened, "", 0))
	})
}

func countOf(lines []string, prefix string) int {
	n := 0
	for _, l := range lines {
		if len(l) >= len(prefix) && l[:len(prefix)] == prefix {
			n++
		}
	}
	return n
}

// afterwards waits until something holds, a virtual day at most.
func (g *rig) afterwards(holds func() bool) {
	g.t.Helper()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for range 86400 {
		if holds() {
			return
		}
		<-tick.C
	}
	require.FailNow(g.t, "it never came to this", "%s", g.story())
}

// deaf is an adapter that does not even end with its context.
type deaf struct {
	*fake.Node
	until chan struct{}
}

func (d deaf) Do(context.Context, adapter.Command) error {
	<-d.until
	return nil
}

type broken struct{ *fake.Node }

func (broken) Do(context.Context, adapter.Command) error           { panic("nil map") }
func (broken) Probe(context.Context) (plan.Observation, error)     { panic("nil map") }
func (broken) Watch(context.Context, func(plan.Observation)) error { panic("nil map") }
func plain(n adapter.Node) struct{ adapter.Node }                  { return struct{ adapter.Node }{n} }

func TestAnAdapterThatMisbehavesEndsAsAnOutcome(t *testing.T) {
	over := make(chan struct{})
	for name, test := range map[string]struct {
		wrap    func(*fake.Node) adapter.Node
		outcome ledger.Outcome
		reason  string
	}{
		"hung": {
			func(n *fake.Node) adapter.Node { n.Fail(plan.Stop, fake.Hang); return plain(n) }, ledger.TimedOut,
			"no answer within 30s",
		},
		"deaf":        {func(n *fake.Node) adapter.Node { return deaf{n, over} }, ledger.TimedOut, "no answer within 30s"},
		"panicking":   {func(n *fake.Node) adapter.Node { return broken{n} }, ledger.TimedOut, "the adapter crashed: nil map"},
		"refusing":    {func(n *fake.Node) adapter.Node { n.Fail(plan.Stop, fake.Refuse); return n }, ledger.Refused, "refused"},
		"busy":        {func(n *fake.Node) adapter.Node { n.Fail(plan.Stop, fake.Busy); return n }, ledger.Busy, "busy"},
		"unknown":     {func(*fake.Node) adapter.Node { return nil }, ledger.Refused, `there is no node "vm2"`},
		"unreachable": {func(n *fake.Node) adapter.Node { return gone{n, adapter.ErrUnreachable} }, ledger.Unreached, "unreachable"},
		"vanished":    {func(n *fake.Node) adapter.Node { return gone{n, adapter.ErrGone} }, ledger.NoSuchThing, "gone"},
		"puzzling":    {func(n *fake.Node) adapter.Node { return gone{n, errors.New("what?")} }, ledger.TimedOut, "what?"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				over = make(chan struct{})
				g := newRig(t)
				g.small()
				bad := test.wrap(g.estate.Node("vm2"))
				g.wrap = func(id string, n adapter.Node) adapter.Node {
					if id == "vm2" {
						return bad
					}
					return n
				}
				if bad == nil {
					g.missing("vm2")
				}
				g.start()
				g.battery.Store(true)
				g.until("an answer", kind(ledger.Accepted, "vm2", plan.Stop))
				at := slices.IndexFunc(g.journal.all(), kind(ledger.Accepted, "vm2", plan.Stop))
				require.Equal(t, test.outcome, g.journal.all()[at].Outcome)
				require.Contains(t, g.journal.all()[at].Reason, test.reason)
				close(over)
			})
		})
	}
}

// gone answers every command with an error.
type gone struct {
	*fake.Node
	err error
}

func (n gone) Do(_ context.Context, do adapter.Command) error {
	return fmt.Errorf("cannot %s: %w", do.Verb, n.err)
}

// missing makes the shell know nothing of a node that the engine knows.
func (g *rig) missing(id string) {
	wrap := g.estate
	g.estate = fake.New(time.Now)
	for _, n := range g.order {
		if n != id {
			g.estate.Add(n, fake.Spec{Can: plan.VerbSet(plan.Stop, plan.Force, plan.Start, plan.Cut)})
		}
	}
	require.NotNil(g.t, wrap.Node(id))
	g.wrap = nil
}

// mute answers no question while it has a reason not to.
type mute struct {
	*fake.Node
	why *atomic.Value
}

func (n mute) Probe(ctx context.Context) (plan.Observation, error) {
	if err := n.why.Load().(error); !errors.Is(err, errNone) {
		return plan.Observation{}, err
	}
	return n.Node.Probe(ctx)
}

var errNone, errKey = errors.New("none"), errors.New("its host key is another than the runbook's")

// Why a node does not answer is told beside it, as long as it does not.
func TestWhyANodeDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.small()
		var why atomic.Value
		why.Store(errKey)
		g.wrap = func(id string, n adapter.Node) adapter.Node {
			if id == "vm2" {
				return mute{n.(*fake.Node), &why}
			}
			return n
		}
		g.start()
		says := func() (all []string) {
			view, err := g.runner.View(t.Context())
			require.NoError(t, err)
			for _, n := range view.Nodes {
				all = append(all, n.NoAnswer)
			}
			return all
		}
		require.NoError(t, g.runner.Ping(t.Context())) // all have been asked
		synctest.Wait()
		require.Equal(t, []string{"", "", "", "", "its host key is another than the runbook's"}, says())
		why.Store(errNone)
		g.battery.Store(true) // all are asked again
		g.until("snapshot", kind(ledger.Snapshot, "", 0))
		require.Equal(t, []string{"", "", "", "", ""}, says())
	})
}

func TestOrdersAndQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.small()
		g.start()
		ctx := t.Context()
		require.NoError(t, g.runner.Ping(ctx))
		var refused *runner.RefusedError
		require.ErrorAs(t, g.runner.Order(ctx, engine.Order{Verb: ledger.Hold, By: "tester"}), &refused)
		require.EqualError(t, refused, "cannot hold: no outage is under way: all supplies are on line")
		g.battery.Store(true)
		g.until("snapshot", kind(ledger.Snapshot, "", 0))
		require.NoError(t, g.runner.Order(ctx, engine.Order{Verb: ledger.Go, By: "tester"}))
		g.until("the first stop", kind(ledger.Intent, "vm2", plan.Stop))
		require.True(t, g.journal.has(func(r ledger.Record) bool { return r.Kind == ledger.Ordered && r.By == "tester" }))
		require.ErrorIs(t, g.runner.Reload(ctx, engine.Reload{}, nil), runner.ErrOutageOpen)
		view, err := g.runner.View(ctx)
		require.NoError(t, err)
		require.NotEmpty(t, view.Outage)
		require.Len(t, view.Nodes, 5)
		g.until("cut", kind(ledger.Proven, "ups", plan.Cut))
	})
}

func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.small()
		g.start()
		<-time.NewTimer(5 * time.Second).C
		g.node(plan.Node{ID: "late", Type: "nas", FedBy: []string{"ups"}})
		s := g.settings()
		swapped := false
		require.NoError(t, g.runner.Reload(t.Context(), engine.Reload{Estate: s.Estate, Policy: s.Policy, Supplies: s.Supplies},
			func() { swapped = true }))
		require.True(t, swapped)
		view, err := g.runner.View(t.Context())
		require.NoError(t, err)
		require.Len(t, view.Nodes, 6)
		g.estate.Node("late").Set(plan.Off) // its watch was started
		g.afterwards(func() bool {
			view, err := g.runner.View(t.Context())
			require.NoError(t, err)
			return slices.ContainsFunc(view.Nodes, func(n engine.NodeView) bool { return n.ID == "late" && n.Seen.State == plan.Off })
		})
	})
}

func TestAnOutageIsResumedAfterAHardStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.small()
		g.battery.Store(true)
		ctx, crash := context.WithCancel(t.Context())
		first := runner.New(runner.Options{
			Engine: engine.New(g.settings()), Journal: g.journal, Log: slog.New(slog.DiscardHandler),
			Nodes: func(id string) (adapter.Node, bool) { return g.estate.Node(id), true },
		})
		g.runner = first
		polling, stop := context.WithCancel(t.Context())
		polled, ran := make(chan struct{}), make(chan error)
		go func() { g.poll(polling); close(polled) }()
		go func() { ran <- first.Run(ctx) }()
		g.until("the host's stop", kind(ledger.Intent, "host", plan.Stop))
		crash()
		require.NoError(t, <-ran)
		stop()
		<-polled
		require.ErrorIs(t, first.Ping(t.Context()), runner.ErrEnded)
		first.Post(engine.Woke{}) // goes nowhere, and does not block

		restored, err := engine.Restored(g.settings(), g.journal.all())
		require.NoError(t, err)
		g.startWith(restored)
		g.until("cut", kind(ledger.Proven, "ups", plan.Cut))
		g.battery.Store(false)
		g.until("closed", kind(ledger.Closed, "", 0))
		for id, state := range g.estate.States() {
			require.Equal(t, plan.On, state, id)
		}
	})
}
