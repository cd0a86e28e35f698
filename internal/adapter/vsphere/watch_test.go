package vsphere

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/plan"
)

// watch gives what a node tells of itself. It ends with the test.
func watch(t *testing.T, n adapter.Node) <-chan plan.Observation {
	t.Helper()
	seen := make(chan plan.Observation, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.(adapter.Watcher).Watch(ctx, func(o plan.Observation) { seen <- o }) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return seen
}

// next gives the next observation, which must come within d.
func next(t *testing.T, seen <-chan plan.Observation, d time.Duration) plan.Observation {
	t.Helper()
	select {
	case o := <-seen:
		return o
	case <-time.After(d):
		require.FailNow(t, "nothing was seen", "in %s", d)
		return plan.Observation{}
	}
}

func TestWatchTellsOfChangesWithoutPolling(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: vms("web01", "web02")})
	seen, other := watch(t, e.vm(t, "web01")), watch(t, e.vm(t, "web02"))
	require.Equal(t, plan.On, next(t, seen, 10*time.Second).State)
	require.Equal(t, plan.On, next(t, other, 10*time.Second).State)
	before := e.VCenter().Calls()

	n := e.vm(t, "web01")
	for _, step := range []struct {
		verb plan.Verb
		want plan.State
	}{{plan.Stop, plan.Off}, {plan.Start, plan.On}, {plan.Force, plan.Off}} {
		require.NoError(t, contracttest.Do(t, n, step.verb))
		require.Equal(t, step.want, next(t, seen, time.Second).State)
	}
	after := e.VCenter().Calls()
	for method, count := range after {
		switch method {
		case "ShutdownGuest", "PowerOnVM_Task", "PowerOffVM_Task":
			require.Equal(t, 1, count-before[method], method)
		case "WaitForUpdatesEx":
			require.LessOrEqual(t, count-before[method], 6)
		case "RetrievePropertiesEx":
			require.Equal(t, 1, count-before[method], "a force looks before it takes the power")
		default:
			require.Equal(t, before[method], count, method)
		}
	}
	require.Empty(t, other)
}

// Idle intervals must not lose what comes after them.
func TestWatchLivesThroughIdleIntervals(t *testing.T) {
	t.Parallel()
	e := start(t, vspheresim.Options{VMs: vms("web01")})
	n := e.vm(t, "web01")
	seen := watch(t, n)
	next(t, seen, 10*time.Second)
	waits := func() int { return e.VCenter().Calls()["WaitForUpdatesEx"] }
	began := waits()
	peertest.Until(t, "some idle intervals", func() bool { return waits() >= began+3 })
	require.NoError(t, contracttest.Do(t, n, plan.Force))
	require.Equal(t, plan.Off, next(t, seen, time.Second).State)
	require.Equal(t, 1, e.VCenter().Calls()["Login"])
}

func TestSessionExpiryIsMended(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: vms("web01", "web02")})
	n := e.vm(t, "web01")
	seen := watch(t, n)
	next(t, seen, 10*time.Second)
	for round := 1; round <= 3; round++ {
		e.VCenter().ExpireSessions()
		verb, want := plan.Force, plan.Off
		if round%2 == 0 {
			verb, want = plan.Start, plan.On
		}
		require.NoError(t, contracttest.Do(t, n, verb))
		require.Equal(t, want, next(t, seen, 5*time.Second).State, "no other state is seen in between")
	}
	require.LessOrEqual(t, e.VCenter().Calls()["Login"], 1+3)
}

func TestWatchSeesVMsThatComeLater(t *testing.T) {
	e := start(t, vspheresim.Options{VMs: vms("web01")})
	contracttest.Probe(t, e.vm(t, "web01"))
	late := e.vm(t, "web02")
	_, err := late.Probe(contracttest.Within(t, 5*time.Second))
	require.ErrorIs(t, err, adapter.ErrGone)
	require.NoError(t, e.AddVM(vspheresim.VM{Name: "web02"}))
	contracttest.UntilState(t, late, plan.On)
}

// Stopping many costs one call each and the watch; and so does seeing them off.
func TestManyVMsCostOneCallEach(t *testing.T) {
	const n = 200
	var all []vspheresim.VM
	for i := range n {
		all = append(all, vspheresim.VM{Name: fmt.Sprintf("vm%03d", i), Host: i % 2})
	}
	e := start(t, vspheresim.Options{HostsPerCluster: 2, VMs: all})
	results := make(chan error, n)
	before := total(e.VCenter())
	for _, m := range all {
		node := e.vm(t, m.Name)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			off := make(chan struct{})
			done := make(chan error, 1)
			watching, stop := context.WithCancel(ctx)
			defer stop()
			go func() {
				told := false
				done <- node.(adapter.Watcher).Watch(watching, func(o plan.Observation) {
					if o.State == plan.Off && !told {
						told = true
						close(off)
					}
				})
			}()
			err := node.Do(ctx, adapter.Command{Verb: plan.Stop})
			select {
			case <-off:
			case <-ctx.Done():
				err = fmt.Errorf("not seen off: %w", ctx.Err())
			}
			stop()
			err = errors.Join(err, <-done)
			results <- err
		}()
	}
	for range n {
		require.NoError(t, <-results)
	}
	for _, m := range all {
		require.False(t, e.VMOn(m.Name))
	}
	calls := total(e.VCenter()) - before
	require.LessOrEqual(t, float64(calls), 1.3*n, "calls by method: %v", e.VCenter().Calls())
	// All probes at once share the question whether vCenter is there.
	var wg sync.WaitGroup
	before = total(e.VCenter())
	for _, m := range all {
		n := e.vm(t, m.Name)
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			o, err := n.Probe(ctx)
			assertOff(t, o, err)
		})
	}
	wg.Wait()
	require.LessOrEqual(t, total(e.VCenter())-before, 20)
	t.Logf("%d VMs: %d calls: %v", n, calls, e.VCenter().Calls())
}

// assertOff may be called from any goroutine.
func assertOff(t *testing.T, o plan.Observation, err error) {
	if err != nil || o.State != plan.Off {
		t.Errorf("%+v, %v", o, err)
	}
}

func total(s *vspheresim.Server) int {
	sum := 0
	for _, n := range s.Calls() {
		sum += n
	}
	return sum
}
