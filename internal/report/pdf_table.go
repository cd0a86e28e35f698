package report

// The measures of tables and steps, in points.
const (
	cellPad    = 3.5
	blankLine  = 24
	fieldWidth = 92
	stepPad    = 6
	boxHeight  = 17
	boxWidth   = 58
)

var (
	cellLook = look{size: 8.4}
	headLook = look{size: 8, strong: true}
)

// columns gives each column its width.
func (p *printer) columns(t Table) []float64 {
	widths := t.shares()
	for i := range widths {
		widths[i] *= p.measure()
	}
	return widths
}

// cells is a row that was wrapped.
type cells struct {
	lines [][][]piece // by column
	most  int         // lines of its highest cell
}

func (p *printer) wrapRow(texts []Text, widths []float64, l look) cells {
	var c cells
	for i := range widths {
		var t Text
		if i < len(texts) {
			t = texts[i]
		}
		lines := p.wrap(t, widths[i]-2*cellPad, l)
		c.lines, c.most = append(c.lines, lines), max(c.most, len(lines))
	}
	return c
}

func (c *cells) height(l look) float64 { return float64(c.most)*leading(l.size) + 2*cellPad - 2 }

// tableLead is the height of a table's titles and first row.
func (p *printer) tableLead(t Table) float64 {
	widths := p.columns(t)
	titles := p.wrapRow(titlesOf(t), widths, headLook)
	height := titles.height(headLook)
	if len(t.Rows) > 0 {
		first := p.wrapRow(t.Rows[0].Cells, widths, cellLook)
		height += min(first.height(cellLook), p.whole()/3)
	} else {
		height += blankLine * float64(min(3, t.Blank))
	}
	return height
}

func titlesOf(t Table) []Text {
	var all []Text
	for _, c := range t.Columns {
		all = append(all, T("%s", c.Title))
	}
	return all
}

func (p *printer) table(t Table) {
	widths := p.columns(t)
	titles := p.wrapRow(titlesOf(t), widths, headLook)
	head := func() {
		p.setRow(t, &titles, widths, headLook, 0, titles.most)
		p.stroke(Foreground, 1)
		p.pdf.Line(edgeLeft, p.y, p.paper.Width-edgeRight, p.y)
	}
	p.need(p.tableLead(t))
	head()
	for _, r := range t.Rows {
		row := p.wrapRow(r.Cells, widths, cellLook)
		if height := row.height(cellLook); height > p.room() && height < p.whole()/2 {
			p.newPage()
			head()
		}
		p.mark(r.Anchor)
		for from := 0; from < row.most; {
			fit := int((p.room() - 2*cellPad + 2) / leading(cellLook.size))
			if fit < 1 {
				p.newPage()
				head()
				continue
			}
			to := min(row.most, from+fit)
			top := p.y
			p.setRow(t, &row, widths, cellLook, from, to)
			if r.Changed {
				p.changed(top, p.y)
			}
			if from = to; from < row.most {
				p.newPage()
				head()
			}
		}
		p.stroke(Pale, 0.5)
		p.pdf.Line(edgeLeft, p.y, p.paper.Width-edgeRight, p.y)
	}
	for range t.Blank {
		if p.room() < blankLine {
			p.newPage()
			head()
		}
		p.stroke(Grey, 0.5)
		x := float64(edgeLeft)
		for _, w := range widths {
			p.pdf.Rect(x, p.y, w, blankLine, "D")
			x += w
		}
		p.y += blankLine
	}
	p.y += 8
}

// setRow writes some lines of a row's cells.
func (p *printer) setRow(t Table, c *cells, widths []float64, l look, from, to int) {
	x := float64(edgeLeft)
	for i, w := range widths {
		y := p.y + cellPad - 1
		for n := from; n < min(to, len(c.lines[i])); n++ {
			line := c.lines[i][n]
			at := x + cellPad
			if t.Columns[i].Right && len(line) > 0 {
				last := line[len(line)-1]
				at = x + w - cellPad - last.x - last.width
			}
			p.setLine(at, y+l.size, line, l)
			y += leading(l.size)
		}
		x += w
	}
	p.y += float64(to-from)*leading(l.size) + 2*cellPad - 2
}

var (
	stepLook  = look{size: 10, strong: true}
	fieldLook = look{size: 8.6}
)

