package runner_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/fake"
	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/runner"
)

// memory is a journal without a disk.
type memory struct {
	mu      sync.Mutex
	records []ledger.Record
	commits int
	takes   time.Duration
	fail    error
	hang    chan struct{} // while it is set, Append waits for its end
	changed chan struct{}
}

func (m *memory) Append(records ...ledger.Record) error {
	m.mu.Lock()
	takes, hang := m.takes, m.hang
	m.mu.Unlock()
	if takes > 0 {
		<-time.NewTimer(takes).C
	}
	if hang != nil {
		<-hang
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	m.records = append(m.records, records...)
	m.commits++
	close(m.changed)
	m.changed = make(chan struct{})
	return nil
}

func (m *memory) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

func (m *memory) all() []ledger.Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clip(m.records)
}

func (m *memory) has(is func(ledger.Record) bool) bool {
	return slices.ContainsFunc(m.all(), is)
}

// rig is a runner with an estate in memory and a UPS, in a synctest bubble.
type rig struct {
	t       *testing.T
	nodes   []plan.Node
	limits  []plan.Limit
	estate  *fake.Estate
	journal *memory
	lost    error // the journal can't be written from the start
	battery atomic.Bool
	wrap    func(id string, n adapter.Node) adapter.Node
	notices []string
	runner  *runner.Runner
	order   []string // ids as added
}

const stopTakes = 10 * time.Second

func newRig(t *testing.T) *rig {
	g := &rig{t: t, estate: fake.New(time.Now), journal: &memory{changed: make(chan struct{})}}
	g.node(plan.Node{ID: "ups", Type: "supply", Kind: plan.Supply, Can: plan.VerbSet(plan.Cut, plan.Start)})
	return g
}

func (g *rig) node(n plan.Node) *fake.Node {
	if n.Can == 0 {
		n.Can = plan.VerbSet(plan.Stop, plan.Force, plan.Start)
	}
	n.Attempts, n.Stage = 2, plan.ShutdownStage
	takes := map[plan.Verb]time.Duration{}
	for v := plan.Protect; v <= plan.Unprotect; v++ {
		n.Times[v] = plan.Times{Nominal: stopTakes, Within: time.Minute}
		takes[v] = stopTakes
	}
	g.nodes = append(g.nodes, n)
	g.order = append(g.order, n.ID)
	return g.estate.Add(n.ID, fake.Spec{Takes: takes, Can: n.Can, Latency: 20 * time.Millisecond})
}

func (g *rig) settings() engine.Settings {
	estate, err := plan.NewEstate(g.nodes, g.limits)
	require.NoError(g.t, err)
	return engine.Settings{
		Estate: estate, Mode: "run", Supplies: []power.Supply{{ID: "ups"}},
		Policy: power.Policy{
			Shutdown: power.Condition{Kind: power.OnBattery, For: 30 * time.Second},
			Restore:  power.Condition{Kind: power.Online, For: time.Minute}, Reserve: time.Minute,
		},
	}
}

// start runs the runner and the UPS until the end of the test's bubble.
func (g *rig) start() { g.startWith(engine.New(g.settings())) }

func (g *rig) startWith(e *engine.Engine) {
	g.runner = runner.New(runner.Options{
		Engine: e, Journal: g.journal, Lost: g.lost, Log: slog.New(slog.DiscardHandler),
		Notify: func(_ bool, text string) { g.notices = append(g.notices, text) },
		Nodes: func(id string) (adapter.Node, bool) {
			n := g.estate.Node(id)
			if n == nil {
				return nil, false
			}
			if g.wrap != nil {
				return g.wrap(id, n), true
			}
			return n, true
		},
	})
	ctx, cancel := context.WithCancel(g.t.Context())
	var all sync.WaitGroup
	all.Go(func() { require.NoError(g.t, g.runner.Run(ctx)) })
	all.Go(func() { g.poll(ctx) })
	g.t.Cleanup(func() { cancel(); all.Wait() })
}

// poll is the UPS: it gives its output back half a minute after the mains.
func (g *rig) poll(ctx context.Context) {
	ups, back := g.estate.Node("ups"), 0
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		r := power.Reading{Supply: "ups", Status: power.OL, Charge: power.Known(90), Runtime: power.Known(7200), Load: power.Known(50)}
		if g.battery.Load() {
			r.Status = power.OB
		}
		if ups.State() == plan.Off {
			r.Status = r.Status&^power.OL | power.OFF
			if back++; !g.battery.Load() && back >= 30 {
				ups.Set(plan.On)
			}
		} else {
			back = 0
		}
		g.runner.Read(r)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// until waits for a record, a virtual day at most.
func (g *rig) until(what string, is func(ledger.Record) bool) {
	g.t.Helper()
	day := time.NewTimer(24 * time.Hour)
	defer day.Stop()
	for {
		g.journal.mu.Lock()
		changed := g.journal.changed
		g.journal.mu.Unlock()
		if g.journal.has(is) {
			return
		}
		select {
		case <-changed:
		case <-day.C:
			require.FailNow(g.t, "it never came to this: "+what, "%s", g.story())
		}
	}
}

func (g *rig) story() string {
	text := ""
	for _, r := range g.journal.all() {
		text += phrase(r) + "\n"
	}
	return text
}

func phrase(r ledger.Record) string {
	text := string(r.Kind)
	if r.Verb != nil {
		text += " " + r.Verb.String()
	}
	return fmt.Sprintf("%s %s%s%s%s %s", text, r.Node, r.Stage, r.Goal, r.Outcome, r.Reason)
}

func kind(k ledger.Kind, node string, verb plan.Verb) func(ledger.Record) bool {
	return func(r ledger.Record) bool {
		return r.Kind == k && (node == "" || r.Node == node && r.Verb != nil && *r.Verb == verb)
	}
}

// small is two VMs on a host on a NAS.
func (g *rig) small() {
	g.node(plan.Node{ID: "nas", Type: "nas", FedBy: []string{"ups"}})
	g.node(plan.Node{ID: "host", Type: "host", Kind: plan.Host, FedBy: []string{"ups"}, DependsOn: []string{"nas"}})
	g.node(plan.Node{ID: "vm1", Type: "vm", Kind: plan.VM, Host: "host", DependsOn: []string{"host"}})
	g.node(plan.Node{ID: "vm2", Type: "vm", Kind: plan.VM, Host: "host", DependsOn: []string{"host", "vm1"}})
}
