package demo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/adapter/vsphere"
	"ebbtide/internal/demo"
	"ebbtide/internal/ledger"
)

func families() []adapter.Family { return []adapter.Family{vsphere.Family(), ssh.Family()} }

// nodes are all that is on in the demo: a NAS, two hosts and eleven VMs.
const nodes = 14

// played is a demo that was played, with what it told.
type played struct {
	name    string
	options demo.Options
	outcome demo.Outcome
	err     error
	took    time.Duration
	story   bytes.Buffer
}

// play plays demos beside each other: one alone takes half a minute, and waits most of the time.
func play(ctx context.Context, all []*played) {
	var wait sync.WaitGroup
	for _, p := range all {
		wait.Go(func() {
			p.options.Families, p.options.View = families(), demo.NewLines(&p.story)
			began := time.Now()
			p.outcome, p.err = demo.Run(ctx, p.options)
			p.took = time.Since(began)
		})
	}
	wait.Wait()
}

// TestDemo plays the demo as it is, with every kind of failure of every kind of node, and with crashes all along.
func TestDemo(t *testing.T) {
	t.Parallel()
	plain := &played{name: "plain"}
	all := []*played{plain}
	fails := []struct {
		fail     string
		restored int
		forced   int // at least
	}{
		{"lab01=hang", nodes, 1},
		{"sql01=refuse", nodes, 1},
		{"lab02=vanish", nodes - 1, 0},
		{"dc01=vanish", 3, 0}, // the hosts and the NAS: all other VMs need it
		{"esx01=hang", nodes, 2},
		{"esx02=refuse", nodes, 2},
		{"esx01=vanish", nodes, 1},
		{"nas=hang", nodes, 1},
		{"nas=refuse", nodes, 1},
		{"nas=vanish", nodes, 1},
		{"ups=hang", nodes, 0},
		{"ups=refuse", nodes, 0},
		{"ups=vanish", nodes, 0},
	}
	for _, f := range fails {
		how, err := demo.ParseFail(f.fail)
		require.NoError(t, err)
		all = append(all, &played{name: f.fail, options: demo.Options{Fails: []demo.Fail{how}}})
	}
	const every, last = 10, 76
	for n := uint64(1); n <= last; n += every {
		all = append(all, &played{name: fmt.Sprintf("crash after %d", n), options: demo.Options{CrashAfter: n}})
	}
	play(t.Context(), all)

	for i, p := range all {
		t.Run(p.name, func(t *testing.T) {
			require.NoError(t, p.err, "%s", p.story.String())
			r := p.outcome.Result
			t.Logf("%.0f s, %.0f s of them the outage", p.took.Seconds(), r.Seconds)
			require.Empty(t, r.Violations, "%s", p.story.String())
			require.Zero(t, r.OrderViolations)
			require.Zero(t, r.DirtyBlocksAtCut)
			require.Equal(t, nodes, r.WasOn)
			require.Equal(t, r.WasOn, r.Restored+len(r.NotRestored))
			require.Equal(t, ledger.Closed, p.outcome.Records[len(p.outcome.Records)-1].Kind)
			switch {
			case i == 0:
				require.Equal(t, [4]int{nodes, nodes, 0, 0}, [4]int{r.ProvenOff, r.Restored, r.Forced, r.Crashes})
				require.Positive(t, r.SlackSeconds)
				var table bytes.Buffer
				require.NoError(t, demo.WriteTable(&table, p.outcome.Records))
				require.Contains(t, table.String(), "\nnas ")
			case i <= len(fails):
				require.Equal(t, fails[i-1].restored, r.Restored, "%s", p.story.String())
				require.GreaterOrEqual(t, r.Forced, fails[i-1].forced, "%s", p.story.String())
			default:
				require.Equal(t, 1, r.Crashes, "%s", p.story.String())
				require.Equal(t, nodes, r.Restored, "%s", p.story.String())
			}
		})
	}
}

// A demo that is interrupted ends at once and leaves nothing behind.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	stopped := errors.New("Ctrl-C")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(3*time.Second, func() { cancel(stopped) })
	_, err := demo.Run(ctx, demo.Options{Families: families()})
	require.ErrorIs(t, err, stopped)
	left, err := filepath.Glob(filepath.Join(dir, "ebbtide-demo-*"))
	require.NoError(t, err)
	require.Empty(t, left)
	_, err = os.Stat(dir)
	require.NoError(t, err)
}

func TestParseFail(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": `no node ""`, "sql01": "can't fail with", "sql01=fire": `a node can't fail with "fire"`, "nobody=hang": `no node "nobody"`,
	} {
		_, err := demo.ParseFail(text)
		require.ErrorContains(t, err, want)
	}
	f, err := demo.ParseFail("lab/lab01=hang")
	require.NoError(t, err)
	require.Equal(t, "lab01", f.Node)
}
