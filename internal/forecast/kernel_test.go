package forecast

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebbtide/internal/plan"
)

// twin plays a network on plan.Dispatcher, step by step as the engine does.
type twin struct {
	plan    *plan.Plan
	roles   []role
	took    map[int]int64 // per step
	left    []int         // per step: what it waits for
	ready   *plan.Dispatcher
	running []end
	now     int64
}

// end is when a step is over.
type end struct {
	at   int64
	step int
}

func newTwin(n *network, roles []role, took []int64) *twin {
	p := n.course.plan
	w := &twin{plan: p, roles: roles, took: map[int]int64{}, left: make([]int, len(p.Steps)), ready: p.Dispatcher()}
	for i, step := range n.steps {
		w.took[int(step)] = took[i]
	}
	for i, s := range p.Steps {
		for _, j := range slices.Concat(s.After, s.Feeds) {
			if roles[j] != settled {
				w.left[i]++
			}
		}
	}
	return w
}

// play gives the time at which all is over.
func (w *twin) play() int64 {
	for i := range w.plan.Steps {
		if w.roles[i] == underway {
			w.ready.Take(w.plan.Steps[i].Node)
			w.begin(i)
		}
	}
	for i := range w.plan.Steps {
		if w.roles[i] == timed && w.left[i] == 0 {
			w.offer(i)
		}
	}
	w.dispatch()
	for len(w.running) > 0 {
		e := w.next()
		w.now = e.at
		w.ready.Release(w.plan.Steps[e.step].Node)
		w.settle(e.step)
		w.dispatch()
	}
	return w.now
}

func (w *twin) begin(step int) { w.running = append(w.running, end{w.now + w.took[step], step}) }

// dispatch begins what is ready, as far as the limits let it.
func (w *twin) dispatch() {
	for s := w.ready.Next(); s >= 0; s = w.ready.Next() {
		w.begin(s)
	}
}

// offer takes what waits for nothing any more.
func (w *twin) offer(step int) {
	if w.roles[step] == instant {
		w.settle(step)
		return
	}
	w.ready.Add(step)
}

// settle lets what comes after a step wait for one less.
func (w *twin) settle(step int) {
	for i, s := range w.plan.Steps {
		for _, j := range slices.Concat(s.After, s.Feeds) {
			if j != step || w.roles[i] == settled || w.roles[i] == underway {
				continue
			}
			if w.left[i]--; w.left[i] == 0 {
				w.offer(i)
			}
		}
	}
}

// next takes the step that is over first; of several at once, the one of the lowest rank.
func (w *twin) next() end {
	first := 0
	for i, e := range w.running {
		if e.at < w.running[first].at || e.at == w.running[first].at && w.plan.Rank(e.step) < w.plan.Rank(w.running[first].step) {
			first = i
		}
	}
	e := w.running[first]
	w.running = slices.Delete(w.running, first, first+1)
	return e
}

// drawEstate makes a random estate of a few types under limits of every sort.
func drawEstate(t *rapid.T) *plan.Estate {
	nodes := []plan.Node{
		{ID: "ups-a", Kind: plan.Supply, Can: plan.VerbSet(plan.Cut, plan.Start)},
		{ID: "ups-b", Kind: plan.Supply, Can: plan.VerbSet(plan.Cut, plan.Start)},
	}
	var limits []plan.Limit
	types := rapid.IntRange(1, 3).Draw(t, "types")
	for i := range types {
		limits = append(limits, plan.Limit{
			Class: fmt.Sprint("t", i), Total: rapid.IntRange(0, 4).Draw(t, "total"),
			PerHost: rapid.IntRange(0, 2).Draw(t, "per host"),
		})
	}
	for i := range rapid.IntRange(1, 40).Draw(t, "nodes") {
		x := plan.Node{
			ID: fmt.Sprint("n", i), Type: fmt.Sprint("t", rapid.IntRange(0, types).Draw(t, "type")),
			Kind:  plan.Kind(rapid.IntRange(0, 2).Draw(t, "kind")),
			Can:   plan.Verbs(rapid.IntRange(0, 127).Draw(t, "can")) &^ plan.VerbSet(plan.Cut),
			Host:  fmt.Sprint("h", rapid.IntRange(0, 3).Draw(t, "host")),
			Stage: rapid.SampledFrom([]plan.Stage{"lab", "shutdown"}).Draw(t, "stage"),
		}
		for v := range x.Times {
			x.Times[v].Nominal = time.Duration(rapid.IntRange(0, 5).Draw(t, "seconds")) * time.Second
			x.Times[v].Within = 4 * x.Times[v].Nominal
		}
		for j := range i {
			if rapid.IntRange(0, i).Draw(t, "edge") == 0 {
				x.DependsOn = append(x.DependsOn, fmt.Sprint("n", j))
			}
		}
		if rapid.Bool().Draw(t, "a") {
			x.FedBy = append(x.FedBy, "ups-a")
		}
		if rapid.Bool().Draw(t, "b") {
			x.FedBy = append(x.FedBy, "ups-b")
		}
		nodes = append(nodes, x)
	}
	e, err := plan.NewEstate(nodes, limits)
	require.NoError(t, err)
	return e
}

