package render

import (
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"

	"ebbtide/internal/report/doc"
)

// Paper is the size of a sheet, in points.
type Paper struct {
	Name          string
	Width, Height float64
}

// Papers are the sizes that people have.
var Papers = []Paper{{"A4", 595.28, 841.89}, {"Letter", 612, 792}}

// PaperNamed finds a paper, in upper or lower case.
func PaperNamed(name string) (Paper, error) {
	for _, p := range Papers {
		if strings.EqualFold(p.Name, name) {
			return p, nil
		}
	}
	return Paper{}, fmt.Errorf("unknown paper %q: it is A4 or Letter", name)
}

// Of a sheet: its edges, in points. The left one has room for holes and for marks of what changed.
const (
	edgeLeft   = 54
	edgeRight  = 40
	edgeTop    = 44
	edgeBottom = 48
	footSize   = 7.5
	bodySize   = 9.2
	smallSize  = 7.8
)

// mostPasses is how often a document is laid out until the page numbers that it names are those that it has.
const mostPasses = 5

// PDF writes a document as PDF with its fonts in it, made in this process. Text that the fonts have no letters for is
// written by the letters' numbers. Without a date the file's own dates are those of 1970.
func PDF(w io.Writer, d *doc.Document, paper Paper) error {
	p := &printer{doc: d, paper: paper, ruler: newPDF(paper)}
	for range mostPasses {
		known, total := p.found, p.total
		p.render()
		if total == p.total && maps.Equal(known, p.found) {
			break
		}
	}
	if err := p.pdf.Output(w); err != nil {
		return fmt.Errorf("cannot write the PDF: %w", err)
	}
	return nil
}

// printer lays a document out on sheets.
type printer struct {
	doc   *doc.Document
	paper Paper
	ruler *fpdf.Fpdf // measures; it has no page, so that nothing is written
	width map[measured]float64

	pdf     *fpdf.Fpdf
	y       float64        // where the next block begins
	page    int            // the number of this page
	section string         // the heading that this page began under
	pages   map[string]int // of each anchor, as the pass before had them
	found   map[string]int // as this pass has them
	total   int            // pages
	links   map[string]int // places in the file, by anchor
}

func newPDF(paper Paper) *fpdf.Fpdf {
	pdf := fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: paper.Width, Ht: paper.Height}})
	pdf.SetAutoPageBreak(false, 0)
	pdf.SetMargins(0, 0, 0)
	addFonts(pdf)
	return pdf
}

// render makes one pass.
func (p *printer) render() {
	d := p.doc
	p.pages, p.found, p.links = p.found, map[string]int{}, map[string]int{}
	p.pdf, p.page, p.section = newPDF(p.paper), 0, ""
	p.pdf.SetCatalogSort(true)
	date := d.Date
	if date.IsZero() {
		date = time.Unix(0, 0)
	}
	p.pdf.SetCreationDate(date.UTC())
	p.pdf.SetModificationDate(date.UTC())
	p.pdf.SetTitle(d.Title, true)
	p.pdf.SetSubject(d.Subtitle, true)
	p.pdf.SetProducer("Ebbtide", true)
	p.pdf.SetLang("en")
	p.newPage()
	p.cover()
	for i := range d.Blocks {
		p.block(i)
	}
	p.total = p.page
}

// cover writes the document's title at the head of its first page.
func (p *printer) cover() {
	p.flow(doc.Bold("%s", p.doc.Title), look{size: 22}, 0)
	if p.doc.Subtitle != "" {
		p.flow(doc.T("%s", p.doc.Subtitle), look{size: 11.5}, 0)
	}
	if meta := strings.Join(doc.Filled(p.doc.Head, p.doc.Day()), " · "); meta != "" {
		p.flow(doc.Text{{Text: meta, Style: doc.Faint}}, look{size: bodySize}, 0)
	}
	p.y += 6
}

func (p *printer) bottom() float64 { return p.paper.Height - edgeBottom }

// room is how much of the page is left.
func (p *printer) room() float64 { return p.bottom() - p.y }

