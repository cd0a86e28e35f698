package render

import (
	"ebbtide/internal/report/doc"
)

// The measures of tables, in points.
const (
	cellPad   = 3.5
	blankLine = 24
)

var (
	cellLook = look{size: 8.4}
	headLook = look{size: 8, strong: true}
)

// columns gives each column its width.
func (p *printer) columns(t doc.Table) []float64 {
	widths := t.Shares()
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

func (p *printer) wrapRow(texts []doc.Text, widths []float64, l look) cells {
	var c cells
	for i := range widths {
		var t doc.Text
		if i < len(texts) {
			t = texts[i]
		}
		lines := p.wrap(t, widths[i]-2*cellPad, l)
		c.lines, c.most = append(c.lines, lines), max(c.most, len(lines))
	}
	return c
}

func (c *cells) height(l look) float64 { return float64(c.most)*leading(l.size) + 2*cellPad - 2 }

// tableLead is the height of a table's titles and first rows.
func (p *printer) tableLead(t doc.Table) float64 {
	widths := p.columns(t)
	titles := p.wrapRow(titlesOf(t), widths, headLook)
	height := titles.height(headLook)
	for _, r := range t.Rows[:min(2, len(t.Rows))] { // one of several rows does not stand alone
		row := p.wrapRow(r.Cells, widths, cellLook)
		height += min(row.height(cellLook), p.whole()/4)
	}
	if len(t.Rows) == 0 {
		height += blankLine * float64(min(3, t.Blank))
	}
	return height
}

func titlesOf(t doc.Table) []doc.Text {
	var all []doc.Text
	for _, c := range t.Columns {
		all = append(all, doc.T("%s", c.Title))
	}
	return all
}

func (p *printer) table(i int, t doc.Table) {
	widths := p.columns(t)
	titles := p.wrapRow(titlesOf(t), widths, headLook)
	head := func() {
		p.setRow(t, &titles, widths, headLook, 0, titles.most)
		p.stroke(doc.Foreground, 1)
		p.pdf.Line(edgeLeft, p.y, p.paper.Width-edgeRight, p.y)
	}
	p.need(p.tableLead(t))
	head()
	for n, r := range t.Rows {
		row := p.wrapRow(r.Cells, widths, cellLook)
		height := row.height(cellLook)
		if n == len(t.Rows)-2 && n > 0 { // the last row does not stand alone on a page
			last := p.wrapRow(t.Rows[n+1].Cells, widths, cellLook)
			height += last.height(cellLook)
		}
		if n >= len(t.Rows)-2 {
			height += p.closing(i)
		}
		if height > p.room() && height < p.whole()/2 {
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
		p.stroke(doc.Pale, 0.5)
		p.pdf.Line(edgeLeft, p.y, p.paper.Width-edgeRight, p.y)
	}
	for range t.Blank {
		if p.room() < blankLine {
			p.newPage()
			head()
		}
		p.stroke(doc.Grey, 0.5)
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
func (p *printer) setRow(t doc.Table, c *cells, widths []float64, l look, from, to int) {
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
