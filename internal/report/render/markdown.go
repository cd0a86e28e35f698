package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"ebbtide/internal/report/doc"
)

// Markdown writes a document as plain GitHub Markdown.
func Markdown(w io.Writer, d *doc.Document) error {
	m := &markdown{}
	m.line("# " + escape(d.Title))
	if d.Subtitle != "" {
		m.line(escape(d.Subtitle))
	}
	if meta := strings.Join(doc.Filled(d.Head, d.Day()), " · "); meta != "" {
		m.line(escape(meta))
	}
	for _, b := range d.Blocks {
		m.block(d, b)
	}
	if _, err := io.WriteString(w, strings.TrimRight(m.String(), "\n")+"\n"); err != nil {
		return fmt.Errorf("cannot write the document: %w", err)
	}
	return nil
}

type markdown struct{ strings.Builder }

// line writes a paragraph.
func (m *markdown) line(s string) { m.WriteString(s + "\n\n") }

func (m *markdown) anchor(a string) string {
	if a == "" {
		return ""
	}
	return `<a id="` + a + `"></a>`
}

func (m *markdown) block(d *doc.Document, b doc.Block) {
	switch b := b.(type) {
	case doc.Heading:
		m.line(strings.Repeat("#", b.Level+1) + " " + m.anchor(b.Anchor) + escape(b.Text))
	case doc.Paragraph:
		m.line(changedMark(b.Changed) + mdText(b.Text, "  \n"))
	case doc.List:
		for i, item := range b.Items {
			mark := "-"
			if b.Numbered {
				mark = fmt.Sprintf("%d.", i+1)
			}
			m.WriteString(mark + " " + changedMark(b.IsChanged(i)) + mdText(item, "  \n  ") + "\n")
		}
		m.WriteString("\n")
	case doc.Note:
		m.line("> " + m.anchor(b.Anchor) + changedMark(b.Changed) + "**" + escape(b.Opening()) + "** " + mdText(b.Text, "  \n> "))
	case doc.Table:
		m.table(b)
	case doc.Step:
		m.step(b)
	case doc.Steps:
		m.steps(b)
	case doc.Figure:
		m.line(m.anchor(b.Anchor) + "**" + escape(b.Caption) + "**")
		if len(b.Listing) > 0 {
			m.line("```text\n" + strings.ReplaceAll(strings.Join(b.Listing, "\n"), "```", "'''") + "\n```")
		}
	case doc.Contents:
		for _, h := range headings(d, b.Level) {
			m.WriteString(strings.Repeat("  ", h.Level-1) + "- [" + escape(h.Text) + "](#" + h.Anchor + ")\n")
		}
		m.WriteString("\n")
	case doc.Index:
		for _, e := range b.Entries {
			var refs []string
			for _, r := range e.Refs {
				refs = append(refs, mdText(doc.Text{r}, " "))
			}
			m.WriteString("- " + escape(e.Term) + ": " + strings.Join(refs, ", ") + "\n")
		}
		m.WriteString("\n")
	case doc.PageBreak:
	}
}

