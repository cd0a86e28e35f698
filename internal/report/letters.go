package report

import (
	"slices"
	"strings"
	"unicode"
)

// Lack is a place in a document with letters that the fonts of the PDF have not.
type Lack struct {
	Where   string // the heading over it, and of a table or a step what it is about
	Letters string // each once, in the order of reading
}

// Lacks lists the places with letters that the PDF writes by their numbers, U+5BB6. HTML and Markdown have them as they are.
func (d *Document) Lacks() []Lack {
	var all []Lack
	d.eachText(func(where, text string) {
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
func (d *Document) eachText(visit func(where, text string)) {
	where := d.Title
	visit(where, strings.Join([]string{d.Title, d.Subtitle, d.Head}, " "))
	said := func(of string, texts ...Text) {
		for _, t := range texts {
			visit(strings.TrimSuffix(where+": "+of, ": "), t.String())
		}
	}
	fields := func(of string, all []Field) {
		for _, f := range all {
			said(of, append([]Text{T("%s", f.Name)}, f.Lines...)...)
		}
	}
	for _, b := range d.Blocks {
		switch b := b.(type) {
		case Heading:
			if b.Level == 1 {
				where = b.Text
			}
			visit(where, b.Text)
		case Paragraph:
			said("", b.Text)
		case Note:
			said(b.Title, T("%s", b.Title), b.Text)
		case List:
			said("", b.Items...)
		case Table:
			for _, c := range b.Columns {
				said("", T("%s", c.Title))
			}
			for _, r := range b.Rows {
				said(r.Cells[0].String(), r.Cells...)
			}
		case Step:
			said(strings.TrimSpace(b.Number+" "+b.Title.String()), b.Title)
			fields(strings.TrimSpace(b.Number+" "+b.Title.String()), b.Fields)
		case Steps:
			fields(b.Number+" "+b.Title.String(), b.Fields)
			for _, e := range b.Each {
				said(e.Step.Number+" "+e.Step.Title.String(), append([]Text{e.Title}, e.Lines...)...)
			}
		case Figure:
			said(b.Caption, T("%s", b.Caption))
			for _, s := range b.Shapes {
				if l, is := s.(Label); is {
					said(b.Caption, T("%s", l.Text))
				}
			}
		case Index:
			for _, e := range b.Entries {
				said(e.Term, T("%s", e.Term))
			}
		case Contents, PageBreak:
		}
	}
}
