package render

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"codeberg.org/go-fonts/liberation/liberationmonoregular"
	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/font/sfnt"

	"ebbtide/internal/report/doc"
)

// look is how a text is set.
type look struct {
	size   float64
	strong bool // all of it
}

// leading is the height of a line of letters of a size.
func leading(size float64) float64 { return size * 1.3 }

func addFonts(pdf *fpdf.Fpdf) {
	pdf.AddUTF8FontFromBytes("sans", "", liberationsansregular.TTF)
	pdf.AddUTF8FontFromBytes("sans", "B", liberationsansbold.TTF)
	pdf.AddUTF8FontFromBytes("mono", "", liberationmonoregular.TTF)
}

// face gives family, weight and size of a style.
func (l look) face(s doc.Style) (family, weight string, size float64) {
	switch {
	case s == doc.Code:
		return "mono", "", l.size * 0.92
	case s == doc.Strong || l.strong:
		return "sans", "B", l.size
	default:
		return "sans", "", l.size
	}
}

// glyphs tells which letters the fonts have: the three are one family and have the same.
var glyphs = sync.OnceValue(func() func(rune) bool {
	fonts := make([]*sfnt.Font, 0, 3)
	for _, ttf := range [][]byte{liberationsansregular.TTF, liberationsansbold.TTF, liberationmonoregular.TTF} {
		f, err := sfnt.Parse(ttf)
		if err != nil {
			panic("the built-in fonts can't be read: " + err.Error())
		}
		fonts = append(fonts, f)
	}
	var known sync.Map // documents may be printed at the same time
	return func(r rune) bool {
		if has, ok := known.Load(r); ok {
			return has.(bool)
		}
		has := true
		for _, f := range fonts {
			g, err := f.GlyphIndex(nil, r)
			has = has && err == nil && g != 0
		}
		known.Store(r, has)
		return has
	}
})

// instead is what stands for signs that the fonts lack.
var instead = map[rune]string{'✓': "√", '✔': "√", '☐': "□", '▸': "►", '‑': "-", '\u00a0': " ", '\t': " "}

// letters writes a text in letters that the fonts have. What they lack is written as its number: nothing is lost.
func lettersOf(s string, has func(rune) bool) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case instead[r] != "":
			b.WriteString(instead[r])
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
		case has(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "U+%04X", r)
		}
	}
	return b.String()
}

// measured is a word that was measured.
type measured struct {
	text, family, weight string
	size                 float64
}

func (p *printer) widthOf(s string, style doc.Style, l look) float64 {
	family, weight, size := l.face(style)
	key := measured{s, family, weight, size}
	w, ok := p.width[key]
	if !ok {
		p.ruler.SetFont(family, weight, size)
		w = p.ruler.GetStringWidth(s)
		if p.width == nil {
			p.width = map[measured]float64{}
		}
		p.width[key] = w
	}
	return w
}

// write sets a text that is not broken, from x on the baseline y.
func (p *printer) write(x, y float64, s string, style doc.Style, l look) {
	if s == "" {
		return
	}
	family, weight, size := l.face(style)
	ink := doc.Foreground
	if style == doc.Faint {
		ink = doc.Grey
	}
	p.pdf.SetFont(family, weight, size)
	p.pdf.SetTextColor(rgb(ink))
	p.pdf.Text(x, y, s)
}

// piece is a part of a line, in one style, at a place in it.
type piece struct {
	doc.Span
	x, width float64
}

// goesOn is how far a line of code is indented that goes on from the one above: it is typed as one.
const goesOn = 14

// wrap breaks a text into lines of at most a width: between words, and within a word that is wider than a line.
func (p *printer) wrap(t doc.Text, width float64, l look) [][]piece {
	var lines [][]piece
	var line []piece
	x := 0.0
	end := func() { lines, line, x = append(lines, line), nil, 0 }
	on := func(was, is doc.Style) {
		if end(); was == doc.Code && is == doc.Code {
			x = goesOn
		}
	}
	for _, word := range words(t) {
		if word == nil {
			end()
			continue
		}
		wide := 0.0
		for i := range word {
			word[i].Text = lettersOf(word[i].Text, glyphs())
			wide += p.widthOf(word[i].Text, word[i].Style, l)
		}
		space := 0.0
		if len(line) > 0 {
			space = p.widthOf(" ", doc.Plain, l)
		}
		if len(line) > 0 && x+space+wide > width {
			on(line[len(line)-1].Style, word[0].Style)
			space = 0
		}
		x += space
		for _, s := range word {
			for s.Text != "" {
				part, rest := p.fitting(s, width-x, l, len(line) == 0)
				if part == "" {
					on(line[len(line)-1].Style, s.Style)
					continue
				}
				w := p.widthOf(part, s.Style, l)
				line = append(line, piece{doc.Span{Text: part, Style: s.Style, Link: s.Link}, x, w})
				x += w
				if s.Text = rest; rest != "" {
					on(s.Style, s.Style)
				}
			}
		}
	}
	if len(line) > 0 || len(lines) == 0 {
		end()
	}
	return lines
}

