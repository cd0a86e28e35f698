package bench

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/adapter/vsphere"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

const (
	guestTakes  = 5 * time.Second
	callLatency = 20 * time.Millisecond
)

// TestVSphereAgainstGovc takes 1,000 VMs down and up with no limits, and lets govc do the same in each of its ways.
func TestVSphereAgainstGovc(t *testing.T) {
	wanted(t)
	const n = 1000
	p := newFarm(t, n)
	down, up := p.cycle()
	figure{
		Figure: "vsphere_1000_down", Value: down.took.Seconds(), Unit: "s", Target: "<= 6.5", OK: down.took <= 6500*time.Millisecond,
		Note: down.String(),
	}.print(t)
	figure{
		Figure: "vsphere_1000_down_calls", Value: down.perVM(n), Unit: "calls a VM", Target: "<= 1.1", OK: down.perVM(n) <= 1.1,
		Note: down.String(),
	}.print(t)
	figure{
		Figure: "vsphere_1000_up", Value: up.took.Seconds(), Unit: "s", Target: "<= 2", OK: up.took <= 2*time.Second,
		Note: up.String(),
	}.print(t)
	figure{
		Figure: "vsphere_1000_up_calls", Value: float64(up.calls), Unit: "calls", Target: "<= 100", OK: up.calls <= 100,
		Note: up.String(),
	}.print(t)

	p.govc = buildGovc(t)
	for _, way := range []struct {
		name   string
		ours   effort
		on     bool
		sample int // how many of the VMs it is given: the others would take as long each
		each   bool
		args   []string // "NAMES" stands for the names
	}{
		{"down, all names in one call", down, false, 50, false, []string{"-s", "NAMES"}},
		{"down, a process for each VM", down, false, 50, true, []string{"-s", "NAMES"}},
		{"down, a glob", down, false, n, false, []string{"-s", "/DC0/vm/*"}},
		{"up, all names in one call", up, true, 50, false, []string{"-on", "NAMES"}},
		{"up, a process for each VM", up, true, 50, true, []string{"-on", "NAMES"}},
		{"up, a glob", up, true, n, false, []string{"-on", "/DC0/vm/*"}},
		{"up, a glob with -M", up, true, n, false, []string{"-on", "-M", "/DC0/vm/*"}},
	} {
		p.put(!way.on)
		theirs := p.runGovc(way.on, way.sample, way.each, way.args)
		took := theirs.took
		note := theirs.String()
		if way.sample < n { // the guests' own time is spent once
			own := time.Duration(0)
			if !way.on {
				own = guestTakes
			}
			took = own + max(0, took-own)*time.Duration(n/way.sample)
			note += fmt.Sprintf("; of %d VMs, counted %d-fold less the guests' own time", way.sample, n/way.sample)
		}
		ratio := took.Seconds() / way.ours.took.Seconds()
		figure{
			Figure: "vsphere_govc_ratio", Value: ratio, Unit: "times ours", Target: "-", OK: true,
			Note: fmt.Sprintf("%s: govc %.1f s, Ebbtide %.1f s; %s", way.name, took.Seconds(), way.ours.took.Seconds(), note),
		}.print(t)
	}
}

// TestVSphere10000 is the same for ten times as many: no VM costs more.
func TestVSphere10000(t *testing.T) {
	wanted(t)
	const n = 10_000
	down, up := newFarm(t, n).cycle()
	figure{
		Figure: "vsphere_10000_down_calls", Value: down.perVM(n), Unit: "calls a VM", Target: "<= 1.1", OK: down.perVM(n) <= 1.1,
		Note: down.String(),
	}.print(t)
	figure{
		Figure: "vsphere_10000_up_calls", Value: up.perVM(n), Unit: "calls a VM", Target: "<= 0.1", OK: up.perVM(n) <= 0.1,
		Note: up.String(),
	}.print(t)
}

// farm is many VMs on one vCenter, with what it saw.
type farm struct {
	t     *testing.T
	sim   *vspheresim.Sim
	names []string
	nodes []adapter.Node
	govc  string

	mu   sync.Mutex
	on   int
	turn chan struct{} // closed, and replaced, when on changes
}

func newFarm(t *testing.T, n int) *farm {
	p := &farm{t: t, turn: make(chan struct{})}
	o := vspheresim.Options{
		HostsPerCluster: 20, Latency: callLatency, OnChange: p.changed,
		Guest: func(string) vspheresim.GuestBehaviour { return vspheresim.GuestBehaviour{Delay: guestTakes} },
	}
	for i := range n {
		p.names = append(p.names, fmt.Sprintf("vm%05d", i))
		o.VMs = append(o.VMs, vspheresim.VM{Name: p.names[i], Host: i % 20})
	}
	p.on = n
	sim, err := vspheresim.New(o)
	require.NoError(t, err)
	t.Cleanup(sim.Close)
	p.sim = sim
	t.Setenv("EBBTIDE_BENCH_VSPHERE", vspheresim.Password)
	return p
}

