package render

import (
	"fmt"

	"codeberg.org/go-pdf/fpdf"

	"ebbtide/internal/report/doc"
)

// heights of headings by level, and the room before and after them.
func headingLook(level int) (l look, before, after float64) {
	switch level {
	case 1:
		return look{size: 16, strong: true}, 10, 5
	case 2:
		return look{size: 12.5, strong: true}, 10, 4
	default:
		return look{size: 10.5, strong: true}, 7, 3
	}
}

func (p *printer) heading(i int, h doc.Heading) {
	l, before, after := headingLook(h.Level)
	p.need(p.lead(i))
	if p.y > edgeTop {
		p.y += before
	}
	if h.Level == 1 {
		p.section = lettersOf(h.Text, glyphs())
	}
	p.mark(h.Anchor)
	p.pdf.Bookmark(lettersOf(h.Text, glyphs()), h.Level-1, p.y)
	for _, line := range p.wrap(doc.T("%s", h.Text), p.measure(), l) {
		p.setLine(edgeLeft, p.y+l.size, line, l)
		p.y += leading(l.size)
	}
	if h.Level == 1 {
		p.stroke(doc.Foreground, 1)
		p.pdf.Line(edgeLeft, p.y, p.paper.Width-edgeRight, p.y)
	}
	p.y += after
}

// lead is how much of a block must stand on the page where what leads to it stands.
func (p *printer) lead(i int) float64 {
	if i >= len(p.doc.Blocks) {
		return 0
	}
	switch b := p.doc.Blocks[i].(type) {
	case doc.Heading:
		l, before, after := headingLook(b.Level)
		return before + after + leading(l.size)*float64(len(p.wrap(doc.T("%s", b.Text), p.measure(), l))) + p.lead(i+1)
	case doc.Paragraph:
		height := leading(bodySize) * float64(min(3, len(p.wrap(b.Text, p.measure(), look{size: bodySize}))))
		if i+1 < len(p.doc.Blocks) {
			switch p.doc.Blocks[i+1].(type) {
			case doc.Table, doc.List, doc.Step, doc.Steps, doc.Figure: // it says what they are
				return min(height+4+p.lead(i+1), p.whole())
			}
		}
		return height
	case doc.Step:
		m := p.stepBox(b)
		return min(m.lead(0), p.whole())
	case doc.Steps:
		m := p.stepsBox(b)
		return min(m.lead(p.stepsFirst(b)), p.whole())
	case doc.Table:
		return p.tableLead(b)
	case doc.Figure:
		_, height := p.figureSize(b)
		return height * leastFigure
	case doc.Note:
		height := p.noteHeight(b) + 2
		if i+1 < len(p.doc.Blocks) {
			switch p.doc.Blocks[i+1].(type) {
			case doc.Step, doc.Steps: // it is read before that
				return min(height+p.lead(i+1), p.whole())
			}
		}
		return height
	case doc.PageBreak:
		return 0
	default:
		return 3 * leading(bodySize)
	}
}

func (p *printer) list(b doc.List) {
	l := look{size: bodySize}
	for i, item := range b.Items {
		lines := p.wrap(item, p.measure()-16, l)
		p.need(leading(l.size) * float64(min(2, len(lines))))
		bullet := "•"
		if b.Numbered {
			bullet = fmt.Sprintf("%d.", i+1)
		}
		p.write(edgeLeft+2, p.y+l.size, bullet, doc.Plain, l)
		p.flowMarked(item, l, 16, b.IsChanged(i))
		p.y += 1.5
	}
	p.y += 3
}

const notePad = 7

func (p *printer) noteLines(b doc.Note) [][]piece {
	return p.wrap(doc.Join(doc.Bold("%s ", b.Opening()), b.Text), p.measure()-2*notePad-6, look{size: bodySize})
}

func (p *printer) noteHeight(b doc.Note) float64 {
	return leading(bodySize)*float64(len(p.noteLines(b))) + 2*notePad + 6
}

func (p *printer) note(i int, b doc.Note) {
	lines, height := p.noteLines(b), p.noteHeight(b)-6
	p.need(p.lead(i))
	p.y += 2
	p.mark(b.Anchor)
	p.stroke(doc.Foreground, 1)
	p.pdf.Rect(edgeLeft, p.y, p.measure(), height, "D")
	p.fill(doc.Foreground)
	p.pdf.Rect(edgeLeft, p.y, 5, height, "F")
	if b.Changed {
		p.changed(p.y, p.y+height)
	}
	y := p.y + notePad
	for _, line := range lines {
		p.setLine(edgeLeft+notePad+6, y+bodySize-0.5, line, look{size: bodySize})
		y += leading(bodySize)
	}
	p.y += height + 6
}

// changed marks in the margin what stands between two heights.
func (p *printer) changed(from, to float64) {
	p.fill(doc.Foreground)
	p.pdf.Rect(edgeLeft-14, from, 4, to-from, "F")
}

func (p *printer) contents(b doc.Contents) {
	l := look{size: bodySize}
	for _, h := range headings(p.doc, b.Level) {
		p.need(leading(l.size))
		x := edgeLeft + 14*float64(h.Level-1)
		number := p.pageOf(h.Anchor)
		right := p.paper.Width - edgeRight
		wide := p.widthOf(number, doc.Plain, l)
		line := p.wrap(doc.T("%s", h.Text), right-x-wide-12, l)[0]
		p.setLine(x, p.y+l.size, line, l)
		end := x
		if len(line) > 0 {
			end += line[len(line)-1].x + line[len(line)-1].width
		}
		p.stroke(doc.Grey, 0.5)
		p.pdf.SetDashPattern([]float64{0.5, 3}, 0)
		p.pdf.Line(end+4, p.y+l.size, right-wide-4, p.y+l.size)
		p.pdf.SetDashPattern(nil, 0)
		p.write(right-wide, p.y+l.size, number, doc.Plain, l)
		p.pdf.Link(x, p.y, right-x, leading(l.size), p.link(h.Anchor))
		p.y += leading(l.size) + 1
	}
	p.y += 4
}

