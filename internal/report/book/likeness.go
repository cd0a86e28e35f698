package book

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ebbtide/internal/report/doc"
)

// mostBlanks is how many things a person is asked to put in place of a blank: more are more easily confused than read.
const mostBlanks = 4

// likeness finds what steps have in common: their instructions are word for word the same but for what differs from one
// to the next, such as a name or an address. Each thing that differs becomes a blank.
type likeness struct {
	steps []doc.Step
	names []string // what each step is about
	own   []string // names of fields that are not compared: each step keeps its own
	shape string
	words [][]string // of each step
	blank []int      // per word: which blank it is, -1: all have the same word
	count int        // blanks
}

// newLikeness begins with one step.
func newLikeness(s doc.Step, name string, own ...string) *likeness {
	l := &likeness{own: own}
	shape, words := l.take(s)
	l.shape, l.steps, l.names, l.words = shape, []doc.Step{s}, []string{name}, [][]string{words}
	l.blank = slices.Repeat([]int{-1}, len(words))
	return l
}

// add takes a step in if it is like the others.
func (l *likeness) add(s doc.Step, name string) bool {
	shape, words := l.take(s)
	if shape != l.shape {
		return false
	}
	type class struct {
		was  string // the blank, or the word that all have had so far
		word string
	}
	blanks := map[class]int{}
	blank := slices.Clone(l.blank)
	for i, w := range words {
		was := strconv.Itoa(l.blank[i])
		if l.blank[i] < 0 {
			if strings.TrimSpace(w) == strings.TrimSpace(l.words[0][i]) { // a line may break where another does not
				continue
			}
			if !isWord(w) || !isWord(l.words[0][i]) {
				return false
			}
			was = " " + l.words[0][i]
		}
		b, known := blanks[class{was, w}]
		if !known {
			b = len(blanks)
			blanks[class{was, w}] = b
		}
		blank[i] = b
	}
	if len(blanks) > mostBlanks {
		return false
	}
	l.steps, l.names, l.words = append(l.steps, s), append(l.names, name), append(l.words, words)
	l.blank, l.count = blank, len(blanks)
	return true
}

// hardware addresses are one word; so is what is joined by dots and hyphens, such as an address or the name of a VM.
var wordPattern = regexp.MustCompile(`(?s)(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}|[\pL\pN_]+(?:[.-]+[\pL\pN_]+)*|.`)

// isWord tells words from marks and blanks.
func isWord(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// take gives the words of what is compared of a step, and its shape: steps of different shapes are not alike.
func (l *likeness) take(s doc.Step) (shape string, words []string) {
	var b strings.Builder
	for _, f := range s.Fields {
		b.WriteString(f.Name + "\x00")
		if slices.Contains(l.own, f.Name) {
			continue
		}
		for _, t := range f.Lines {
			for _, span := range t {
				of := wordPattern.FindAllString(span.Text, -1)
				words = append(words, of...)
				b.WriteString(strconv.Itoa(int(span.Style)) + span.Link + "\x00" + strconv.Itoa(len(of)) + " ")
			}
			b.WriteString("\n")
		}
	}
	return b.String(), words
}

// shared gives the fields that are compared, once for all steps, with their blanks.
func (l *likeness) shared() []doc.Field {
	names := l.blanks()
	var fields []doc.Field
	at := 0
	for _, f := range l.steps[0].Fields {
		if slices.Contains(l.own, f.Name) {
			continue
		}
		g := doc.Field{Name: f.Name, Apart: f.Apart}
		for _, t := range f.Lines {
			var text doc.Text
			for _, span := range t {
				var b strings.Builder
				for range wordPattern.FindAllString(span.Text, -1) {
					if l.blank[at] < 0 {
						b.WriteString(l.words[0][at])
					} else {
						b.WriteString(names[l.blank[at]])
					}
					at++
				}
				span.Text = b.String()
				text = append(text, span)
			}
			g.Lines = append(g.Lines, text)
		}
		fields = append(fields, g)
	}
	return fields
}

// nameBlank stands for the name of what a step is about.
const nameBlank = "‹name›"

// blanks names the blanks: nameBlank for what is each step's own name, and letters in the order of reading.
func (l *likeness) blanks() []string {
	names := make([]string, l.count)
	letter := 'A'
	for _, b := range l.blank {
		if b < 0 || names[b] != "" {
			continue
		}
		if slices.Equal(l.column(b), l.names) {
			names[b] = nameBlank
			continue
		}
		names[b] = "‹" + string(letter) + "›"
		letter++
	}
	return names
}

// column is what stands in a blank, step by step.
func (l *likeness) column(blank int) []string {
	at := slices.Index(l.blank, blank)
	var all []string
	for _, words := range l.words {
		all = append(all, words[at])
	}
	return all
}

// fillings say what a step has in the blanks that are not its name, in their order.
func (l *likeness) fillings(step int) doc.Text {
	var text doc.Text
	names := l.blanks()
	seen := map[int]bool{}
	for i, b := range l.blank {
		if b < 0 || seen[b] || names[b] == nameBlank {
			continue
		}
		seen[b] = true
		text = append(text, doc.Span{Text: "   "}, doc.Span{Text: names[b], Style: doc.Strong}, doc.Span{Text: " "},
			doc.Span{Text: l.words[step][i], Style: doc.Code})
	}
	return text
}
