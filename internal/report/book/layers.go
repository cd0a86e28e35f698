package book

import (
	"cmp"
	"math"
	"slices"

	"ebbtide/internal/report/doc"
)

// A layered drawing: every box stands in a row above all that it needs, and lines lead down from row to row. (After
// Sugiyama: rows by longest path, places standing in for boxes where a line passes a row, order by the mean of the
// neighbours, and then coordinates by the same means.)
type layered struct {
	boxes []layerBox
	edges [][2]int // from a box to one that it needs
	rows  [][]int  // boxes from left to right; those from len(boxes) on are places that lines pass
	up    [][]int  // neighbours in the row above
	down  [][]int
	x     []float64     // middles
	wide  []float64     // widths
	y     []float64     // per row: its upper edge
	paths [][]doc.Point // per edge
	via   map[int]int   // of a place: its row
}

type layerBox struct{ width, height float64 }

const (
	rowGap   = 30.0
	boxGap   = 10.0
	sweeps   = 12
	lineRoom = 6.0
)

// layerRows puts boxes into rows, those that nothing needs on top. What is too wide for the page takes several rows.
func layerRows(boxes []layerBox, edges [][2]int, width float64) [][]int {
	needs := make([][]int, len(boxes))
	for _, e := range edges {
		needs[e[0]] = append(needs[e[0]], e[1])
	}
	depth := make([]int, len(boxes))
	for i := range depth {
		depth[i] = -1
	}
	var deep func(i int) int
	deep = func(i int) int {
		if depth[i] < 0 {
			depth[i] = 0 // the graph has no ring
			for _, j := range needs[i] {
				depth[i] = max(depth[i], 1+deep(j))
			}
		}
		return depth[i]
	}
	most := 0
	for i := range boxes {
		most = max(most, deep(i))
	}
	var rows [][]int
	for d := most; d >= 0; d-- {
		var row []int
		used := 0.0
		for i := range boxes {
			if depth[i] != d {
				continue
			}
			if used > 0 && used+boxes[i].width+boxGap > width {
				rows, row, used = append(rows, row), nil, 0
			}
			row, used = append(row, i), used+boxes[i].width+boxGap
		}
		rows = append(rows, row)
	}
	return rows
}

// layerOut places the boxes of some rows, and the lines between them.
func layerOut(boxes []layerBox, edges [][2]int, rows [][]int, width float64) *layered {
	l := &layered{boxes: boxes, edges: edges, rows: make([][]int, len(rows)), via: map[int]int{}}
	row := make([]int, len(boxes))
	for i := range row {
		row[i] = -1
	}
	l.wide = make([]float64, len(boxes))
	for i, b := range boxes {
		l.wide[i] = b.width
	}
	for r, of := range rows {
		l.rows[r] = slices.Clone(of)
		for _, i := range of {
			row[i] = r
		}
	}
	chains := make([][]int, len(edges))
	for k, e := range edges {
		chains[k] = []int{e[0]}
		for r := row[e[0]] + 1; r < row[e[1]]; r++ {
			place := len(l.wide)
			l.wide = append(l.wide, lineRoom)
			l.rows[r] = append(l.rows[r], place)
			chains[k] = append(chains[k], place)
			l.via[place] = r
		}
		chains[k] = append(chains[k], e[1])
	}
	l.up, l.down = make([][]int, len(l.wide)), make([][]int, len(l.wide))
	for _, c := range chains {
		for i := 1; i < len(c); i++ {
			l.down[c[i-1]] = append(l.down[c[i-1]], c[i])
			l.up[c[i]] = append(l.up[c[i]], c[i-1])
		}
	}
	l.x = make([]float64, len(l.wide))
	for _, of := range l.rows {
		l.pack(of, nil, width)
	}
	for s := range sweeps {
		l.sweep(s%2 == 0, width, s < sweeps-4)
	}
	l.heights()
	for _, c := range chains {
		l.paths = append(l.paths, l.path(c, row))
	}
	return l
}