// open connects to the vCenter, as a daemon does when it starts.
func (p *farm) open() (end func()) {
	p.t.Helper()
	t, vc := p.t, p.sim.VCenter()
	decls := make([]schema.Node, len(p.names))
	for i, name := range p.names {
		decls[i] = schema.Node{ID: name, Type: "vsphere.vm", Via: "vc", Spec: &vsphere.VMSpec{}}
	}
	set, err := registry.Open([]adapter.Family{vsphere.Family()},
		[]schema.Connection{{Name: "vc", Type: "vsphere", Spec: &vsphere.ConnectionSpec{
			URL: vc.URL(), Username: vspheresim.User, Password: schema.SecretRef{Env: "EBBTIDE_BENCH_VSPHERE"},
			Thumbprint: vc.Thumbprint(),
		}}}, decls, literal{})
	require.NoError(t, err)
	p.nodes = nil
	for _, name := range p.names {
		node, _ := set.Node(name)
		p.nodes = append(p.nodes, node)
	}
	p.each(func(ctx context.Context, n adapter.Node) error { // the login and the first look at the inventory
		_, err := n.Probe(ctx)
		return err
	})
	return func() { require.NoError(t, set.Close()) }
}

// literal reads secrets from the environment.
type literal struct{}

func (literal) Secret(r schema.SecretRef) (string, error) { return os.Getenv(r.Env), nil }

func (p *farm) changed(kind, _ string, on bool) {
	if kind != "vm" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.on++
	} else {
		p.on--
	}
	close(p.turn)
	p.turn = make(chan struct{})
}

// await waits until so many VMs really are on.
func (p *farm) await(want int) {
	p.t.Helper()
	deadline := time.After(5 * time.Minute)
	for {
		p.mu.Lock()
		on, turn := p.on, p.turn
		p.mu.Unlock()
		if on == want {
			return
		}
		select {
		case <-turn:
		case <-deadline:
			require.FailNow(p.t, "the VMs did not get there", "%d are on, not %d", on, want)
		}
	}
}

// effort is what a way of doing it took.
type effort struct {
	took  time.Duration
	calls int
	by    map[string]int
}

func (e effort) perVM(n int) float64 { return float64(e.calls) / float64(n) }

func (e effort) String() string {
	text := fmt.Sprintf("%d calls in %.2f s:", e.calls, e.took.Seconds())
	for _, method := range slices.Sorted(maps.Keys(e.by)) {
		text += fmt.Sprintf(" %s %d", method, e.by[method])
	}
	return text
}

// measure tells what f takes and which calls it makes.
func (p *farm) measure(f func()) effort {
	before, began := p.sim.VCenter().Calls(), time.Now()
	f()
	e := effort{took: time.Since(began), by: map[string]int{}}
	for method, n := range p.sim.VCenter().Calls() {
		if n -= before[method]; n > 0 {
			e.by[method] = n
			e.calls += n
		}
	}
	return e
}

// cycle takes all VMs down and up again.
func (p *farm) cycle() (down, up effort) {
	defer p.open()()
	down = p.measure(func() { p.prove(plan.Stop, plan.Off) })
	p.await(0)
	up = p.measure(func() { p.prove(plan.Start, plan.On) })
	p.await(len(p.nodes))
	return down, up
}

// prove does with all nodes at once what is done with each: a look whether it holds already, the command, and its watch
// until a probe proves it.
func (p *farm) prove(v plan.Verb, want plan.State) {
	p.each(func(ctx context.Context, n adapter.Node) error {
		if seen, err := n.Probe(ctx); err != nil || seen.State == want {
			return err
		}
		if err := n.Do(ctx, adapter.Command{Verb: v}); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var proof error
		err := n.(adapter.Watcher).Watch(ctx, func(seen plan.Observation) {
			if seen.State != want || ctx.Err() != nil {
				return
			}
			defer cancel()
			if seen, proof = n.Probe(ctx); proof == nil && seen.State != want {
				proof = fmt.Errorf("seen as %s, probed as %s", want, seen.State)
			}
		})
		if proof != nil {
			return proof
		}
		return err
	})
}

func (p *farm) each(f func(context.Context, adapter.Node) error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	failed := make(chan error, len(p.nodes))
	for _, n := range p.nodes {
		all.Go(func() {
			if err := f(ctx, n); err != nil {
				failed <- err
			}
		})
	}
	all.Wait()
	close(failed)
	require.NoError(p.t, <-failed)
}

// put makes all VMs on or off, whatever that takes.
func (p *farm) put(on bool) {
	defer p.open()()
	p.each(func(ctx context.Context, n adapter.Node) error {
		if on {
			return n.Do(ctx, adapter.Command{Verb: plan.Start})
		}
		return n.Do(ctx, adapter.Command{Verb: plan.Force})
	})
	p.await(map[bool]int{true: len(p.nodes)}[on])
}

func buildGovc(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "govc")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".")
	build.Dir = "govc"
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// runGovc gives govc the first VMs and waits until they really are where they are to be.
func (p *farm) runGovc(on bool, sample int, each bool, args []string) effort {
	p.t.Helper()
	var calls [][]string
	switch {
	case each:
		for _, name := range p.names[:sample] {
			calls = append(calls, []string{args[0], name})
		}
	case args[len(args)-1] == "NAMES":
		calls = append(calls, append(slices.Clone(args[:len(args)-1]), p.names[:sample]...))
	default:
		calls = append(calls, args)
	}
	env := append(os.Environ(), "GOVC_URL="+p.sim.VCenter().URL(), "GOVC_USERNAME="+vspheresim.User, "GOVC_PASSWORD="+vspheresim.Password,
		"GOVC_INSECURE=1", "GOVMOMI_HOME="+p.t.TempDir())
	want := len(p.names) - sample
	if on {
		want = sample
	}
	return p.measure(func() {
		for _, args := range calls {
			run := exec.CommandContext(p.t.Context(), p.govc, append([]string{"vm.power"}, args...)...)
			run.Env = env
			out, err := run.CombinedOutput()
			require.NoError(p.t, err, "%.2000s", out)
		}
		p.await(want)
	})
}
