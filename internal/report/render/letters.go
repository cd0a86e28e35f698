package render

import (
	"slices"
	"strings"
	"unicode"

	"ebbtide/internal/report/doc"
)

// Lack is a place in a document with letters that the fonts of the PDF have not.
type Lack struct {
	Where   string // the heading over it, and of a table or a step what it is about
	Letters string // each once, in the order of reading
}

// Lacks lists the places with letters that the PDF writes by their numbers, U+5BB6. HTML and Markdown have them as they are.
func Lacks(d *doc.Document) []Lack {
	var all []Lack
	eachText(d, func(where, text string) {
		for _, r := range text {
			if instead[r] != "" || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || glyphs()(r) {
				continue
			}
			at := slices.IndexFunc(all, func(l Lack) bool { return l.Where == where })
			if at < 0 {
				all = append(all, Lack{Where: where})
				at = len(all) - 1
			}
			if !strings.ContainsRune(all[at].Letters, r) {
				all[at].Letters += string(r)
			}
		}
	})
	return all
}

// eachText visits every text of a document, with the place where it stands.
func eachText(d *doc.Document, visit func(where, text string)) {
	where := d.Title
	visit(where, strings.Join([]string{d.Title, d.Subtitle, d.Head}, " "))
	for _, b := range d.Blocks {
		if h, is := b.(doc.Heading); is {
			if h.Level == 1 {
				where = h.Text
			}
			visit(where, h.Text)
			continue
		}
		textsOf(b, where, visit)
	}
}

// textsOf visits every text of a block, which stands under a heading.
func textsOf(b doc.Block, where string, visit func(where, text string)) {
	said := func(of string, texts ...doc.Text) {
		for _, t := range texts {
			visit(strings.TrimSuffix(where+": "+of, ": "), t.String())
		}
	}
	fields := func(of string, all []doc.Field) {
		for _, f := range all {
			said(of, append([]doc.Text{doc.T("%s", f.Name)}, f.Lines...)...)
		}
	}
	switch b := b.(type) {
	case doc.Paragraph:
		said("", b.Text)
	case doc.Note:
		said(b.Title, doc.T("%s", b.Title), b.Text)
	case doc.List:
		said("", b.Items...)
	case doc.Table:
		for _, c := range b.Columns {
			said("", doc.T("%s", c.Title))
		}
		for _, r := range b.Rows {
			said(r.Cells[0].String(), r.Cells...)
		}
	case doc.Step:
		said(strings.TrimSpace(b.Number+" "+b.Title.String()), b.Title)
		fields(strings.TrimSpace(b.Number+" "+b.Title.String()), b.Fields)
	case doc.Steps:
		fields(b.Number+" "+b.Title.String(), b.Fields)
		for _, e := range b.Each {
			said(e.Step.Number+" "+e.Step.Title.String(), append([]doc.Text{e.Title}, e.Lines...)...)
		}
	case doc.Figure:
		said(b.Caption, doc.T("%s", b.Caption))
		for _, s := range b.Shapes {
			if l, is := s.(doc.Label); is {
				said(b.Caption, doc.T("%s", l.Text))
			}
		}
	case doc.Index:
		for _, e := range b.Entries {
			said(e.Term, doc.T("%s", e.Term))
		}
	case doc.Heading, doc.Contents, doc.PageBreak:
	}
}
