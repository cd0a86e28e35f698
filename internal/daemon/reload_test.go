package daemon

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/fake"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/runner"
	"ebbtide/internal/schema"
)

func TestReload(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	d := g.start()
	g.ready()
	before := g.status().Digest
	g.write(strings.ReplaceAll(book, "type: fake,", "tyype: fake,"))
	var mistakes *MistakesError
	require.ErrorAs(t, d.Reload(t.Context()), &mistakes)
	require.Equal(t, before, g.status().Digest)

	g.estate.Add("db", fake.Spec{})
	g.write(strings.Replace(book, "policy:", "  db: {type: fake, fed_by: [ups], depends_on: [nas]}\npolicy:", 1))
	require.NoError(t, d.Reload(t.Context()))
	g.ready()
	s := g.status()
	require.NotEqual(t, before, s.Digest)
	require.Len(t, s.View.Nodes, 4)

	g.outage(ledger.Proven, "db", plan.Stop)
	g.write(book)
	require.ErrorIs(t, d.Reload(t.Context()), runner.ErrOutageOpen)
	g.until("the cut", func() bool { return g.recorded(ledger.Proven, "ups", plan.Cut) })
}

// flaky is a selector that can be made not to answer.
type flaky struct {
	adapter.Node
	adapter.Selector
	mute *atomic.Bool
}

func (f flaky) Members(ctx context.Context) ([]plan.Member, error) {
	if f.mute.Load() {
		return nil, errors.New("no route to host")
	}
	return f.Selector.Members(ctx)
}

func TestASelectorThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	var mute atomic.Bool
	mute.Store(true)
	open := g.family.Open
	g.family.Open = func(decl schema.Node, conn adapter.Conn, others func(string) (adapter.Conn, error)) (adapter.Node, error) {
		n, err := open(decl, conn, others)
		if sel, ok := n.(adapter.Selector); ok && err == nil {
			return flaky{n, sel, &mute}, nil
		}
		return n, err
	}
	g.estate = g.renewed("vm1", "vm2")
	g.write(strings.Replace(book, "policy:", "  vms: {type: fake.many, fed_by: [ups], expect: 3}\npolicy:", 1))
	d := g.start()
	g.ready()
	require.Equal(t, []string{"vms"}, g.status().Blind)
	ids := func() (ids []string) {
		for _, n := range g.status().View.Nodes {
			ids = append(ids, n.ID)
		}
		slices.Sort(ids)
		return ids
	}
	require.Equal(t, []string{"nas", "ups", "web"}, ids(), "no stand-ins: nobody could command them")
	require.NoError(t, d.refreshOnce(t.Context()))
	mute.Store(false)
	require.NoError(t, d.refreshOnce(t.Context()))
	require.Empty(t, g.status().Blind)
	require.Equal(t, []string{"nas", "ups", "vms/vm1", "vms/vm2", "web"}, ids())
	g.estate.Add("vm3", fake.Spec{})
	require.NoError(t, d.refreshOnce(t.Context()))
	require.Contains(t, ids(), "vms/vm3")

	g.outage(ledger.Proven, "ups", plan.Cut)
	require.Equal(t, plan.Off, g.estate.Node("vm3").State())
	g.stop()
	mute.Store(true) // the open outage's members come from its record
	g.start()
	g.until("taken up", func() bool { return len(ids()) == 6 })
	g.estate.Node("nas").Set(plan.On)
	g.back()
	require.Equal(t, plan.On, g.estate.Node("vm3").State())
	g.stop()
	g.start()
	require.Empty(t, g.status().Blind, "the last known inventory stands in")
	require.Contains(t, ids(), "vms/vm3")
}

// renewed is the estate with more nodes, which only a selector finds.
func (g *rig) renewed(more ...string) *fake.Estate {
	for _, id := range more {
		g.estate.Add(id, fake.Spec{})
	}
	return g.estate
}

func TestSystemdIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: path})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "300000")
	t.Setenv("WATCHDOG_PID", "")
	require.NoError(t, os.Unsetenv("WATCHDOG_PID"))
	hear := func(want string) {
		t.Helper()
		buf := make([]byte, 4096)
		for {
			n, err := conn.Read(buf)
			require.NoError(t, err, "systemd never heard %s", want)
			if strings.HasPrefix(string(buf[:n]), want) {
				return
			}
		}
	}
	g := newRig(t)
	d := g.start()
	hear("READY=1")
	hear("WATCHDOG=1")
	hear("STATUS=")
	hear("WATCHDOG=1")
	require.NoError(t, d.Reload(t.Context()))
	hear("RELOADING=1\nMONOTONIC_USEC=")
	hear("READY=1")
	g.stop()
	hear("STOPPING=1")
}

func TestPeopleAreTold(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.config.Armed = false
	heard := filepath.Join(g.dir, "heard")
	program := filepath.Join(g.dir, "page")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\ncat >>\"$1\"\n"), 0o700))
	g.config.Notify.Command = []string{program, heard}
	g.start()
	g.ready()
	g.mains(false)
	g.until("a page", func() bool {
		text, err := os.ReadFile(heard)
		return err == nil && strings.Contains(string(text), "ebbtide: urgent: (observing) power failure at ups: on battery")
	})
}

func TestAPagerNeverBlocks(t *testing.T) {
	t.Parallel()
	log := &lines{}
	g := &rig{log: log}
	p := newPager([]string{"/bin/false"}, g.options().Log)
	for range pagesWaiting + 1 {
		p.send(false, "hello")
	}
	require.Contains(t, log.String(), "a message was dropped")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { p.run(ctx); close(done) }()
	waiting := &rig{t: t, log: log}
	waiting.until("a failure in the log", func() bool { return strings.Contains(log.String(), "people were not notified") })
	cancel()
	<-done
}

// TestARunbookThatIsEditedWhileAnOutageIsOpen: what the outage took down is brought back by the runbook that it began
// with, though the edited one does not know of it, or has a mistake. The edited one is followed after that.
func TestARunbookThatIsEditedWhileAnOutageIsOpen(t *testing.T) {
	t.Parallel()
	for what, edited := range map[string]string{
		"a node less": strings.Replace(book, "  web: {type: fake, fed_by: [ups], depends_on: [nas]}\n", "", 1),
		"a mistake":   strings.ReplaceAll(book, "type: fake,", "tyype: fake,"),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			g := newRig(t)
			g.start()
			g.ready()
			g.outage(ledger.Proven, "ups", plan.Cut)
			g.stop()
			g.write(edited)
			g.start()
			require.Contains(t, g.log.String(), "the runbook was edited while an outage is open")
			require.Contains(t, g.status().Text, "the runbook was edited; the new version takes effect after the outage")
			g.estate.Node("nas").Set(plan.On)
			g.back()
			require.Equal(t, plan.On, g.estate.Node("web").State())
			want, says := 2, "the runbook was reloaded"
			if what == "a mistake" {
				want, says = 3, "the runbook was not reloaded"
			}
			g.until("it is taken over, or not", func() bool {
				return !strings.Contains(g.status().Text, "edited") && strings.Contains(g.log.String(), says)
			})
			require.Len(t, g.status().View.Nodes, want)
		})
	}
}

// TestNoRunbookWasKept: an outage of before that was kept is gone on with by the file, as is one whose copy can't be read.
func TestNoRunbookWasKept(t *testing.T) {
	t.Parallel()
	for _, kept := range []string{"", "runbook: ["} {
		g := newRig(t)
		g.start()
		g.ready()
		g.outage(ledger.Proven, "ups", plan.Cut)
		g.stop()
		require.NoError(t, os.Remove(g.config.Journal+".runbook"))
		if kept != "" {
			require.NoError(t, os.WriteFile(g.config.Journal+".runbook", []byte(kept), 0o600))
		}
		g.start()
		g.estate.Node("nas").Set(plan.On)
		g.back()
		require.Equal(t, plan.On, g.estate.Node("web").State())
	}
}
