// Package chart draws the course of an outage: charges, loads, steps and what marked it, over one axis of time.
package chart

import (
	"fmt"
	"io"
	"math"
	"time"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"ebbtide/internal/timeline"
)

// Course is an outage as it is drawn. Times are from its Start.
type Course struct {
	Title    string
	Start    time.Time // the zero of the time axis
	Supplies []Supply
	// Away is when the mains of any supply were away.
	Away  []Interval
	Nodes []Node // in the order in which they are drawn; what has no step is left out
	// Outages are drawn one after the other on the same axis.
	Outages []timeline.Timeline
}

// Supply is what a UPS told of itself.
type Supply struct {
	ID      string
	Samples []Sample // in the order of time
	// Sparse says that the samples are moments that are far apart: each is a dot, and a dotted line leads to the next,
	// unless one without a charge is between them.
	Sparse bool
}

// Sample is a reading. A share that was not told is NaN.
type Sample struct {
	At           time.Duration
	Charge, Load float64 // percent
}

// Interval is a stretch of time.
type Interval struct{ From, To time.Duration }

// Node is a node that may have steps.
type Node struct {
	ID    string
	Group string // of what it is drawn with when there are too many
}

// Formats are the endings of the files that Plot writes.
var Formats = []string{".svg", ".png"}

// Plot draws a course, batteries above and steps below on one time axis, as a file of the format with this ending. The
// same course gives the same bytes.
func Plot(w io.Writer, c *Course, format string) error {
	p := newPage(c, pageWidth)
	var to vg.CanvasWriterTo
	switch format {
	case ".svg":
		to = vgsvg.New(p.width, p.height)
	case ".png":
		to = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(p.width, p.height), vgimg.UseDPI(144))}
	default:
		return fmt.Errorf("cannot draw %q: the formats are %v", format, Formats)
	}
	p.draw(draw.New(to))
	if _, err := to.WriteTo(w); err != nil {
		return fmt.Errorf("cannot write the plot: %w", err)
	}
	return nil
}

// The measures of a page, in points.
const (
	pageWidth   vg.Length = 860
	margin      vg.Length = 18
	titleHeight vg.Length = 26
	markHeight  vg.Length = 13 // of a row of labels
	curveHeight vg.Length = 190
	gap         vg.Length = 34 // between the two: the upper's time axis and the legend's line
	rowHeight   vg.Length = 15
	axisHeight  vg.Length = 34
	keyHeight   vg.Length = 22
	gutter      vg.Length = 10 // between names and what they name
	lastLabel   vg.Length = 52 // for what is written at the right end
)

// page is a course laid out.
type page struct {
	*Course
	width, height vg.Length
	left, right   vg.Length // of both panels
	top, middle   vg.Length // the upper panel's edges
	upper, lower  vg.Length // the lower panel's edges
	from, to      time.Duration
	rows          []row
	marks         []mark
	levels        int // rows of labels over the panels
	keys          []keyed
}

func newPage(c *Course, width vg.Length) *page {
	p := &page{Course: c, width: width}
	p.rows = c.rows()
	p.from, p.to = c.span()
	names := bodyText.Width("100%")
	for i := range p.rows {
		names = max(names, bodyText.Width(p.rows[i].name))
	}
	p.left, p.right = margin+names+gutter, p.width-lastLabel
	p.marks = c.marks()
	p.levels = p.placeMarks()
	p.keys = p.placeKeys()
	p.height = margin + titleHeight + markHeight*vg.Length(p.levels) + 4 + curveHeight + gap +
		rowHeight*vg.Length(len(p.rows)) + axisHeight + keyHeight*p.keyRows() + margin
	p.top = p.height - margin - titleHeight - markHeight*vg.Length(p.levels) - 4
	p.middle = p.top - curveHeight
	p.upper = p.middle - gap
	p.lower = p.upper - rowHeight*vg.Length(len(p.rows))
	return p
}

// span is what is drawn: the outages with a minute about them, or all there is.
func (c *Course) span() (from, to time.Duration) {
	from = math.MaxInt64
	note := func(a, b time.Duration) { from, to = min(from, a), max(to, b) }
	for i := range c.Outages {
		o := &c.Outages[i]
		note(o.Start.Sub(c.Start), o.Start.Sub(c.Start))
		for k := range o.Marks {
			note(o.Marks[k].At.Sub(c.Start), o.Marks[k].At.Sub(c.Start))
		}
	}
	if len(c.Outages) == 0 {
		for i := range c.Supplies {
			for _, s := range c.Supplies[i].Samples {
				note(s.At, s.At)
			}
		}
	}
	from = max(0, min(from, to)-time.Minute)
	return from, max(to+time.Minute, from+time.Minute)
}

// x is where a time is drawn.
func (p *page) x(at time.Duration) vg.Length {
	share := float64(at-p.from) / float64(p.to-p.from)
	return p.left + vg.Length(share)*(p.right-p.left)
}

func (p *page) draw(c draw.Canvas) {
	c.FillPolygon(white, rectangle(0, 0, p.width, p.height))
	c.FillText(titleText, vg.Point{X: margin, Y: p.height - margin}, p.Title)
	for _, away := range p.Away {
		from, to := max(away.From, p.from), min(away.To, p.to)
		if from < to {
			c.FillPolygon(shade, rectangle(p.x(from), p.middle, p.x(to), p.top))
			c.FillPolygon(shade, rectangle(p.x(from), p.lower, p.x(to), p.upper))
		}
	}
	p.drawTimes(c)
	p.drawCurves(c)
	p.drawRows(c)
	p.drawMarks(c)
	p.drawKey(c)
}

// drawTimes draws the time axis under both panels, in minutes.
func (p *page) drawTimes(c draw.Canvas) {
	step := tickStep(p.to - p.from)
	for at := p.from.Truncate(step); at <= p.to; at += step {
		if at < p.from {
			continue
		}
		x := p.x(at)
		c.StrokeLine2(gridLine, x, p.lower, x, p.upper)
		c.StrokeLine2(gridLine, x, p.middle, x, p.top)
		for _, y := range []vg.Length{p.middle, p.lower} {
			c.StrokeLine2(axisLine, x, y, x, y-3)
			c.FillText(centred(bodyText), vg.Point{X: x, Y: y - 5}, fmt.Sprintf("%g", at.Minutes()))
		}
	}
	for _, y := range []vg.Length{p.middle, p.lower} {
		c.StrokeLine2(axisLine, p.left, y, p.right, y)
	}
	c.FillText(centred(bodyText), vg.Point{X: (p.left + p.right) / 2, Y: p.lower - 18}, "minutes")
}

// tickStep gives ten ticks at most, at round minutes.
func tickStep(span time.Duration) time.Duration {
	for _, minutes := range []time.Duration{1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 720} {
		if span <= 12*minutes*time.Minute {
			return minutes * time.Minute
		}
	}
	return (span / 12).Truncate(24*time.Hour) + 24*time.Hour
}
