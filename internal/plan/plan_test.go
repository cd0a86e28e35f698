package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// smallEstate is two VMs on a host on a NAS with a cache, fed by one supply.
func smallEstate(t *testing.T) *Estate {
	t.Helper()
	times := func(stop time.Duration) (x [7]Times) {
		for v := range x {
			x[v] = Times{Nominal: stop, Within: 3 * stop}
		}
		return x
	}
	e, err := NewEstate([]Node{
		{ID: "app", Type: "vm", Kind: VM, DependsOn: []string{"db"}, Host: "esx", Can: VerbSet(Stop, Force, Start), Times: times(10 * time.Second)},
		{ID: "db", Type: "vm", Kind: VM, DependsOn: []string{"esx"}, Host: "esx", Can: VerbSet(Stop, Force, Start), Times: times(20 * time.Second)},
		{ID: "esx", Type: "host", Kind: Host, DependsOn: []string{"nas", "switch"}, FedBy: []string{"ups"}, Can: VerbSet(Stop, Force, Start), Times: times(30 * time.Second)},
		{ID: "nas", Type: "ssh", DependsOn: []string{"switch"}, FedBy: []string{"ups"}, Can: VerbSet(Protect, Flush, Stop, Start, Unprotect), Times: times(5 * time.Second)},
		{ID: "switch", Type: "passive", Kind: Passive, FedBy: []string{"ups"}},
		{ID: "ups", Type: "supply", Kind: Supply, Can: VerbSet(Cut, Start), Times: times(time.Second)},
	}, []Limit{{Class: "vm", Total: 2, PerHost: 1}})
	require.NoError(t, err)
	return e
}

func describe(p *Plan) string {
	var b strings.Builder
	for _, s := range p.Steps {
		var after []string
		for _, j := range slices.Concat(s.After, s.Feeds) {
			after = append(after, p.Steps[j].Verb.String()+" "+p.Steps[j].Name)
		}
		fmt.Fprintf(&b, "%s %s <- %s\n", s.Verb, s.Name, strings.Join(after, ", "))
	}
	return b.String()
}

func TestDownPlan(t *testing.T) {
	require.Equal(t, `protect nas <- 
protect caches protected <- protect nas
stop app <- protect caches protected
stop db <- protect caches protected, stop app
stop esx <- protect caches protected, stop db
flush nas <- protect caches protected, stop esx
stop nas <- protect caches protected, flush nas
stop switch <- stop esx, stop nas
cut ups <- stop esx, stop nas, stop switch
`, describe(smallEstate(t).Plan(Down, nil)))
}

func TestUpPlan(t *testing.T) {
	require.Equal(t, `start ups <- 
start switch <- start ups
start nas <- start switch, start ups
start esx <- start switch, start nas, start ups
start db <- start esx
start app <- start db
unprotect nas <- start nas
`, describe(smallEstate(t).Plan(Up, nil)))
}

func TestSelfGoesLastAndItsLifelineJustBefore(t *testing.T) {
	e, err := NewEstate([]Node{
		{ID: "vm", Kind: VM, FedBy: []string{"ups-b"}, Can: VerbSet(Stop)},
		{ID: "box", Kind: Self, DependsOn: []string{"switch"}, FedBy: []string{"ups-a"}, Can: VerbSet(Stop)},
		{ID: "switch", Kind: Passive, FedBy: []string{"ups-a"}},
		{ID: "ups-a", Kind: Supply, Can: VerbSet(Cut)},
		{ID: "ups-b", Kind: Supply, Can: VerbSet(Cut)},
	}, nil)
	require.NoError(t, err)
	require.Equal(t, `stop vm <- 
cut ups-b <- stop vm
stop switch <- 
stop all else is down <- stop vm, cut ups-b, stop switch
cut ups-a <- stop all else is down
stop box <- stop all else is down, cut ups-a
`, describe(e.Plan(Down, nil)))
}

func TestCycleNamesThePathThatClosesIt(t *testing.T) {
	_, err := NewEstate([]Node{{ID: "a", DependsOn: []string{"b"}}, {ID: "b", DependsOn: []string{"c"}}, {ID: "c", DependsOn: []string{"b"}}}, nil)
	var cycle *CycleError
	require.ErrorAs(t, err, &cycle)
	require.Equal(t, "dependency cycle: b → c → b", err.Error())
}

