package plan

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A cluster is suspended when the shutdown begins and not when a lab is shed, before whatever stands on it, and put back
// when all that it needs is up.
func TestClustersAreSetAsideForTheShutdown(t *testing.T) {
	e, err := NewEstate([]Node{
		{ID: "lab", Kind: VM, Stage: "lab", DependsOn: []string{"cluster", "esx"}, Can: VerbSet(Stop, Start)},
		{ID: "app", Kind: VM, Stage: "shutdown", DependsOn: []string{"db", "esx"}, Can: VerbSet(Stop, Start)},
		{ID: "db", Kind: VM, Stage: "shutdown", DependsOn: []string{"cluster", "esx"}, Can: VerbSet(Stop, Start)},
		{ID: "cluster", Kind: Cluster, Stage: "shutdown", DependsOn: []string{"vcenter"}, Can: VerbSet(Protect, Unprotect)},
		{ID: "vcenter", Kind: VM, Stage: "shutdown", DependsOn: []string{"esx"}, Can: VerbSet(Stop, Start)},
		{ID: "esx", Kind: Host, Stage: "shutdown", Can: VerbSet(Stop, Start)},
		{ID: "nas", Stage: "shutdown", Can: VerbSet(Protect, Stop, Start, Unprotect)},
	}, nil)
	require.NoError(t, err)
	down := e.Plan(Down, nil)
	require.Equal(t, `protect nas <- 
protect caches protected <- protect nas
protect cluster <- 
stop nas <- protect caches protected
stop app <- protect caches protected, protect cluster
stop db <- protect caches protected, protect cluster, stop app
stop lab <- protect caches protected
stop cluster <- protect cluster, stop db, stop lab
stop vcenter <- protect caches protected, stop cluster
stop esx <- protect caches protected, stop app, stop db, stop lab, stop vcenter
`, describe(down))
	i, _ := e.Index("cluster")
	aside, _ := down.Find(i, Protect)
	require.Equal(t, ShutdownStage, down.Steps[aside].Stage)
	require.Contains(t, describe(e.Plan(Up, nil)), "unprotect cluster <- start cluster\n")
}

// A long chain of nodes without feeds of their own is walked once, and not in twice the time for each further one.
func TestALongChainIsCarriedByItsEnd(t *testing.T) {
	nodes := []Node{{ID: "ups", Kind: Supply}, {ID: "0", Kind: Other, FedBy: []string{"ups"}}}
	for i := 1; i < 200; i++ {
		nodes = append(nodes, Node{ID: fmt.Sprint(i), Kind: Other, DependsOn: []string{fmt.Sprint(i - 1)}})
	}
	e, err := NewEstate(nodes, nil)
	require.NoError(t, err)
	last, _ := e.Index("199")
	ups, _ := e.Index("ups")
	require.Equal(t, []int{ups}, e.Sources(last))
}
