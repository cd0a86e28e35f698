package daemon

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/fake"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/config"
	"ebbtide/internal/ledger"
	"ebbtide/internal/nut/nutsim"
	"ebbtide/internal/plan"
)

// rig is a daemon with a NUT server in the process and an estate in memory.
type rig struct {
	t      testing.TB
	dir    string
	nut    *nutsim.Server
	ups    *nutsim.UPS
	estate *fake.Estate
	config config.Config
	log    *lines
	family adapter.Family
	more   []adapter.Family

	mu    sync.Mutex
	sent  []string // instant commands that reached the UPS
	alive *Daemon
	end   func() error
}

// lines keeps what is logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

const book = `
version: 1
runbook: test
supplies:
  ups: {nut: "main@ADDRESS", username: ebbtide, password: {file: PASSWORD}}
nodes:
  nas: {type: fake, fed_by: [ups], up: {wake: {power: true}}}
  web: {type: fake, fed_by: [ups], depends_on: [nas]}
policy:
  shutdown: {when: {on_battery: 1s}}
  restore: {when: {online: 1s}}
  reserve: 10s
`

func newRig(t testing.TB) *rig {
	t.Helper()
	server, err := nutsim.Start()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	server.AddUser(nutsim.User{Name: "ebbtide", Password: "swordfish", Commands: true})
	g := &rig{t: t, dir: t.TempDir(), nut: server, ups: server.Add("main", "test UPS"), estate: fake.New(time.Now), log: &lines{}}
	g.mains(true)
	g.ups.Set("ups.delay.shutdown", "1")
	g.ups.OnCommand(func(command, _ string) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.sent = append(g.sent, command)
		g.ups.Set("ups.status", "OB OFF")
		return nil
	}, "shutdown.return", "load.on")
	for _, id := range []string{"nas", "web"} {
		g.estate.Add(id, fake.Spec{Takes: map[plan.Verb]time.Duration{plan.Stop: 200 * time.Millisecond}})
	}
	g.family = g.estate.Family()
	g.config = config.Config{
		Runbook: filepath.Join(g.dir, "runbook.yaml"), Journal: filepath.Join(g.dir, "journal.db"),
		Listen: config.Listen{Network: "unix", Address: filepath.Join(g.dir, "s")},
		Poll:   100 * time.Millisecond, PollOnBattery: 50 * time.Millisecond, Armed: true,
	}
	require.NoError(t, os.WriteFile(filepath.Join(g.dir, "password"), []byte("swordfish\n"), 0o600))
	g.write(book)
	return g
}

func (g *rig) write(runbook string) {
	g.t.Helper()
	text := strings.NewReplacer("ADDRESS", g.nut.Addr(), "PASSWORD", filepath.Join(g.dir, "password")).Replace(runbook)
	require.NoError(g.t, os.WriteFile(g.config.Runbook, []byte(text), 0o600))
}

func (g *rig) mains(on bool) {
	if on {
		g.ups.Set("ups.status", "OL CHRG", "battery.charge", "90", "battery.runtime", "7200", "ups.load", "30")
		return
	}
	g.ups.Set("ups.status", "OB DISCHRG")
}

func (g *rig) commands() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.sent...)
}

func (g *rig) options() Options {
	log := slog.New(slog.NewTextHandler(g.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return Options{Config: g.config, Families: append([]adapter.Family{g.family}, g.more...), Version: "1.2.3", Log: log}
}

// start runs a daemon until stop or the end of the test.
func (g *rig) start() *Daemon {
	g.t.Helper()
	d, err := Open(g.t.Context(), g.options())
	require.NoError(g.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	g.alive = d
	g.end = sync.OnceValue(func() error { cancel(); return <-ended })
	end := g.end
	g.t.Cleanup(func() {
		require.NoError(g.t, end())
		if g.t.Failed() {
			g.t.Log(g.log.String())
		}
	})
	return d
}

func (g *rig) stop() {
	g.t.Helper()
	require.NoError(g.t, g.end())
}

func (g *rig) client() *Client { return NewClient(g.config.Listen, "", nil) }

func (g *rig) status() *Status {
	g.t.Helper()
	s, err := g.client().Status(g.t.Context())
	require.NoError(g.t, err)
	return s
}

// until waits for something, and shows the daemon's log if it does not come.
func (g *rig) until(what string, holds func() bool) {
	g.t.Helper()
	peertest.Until(g.t, what, holds, g.log.String)
}

// ready waits until the estate was seen.
func (g *rig) ready() {
	g.t.Helper()
	g.until("ready", func() bool {
		s := g.status()
		for _, n := range s.View.Nodes {
			if n.SeenAt.IsZero() {
				return false
			}
		}
		return g.alive.ready(g.t.Context()) == nil
	})
}

// records are those of the newest outage.
func (g *rig) records() []ledger.Record {
	g.t.Helper()
	list, err := g.client().Outages(g.t.Context())
	require.NoError(g.t, err)
	if len(list.Outages) == 0 {
		return nil
	}
	last, err := g.client().Outage(g.t.Context(), list.Outages[len(list.Outages)-1].ID)
	require.NoError(g.t, err)
	return last.Records
}

func (g *rig) recorded(kind ledger.Kind, node string, verb plan.Verb) bool {
	for _, r := range g.records() {
		if r.Kind == kind && (node == "" || r.Node == node && r.Verb != nil && *r.Verb == verb) {
			return true
		}
	}
	return false
}

// outage fails the mains and waits until all is down and cut, or whatever else is waited for.
func (g *rig) outage(kind ledger.Kind, node string, verb plan.Verb) {
	g.t.Helper()
	g.mains(false)
	g.until("an outage up to "+string(kind)+" "+node, func() bool { return g.recorded(kind, node, verb) })
}

func (g *rig) back() {
	g.t.Helper()
	g.mains(true)
	g.until("the end of the outage", func() bool { return g.recorded(ledger.Closed, "", 0) })
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}
