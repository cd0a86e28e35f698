package referee

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/plan"
)

// TestDarkIsTheScope holds that what goes dark, as the referee finds it, is the scope as the estate finds it, on drawn graphs.
func TestDarkIsTheScope(t *testing.T) {
	t.Parallel()
	source := rand.New(rand.NewPCG(1, 2))
	darkened := 0
	for range 300 {
		estate := drawnEstate(t, source)
		r := New(Options{Estate: estate})
		for k := range r.supplies {
			r.supplies[k].gone = source.IntN(2) == 0
		}
		scope := estate.Scope(func(i int) bool { return r.supplyAt(i).gone })
		r.asking.anew()
		for _, i := range source.Perm(estate.Len()) { // it asks in any order
			require.Equal(t, scope[i], r.goesDark(i, func(s *supply) bool { return s.gone }), "%+v", estate.Node(i))
			if scope[i] {
				darkened++
			}
		}
	}
	require.Greater(t, darkened, 500)
}

func drawnEstate(t *testing.T, source *rand.Rand) *plan.Estate {
	t.Helper()
	nodes := []plan.Node{{ID: "ups0", Kind: plan.Supply}, {ID: "ups1", Kind: plan.Supply}, {ID: "ups2", Kind: plan.Supply}}
	for i := len(nodes); i < 15; i++ {
		n := plan.Node{ID: fmt.Sprint("n", i), Kind: plan.Other}
		for s := range 3 {
			if source.IntN(4) == 0 {
				n.FedBy = append(n.FedBy, nodes[s].ID)
			}
		}
		for j := 3; j < i; j++ {
			if source.IntN(5) == 0 {
				n.DependsOn = append(n.DependsOn, nodes[j].ID)
			}
		}
		nodes = append(nodes, n)
	}
	estate, err := plan.NewEstate(nodes, nil)
	require.NoError(t, err)
	return estate
}