// fitting cuts from a word what fits a width, at least one letter if it must.
func (p *printer) fitting(s doc.Span, width float64, l look, must bool) (part, rest string) {
	if p.widthOf(s.Text, s.Style, l) <= width+0.01 {
		return s.Text, ""
	}
	runes, wide := []rune(s.Text), 0.0
	n, good := 0, 0
	for n < len(runes) {
		if wide += p.widthOf(string(runes[n]), s.Style, l); wide > width {
			break
		}
		n++
		if strings.ContainsRune("/-_.:,;=@|", runes[n-1]) {
			good = n // a better place to break than any
		}
	}
	if good*2 > n {
		n = good
	}
	if n == 0 && must {
		n = 1
	}
	return string(runes[:n]), string(runes[n:])
}

// words parts a text at its spaces. A word may have parts in different styles; nil stands for a line feed. In what is
// typed as it stands, each of several spaces counts.
func words(t doc.Text) [][]doc.Span {
	var all [][]doc.Span
	var word []doc.Span
	t = slices.Clone(t)
	for i := range t {
		if t[i].Style == doc.Code {
			t[i].Text = strings.ReplaceAll(strings.ReplaceAll(t[i].Text, "  ", " \u00a0"), "\n ", "\n\u00a0")
		} else {
			t[i].Text = unbroken(t[i].Text)
		}
	}
	flush := func() {
		if word != nil {
			all, word = append(all, word), nil
		}
	}
	for _, s := range t {
		from := 0
		for i, r := range s.Text {
			if r != ' ' && r != '\n' && r != '\t' {
				continue
			}
			if i > from {
				word = append(word, doc.Span{Text: s.Text[from:i], Style: s.Style, Link: s.Link})
			}
			flush()
			if r == '\n' {
				all = append(all, nil)
			}
			from = i + 1
		}
		if from < len(s.Text) {
			word = append(word, doc.Span{Text: s.Text[from:], Style: s.Style, Link: s.Link})
		}
	}
	flush()
	return all
}

// setLine writes a line that was wrapped, from x on the baseline y.
func (p *printer) setLine(x, y float64, line []piece, l look) {
	for i := 0; i < len(line); {
		first := line[i]
		text, end := first.Text, first.x+first.width
		space := p.widthOf(" ", first.Style, l)
		for i++; i < len(line) && line[i].Style == first.Style && line[i].Link == first.Link; i++ {
			gap := line[i].x - end
			if gap > 0.01 && (gap-space > 0.01 || space-gap > 0.01) {
				break // its own blanks are of another width
			}
			if gap > 0.01 {
				text += " "
			}
			text += line[i].Text
			end = line[i].x + line[i].width
		}
		p.write(x+first.x, y, text, first.Style, l)
		if first.Link != "" {
			p.pdf.Link(x+first.x, y-l.size, end-first.x, leading(l.size), p.link(first.Link))
		}
	}
}

// flow sets a text over the whole width, but for an indent, and goes on on the next page. No page begins or ends with a
// single line of it.
func (p *printer) flow(t doc.Text, l look, indent float64) { p.flowMarked(t, l, indent, false) }

// flowMarked is flow of a text that may be marked as changed.
func (p *printer) flowMarked(t doc.Text, l look, indent float64, changed bool) {
	lines := p.wrap(t, p.measure()-indent, l)
	height := leading(l.size)
	for len(lines) > 0 {
		fit := int(p.room() / height)
		switch {
		case fit >= len(lines):
			fit = len(lines)
		case fit < 2 && p.y > edgeTop:
			p.newPage()
			continue
		case len(lines)-fit == 1 && fit > 2:
			fit--
		}
		fit = max(fit, 1)
		if changed {
			p.changed(p.y, p.y+height*float64(fit))
		}
		for _, line := range lines[:fit] {
			p.setLine(edgeLeft+indent, p.y+l.size, line, l)
			p.y += height
		}
		lines = lines[fit:]
	}
}