func (m *markdown) table(t doc.Table) {
	var titles, rules []string
	for _, c := range t.Columns {
		titles = append(titles, escape(c.Title))
		if c.Right {
			rules = append(rules, "---:")
		} else {
			rules = append(rules, "---")
		}
	}
	m.WriteString("| " + strings.Join(titles, " | ") + " |\n| " + strings.Join(rules, " | ") + " |\n")
	for _, r := range t.Rows {
		var cells []string
		for i, c := range r.Cells {
			cell := mdText(inCell(c), "<br>")
			if i == 0 {
				cell = m.anchor(r.Anchor) + changedMark(r.Changed) + cell
			}
			cells = append(cells, cell)
		}
		m.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	for range t.Blank {
		m.WriteString("|" + strings.Repeat("  |", len(t.Columns)) + "\n")
	}
	m.WriteString("\n")
}

// inCell escapes the pipes in code: in a table they would end the cell, and elsewhere the escape would be part of it.
func inCell(t doc.Text) doc.Text {
	t = slices.Clone(t)
	for i := range t {
		if t[i].Style == doc.Code {
			t[i].Text = strings.ReplaceAll(t[i].Text, "|", `\|`)
		}
	}
	return t
}

func (m *markdown) step(s doc.Step) {
	title := "**" + escape(strings.TrimSpace(s.Number+" "+s.Title.String())) + "**"
	m.line(m.anchor(s.Anchor) + changedMark(s.Changed) + title)
	m.fields(s.Fields)
	if len(s.Boxes) > 0 {
		m.WriteString("- [ ] done")
		for _, b := range s.Boxes {
			m.WriteString("; " + escape(b) + ": \\_\\_\\_\\_\\_\\_")
		}
		m.WriteString("\n")
	}
	m.WriteString("\n")
}

func (m *markdown) fields(all []doc.Field) {
	for _, f := range all {
		var lines []string
		for _, l := range f.Lines {
			lines = append(lines, mdText(l, "  \n  "))
		}
		m.WriteString("- " + escape(f.Name) + ": " + strings.Join(lines, "  \n  ") + "\n")
	}
}

// steps writes equal steps: a table has a line for each.
func (m *markdown) steps(s doc.Steps) {
	m.line("**" + escape(s.Number+" "+s.Title.String()) + "**")
	m.fields(s.Fields)
	m.WriteString("\n")
	t := doc.Table{Columns: []doc.Column{{Title: "step"}, {Title: "what"}, {Title: "its own"}, {Title: "done"}}}
	for _, b := range s.Boxes {
		t.Columns = append(t.Columns, doc.Column{Title: b})
	}
	for _, e := range s.Each {
		var own doc.Text
		for i, line := range e.Lines {
			if i > 0 {
				own = append(own, doc.Span{Text: "\n"})
			}
			own = append(own, line...)
		}
		t.Rows = append(t.Rows, doc.Row{
			Anchor: e.Step.Anchor, Changed: e.Step.Changed,
			Cells: append([]doc.Text{doc.Bold("%s", e.Step.Number), e.Title, own, doc.T("□")}, make([]doc.Text, len(s.Boxes))...),
		})
	}
	m.table(t)
}

func changedMark(changed bool) string {
	if changed {
		return "**▌changed** "
	}
	return ""
}

// mdText writes a text with its styles; lines of it are parted by newline.
func mdText(t doc.Text, newline string) string {
	var b strings.Builder
	for _, s := range t {
		part := s.Text
		switch {
		case strings.TrimSpace(part) == "":
		case s.Style == doc.Code:
			part = mdCode(part)
		case s.Style == doc.Strong:
			part = "**" + escape(part) + "**"
		default:
			part = escape(part)
		}
		if s.Link != "" {
			part = "[" + part + "](#" + s.Link + ")"
		}
		b.WriteString(strings.ReplaceAll(part, "\n", newline))
	}
	return b.String()
}

// mdCode writes code that may itself hold backticks.
func mdCode(s string) string {
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

// escape keeps text from being taken as Markdown.
func escape(s string) string {
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		switch r {
		case '\\', '`', '*', '<', '[', ']', '|':
			b.WriteByte('\\')
		case '_': // within a word it means nothing
			if i == 0 || i == len(runes)-1 || !inWord(runes[i-1]) || !inWord(runes[i+1]) {
				b.WriteByte('\\')
			}
		case '#', '+', '-', '>':
			if i == 0 && (len(runes) == 1 || r == '>' || r == '#' || runes[1] == ' ') {
				b.WriteByte('\\')
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// headings lists those that a table of contents shows.
func headings(d *doc.Document, level int) []doc.Heading {
	var all []doc.Heading
	for _, b := range d.Blocks {
		if h, ok := b.(doc.Heading); ok && h.Level <= level && h.Anchor != "" {
			all = append(all, h)
		}
	}
	return all
}
