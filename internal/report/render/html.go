package render

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"strings"

	"ebbtide/internal/report/doc"
)

//go:embed document.css
var stylesheet string

// HTML writes a document as one file that needs nothing else: no script, no network. It is read in a light or a dark
// window, on a phone, aloud, and on paper.
func HTML(w io.Writer, d *doc.Document) error {
	h := &hypertext{doc: d}
	h.f("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	h.f("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n")
	// A page that says so itself keeps even what was written by mistake from loading anything.
	h.f("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n")
	h.f("<link rel=\"icon\" href=\"data:,\">\n<title>%s</title>\n<style>\n%s%s</style>\n</head>\n<body>\n<header>\n<h1>%s</h1>\n",
		esc(d.Title), inkRules(), stylesheet, esc(d.Title))
	if d.Subtitle != "" {
		h.f("<p class=\"subtitle\">%s</p>\n", esc(d.Subtitle))
	}
	if meta := strings.Join(doc.Filled(d.Head, d.Day()), " · "); meta != "" {
		h.f("<p class=\"meta\">%s</p>\n", esc(meta))
	}
	h.f("</header>\n<main>\n")
	for _, b := range d.Blocks {
		h.block(b)
	}
	h.f("</main>\n</body>\n</html>\n")
	if _, err := io.WriteString(w, h.String()); err != nil {
		return fmt.Errorf("cannot write the document: %w", err)
	}
	return nil
}

// inkRules are the inks as custom properties, for light and for dark.
func inkRules() string {
	var light, dark strings.Builder
	for i, c := range colours {
		if doc.Ink(i) != doc.NoInk {
			fmt.Fprintf(&light, "--ink%d:#%06x;", i, c.light)
			fmt.Fprintf(&dark, "--ink%d:#%06x;", i, c.dark)
		}
	}
	return ":root{" + light.String() + "}\n@media screen and (prefers-color-scheme:dark){:root{" + dark.String() + "}}\n"
}

type hypertext struct {
	strings.Builder
	doc     *doc.Document
	figures int
	section string // the newest heading
	level   int    // and its level
}

func (h *hypertext) f(format string, args ...any) { fmt.Fprintf(h, format, args...) }

func esc(s string) string { return html.EscapeString(s) }

// id is an attribute, or nothing.
func id(anchor string) string {
	if anchor == "" {
		return ""
	}
	return ` id="` + esc(anchor) + `"`
}

func (h *hypertext) block(b doc.Block) {
	switch b := b.(type) {
	case doc.Heading:
		h.section, h.level = b.Text, min(b.Level, h.level+1) // those who can't see it go from level to level
		h.f("<h%d%s>%s</h%d>\n", h.level+1, id(b.Anchor), esc(b.Text), h.level+1)
	case doc.Paragraph:
		h.f("<p%s>%s%s</p>\n", changedClass(b.Changed, ""), changedWord(b.Changed), htmlText(b.Text))
	case doc.List:
		tag := "ul"
		if b.Numbered {
			tag = "ol"
		}
		h.f("<%s>\n", tag)
		for i, item := range b.Items {
			h.f("<li%s>%s%s</li>\n", changedClass(b.IsChanged(i), ""), changedWord(b.IsChanged(i)), htmlText(item))
		}
		h.f("</%s>\n", tag)
	case doc.Note:
		h.f("<aside%s%s>%s<strong>%s</strong> %s</aside>\n", id(b.Anchor), changedClass(b.Changed, ""), changedWord(b.Changed),
			esc(b.Opening()), htmlText(b.Text))
	case doc.Table:
		h.table(b)
	case doc.Step:
		h.step(b)
	case doc.Steps:
		h.steps(b)
	case doc.Figure:
		h.figure(b)
	case doc.Contents:
		h.contents(b)
	case doc.Index:
		h.f("<dl class=\"index\">\n")
		for _, e := range b.Entries {
			var refs []string
			for _, r := range e.Refs {
				refs = append(refs, htmlText(doc.Text{r}))
			}
			h.f("<div><dt>%s</dt><dd>%s</dd></div>\n", esc(e.Term), strings.Join(refs, ", "))
		}
		h.f("</dl>\n")
	case doc.PageBreak:
		h.f("<div class=\"break\"></div>\n")
	}
}

func (h *hypertext) contents(c doc.Contents) {
	h.f("<nav aria-label=\"Contents\">\n")
	depth := 0
	for _, head := range headings(h.doc, c.Level) {
		for ; depth > head.Level; depth-- {
			h.f("</li></ul>\n")
		}
		if depth == head.Level {
			h.f("</li>\n")
		}
		for ; depth < head.Level; depth++ {
			h.f("<ul>\n")
		}
		h.f("<li><a href=\"#%s\">%s</a>", esc(head.Anchor), esc(head.Text))
	}
	for ; depth > 0; depth-- {
		h.f("</li></ul>\n")
	}
	h.f("</nav>\n")
}

func (h *hypertext) table(t doc.Table) {
	class := ""
	if len(t.Columns) > 3 {
		class = ` class="wide"`
	}
	h.f("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table: %s\"><table%s>\n<colgroup>", esc(h.section), class)
	for _, share := range t.Shares() {
		h.f("<col style=\"width:%s%%\">", num(100*share))
	}
	h.f("</colgroup>\n<thead><tr>")
	for _, c := range t.Columns {
		h.f("<th scope=\"col\"%s>%s</th>", right(c), esc(c.Title))
	}
	h.f("</tr></thead>\n<tbody>\n")
	for _, r := range t.Rows {
		h.f("<tr%s%s>", id(r.Anchor), changedClass(r.Changed, ""))
		for i, c := range r.Cells {
			h.f("<td%s>", right(t.Columns[i]))
			if i == 0 {
				h.WriteString(changedWord(r.Changed))
			}
			h.f("%s</td>", htmlText(c))
		}
		h.f("</tr>\n")
	}
	for range t.Blank {
		h.f("<tr class=\"blank\">%s</tr>\n", strings.Repeat("<td>&nbsp;</td>", len(t.Columns)))
	}
	h.f("</tbody>\n</table></div>\n")
}

func right(c doc.Column) string {
	if c.Right {
		return ` class="right"`
	}
	return ""
}

func (h *hypertext) step(s doc.Step) {
	h.f("<section%s%s>\n<div class=\"head\"><p class=\"title\">", id(s.Anchor), changedClass(s.Changed, "step"))
	h.WriteString(changedWord(s.Changed))
	if s.Number != "" {
		h.f("<span class=\"number\">%s</span> ", esc(s.Number))
	}
	h.f("%s</p>", htmlText(s.Title))
	h.boxes(s.Boxes)
	h.f("</div>\n")
	h.fields(s.Fields)
	h.f("</section>\n")
}

// boxes are there to tick and to write in, on paper.
func (h *hypertext) boxes(names []string) {
	if len(names) == 0 {
		return
	}
	h.f("<p class=\"boxes\"><span class=\"tick\" aria-hidden=\"true\"></span>")
	for _, b := range names {
		h.f("<span class=\"box\">%s</span>", esc(b))
	}
	h.f("</p>")
}

func (h *hypertext) fields(all []doc.Field) {
	h.f("<dl>\n")
	for _, f := range all {
		h.f("<dt>%s</dt><dd>", esc(f.Name))
		h.lines(f.Lines)
		h.f("</dd>\n")
	}
	h.f("</dl>\n")
}

func (h *hypertext) lines(all []doc.Text) {
	for i, l := range all {
		if i > 0 {
			h.f("<br>")
		}
		h.f("%s", htmlText(l))
	}
}

// steps writes equal steps: what holds for all, and a list of them.
func (h *hypertext) steps(s doc.Steps) {
	h.f("<section class=\"step many\">\n<div class=\"head\"><p class=\"title\"><span class=\"number\">%s</span> %s</p></div>\n",
		esc(s.Number), htmlText(s.Title))
	h.fields(s.Fields)
	h.f("<ul class=\"each\">\n")
	for _, e := range s.Each {
		h.f("<li%s%s><div>", id(e.Step.Anchor), changedClass(e.Step.Changed, ""))
		h.WriteString(changedWord(e.Step.Changed))
		h.f("<span class=\"number\">%s</span> %s", esc(e.Step.Number), htmlText(e.Title))
		if len(e.Lines) > 0 {
			h.f("<br>")
			h.lines(e.Lines)
		}
		h.f("</div>")
		h.boxes(s.Boxes)
		h.f("</li>\n")
	}
	h.f("</ul>\n</section>\n")
}

// changedWord says in a word what the mark in the margin shows.
func changedWord(changed bool) string {
	if changed {
		return "<span class=\"changed-mark\">changed</span> "
	}
	return ""
}

func changedClass(changed bool, class string) string {
	if changed {
		class = strings.TrimSpace(class + " changed")
	}
	if class == "" {
		return ""
	}
	return ` class="` + class + `"`
}

func htmlText(t doc.Text) string {
	var b strings.Builder
	for _, s := range t {
		text := s.Text
		if s.Style != doc.Code {
			text = unbroken(text)
		}
		part := strings.ReplaceAll(esc(text), "\n", "<br>")
		switch s.Style {
		case doc.Strong:
			part = "<strong>" + part + "</strong>"
		case doc.Code:
			part = "<code>" + part + "</code>"
		case doc.Faint:
			part = "<small>" + part + "</small>"
		case doc.Plain:
		}
		if s.Link != "" {
			part = `<a href="#` + esc(s.Link) + `">` + part + "</a>"
		}
		b.WriteString(part)
	}
	return b.String()
}
