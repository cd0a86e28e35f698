package render

import (
	"ebbtide/internal/report/doc"
)

// The measures of steps, in points.
const (
	fieldWidth = 92
	stepPad    = 6
	boxHeight  = 17
	boxWidth   = 58
)

var (
	stepLook  = look{size: 10, strong: true}
	fieldLook = look{size: 8.6}
)

// numberWidth is the room for a step's number.
func (p *printer) numberWidth(s doc.Step) float64 {
	if s.Number == "" {
		return 0
	}
	return max(18, p.widthOf(s.Number, doc.Strong, stepLook)+8)
}

func (p *printer) stepTitle(s doc.Step) [][]piece {
	return p.wrap(s.Title, p.measure()-2*stepPad-p.numberWidth(s)-8-p.boxesWidth(s), stepLook)
}

func (p *printer) boxesWidth(s doc.Step) float64 {
	if len(s.Boxes) == 0 {
		return 0
	}
	return boxHeight + float64(len(s.Boxes))*(boxWidth+4) + 6
}

func (p *printer) fieldLines(f doc.Field) [][]piece {
	var all [][]piece
	for _, t := range f.Lines {
		all = append(all, p.wrap(t, p.measure()-2*stepPad-fieldWidth, fieldLook)...)
	}
	return all
}

func (p *printer) stepHead(s doc.Step) float64 {
	return max(boxHeight+3, float64(len(p.stepTitle(s)))*leading(stepLook.size)+3)
}

// stepBox measures a step. Its head is as high as that under which it goes on.
func (p *printer) stepBox(s doc.Step) box {
	goesOn := s
	goesOn.Title = continued(s.Title)
	return p.measured(p.stepHead(goesOn), s.Fields)
}

// step sets a step in a frame, or in several if it is divided. Its boxes stand where it ends.
func (p *printer) step(i int, s doc.Step) {
	rest := p.stepBox(s)
	p.need(p.lead(i))
	for begun := false; ; p.newPage() {
		here := rest.here(p.room(), p.closing(i))
		if here == 0 && p.y > edgeTop {
			continue
		}
		if here == 0 { // it is longer than a page
			here = len(rest.fields)
		}
		p.stepPart(s, rest.fields[:here], begun, here == len(rest.fields))
		if rest, begun = rest.after(here), true; len(rest.fields) == 0 {
			return
		}
	}
}

// stepPart sets some fields of a step under its head. Begun: others stand on the page before; ends: none come after.
func (p *printer) stepPart(s doc.Step, fields []doc.Field, begun, ends bool) {
	title := s.Title
	if begun {
		s.Title = continued(title)
	} else {
		p.mark(s.Anchor)
	}
	top := p.y
	p.y += stepPad
	p.stepTop(s, ends)
	frame := func() {
		p.frame(top)
		if s.Changed {
			p.changed(top, p.y+stepPad-2)
		}
	}
	for _, f := range fields {
		p.field(f, func() {
			frame()
			p.newPage()
			top = p.y
			p.y += stepPad
			p.stepTop(doc.Step{Number: s.Number, Title: continued(title)}, true)
		})
	}
	frame()
	p.y += stepPad + 5
}

// frame draws the frame of a step from its top to here.
func (p *printer) frame(top float64) {
	p.stroke(doc.Grey, 0.75)
	p.pdf.Rect(edgeLeft, top, p.measure(), p.y+stepPad-2-top, "D")
}

// continued is the title of what goes on from the page before.
func continued(title doc.Text) doc.Text { return doc.Join(title, doc.T(" (continued)")) }

// goesOver says, where the boxes would stand, that a step goes on on the next page.
func (p *printer) goesOver() {
	const say = "continued on the next page"
	l := look{size: smallSize}
	p.write(p.paper.Width-edgeRight-stepPad-p.widthOf(say, doc.Faint, l), p.y+11, say, doc.Faint, l)
}

// closing is the room for a note that closes a chapter right after block i: it does not stand on a page alone.
func (p *printer) closing(i int) float64 {
	if i+1 >= len(p.doc.Blocks) {
		return 0
	}
	last, note := p.doc.Blocks[i+1].(doc.Note)
	end := i+2 == len(p.doc.Blocks)
	if !end {
		_, end = p.doc.Blocks[i+2].(doc.PageBreak)
	}
	if !note || !end {
		return 0
	}
	return p.noteHeight(last) + 2
}

// field sets a field of a step. Over turns the page where it does not fit; no single line of it stands before or after.
func (p *printer) field(f doc.Field, over func()) {
	lines := p.fieldLines(f)
	for i, line := range lines {
		need := leading(fieldLook.size)
		if len(lines) > 1 && (i == 0 || i == len(lines)-2) {
			need *= 2
		}
		if p.room() < need+stepPad {
			over()
		}
		if i == 0 {
			p.write(edgeLeft+stepPad, p.y+fieldLook.size, lettersOf(f.Name, glyphs()), doc.Faint, fieldLook)
		}
		p.setLine(edgeLeft+stepPad+fieldWidth, p.y+fieldLook.size, line, fieldLook)
		p.y += leading(fieldLook.size)
	}
	p.y++
}

// stepTop sets a step's number and title, and its boxes if it ends here.
func (p *printer) stepTop(s doc.Step, ends bool) {
	wide := p.numberWidth(s)
	if s.Number != "" {
		p.stroke(doc.Foreground, 1)
		p.pdf.Rect(edgeLeft+stepPad, p.y, wide, 15, "D")
		p.write(edgeLeft+stepPad+(wide-p.widthOf(s.Number, doc.Strong, stepLook))/2, p.y+11, s.Number, doc.Strong, stepLook)
	}
	y := p.y + 1
	for _, line := range p.stepTitle(s) {
		p.setLine(edgeLeft+stepPad+wide+8, y+stepLook.size, line, stepLook)
		y += leading(stepLook.size)
	}
	if ends {
		p.boxes(s.Boxes)
	} else {
		p.goesOver()
	}
	p.y += p.stepHead(s)
}

// boxes sets what a person ticks and writes in, at the right.
func (p *printer) boxes(names []string) {
	if len(names) == 0 {
		return
	}
	x := p.paper.Width - edgeRight - stepPad - p.boxesWidth(doc.Step{Boxes: names}) + 6
	p.stroke(doc.Foreground, 1)
	p.pdf.Rect(x, p.y, boxHeight, boxHeight, "D")
	x += boxHeight + 4
	p.stroke(doc.Grey, 0.5)
	for _, b := range names {
		p.pdf.Rect(x, p.y, boxWidth, boxHeight, "D")
		p.write(x+2, p.y+5.5, lettersOf(b, glyphs()), doc.Faint, look{size: 5.5})
		x += boxWidth + 4
	}
}