// sweep moves each row towards the means of its neighbours' places, in the row that comes before it in this direction.
func (l *layered) sweep(downwards bool, width float64, reorder bool) {
	for k := range l.rows {
		of, beside := l.rows[k], l.up
		if !downwards {
			of, beside = l.rows[len(l.rows)-1-k], l.down
		}
		want := map[int]float64{}
		for _, i := range of {
			want[i] = l.x[i]
			if n := len(beside[i]); n > 0 {
				sum := 0.0
				for _, j := range beside[i] {
					sum += l.x[j]
				}
				want[i] = sum / float64(n)
			}
		}
		if reorder {
			slices.SortStableFunc(of, func(a, b int) int { return cmp.Compare(want[a], want[b]) })
		}
		l.pack(of, want, width)
	}
}

// pack places a row in its order, each as near to where it wants to be as the others let it; without wants in the middle.
func (l *layered) pack(of []int, want map[int]float64, width float64) {
	gap := func(a, b int) float64 { return (l.wide[a]+l.wide[b])/2 + boxGap }
	if want == nil {
		at := 0.0
		for k, i := range of {
			if k > 0 {
				at += gap(of[k-1], i)
			}
			l.x[i] = at
		}
		shift := (width - at) / 2
		for _, i := range of {
			l.x[i] += shift
		}
		return
	}
	left, right := make([]float64, len(of)), make([]float64, len(of))
	for k, i := range of {
		left[k] = want[i]
		if k > 0 {
			left[k] = max(left[k], left[k-1]+gap(of[k-1], i))
		}
	}
	for k := range slices.Backward(of) {
		right[k] = want[of[k]]
		if k < len(of)-1 {
			right[k] = min(right[k], right[k+1]-gap(of[k], of[k+1]))
		}
	}
	for k, i := range of { // between what both ways allow
		l.x[i] = (left[k] + right[k]) / 2
	}
	for k, i := range of {
		least := l.wide[i] / 2
		if k > 0 {
			least = l.x[of[k-1]] + gap(of[k-1], i)
		}
		l.x[i] = max(l.x[i], least)
	}
	for k, i := range slices.Backward(of) {
		most := width - l.wide[i]/2
		if k < len(of)-1 {
			most = l.x[of[k+1]] - gap(i, of[k+1])
		}
		l.x[i] = min(l.x[i], most)
	}
}

func (l *layered) heights() {
	at := 0.0
	for _, of := range l.rows {
		l.y = append(l.y, at)
		at += l.rowHeight(of) + rowGap
	}
}

func (l *layered) rowHeight(of []int) float64 {
	height := 0.0
	for _, i := range of {
		if i < len(l.boxes) {
			height = max(height, l.boxes[i].height)
		}
	}
	return height
}

// crop moves everything to the left edge, and gives the width that is left.
func (l *layered) crop() float64 {
	left, right := math.Inf(1), 0.0
	for _, of := range l.rows {
		for _, i := range of {
			left, right = min(left, l.x[i]-l.wide[i]/2), max(right, l.x[i]+l.wide[i]/2)
		}
	}
	left -= 2 // half of the thickest frame
	for i := range l.x {
		l.x[i] -= left
	}
	for _, path := range l.paths {
		for i := range path {
			path[i].X -= left
		}
	}
	return right - left + 2
}

// height is that of all rows.
func (l *layered) height() float64 {
	last := len(l.rows) - 1
	return l.y[last] + l.rowHeight(l.rows[last])
}

// path leads a line from the foot of a box to the head of one that it needs.
func (l *layered) path(chain []int, row []int) []doc.Point {
	first, last := chain[0], chain[len(chain)-1]
	points := []doc.Point{doc.Pt(l.anchored(first, chain[1]), l.y[row[first]]+l.boxes[first].height)}
	for _, place := range chain[1 : len(chain)-1] {
		top := l.y[l.via[place]]
		points = append(points, doc.Pt(l.x[place], top), doc.Pt(l.x[place], top+l.rowHeight(l.rows[l.via[place]])))
	}
	return append(points, doc.Pt(l.anchored(last, chain[len(chain)-2]), l.y[row[last]]))
}

// anchored is where on a box's edge a line to a neighbour begins: towards it.
func (l *layered) anchored(box, to int) float64 {
	reach := l.wide[box] * 0.35
	return l.x[box] + math.Max(-reach, math.Min(reach, (l.x[to]-l.x[box])*0.25))
}
