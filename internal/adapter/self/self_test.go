package self

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

func open(t *testing.T, armed bool, stop ...string) adapter.Node {
	n, err := Family(armed).Open(schema.Node{ID: "me", Type: "self", Spec: &Spec{Stop: stop}}, nil, nil)
	require.NoError(t, err)
	return n
}

func TestContractUnarmed(t *testing.T) {
	contracttest.Run(t, contracttest.Subject{Make: func(t *testing.T) *contracttest.Thing {
		return &contracttest.Thing{Node: open(t, false), Truth: func() plan.State { return plan.On }}
	}})
}

func TestStopRunsOnlyWhenArmed(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "stopped")
	stop := []string{"touch", mark}
	err := open(t, false, stop...).Do(t.Context(), adapter.Command{Verb: plan.Stop})
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "not armed")
	require.NoFileExists(t, mark)

	n := open(t, true, stop...)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}))
	require.FileExists(t, mark)
	require.NoError(t, os.Remove(mark))
	require.ErrorIs(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}), adapter.ErrRefused)
	require.NoFileExists(t, mark)

	require.ErrorIs(t, open(t, true, "false").Do(t.Context(), adapter.Command{Verb: plan.Stop}), adapter.ErrRefused)
	require.ErrorContains(t, open(t, true, "/nowhere/poweroff").Do(t.Context(), adapter.Command{Verb: plan.Stop}), "/nowhere/poweroff")
}

func TestTheDefaultIsSystemctl(t *testing.T) {
	require.Equal(t, []string{"systemctl", "-i", "poweroff"}, open(t, false).(node).stop)
	require.Empty(t, Family(false).Nodes[0].Check(&Spec{}))
	require.Len(t, Family(false).Nodes[0].Check(&Spec{Stop: []string{""}}), 1)
}

func TestWhatLogindSaysIsHeeded(t *testing.T) {
	for _, c := range []struct {
		prints, cautions string
	}{
		{`s "yes"`, ""},
		{`s "na"`, "can't power itself off"},
		{`s "no"`, `CanPowerOff: "no"): install polkitd`},
		{`s "challenge"`, `CanPowerOff: "challenge"): install polkitd`},
		{"", "CanPowerOff: )"},
	} {
		n := node{id: "me", logind: &logind{ask: []string{"printf", "%s\n", c.prints}}}
		seen, err := n.Probe(t.Context())
		require.NoError(t, err)
		require.Equal(t, plan.On, seen.State)
		if c.cautions == "" {
			require.Empty(t, seen.Caution)
		} else {
			require.Contains(t, seen.Caution, c.cautions)
		}
	}
	for _, ask := range [][]string{{"sh", "-c", "echo no bus >&2; exit 1"}, {"/nowhere/busctl"}} {
		seen, err := node{id: "me", logind: &logind{ask: ask}}.Probe(t.Context())
		require.NoError(t, err, "it is on, whatever can be asked")
		require.Contains(t, seen.Caution, "it is unknown whether")
	}
}

func TestLogindIsNotAskedEachTime(t *testing.T) {
	asked := filepath.Join(t.TempDir(), "asked")
	n := node{id: "me", logind: &logind{ask: []string{"sh", "-c", "echo x >> " + asked + `; echo 's "yes"'`}}}
	for range 3 {
		seen, err := n.Probe(t.Context())
		require.NoError(t, err)
		require.Empty(t, seen.Caution)
	}
	text, err := os.ReadFile(asked)
	require.NoError(t, err)
	require.Equal(t, "x\n", string(text))
	require.Nil(t, open(t, false, "halt").(node).logind, "of another program nobody can be asked")
	require.NotNil(t, open(t, false).(node).logind)
}
