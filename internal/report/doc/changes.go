package doc

import (
	"fmt"
	"slices"
	"strings"
)

// MarkChanges marks what in a document is not so in an older one of its sort, and adds a section that tells the changes
// of its steps, of the lines of its tables (contacts, supplies, rules, last safe times) and of its sentences (when a stage
// begins, hold points, what if). A step is the same if its title and all that is said of it are the same, whatever its number.
func (d *Document) MarkChanges(old *Document, name string) {
	before, seen := factsOf(old), facts{steps: map[string]string{}, rows: map[string]bool{}}
	var added, changed, lines []Text
	heads := chapterWalk(d)
	mark := func(chapter string, s *Step) {
		key := stepKey(chapter, *s)
		was, known := before.steps[key]
		seen.steps[key] = ""
		if s.Changed = !known || was != stepFacts(*s); !s.Changed {
			return
		}
		line := Join(Ref(s.Number, s.Anchor), T(" %s", s.Title))
		if known {
			changed = append(changed, line)
		} else {
			added = append(added, line)
		}
	}
	for i, b := range d.Blocks {
		switch b := b.(type) {
		case Step:
			mark(heads[i], &b)
			d.Blocks[i] = b
		case Steps:
			b.Each = slices.Clone(b.Each)
			for k := range b.Each {
				mark(heads[i], &b.Each[k].Step)
			}
			d.Blocks[i] = b
		case Table:
			b.Rows = slices.Clone(b.Rows)
			for k := range b.Rows {
				is := rowFacts(heads[i], b.Rows[k])
				seen.rows[is] = true
				if b.Rows[k].Changed = !before.rows[is]; b.Rows[k].Changed && tells(b.Rows[k]) {
					lines = append(lines, rowLine(heads[i], b.Rows[k]))
				}
			}
			d.Blocks[i] = b
		}
	}
	sentences, goneSentences := d.markTexts(old)
	gone, goneLines := seen.lack(old)
	d.insertChanges(name, []changedPart{
		{"New steps", added},
		{"Changed steps", changed},
		{"Removed steps", gone},
		{"New or changed table lines", lines},
		{"Table lines removed, or their old text", goneLines},
		{"New or changed sentences", sentences},
		{"Sentences removed, or their old text", goneSentences},
	})
}

// facts are what a document says: its steps by what names them, and the lines of its tables.
type facts struct {
	steps map[string]string // what is said of each
	rows  map[string]bool
}

func factsOf(d *Document) facts {
	f := facts{steps: map[string]string{}, rows: map[string]bool{}}
	d.eachFact(func(chapter string, s *Step, r *Row) {
		if s != nil {
			f.steps[stepKey(chapter, *s)] = stepFacts(*s)
		} else {
			f.rows[rowFacts(chapter, *r)] = true
		}
	})
	return f
}

// lack lists the steps and the lines of another document that are not among the facts.
func (f facts) lack(other *Document) (steps, lines []Text) {
	other.eachFact(func(chapter string, s *Step, r *Row) {
		switch {
		case s != nil:
			if _, known := f.steps[stepKey(chapter, *s)]; !known {
				steps = append(steps, T("%s (%s)", s.Title, chapter))
			}
		case !f.rows[rowFacts(chapter, *r)] && tells(*r):
			lines = append(lines, rowLine(chapter, *r))
		}
	})
	return steps, lines
}

// eachFact visits each step, and each line of a table, with the chapter that it stands in: one of the two is nil.
func (d *Document) eachFact(visit func(chapter string, s *Step, r *Row)) {
	heads := chapterWalk(d)
	for i, b := range d.Blocks {
		switch b := b.(type) {
		case Step:
			visit(heads[i], &b, nil)
		case Steps:
			for k := range b.Each {
				visit(heads[i], &b.Each[k].Step, nil)
			}
		case Table:
			for k := range b.Rows {
				visit(heads[i], nil, &b.Rows[k])
			}
		}
	}
}

// tells reports whether a line of a table says something, and not only where to write.
func tells(r Row) bool {
	return slices.ContainsFunc(r.Cells, func(t Text) bool { return strings.Trim(t.String(), "_□ ") != "" })
}

// rowLine is a line of a table in a list: where it stands and what it says.
func rowLine(chapter string, r Row) Text {
	var said []string
	for _, c := range r.Cells {
		if text := strings.ReplaceAll(c.String(), "\n", ", "); strings.Trim(text, "_□ ") != "" {
			said = append(said, text)
		}
	}
	return T("%s: %s", chapter, strings.Join(said, " · "))
}

// changedPart is one sort of changes.
type changedPart struct {
	title string
	items []Text
}

// insertChanges puts the section before the first chapter.
func (d *Document) insertChanges(name string, parts []changedPart) {
	section := []Block{
		PageBreak{},
		Heading{Level: 1, Text: "What has changed", Anchor: "what-has-changed"},
		Paragraph{Text: T("Compared with %s. A bar in the margin marks what is new or has changed.", name)},
	}
	steps := 0
	for i, part := range parts {
		if i < 3 {
			steps += len(part.items)
		}
		if len(part.items) > 0 {
			section = append(section, Heading{Level: 2, Text: fmt.Sprintf("%s: %d", part.title, len(part.items))}, List{Items: part.items})
		}
	}
	if steps == 0 {
		section = append(section, Paragraph{Text: T("No step has changed.")})
	}
	at := slices.IndexFunc(d.Blocks, func(b Block) bool { _, is := b.(PageBreak); return is })
	d.Blocks = slices.Insert(d.Blocks, max(0, at), section...)
}

// chapterWalk tells for each block in which chapter it stands.
func chapterWalk(d *Document) []string {
	heads := make([]string, len(d.Blocks))
	chapter := ""
	for i, b := range d.Blocks {
		if h, ok := b.(Heading); ok && h.Level == 1 {
			chapter = h.Text
		}
		heads[i] = chapter
	}
	return heads
}

func stepKey(chapter string, s Step) string { return chapter + "\x00" + s.Title.String() }

// stepFacts is what is said of a step. A reference is not: the number of what it leads to may change without it.
func stepFacts(s Step) string {
	var b strings.Builder
	for _, f := range s.Fields {
		for _, l := range f.Lines {
			fmt.Fprintf(&b, "%s\x00%s\x00", f.Name, withoutRefs(l))
		}
	}
	return b.String()
}

func withoutRefs(t Text) Text {
	return slices.DeleteFunc(slices.Clone(t), func(s Span) bool { return s.Link != "" })
}

func rowFacts(chapter string, r Row) string {
	facts := []string{chapter}
	for _, c := range r.Cells {
		facts = append(facts, c.String())
	}
	return strings.Join(facts, "\x00")
}