// Whatever the graph, the limits, what is left of it and how long its steps take (also where many end together), the
// kernel gives what the engine's dispatcher gives.
func TestTheKernelEqualsTheDispatcher(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEstate(t)
		p := e.Plan(rapid.SampledFrom([]plan.Goal{plan.Down, plan.Up}).Draw(t, "goal"), nil)
		c := newCourse(p, nil)
		roles := make([]role, len(p.Steps))
		busy := make([]bool, e.Len())
		for i, s := range p.Steps {
			roles[i] = rapid.SampledFrom([]role{settled, instant, timed, timed, timed, timed, timed, underway}).Draw(t, "role")
			switch {
			case s.Milestone && roles[i] != settled:
				roles[i] = instant
			case roles[i] == underway && busy[s.Node]:
				roles[i] = timed
			case roles[i] == underway:
				busy[s.Node] = true
			}
		}
		n := c.network(roles)
		k := newKernel(n)
		most := rapid.SampledFrom([]int{3, 1_000_000}).Draw(t, "most")
		for range 3 { // the kernel is as new after each play
			took := make([]int64, len(n.steps))
			for i := range took {
				if n.cells[i].lane != pause {
					took[i] = int64(rapid.IntRange(0, most).Draw(t, "took"))
				}
			}
			require.Equal(t, newTwin(n, roles, took).play(), k.play(took))
			count := make([]int32, len(n.steps))
			k.chain(count)
			along := int64(0)
			for i, times := range count {
				require.LessOrEqual(t, times, int32(1))
				along += int64(times) * took[i]
			}
			require.Equal(t, k.play(took), along, "each step of the chain starts when the one before it ends")
		}
	})
}

func TestTheKernelOnNominalTimesIsTheSchedule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEstate(t)
		for _, goal := range []plan.Goal{plan.Down, plan.Up} {
			p := e.Plan(goal, nil)
			n := newCourse(p, nil).whole()
			took := make([]int64, len(n.steps))
			for i, step := range n.steps {
				if s := &p.Steps[step]; !s.Milestone {
					took[i] = s.Times.Nominal.Microseconds()
				}
			}
			require.Equal(t, p.Schedule().Total.Microseconds(), newKernel(n).play(took))
		}
	})
}

func TestBitset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{1, 64, 65, 5000, 300_000}).Draw(t, "size")
		b, naive := newBitset(size), map[int32]bool{}
		for range 50 {
			i := int32(rapid.IntRange(0, size-1).Draw(t, "number"))
			if rapid.Bool().Draw(t, "add") {
				b.add(i)
				naive[i] = true
			} else {
				b.remove(i)
				delete(naive, i)
			}
			least := int32(-1)
			for j := range naive {
				if least < 0 || j < least {
					least = j
				}
			}
			require.Equal(t, least, b.least())
		}
	})
}

func TestExp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-600, 600).Draw(t, "x")
		require.InEpsilon(t, math.Exp(x), exp(x), 1e-6)
	})
	require.InEpsilon(t, math.Exp(700), exp(1e9), 1e-6, "beyond what anything lasts")
}