// whole is the height of an empty page.
func (p *printer) whole() float64 { return p.bottom() - edgeTop }

// measure is the width between the edges.
func (p *printer) measure() float64 { return p.paper.Width - edgeLeft - edgeRight }

// need begins a new page unless so much is left of this one.
func (p *printer) need(height float64) {
	if height > p.room() && p.y > edgeTop {
		p.newPage()
	}
}

func (p *printer) newPage() {
	p.pdf.AddPage()
	p.page++
	p.y = edgeTop
	foot := p.paper.Height - 26
	p.stroke(doc.Foreground, 0.5)
	p.pdf.Line(edgeLeft, foot-10, p.paper.Width-edgeRight, foot-10)
	left := strings.Join(doc.Filled(p.doc.Title, p.doc.Head, p.doc.Day()), " · ")
	right := fmt.Sprintf("page %d of %d", p.page, max(p.page, p.total))
	small := look{size: footSize}
	wide := p.widthOf(right, doc.Plain, small)
	for left != "" && p.widthOf(left, doc.Plain, small) > p.measure()-wide-16 {
		left = strings.TrimRight(left[:strings.LastIndexAny(" "+left, " ")], " ·")
	}
	p.write(edgeLeft, foot, left, doc.Plain, small)
	p.write(p.paper.Width-edgeRight-wide, foot, right, doc.Plain, small)
	if p.section != "" {
		p.write(edgeLeft, 28, p.section, doc.Faint, small)
	}
}

// block lays out the block with this number.
func (p *printer) block(i int) {
	switch b := p.doc.Blocks[i].(type) {
	case doc.Heading:
		p.heading(i, b)
	case doc.Paragraph:
		p.need(p.lead(i))
		p.flowMarked(b.Text, look{size: bodySize}, 0, b.Changed)
		p.y += 4
	case doc.List:
		p.list(b)
	case doc.Note:
		p.note(i, b)
	case doc.Table:
		p.table(i, b)
	case doc.Step:
		p.step(i, b)
	case doc.Steps:
		p.steps(i, b)
	case doc.Figure:
		p.figure(b)
	case doc.Contents:
		p.contents(b)
	case doc.Index:
		p.index(b)
	case doc.PageBreak:
		if used := p.y - edgeTop; used > 0 && used < p.whole()/4 { // some lines that spilled over are no page
			p.y += 3 * leading(bodySize)
		} else if used > 0 {
			if i+1 < len(p.doc.Blocks) {
				if h, ok := p.doc.Blocks[i+1].(doc.Heading); ok && h.Level == 1 {
					p.section = "" // a page that begins with a chapter needs no reminder of the one before
				}
			}
			p.newPage()
		}
	}
}

// mark notes that an anchor is here, so that what refers to it leads here.
func (p *printer) mark(anchor string) {
	if anchor == "" {
		return
	}
	p.found[anchor] = p.page
	p.pdf.SetLink(p.link(anchor), max(0, p.y-8), p.page)
}

// link is the place in the file that stands for an anchor.
func (p *printer) link(anchor string) int {
	if _, ok := p.links[anchor]; !ok {
		p.links[anchor] = p.pdf.AddLink()
	}
	return p.links[anchor]
}

// pageOf writes the page of an anchor, as far as it is known.
func (p *printer) pageOf(anchor string) string {
	if n := p.pages[anchor]; n > 0 {
		return fmt.Sprint(n)
	}
	return "–"
}

// stroke and fill set the ink of what is drawn next, as on white paper.
func (p *printer) stroke(ink doc.Ink, width float64) {
	r, g, b := rgb(ink)
	p.pdf.SetDrawColor(r, g, b)
	p.pdf.SetLineWidth(width)
}

func (p *printer) fill(ink doc.Ink) {
	r, g, b := rgb(ink)
	p.pdf.SetFillColor(r, g, b)
}

func rgb(ink doc.Ink) (r, g, b int) {
	c := colours[ink].light
	return int(c >> 16), int(c >> 8 & 0xff), int(c & 0xff)
}
