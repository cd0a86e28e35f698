// Package doc is a document as a value: what a reader is to find, in the order of reading. Package render shows it.
package doc

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Document is what is printed: a value that says what a reader is to find, in the order of reading, and nothing of how
// it looks. Each renderer shows all of it. The same document gives the same bytes.
type Document struct {
	Title    string
	Subtitle string
	Head     string    // in small print on each page, such as a digest
	Date     time.Time // zero: none is shown
	Blocks   []Block
}

// Block is a part of a document: a Heading, Paragraph, List, Table, Step, Steps, Figure, Note, Contents, Index or PageBreak.
type Block interface{ block() }

// Heading opens a section. It never stands alone at the foot of a page.
type Heading struct {
	Level  int // 1 is the highest; the document's title stands over it
	Text   string
	Anchor string // unique in the document; empty: nothing refers to it
}

// Paragraph is running text. A line feed within it begins a new line.
type Paragraph struct {
	Text    Text
	Changed bool // marked in the margin
}

// List is a list of short paragraphs.
type List struct {
	Numbered bool
	Items    []Text
	Changed  []bool // by item, marked in the margin; nil: none is
}

// IsChanged reports whether an item is marked.
func (l *List) IsChanged(item int) bool { return l.Changed != nil && l.Changed[item] }

// Note is a paragraph that must not be overlooked. A hold point or a warning is one.
type Note struct {
	Title   string
	Text    Text
	Anchor  string
	Changed bool // marked in the margin
}

// Opening is the note's title as the beginning of its text.
func (n *Note) Opening() string {
	if strings.ContainsAny(n.Title[max(0, len(n.Title)-1):], ".?!:") {
		return n.Title
	}
	return n.Title + "."
}

// Table is rows of cells. It may break between pages, and then shows its columns' titles again.
type Table struct {
	Columns []Column
	Rows    []Row
	Blank   int // so many empty lines after them, to write on
}

// Column is one of a table's.
type Column struct {
	Title  string
	Weight float64 // its share of the width; 0 counts as 1
	Right  bool    // numbers and times stand at the right
}

// Shares are the columns' shares of the width.
func (t *Table) Shares() []float64 {
	shares, sum := make([]float64, len(t.Columns)), 0.0
	for i, c := range t.Columns {
		if shares[i] = c.Weight; c.Weight == 0 {
			shares[i] = 1
		}
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

// Row is one line of a table.
type Row struct {
	Cells   []Text
	Anchor  string
	Changed bool // marked in the margin
}

// Step is something that a person does, with boxes to tick and to write in.
type Step struct {
	Number  string
	Title   Text
	Anchor  string
	Fields  []Field
	Boxes   []string // what is written by hand, such as "time"; each gets a box
	Changed bool     // marked in the margin
}

// Steps are equal steps in a row: what holds for all of them once, and then a line for each with boxes of its own.
type Steps struct {
	Number string // of the first and the last
	Title  Text
	Fields []Field // with blanks, such as ‹A›, where the steps differ
	Boxes  []string
	Each   []Each
}

// Each is one of equal steps.
type Each struct {
	Step  Step   // all of it, as if it stood alone; of this its number, anchor and mark are shown
	Title Text   // what it is about, and what it has in the blanks
	Lines []Text // what else is its own
}

// Field is a named part of a step. Its lines are kept apart.
type Field struct {
	Name  string
	Lines []Text
	Apart bool // a page may end before it, if the step has to be divided
}

// Field gives the field of a step with a name.
func (s *Step) Field(name string) (Field, bool) {
	for _, f := range s.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// AddField adds a field that has something in it.
func (s *Step) AddField(name string, lines ...Text) {
	lines = slices.DeleteFunc(lines, func(t Text) bool { return t.String() == "" })
	if len(lines) > 0 {
		s.Fields = append(s.Fields, Field{Name: name, Lines: lines})
	}
}

// AddPart adds a field before which the step may be divided: what is done stands together, and so does what is seen, and
// what is done if that fails.
func (s *Step) AddPart(name string, lines ...Text) {
	before := len(s.Fields)
	if s.AddField(name, lines...); len(s.Fields) > before {
		s.Fields[before].Apart = true
	}
}

// Contents lists the headings of the document down to a level, with their pages where there are pages.
type Contents struct{ Level int }

// Index lists terms and where they are found.
type Index struct{ Entries []IndexEntry }

// IndexEntry is a term of an index and the links to where it is found.
type IndexEntry struct {
	Term string
	Refs []Span
}

// PageBreak begins a new page where there are pages, unless hardly anything stands on this one.
type PageBreak struct{}

func (Heading) block()   {}
func (Paragraph) block() {}
func (List) block()      {}
func (Note) block()      {}
func (Table) block()     {}
func (Step) block()      {}
func (Steps) block()     {}
func (Figure) block()    {}
func (Contents) block()  {}
func (Index) block()     {}
func (PageBreak) block() {}

// Text is a line of text in parts that look different.
type Text []Span

// Span is a part of a text in one style.
type Span struct {
	Text  string
	Style Style
	Link  string // the anchor that it refers to, if any
}

// Style is how a span differs from what is around it.
type Style uint8

// The styles.
const (
	Plain  Style = iota
	Strong       // must be seen
	Code         // is typed as it stands
	Faint        // may be overlooked
)

// T makes a text of one plain part.
func T(format string, args ...any) Text { return Text{{Text: sprintf(format, args)}} }

// Bold makes a text that must be seen.
func Bold(format string, args ...any) Text { return Text{{Text: sprintf(format, args), Style: Strong}} }

// Verbatim makes a text that is typed as it stands.
func Verbatim(s string) Text { return Text{{Text: s, Style: Code}} }

// Ref makes a text that leads to an anchor.
func Ref(s, anchor string) Text { return Text{{Text: s, Link: anchor}} }

// Join puts texts one after the other.
func Join(parts ...Text) Text {
	var all Text
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// sprintf leaves a string without arguments as it is, so that a percent sign in it stays one.
func sprintf(format string, args []any) string {
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}

// String gives the text without its styles.
func (t Text) String() string {
	var b strings.Builder
	for _, s := range t {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Anchor makes an anchor of words: lower case letters, digits and hyphens. Words that differ only in other marks give
// the same anchor.
func Anchor(words ...string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.Join(words, "-")) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(r)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
	}
	return strings.TrimSuffix(b.String(), "-")
}

// Day writes the document's date, or nothing.
func (d *Document) Day() string {
	if d.Date.IsZero() {
		return ""
	}
	return d.Date.Format("2 January 2006")
}

// Add appends blocks.
func (d *Document) Add(blocks ...Block) { d.Blocks = append(d.Blocks, blocks...) }

// Filled leaves out what is empty.
func Filled(parts ...string) []string {
	var all []string
	for _, p := range parts {
		if p != "" {
			all = append(all, p)
		}
	}
	return all
}