// numberWidth is the room for a step's number.
func (p *printer) numberWidth(s Step) float64 {
	if s.Number == "" {
		return 0
	}
	return max(18, p.widthOf(s.Number, Strong, stepLook)+8)
}

func (p *printer) stepTitle(s Step) [][]piece {
	return p.wrap(s.Title, p.measure()-2*stepPad-p.numberWidth(s)-8-p.boxesWidth(s), stepLook)
}

func (p *printer) boxesWidth(s Step) float64 {
	if len(s.Boxes) == 0 {
		return 0
	}
	return boxHeight + float64(len(s.Boxes))*(boxWidth+4) + 6
}

func (p *printer) fieldLines(f Field) [][]piece {
	var all [][]piece
	for _, t := range f.Lines {
		all = append(all, p.wrap(t, p.measure()-2*stepPad-fieldWidth, fieldLook)...)
	}
	return all
}

func (p *printer) stepHeight(s Step) float64 {
	height := p.stepHead(s) + 2*stepPad + 6
	for _, f := range s.Fields {
		height += float64(len(p.fieldLines(f)))*leading(fieldLook.size) + 1
	}
	return height
}

func (p *printer) stepHead(s Step) float64 {
	return max(boxHeight+3, float64(len(p.stepTitle(s)))*leading(stepLook.size)+3)
}

// step sets a step in a frame. It stands on one page unless it is longer than one.
func (p *printer) step(i int, s Step) {
	height := p.stepHeight(s)
	if i+2 < len(p.doc.Blocks) {
		last, note := p.doc.Blocks[i+1].(Note)
		if _, end := p.doc.Blocks[i+2].(PageBreak); note && end { // what closes a chapter does not stand on a page alone
			height += p.noteHeight(last) + 2
		}
	}
	p.need(min(height, p.whole()))
	top := p.y
	p.mark(s.Anchor)
	p.y += stepPad
	p.stepTop(s)
	frame := func() {
		p.stroke(Grey, 0.75)
		p.pdf.Rect(edgeLeft, top, p.measure(), p.y+stepPad-2-top, "D")
		if s.Changed {
			p.changed(top, p.y+stepPad-2)
		}
	}
	for _, f := range s.Fields {
		p.field(f, func() { frame(); p.newPage(); top = p.y; p.y += stepPad })
	}
	frame()
	p.y += stepPad + 5
}

// field sets a field of a step. Over turns the page where it does not fit.
func (p *printer) field(f Field, over func()) {
	for i, line := range p.fieldLines(f) {
		if p.room() < leading(fieldLook.size)+stepPad {
			over()
		}
		if i == 0 {
			p.write(edgeLeft+stepPad, p.y+fieldLook.size, lettersOf(f.Name, glyphs()), Faint, fieldLook)
		}
		p.setLine(edgeLeft+stepPad+fieldWidth, p.y+fieldLook.size, line, fieldLook)
		p.y += leading(fieldLook.size)
	}
	p.y++
}

// stepTop sets a step's number, title and boxes.
func (p *printer) stepTop(s Step) {
	wide := p.numberWidth(s)
	if s.Number != "" {
		p.stroke(Foreground, 1)
		p.pdf.Rect(edgeLeft+stepPad, p.y, wide, 15, "D")
		p.write(edgeLeft+stepPad+(wide-p.widthOf(s.Number, Strong, stepLook))/2, p.y+11, s.Number, Strong, stepLook)
	}
	y := p.y + 1
	for _, line := range p.stepTitle(s) {
		p.setLine(edgeLeft+stepPad+wide+8, y+stepLook.size, line, stepLook)
		y += leading(stepLook.size)
	}
	p.boxes(s.Boxes)
	p.y += p.stepHead(s)
}

// boxes sets what a person ticks and writes in, at the right.
func (p *printer) boxes(names []string) {
	if len(names) == 0 {
		return
	}
	x := p.paper.Width - edgeRight - stepPad - p.boxesWidth(Step{Boxes: names}) + 6
	p.stroke(Foreground, 1)
	p.pdf.Rect(x, p.y, boxHeight, boxHeight, "D")
	x += boxHeight + 4
	p.stroke(Grey, 0.5)
	for _, b := range names {
		p.pdf.Rect(x, p.y, boxWidth, boxHeight, "D")
		p.write(x+2, p.y+5.5, lettersOf(b, glyphs()), Faint, look{size: 5.5})
		x += boxWidth + 4
	}
}
