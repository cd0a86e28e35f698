package chart

import (
	"image"
	"image/color"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"ebbtide/internal/report/doc"
)

// figureWidth is what a sheet has room for, so that nothing is made smaller.
const figureWidth vg.Length = 500

// Figure draws a course as a figure of a document: the same drawing as Plot's, narrower and without its title.
func (c *Course) Figure() doc.Figure {
	plain := *c
	plain.Title = ""
	p := newPage(&plain, figureWidth)
	p.height -= titleHeight
	k := &figureCanvas{height: p.height}
	p.draw(draw.NewCanvas(k, p.width, p.height))
	return doc.Figure{Width: float64(p.width), Height: float64(p.height), Shapes: k.shapes}
}

// figureCanvas makes shapes of what is drawn on it. It knows what a course is drawn with: straight lines, polygons and
// text, neither turned nor moved.
type figureCanvas struct {
	height vg.Length
	shapes []doc.Shape
	width  vg.Length
	dashed bool
	ink    doc.Ink
}

// inkOf gives the ink of a colour of the plot.
func inkOf(c color.Color) doc.Ink {
	switch c {
	case blue:
		return doc.Blue
	case sky, yellow:
		return doc.Sky
	case green:
		return doc.Green
	case orange:
		return doc.Orange
	case vermillion:
		return doc.Red
	case purple:
		return doc.Purple
	case white:
		return doc.Background
	case grey, pale:
		return doc.Grey
	case shade, gridLine.Color:
		return doc.Pale
	}
	return doc.Foreground
}

// SetLineWidth is of the next strokes.
func (k *figureCanvas) SetLineWidth(w vg.Length) { k.width = w }

// SetLineDash is of the next strokes.
func (k *figureCanvas) SetLineDash(pattern []vg.Length, _ vg.Length) { k.dashed = len(pattern) > 0 }

// SetColor is of whatever comes next.
func (k *figureCanvas) SetColor(c color.Color) { k.ink = inkOf(c) }

// Stroke draws a line along a path.
func (k *figureCanvas) Stroke(path vg.Path) {
	k.shapes = append(k.shapes, doc.Line{Points: k.points(path), Width: float64(k.width), Ink: k.ink, Dashed: k.dashed})
}

// Fill fills a path.
func (k *figureCanvas) Fill(path vg.Path) {
	if k.ink != doc.Background {
		k.shapes = append(k.shapes, doc.Area{Points: k.points(path), Fill: k.ink, Edge: doc.NoInk})
	}
}

// FillString writes a text.
func (k *figureCanvas) FillString(f font.Face, at vg.Point, text string) {
	if text != "" {
		k.shapes = append(k.shapes, doc.Label{At: k.point(at), Text: text, Size: float64(f.Font.Size), Ink: doc.Foreground})
	}
}

func (k *figureCanvas) points(path vg.Path) []doc.Point {
	var points []doc.Point
	for _, c := range path {
		if c.Type == vg.MoveComp || c.Type == vg.LineComp {
			points = append(points, k.point(c.Pos))
		}
	}
	return points
}

func (k *figureCanvas) point(at vg.Point) doc.Point {
	return doc.Point{X: float64(at.X), Y: float64(k.height - at.Y)}
}

// Rotate is not drawn with.
func (k *figureCanvas) Rotate(float64) {}

// Translate is not drawn with.
func (k *figureCanvas) Translate(vg.Point) {}

// Scale is not drawn with.
func (k *figureCanvas) Scale(_, _ float64) {}

// Push keeps nothing: whoever draws sets what it needs.
func (k *figureCanvas) Push() {}

// Pop gives nothing back.
func (k *figureCanvas) Pop() {}

// DrawImage is not drawn with.
func (k *figureCanvas) DrawImage(vg.Rectangle, image.Image) {}