func TestTheNumberOfWorkersChangesNothing(t *testing.T) {
	n := wholeNetwork(sampleEstate(t, 200))
	one := n.tryWith(1, 301, 7, nil)
	for _, workers := range []int{2, 5} {
		require.Equal(t, one, n.tryWith(workers, 301, 7, nil))
	}
	require.NotEqual(t, one.spans, n.tryWith(1, 301, 8, nil).spans, "another seed, other luck")
}

func TestATrialAllocatesNothing(t *testing.T) {
	n := wholeNetwork(sampleEstate(t, 300))
	k, d, took := newKernel(n), newDrawer(n, nil), make([]int64, len(n.steps))
	seed := uint64(0)
	require.Zero(t, testing.AllocsPerRun(50, func() {
		seed++
		d.draw(seed, took)
		k.play(took)
	}))
}

// sampleEstate is an array with a cache, hosts and VMs of two tiers: n nodes in all.
func sampleEstate(t testing.TB, n int) *plan.Estate {
	times := func(nominal time.Duration) (x [7]plan.Times) {
		for v := range x {
			x[v] = plan.Times{Nominal: nominal, Within: 5 * nominal}
		}
		x[plan.Force] = plan.Times{Nominal: 5 * time.Second, Within: 30 * time.Second}
		return x
	}
	const stage = "shutdown"
	nodes := []plan.Node{
		{ID: "ups", Type: "supply", Kind: plan.Supply, Can: plan.VerbSet(plan.Cut, plan.Start), Times: times(5 * time.Second)},
		{
			ID: "array", Type: "array", FedBy: []string{"ups"},
			Can: plan.VerbSet(plan.Protect, plan.Flush, plan.Stop, plan.Start, plan.Unprotect), Times: times(time.Minute), Stage: stage,
		},
	}
	hosts := max(1, n/50)
	for h := range hosts {
		nodes = append(nodes, plan.Node{
			ID: fmt.Sprint("host", h), Type: "host", Kind: plan.Host, DependsOn: []string{"array"},
			FedBy: []string{"ups"}, Can: plan.VerbSet(plan.Stop, plan.Force, plan.Start), Times: times(90 * time.Second), Stage: stage,
		})
	}
	for i := range n - len(nodes) {
		vm := plan.Node{
			ID: fmt.Sprint("vm", i), Type: "vm", Kind: plan.VM, Host: fmt.Sprint("host", i%hosts),
			Can: plan.VerbSet(plan.Stop, plan.Force, plan.Start), Times: times(35 * time.Second), Stage: stage,
		}
		vm.DependsOn = []string{vm.Host}
		if i >= n/10 {
			vm.DependsOn = append(vm.DependsOn, fmt.Sprint("vm", i%(n/10)))
			vm.Stage = "apps"
		}
		nodes = append(nodes, vm)
	}
	e, err := plan.NewEstate(nodes, []plan.Limit{{Class: "vm", Total: 32, PerHost: 8}, {Class: "host", Total: 8}})
	require.NoError(t, err)
	return e
}

func wholeNetwork(e *plan.Estate) *network { return newCourse(e.Plan(plan.Down, nil), nil).whole() }

func BenchmarkTrial(b *testing.B) {
	for _, size := range []int{20, 100, 1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			n := wholeNetwork(sampleEstate(b, size))
			k, d, took := newKernel(n), newDrawer(n, nil), make([]int64, len(n.steps))
			b.ReportAllocs()
			seed, begun := uint64(0), processor()
			for b.Loop() {
				seed++
				d.draw(seed, took)
				k.play(took)
			}
			b.ReportMetric(float64((processor()-begun).Nanoseconds())/float64(b.N)/float64(len(n.steps)), "cpu-ns/step")
		})
	}
}

func BenchmarkDraw(b *testing.B) {
	n := wholeNetwork(sampleEstate(b, 1_000))
	d, took := newDrawer(n, nil), make([]int64, len(n.steps))
	seed, begun := uint64(0), processor()
	for b.Loop() {
		seed++
		d.draw(seed, took)
	}
	b.ReportMetric(float64((processor()-begun).Nanoseconds())/float64(b.N)/float64(len(n.steps)), "cpu-ns/step")
}