// index sets the entries in two columns, with the pages of what they refer to. The columns of the last page are as long
// as each other.
func (p *printer) index(b doc.Index) {
	const between = 18
	l := look{size: smallSize}
	width := (p.measure() - between) / 2
	entries, left := make([][][]piece, len(b.Entries)), 0
	for n, e := range b.Entries {
		text := doc.Bold("%s ", e.Term)
		for i, r := range e.Refs {
			if i > 0 {
				text = append(text, doc.Span{Text: ", "})
			}
			text = append(text, doc.Span{Text: r.Text, Link: r.Link}, doc.Span{Text: " p. " + p.pageOf(r.Link), Style: doc.Faint})
		}
		entries[n] = p.wrap(text, width, l)
		left += len(entries[n])
	}
	top, column, lowest := p.y, 0, p.y
	end := p.columnEnd(top, left, l)
	for _, lines := range entries {
		if height := leading(l.size) * float64(len(lines)); p.y+height > end && p.y > top {
			if column++; column > 1 {
				p.newPage()
				top, column, lowest = p.y, 0, p.y
				end = p.columnEnd(top, left, l)
			} else {
				end = p.bottom()
			}
			p.y = top
		}
		left -= len(lines)
		x := edgeLeft + float64(column)*(width+between)
		for i, line := range lines {
			indent := 0.0
			if i > 0 {
				indent = 8
			}
			p.setLine(x+indent, p.y+l.size, line, l)
			p.y += leading(l.size)
		}
		lowest = max(lowest, p.y)
	}
	p.y = lowest + 4
}

// columnEnd is where the first of two columns ends that have so many lines between them.
func (p *printer) columnEnd(top float64, lines int, l look) float64 {
	return min(p.bottom(), top+leading(l.size)*float64((lines+1)/2)+1)
}

// figureSize is the scale of a figure and its height with its caption.
func (p *printer) figureSize(f doc.Figure) (scale, height float64) {
	caption := leading(smallSize) + 8
	scale = min(1, p.measure()/max(1, f.Width), (p.whole()-caption-40)/max(1, f.Height))
	return scale, f.Height*scale + caption
}

// leastFigure is how small a figure may become, of its size, to stand on a page that has some room left.
const leastFigure = 0.75

func (p *printer) figure(f doc.Figure) {
	scale, height := p.figureSize(f)
	if p.need(height * leastFigure); height > p.room() {
		scale *= p.room() / height
	}
	p.mark(f.Anchor)
	x0 := edgeLeft + (p.measure()-f.Width*scale)/2
	place := func(points []doc.Point) []fpdf.PointType {
		all := make([]fpdf.PointType, len(points))
		for i, q := range points {
			all[i] = fpdf.PointType{X: x0 + q.X*scale, Y: p.y + q.Y*scale}
		}
		return all
	}
	p.pdf.SetLineJoinStyle("round")
	for _, s := range f.Shapes {
		switch s := s.(type) {
		case doc.Line:
			p.drawLine(s, scale, place)
		case doc.Area:
			p.drawArea(s, scale, place)
		case doc.Label:
			style := doc.Plain
			if s.Bold {
				style = doc.Strong
			}
			l := look{size: letterSize(s.Size) * scale}
			text := lettersOf(s.Text, glyphs())
			at := place([]doc.Point{s.At})[0]
			at.X -= p.widthOf(text, style, l) * float64(s.Align) / 2
			family, weight, size := l.face(style)
			p.pdf.SetFont(family, weight, size)
			p.pdf.SetTextColor(rgb(s.Ink))
			p.pdf.Text(at.X, at.Y, text)
		}
	}
	p.y += f.Height*scale + 4
	p.flow(doc.Text{{Text: f.Caption, Style: doc.Faint}}, look{size: smallSize}, 0)
	p.y += 4
}

func (p *printer) drawLine(s doc.Line, scale float64, place func([]doc.Point) []fpdf.PointType) {
	if len(s.Points) < 2 {
		return
	}
	p.stroke(s.Ink, lineWidth(s.Width)*scale)
	p.dash(s.Dashed, scale)
	at := place(s.Points)
	p.pdf.MoveTo(at[0].X, at[0].Y)
	for _, q := range at[1:] {
		p.pdf.LineTo(q.X, q.Y)
	}
	p.pdf.DrawPath("D")
	p.dash(false, scale)
	if head := arrowHead(s.Points, arrowSize); s.Arrow && head != nil {
		p.fill(s.Ink)
		p.pdf.Polygon(place(head), "F")
	}
}

func (p *printer) drawArea(s doc.Area, scale float64, place func([]doc.Point) []fpdf.PointType) {
	how := ""
	if s.Fill != doc.NoInk {
		p.fill(s.Fill)
		how = "F"
	}
	if s.Edge != doc.NoInk {
		p.stroke(s.Edge, lineWidth(s.Width)*scale)
		p.dash(s.Dashed, scale)
		how += "D"
	}
	if how != "" {
		p.pdf.Polygon(place(s.Points), how)
	}
	p.dash(false, scale)
}

func (p *printer) dash(on bool, scale float64) {
	if on {
		p.pdf.SetDashPattern([]float64{4 * scale, 3 * scale}, 0)
	} else {
		p.pdf.SetDashPattern(nil, 0)
	}
}
