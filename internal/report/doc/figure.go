package doc

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

// Pt makes a point.
func Pt(x, y float64) Point { return Point{X: x, Y: y} }

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
)

// Box makes a rectangle.
func Box(x, y, width, height float64) []Point {
	return []Point{{x, y}, {x + width, y}, {x + width, y + height}, {x, y + height}}
}