func TestScheduleKeepsLimitsAndNamesTheCriticalChain(t *testing.T) {
	var nodes []Node
	for i := range 4 {
		nodes = append(nodes, Node{ID: fmt.Sprint("vm", i), Type: "vm", Kind: VM, Host: "h", Can: VerbSet(Stop), Times: [7]Times{Stop: {Nominal: 10 * time.Second}}})
	}
	e, err := NewEstate(nodes, []Limit{{Class: "vm", Total: 8, PerHost: 2}})
	require.NoError(t, err)
	sc := e.Plan(Down, nil).Schedule()
	require.Equal(t, 20*time.Second, sc.Total)
	require.Len(t, sc.Chain, 2, "the second starts when the first gives up its place")
}

// drawEstate makes a random acyclic estate with a limit.
func drawEstate(t *rapid.T) *Estate {
	n := rapid.IntRange(1, 40).Draw(t, "nodes")
	nodes := []Node{{ID: "ups-a", Kind: Supply, Can: VerbSet(Cut, Start)}, {ID: "ups-b", Kind: Supply, Can: VerbSet(Cut, Start)}}
	for i := range n {
		x := Node{ID: fmt.Sprint("n", i), Type: "t", Kind: Kind(rapid.IntRange(0, 2).Draw(t, "kind")), Can: Verbs(rapid.IntRange(0, 127).Draw(t, "can")) &^ VerbSet(Cut)}
		x.Host = fmt.Sprint("h", rapid.IntRange(0, 3).Draw(t, "host"))
		for v := range x.Times {
			x.Times[v].Nominal = time.Duration(rapid.IntRange(1, 60).Draw(t, "seconds")) * time.Second
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
	e, err := NewEstate(nodes, []Limit{{Class: "t", Total: rapid.IntRange(0, 5).Draw(t, "total"), PerHost: rapid.IntRange(0, 2).Draw(t, "per host")}})
	require.NoError(t, err)
	return e
}

// finished gives for each node the step after which it is down (up), following milestones as any other step.
func lastSteps(p *Plan) map[int]int {
	last := map[int]int{}
	for i, s := range p.Steps {
		if s.Node >= 0 && s.Verb != Protect && s.Verb != Unprotect {
			last[s.Node] = max(last[s.Node], i)
		}
	}
	return last
}

// Rule 10 (order) as a property of the plan itself: every user is down before what it uses goes, and the reverse.
func TestPlanOrderProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEstate(t)
		for _, goal := range []Goal{Down, Up} {
			p := e.Plan(goal, nil)
			sc := p.Schedule()
			last := lastSteps(p)
			for i := range e.Len() {
				for _, need := range e.Needs(i) {
					first, second := i, need
					if goal == Up {
						first, second = need, i
					}
					require.LessOrEqual(t, sc.End[last[first]], sc.Start[last[second]], "%s before %s", e.Node(first).ID, e.Node(second).ID)
				}
			}
			for _, s := range p.Steps {
				for _, j := range s.After {
					require.Less(t, j, len(p.Steps))
				}
			}
			require.GreaterOrEqual(t, sc.Total, longestPath(p))
			require.Equal(t, p.Digest(), e.Plan(goal, nil).Digest(), "the same graph has the same digest")
			requireLimits(t, p, sc)
		}
	})
}

func longestPath(p *Plan) time.Duration {
	end := make([]time.Duration, len(p.Steps))
	var longest time.Duration
	for i, s := range p.Steps {
		for _, j := range slices.Concat(s.After, s.Feeds) {
			end[i] = max(end[i], end[j])
		}
		end[i] += p.duration(i)
		longest = max(longest, end[i])
	}
	return longest
}

func requireLimits(t *rapid.T, p *Plan, sc Schedule) {
	for _, limit := range p.estate.limits {
		for i := range p.Steps {
			total, perHost := 0, 0
			for j, s := range p.Steps {
				if s.Milestone || p.duration(j) == 0 || p.estate.Node(s.Node).Type != limit.Class || p.Steps[i].Node < 0 {
					continue
				}
				if sc.Start[j] <= sc.Start[i] && sc.Start[i] < sc.End[j] {
					total++
					if p.estate.Node(s.Node).Host == p.estate.Node(p.Steps[i].Node).Host {
						perHost++
					}
				}
			}
			require.True(t, limit.Total == 0 || total <= limit.Total)
			require.True(t, limit.PerHost == 0 || perHost <= limit.PerHost)
		}
	}
}

func TestDrawings(t *testing.T) {
	p := smallEstate(t).Plan(Down, nil)
	require.Contains(t, p.DOT(), `label="esx", shape=box3d`)
	require.Contains(t, p.Mermaid(), `[("nas")]`)
	require.Equal(t, strings.Count(p.DOT(), "->"), strings.Count(p.Mermaid(), "-->"))
}
