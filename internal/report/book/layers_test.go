package book

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever needs what: a box stands above all that it needs, no two lie over each other, and all is on the page.
func TestLayeredDrawings(t *testing.T) {
	const width = 500.0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "boxes")
		boxes := make([]layerBox, n)
		var edges [][2]int
		for i := range boxes {
			boxes[i] = layerBox{rapid.Float64Range(40, 140).Draw(t, "width"), rapid.Float64Range(20, 50).Draw(t, "height")}
			for j := range i {
				if rapid.IntRange(0, 4).Draw(t, "needs") == 0 {
					edges = append(edges, [2]int{i, j})
				}
			}
		}
		rows := layerRows(boxes, edges, width)
		l := layerOut(boxes, edges, rows, width)
		row := map[int]int{}
		for r, of := range rows {
			for _, i := range of {
				row[i] = r
			}
		}
		require.Len(t, row, n)
		for k, e := range edges {
			require.Less(t, row[e[0]], row[e[1]])
			path := l.paths[k]
			for i := 1; i < len(path); i++ {
				require.GreaterOrEqual(t, path[i].Y, path[i-1].Y, "lines lead down")
			}
		}
		for _, of := range l.rows {
			for k := 1; k < len(of); k++ {
				require.GreaterOrEqual(t, l.x[of[k]]-l.x[of[k-1]]+0.001, (l.wide[of[k]]+l.wide[of[k-1]])/2, "boxes lie over each other")
			}
		}
		require.False(t, math.IsNaN(l.crop()))
		for i := range boxes {
			require.GreaterOrEqual(t, l.x[i]-boxes[i].width/2, 1.99)
		}
	})
}
