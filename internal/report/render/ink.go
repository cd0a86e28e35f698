package render

import (
	"math"

	"ebbtide/internal/report/doc"
)

// colours gives each ink on white paper and on a dark screen.
var colours = [...]struct{ light, dark uint32 }{
	doc.Foreground: {0x1b1b1b, 0xe8e6e1},
	doc.Background: {0xffffff, 0x16181b},
	doc.Grey:       {0x6a6a6a, 0xa3a3a3},
	doc.Pale:       {0xe4e4e2, 0x2d3136},
	doc.Blue:       {0x0072b2, 0x5cb3e6},
	doc.Orange:     {0xe69f00, 0xf0b840},
	doc.Green:      {0x009e73, 0x3cc79f},
	doc.Red:        {0xd55e00, 0xff8a3d},
	doc.Purple:     {0xcc79a7, 0xdd9bc0},
	doc.Sky:        {0x56b4e9, 0x8acbf2},
}

// lineWidth is the width of a stroke where 0 stands for the usual one.
func lineWidth(w float64) float64 {
	if w == 0 {
		return 0.75
	}
	return w
}

// letterSize is the size of letters where 0 stands for the usual one.
func letterSize(s float64) float64 {
	if s == 0 {
		return 9
	}
	return s
}

// arrowHead is the triangle at the end of a line, nothing if the line is too short to have a direction.
func arrowHead(points []doc.Point, size float64) []doc.Point {
	n := len(points)
	if n < 2 {
		return nil
	}
	tip, from := points[n-1], points[n-2]
	dx, dy := tip.X-from.X, tip.Y-from.Y
	length := math.Hypot(dx, dy)
	if length == 0 {
		return nil
	}
	dx, dy = dx/length*size, dy/length*size
	base := doc.Pt(tip.X-dx, tip.Y-dy)
	return []doc.Point{tip, doc.Pt(base.X-dy*0.45, base.Y+dx*0.45), doc.Pt(base.X+dy*0.45, base.Y-dx*0.45)}
}
