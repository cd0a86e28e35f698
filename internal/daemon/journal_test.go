package daemon

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/journal"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// started counts the starts that reached the estate.
func (g *rig) started(id string) int {
	n := 0
	for _, c := range g.estate.Calls() {
		if c.Verb == plan.Start && (id == "" || c.Node == id) {
			n++
		}
	}
	return n
}

// The journal of an outage that took everything down is damaged while the machine is off. The daemon says so and
// watches on: nothing is started that it does not know to have been on, and the next outage goes as any other.
func TestADamagedJournalIsSetAside(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(b []byte) []byte{
		"all zeros": func(b []byte) []byte { return make([]byte, len(b)) },
		"cut short": func(b []byte) []byte { return b[:8192] },
		"empty":     func([]byte) []byte { return nil },
		"a record": func(b []byte) []byte {
			return bytes.ReplaceAll(b, []byte(`"kind":"proven"`), []byte(`"kind":"driven"`)) // old pages may hold copies
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t)
			told := filepath.Join(g.dir, "told")
			program := filepath.Join(g.dir, "tell")
			require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\ncat >>"+told+"\n"), 0o700)) //nolint:gosec // a program
			g.config.Notify.Command = []string{program}
			g.start()
			g.ready()
			g.outage(ledger.Proven, "ups", plan.Cut)
			g.stop()
			b, err := os.ReadFile(g.config.Journal)
			require.NoError(t, err)
			b = damage(b)
			require.NoError(t, os.WriteFile(g.config.Journal, b, 0o600))

			g.mains(true)
			g.start()
			g.ready()
			s := g.status()
			require.Len(t, s.Aside, 1)
			require.Contains(t, s.Text, "a damaged journal was moved aside as "+s.Aside[0])
			kept, err := os.ReadFile(s.Aside[0])
			require.NoError(t, err)
			require.True(t, bytes.Equal(b, kept), "the damaged file was changed")
			require.InDelta(t, 1, g.metrics()["ebbtide_journals_set_aside"], 0)
			require.Contains(t, g.log.String(), "the journal is damaged")
			g.until("people are told", func() bool {
				text, err := os.ReadFile(told)
				return err == nil && strings.Contains(string(text), "urgent: a damaged journal was moved aside as "+s.Aside[0])
			})
			require.Empty(t, g.records())

			g.estate.Node("nas").Set(plan.On) // a person
			g.until("nas is seen", func() bool {
				for _, n := range g.status().View.Nodes {
					if n.ID == "nas" {
						return n.Seen.State == plan.On
					}
				}
				return false
			})
			g.outage(ledger.Proven, "ups", plan.Cut)
			g.back()
			require.Equal(t, plan.On, g.estate.Node("nas").State())
			require.Equal(t, plan.Off, g.estate.Node("web").State(), "nobody knew that it had been on")
			require.Zero(t, g.started("web"))

			g.stop()
			g.start() // it is told again as long as the file lies there
			require.Len(t, g.status().Aside, 1)
			g.stop()
			require.NoError(t, os.Rename(s.Aside[0], filepath.Join(g.dir, "kept")))
			g.start()
			require.Empty(t, g.status().Aside)
		})
	}
}

// A machine whose clock has lost its battery comes up in the past. The next outage is on record all the same.
func TestAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	j, err := journal.Open(g.config.Journal, journal.Options{})
	require.NoError(t, err)
	const later = "29990131T031415Z"
	require.NoError(t, j.Append(ledger.Record{Seq: 1, Kind: ledger.Opened, Outage: later, Opening: ledger.Opening{Mode: ledger.ModeRun}},
		ledger.Record{Seq: 2, Kind: ledger.Closed, Outage: later}))
	require.NoError(t, j.Close())
	g.start()
	g.ready()
	g.outage(ledger.Triggered, "", 0)
	require.True(t, g.status().View.Journal)
	require.Greater(t, g.records()[0].Outage, later)
}

// A file that never was a journal is somebody else's: it is not moved.
func TestAForeignFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.config.Journal = g.config.Runbook
	before, err := os.ReadFile(g.config.Journal)
	require.NoError(t, err)
	_, err = Open(t.Context(), g.options())
	var damaged *journal.DamagedError
	require.ErrorAs(t, err, &damaged)
	require.True(t, damaged.Foreign)
	require.Contains(t, damaged.Hint(), "the path of a journal, or of one that is to be made")
	after, err := os.ReadFile(g.config.Journal)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// The disk of the journal can't be written when the daemon starts in the middle of an outage. The shutdown goes on, the
// power-up waits, and when the disk is well again all of it is on record.
func TestAReadOnlyDiskAtTheStart(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	dir := filepath.Join(g.dir, "disk")
	require.NoError(t, os.Mkdir(dir, 0o700))
	if err := syscall.Mount("ebbtide-test", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("cannot mount a file system (that needs root): %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	readOnly := func(on uintptr) { require.NoError(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|on, "")) }
	g.config.Journal = filepath.Join(dir, "journal.db")
	g.start()
	g.ready()
	g.outage(ledger.Intent, "web", plan.Stop)
	g.stop()

	readOnly(syscall.MS_RDONLY)
	g.start()
	g.until("the cut", func() bool { return g.status().View.Supplies[0].Cut })
	require.Equal(t, plan.Off, g.estate.Node("nas").State())
	require.False(t, g.status().View.Journal)
	require.Equal(t, 503, g.get("/readyz").code)
	require.Equal(t, 503, g.get("/v1/outages").code)
	require.InDelta(t, 0, g.metrics()["ebbtide_journal_writable"], 0)
	require.Contains(t, g.log.String(), "read-only file system")

	g.mains(true)
	g.estate.Node("nas").Set(plan.On)
	readOnly(0)
	g.back()
	require.Equal(t, plan.On, g.estate.Node("web").State())
	require.True(t, g.recorded(ledger.Gap, "", 0))
	list, err := g.client().Outages(t.Context())
	require.NoError(t, err)
	require.Len(t, list.Outages, 1, "it is still the same outage")
}
