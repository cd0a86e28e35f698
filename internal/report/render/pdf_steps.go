package render

import (
	"ebbtide/internal/report/doc"
)

// The measures of a box of equal steps, in points.
const (
	eachPad    = 3
	eachNumber = 34
)

var (
	eachLook = look{size: 8.2}
	eachHead = look{size: 8.8}
)

// eachBoxes is the room that the boxes of one of equal steps take.
func (p *printer) eachBoxes(s doc.Steps) float64 { return p.boxesWidth(doc.Step{Boxes: s.Boxes}) }

// eachLines are the lines of one of equal steps; so many of them are its title.
func (p *printer) eachLines(s doc.Steps, e doc.Each) (lines [][]piece, heads int) {
	width := p.measure() - 2*stepPad - eachNumber - p.eachBoxes(s) - 6
	lines = p.wrap(e.Title, width, eachHead)
	heads = len(lines)
	for _, t := range e.Lines {
		lines = append(lines, p.wrap(t, width, eachLook)...)
	}
	return lines, heads
}

func (p *printer) eachHeight(s doc.Steps, e doc.Each) float64 {
	lines, _ := p.eachLines(s, e)
	return max(boxHeight, leading(eachLook.size)*float64(len(lines))) + 2*eachPad
}

func (p *printer) stepsTitle(s doc.Steps) [][]piece {
	return p.wrap(s.Title, p.measure()-2*stepPad-p.numberWidth(doc.Step{Number: s.Number})-8, stepLook)
}

// stepsBox measures what holds for all of equal steps.
func (p *printer) stepsBox(s doc.Steps) box {
	goesOn := s
	goesOn.Title = continued(s.Title)
	return p.measured(max(boxHeight+3, float64(len(p.stepsTitle(goesOn)))*leading(stepLook.size)+3), s.Fields)
}

// stepsFirst is the height of the first of equal steps, which stands with the end of what holds for all.
func (p *printer) stepsFirst(s doc.Steps) float64 {
	if len(s.Each) == 0 {
		return 0
	}
	return p.eachHeight(s, s.Each[0])
}

// steps sets equal steps in a frame: what holds for all once, and a line for each. Where it breaks, the next page says
// what goes on.
func (p *printer) steps(i int, s doc.Steps) {
	all := p.stepsBox(s)
	p.need(p.lead(i))
	top := p.y
	begin := func(title doc.Text, ends bool) {
		top = p.y
		p.y += stepPad
		p.stepTop(doc.Step{Number: s.Number, Title: title}, ends)
	}
	over := func() {
		p.frame(top)
		p.newPage()
		begin(continued(s.Title), true)
	}
	here := all.here(p.room(), p.stepsFirst(s))
	if here == 0 && p.y > edgeTop {
		p.newPage()
		here = all.here(p.room(), p.stepsFirst(s))
	}
	if here == 0 { // it is longer than a page
		here = len(s.Fields)
	}
	begin(s.Title, here == len(s.Fields))
	for n, f := range s.Fields {
		if n == here {
			over()
		}
		p.field(f, over)
	}
	for n, e := range s.Each {
		height := p.eachHeight(s, e) + stepPad
		if n == len(s.Each)-1 {
			height += p.closing(i)
		}
		if height > p.room() {
			over()
		}
		p.each(s, e)
	}
	p.frame(top)
	p.y += stepPad + 5
}

// each sets one of equal steps, with its boxes.
func (p *printer) each(s doc.Steps, e doc.Each) {
	height := p.eachHeight(s, e)
	p.mark(e.Step.Anchor)
	p.stroke(doc.Pale, 0.5)
	p.pdf.Line(edgeLeft+stepPad, p.y, p.paper.Width-edgeRight-stepPad, p.y)
	if e.Step.Changed {
		p.changed(p.y, p.y+height)
	}
	y := p.y + eachPad
	p.write(edgeLeft+stepPad+2, y+9, e.Step.Number, doc.Strong, eachHead)
	lines, heads := p.eachLines(s, e)
	for n, line := range lines {
		l := eachLook
		if n < heads {
			l = eachHead
		}
		p.setLine(edgeLeft+stepPad+eachNumber, y+l.size, line, l)
		y += leading(eachLook.size)
	}
	at := p.y
	p.y += eachPad
	p.boxes(s.Boxes)
	p.y = at + height
}
