package report

import "math"

// Figure is a drawing in points, x to the right and y downwards from its upper left corner. Each renderer draws it by
// its own means, scaled down to what it has room for.
type Figure struct {
	Anchor        string
	Caption       string
	Width, Height float64
	Shapes        []Shape  // the later ones lie over the earlier ones
	Listing       []string // what it shows, in words: for Markdown, and for those who can't see it
}

// Shape is a part of a figure: a Line, an Area or a Label.
type Shape interface{ shape() }

// Point is a place in a figure.
type Point struct{ X, Y float64 }

// Line is a run of straight strokes.
type Line struct {
	Points []Point
	Width  float64 // 0 counts as 0.75
	Ink    Ink
	Dashed bool
	Arrow  bool // a head at its end
}

// Area is a closed polygon.
type Area struct {
	Points []Point
	Fill   Ink
	Edge   Ink
	Width  float64 // of the edge; 0 counts as 0.75
	Dashed bool
}

// Label is a line of text. Its point is on the baseline.
type Label struct {
	At    Point
	Text  string
	Size  float64 // of the letters; 0 counts as 9
	Bold  bool
	Align Align
	Ink   Ink
}

func (Line) shape()  {}
func (Area) shape()  {}
func (Label) shape() {}

// Align is where a label's point is in it.
type Align uint8

// The alignments.
const (
	Left Align = iota
	Centre
	Right
)

// Ink is a colour by its use, so that what is drawn can be read on paper and on a dark screen.
type Ink uint8

// The inks. Hues are told apart however colours are seen, and by their lightness on black and white paper.
const (
	Foreground Ink = iota
	NoInk
	Background
	Grey
	Pale
	Blue
	Orange
	Green
	Red
	Purple
	Sky
	inks
)

// colours gives each ink on white paper and on a dark screen.
var colours = [inks]struct{ light, dark uint32 }{
	Foreground: {0x1b1b1b, 0xe8e6e1},
	Background: {0xffffff, 0x16181b},
	Grey:       {0x6a6a6a, 0xa3a3a3},
	Pale:       {0xe4e4e2, 0x2d3136},
	Blue:       {0x0072b2, 0x5cb3e6},
	Orange:     {0xe69f00, 0xf0b840},
	Green:      {0x009e73, 0x3cc79f},
	Red:        {0xd55e00, 0xff8a3d},
	Purple:     {0xcc79a7, 0xdd9bc0},
	Sky:        {0x56b4e9, 0x8acbf2},
}

// Box makes a rectangle.
func Box(x, y, width, height float64) []Point {
	return []Point{{x, y}, {x + width, y}, {x + width, y + height}, {x, y + height}}
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
func arrowHead(points []Point, size float64) []Point {
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
	base := Point{tip.X - dx, tip.Y - dy}
	return []Point{tip, {base.X - dy*0.45, base.Y + dx*0.45}, {base.X + dy*0.45, base.Y - dx*0.45}}
}
