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
