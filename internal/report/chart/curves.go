package chart

import (
	"fmt"
	"image/color"
	"math"
	"time"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// hues are of the supplies, in their order.
var hues = []color.Color{blue, vermillion, green, purple, orange, sky}

// drawCurves draws what the supplies told: charge as a line, load dashed.
func (p *page) drawCurves(c draw.Canvas) {
	most := 100.0
	for i := range p.Supplies {
		for _, s := range p.Supplies[i].Samples {
			if !math.IsNaN(s.Load) {
				most = max(most, math.Ceil(s.Load/25)*25)
			}
		}
	}
	y := func(share float64) vg.Length { return p.middle + vg.Length(share/most)*(p.top-p.middle) }
	for share := 0.0; share <= most; share += 25 {
		c.StrokeLine2(gridLine, p.left, y(share), p.right, y(share))
		c.FillText(rightwards(bodyText), vg.Point{X: p.left - gutter/2, Y: y(share)}, fmt.Sprintf("%g%%", share))
	}
	for i := range p.Supplies {
		hue, beneath := hues[i%len(hues)], 1.5*vg.Length(min(2, len(p.Supplies)-1-i)) // what lies under others is wider
		if p.Supplies[i].Sparse {
			p.dots(c, hue, p.Supplies[i].Samples, y)
			continue
		}
		p.curve(c, draw.LineStyle{Color: hue, Width: 1.75 + beneath}, p.Supplies[i].Samples, func(s Sample) float64 { return s.Charge }, y)
		p.curve(c, draw.LineStyle{Color: hue, Width: 1.25 + beneath, Dashes: []vg.Length{4, 3}}, p.Supplies[i].Samples,
			func(s Sample) float64 { return s.Load }, y)
	}
	x, line := p.left, p.middle-gap+9
	for i := range p.Supplies {
		for _, kind := range []struct {
			name   string
			dashes []vg.Length
		}{{"charge", nil}, {"load", []vg.Length{4, 3}}} {
			if p.Supplies[i].Sparse && kind.name == "charge" {
				kind.name, kind.dashes = "charge where recorded", thinDots
			} else if p.Supplies[i].Sparse {
				continue
			}
			name := p.Supplies[i].ID + " " + kind.name
			width := 24 + bodyText.Width(name) + 18
			if x+width > p.right {
				return // there are more supplies than anybody tells apart
			}
			c.StrokeLine2(draw.LineStyle{Color: hues[i%len(hues)], Width: 1.75, Dashes: kind.dashes}, x, line, x+20, line)
			c.FillText(bodyText, vg.Point{X: x + 24, Y: line}, name)
			x += width
		}
	}
}

// silence is from when on nobody listened: the machine that reads the supplies was off.
const silence = time.Minute

// curve draws one figure; where it was not told there is a gap.
func (p *page) curve(c draw.Canvas, style draw.LineStyle, samples []Sample, of func(Sample) float64, y func(float64) vg.Length) {
	var line []vg.Point
	flush := func() {
		if len(line) > 1 {
			c.StrokeLines(style, line)
		}
		line = nil
	}
	for i, s := range samples {
		if i > 0 && s.At-samples[i-1].At > silence {
			flush()
		}
		if v := of(s); s.At < p.from || s.At > p.to || math.IsNaN(v) {
			flush()
		} else {
			line = extend(line, vg.Point{X: p.x(s.At), Y: y(v)})
		}
	}
	flush()
}

// extend adds a point to a line, in place of the last one if nobody would see that.
func extend(line []vg.Point, to vg.Point) []vg.Point {
	const seen = 0.3
	if n := len(line); n >= 2 {
		before, last := line[n-2], line[n-1]
		if to.X-before.X < seen || to.Y == last.Y && last.Y == before.Y {
			line[n-1] = to
			return line
		}
	}
	return append(line, to)
}

// thinDots is the line between moments of which nothing is known.
var thinDots = []vg.Length{1, 3}

// dots draws the charges of moments that are far apart.
func (p *page) dots(c draw.Canvas, hue color.Color, samples []Sample, y func(float64) vg.Length) {
	const half = 2.2
	var before *vg.Point
	for _, s := range samples {
		if s.At < p.from || s.At > p.to || math.IsNaN(s.Charge) {
			before = nil
			continue
		}
		at := vg.Point{X: p.x(s.At), Y: y(s.Charge)}
		if before != nil {
			c.StrokeLines(draw.LineStyle{Color: hue, Width: 1, Dashes: thinDots}, []vg.Point{*before, at})
		}
		c.FillPolygon(hue, rectangle(at.X-half, at.Y-half, at.X+half, at.Y+half))
		before = &at
	}
}
