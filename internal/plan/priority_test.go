package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNoOrderBeatsTheLowerBoundAndNoneIsWorseThanTheLongestTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEstate(t)
		for _, goal := range []Goal{Down, Up} {
			p := e.Plan(goal, nil)
			total := p.Schedule().Total
			require.LessOrEqual(t, p.LowerBound(), total)
			require.GreaterOrEqual(t, p.LowerBound(), longestPath(p))
			require.Equal(t, p.rank, e.Plan(goal, nil).rank, "the same graph has the same order")
			p.rankByTail()
			require.LessOrEqual(t, total, p.Schedule().Total)
			p.rank = ranking(drawWeights(t, len(p.Steps)))
			require.LessOrEqual(t, p.LowerBound(), p.Schedule().Total, "in any order")
		}
	})
}

func drawWeights(t *rapid.T, n int) []time.Duration {
	w := make([]time.Duration, n)
	for i := range w {
		w[i] = time.Duration(rapid.IntRange(0, n).Draw(t, "weight"))
	}
	return w
}

// hostsWithVMs is an array and hosts with VMs on them, whose times differ a little.
func hostsWithVMs(t testing.TB, hosts, each int) *Estate {
	times := func(seconds int) (x [7]Times) {
		for v := range x {
			x[v] = Times{Nominal: time.Duration(seconds) * time.Second, Within: time.Duration(5*seconds) * time.Second}
		}
		return x
	}
	nodes := []Node{{ID: "array", Type: "array", Can: VerbSet(Stop, Start), Times: times(60)}}
	for h := range hosts {
		host := fmt.Sprint("host", h)
		nodes = append(nodes, Node{ID: host, Type: "host", Kind: Host, DependsOn: []string{"array"}, Can: VerbSet(Stop, Start), Times: times(90 + h%7)})
		for v := range each {
			nodes = append(nodes, Node{ID: fmt.Sprint(host, "-vm", v), Type: "vm", Kind: VM, Host: host, DependsOn: []string{host}, Can: VerbSet(Stop, Start), Times: times(30 + (7*h+3*v)%17)})
		}
	}
	e, err := NewEstate(nodes, []Limit{{Class: "vm", Total: 32, PerHost: 4}, {Class: "host", Total: 2}})
	require.NoError(t, err)
	return e
}

// Where all tails are alike the longest tail empties all hosts together, and then they queue for their limit.
func TestHostsAreEmptiedOneAfterTheOther(t *testing.T) {
	p := hostsWithVMs(t, 20, 49).Plan(Down, nil)
	improved, least := p.Schedule().Total, p.LowerBound()
	p.rankByTail()
	require.Less(t, improved, p.Schedule().Total)
	require.LessOrEqual(t, improved.Seconds(), 1.05*least.Seconds())
}

func BenchmarkPlan(b *testing.B) {
	for _, hosts := range []int{2, 20, 200} {
		e := hostsWithVMs(b, hosts, 49)
		b.Run(fmt.Sprint(e.Len()), func(b *testing.B) {
			var p *Plan
			for b.Loop() {
				p = e.Plan(Down, nil)
			}
			b.ReportMetric(p.Schedule().Total.Seconds()/p.LowerBound().Seconds(), "x_bound")
		})
	}
}
