package runbook

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Severity tells a mistake, which keeps a runbook from being used, from what does not.
type Severity string

// The severities, the worst first.
const (
	Error   Severity = "error"
	Trouble Severity = "trouble" // the estate is not as the runbook needs it; nothing that is read alone has any
	Warning Severity = "warning"
)

// Problem is one thing that is wrong in a runbook: where, what, and what to write instead.
type Problem struct {
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Line     int      `json:"line"`             // from 1
	Column   int      `json:"column"`           // from 1, in characters
	Source   string   `json:"source,omitempty"` // the line itself; what may be a secret is masked
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"` // what to write instead
	Path     string   `json:"path,omitempty"` // "nodes.esx01.down.within"
	width    int      // of what is wrong, in characters
}

// Problems are all that is wrong in a runbook, by position.
type Problems []Problem

// HasErrors reports whether any of them is a mistake.
func (ps Problems) HasErrors() bool { return ps.Count(Error) > 0 }

// Count gives the number of problems of a severity.
func (ps Problems) Count(s Severity) int {
	n := 0
	for i := range ps {
		if ps[i].Severity == s {
			n++
		}
	}
	return n
}

// WorstFirst orders problems by their severity. Those of one severity stay as they stand.
func (ps Problems) WorstFirst() {
	order := []Severity{Error, Trouble, Warning}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity))
	})
}

// Text renders the problems for people, each as
//
//	file:line:col: error: message
//	    the source line
//	       ^^^^
//	  hint: what to write instead
func (ps Problems) Text() string {
	var b strings.Builder
	for i := range ps {
		ps[i].text(&b)
	}
	return b.String()
}

func (p *Problem) text(b *strings.Builder) {
	fmt.Fprintf(b, "%s:%d:%d: %s: %s\n", p.File, p.Line, p.Column, p.Severity, p.Message)
	if line := []rune(p.Source); len(line) > 0 {
		at := min(max(p.Column-1, 0), len(line))
		pad := make([]rune, at)
		for i := range pad {
			pad[i] = ' '
			if line[i] == '\t' { // so that the caret stands under its character however wide a tab is
				pad[i] = '\t'
			}
		}
		carets := strings.Repeat("^", max(1, min(p.width, len(line)-at)))
		fmt.Fprintf(b, "    %s\n    %s%s\n", p.Source, string(pad), carets)
	}
	if p.Hint != "" {
		fmt.Fprintf(b, "  hint: %s\n", p.Hint)
	}
}

// sort orders problems by position and drops those said twice, as of an alias that is used twice.
func (ps *Problems) sort() {
	slices.SortStableFunc(*ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	*ps = slices.CompactFunc(*ps, func(a, b Problem) bool {
		return a.Line == b.Line && a.Column == b.Column && a.Message == b.Message
	})
}

// reporter makes problems with their source lines.
type reporter struct {
	file     string
	lines    []string
	masks    []span // of inline secrets
	problems Problems
}

// span is a piece of the source: from a column of its first line to the end of its last.
type span struct{ line, col, width, last int }

func (r *reporter) add(s Severity, at *value, path, message, hint string) {
	r.problems = append(r.problems, Problem{
		Severity: s, File: r.file, Line: at.line, Column: at.col, width: at.width,
		Message: message, Hint: hint, Path: path,
	})
}

// finish fills in the source lines, now that all inline secrets are known, and sorts.
func (r *reporter) finish() Problems {
	masks := map[int][]span{}
	for _, m := range r.masks {
		for l := m.line; l <= m.last; l++ {
			masks[l] = append(masks[l], m)
		}
	}
	for i := range r.problems {
		p := &r.problems[i]
		if len(r.lines) == 0 {
			continue
		}
		if p.Line > len(r.lines) { // the YAML library may count a line too many at the end of a broken file
			p.Line, p.Column = len(r.lines), 1
		}
		p.Source = mask(strings.TrimRight(r.lines[p.Line-1], " \t\r"), p.Line, masks[p.Line])
	}
	r.problems.sort()
	return r.problems
}

// secretLike finds a key that looks like one of a secret with a value in place. Values in braces are references.
var secretLike = regexp.MustCompile(`(?i)(\b(?:[\w-]*(?:passw|passp|pasw|pwd|secret|token|private)[\w-]*|key)["']?\s*:\s*)([^\s{}\[\],*&][^,}]*)`)

// mayHoldSecret reports whether secretLike may find anything in a line: it is far quicker. Letters beyond ASCII may fold to
// those of a key.
func mayHoldSecret(line string) bool {
	if strings.ContainsFunc(line, func(c rune) bool { return c >= utf8.RuneSelf }) {
		return true
	}
	line = strings.ToLower(line)
	return slices.ContainsFunc([]string{"pas", "pwd", "secret", "token", "private", "key"},
		func(word string) bool { return strings.Contains(line, word) })
}

// mask hides inline secrets of a line, keeping its length.
func mask(line string, number int, spans []span) string {
	runes := []rune(line)
	for _, m := range spans {
		from, to := 0, len(runes)
		if number == m.line {
			from = min(m.col-1, len(runes))
			if m.line == m.last {
				to = min(from+m.width, len(runes))
			}
		}
		for i := from; i < to; i++ {
			runes[i] = '*'
		}
	}
	line = string(runes)
	if !mayHoldSecret(line) {
		return line
	}
	return secretLike.ReplaceAllStringFunc(line, func(found string) string {
		part := secretLike.FindStringSubmatch(found)
		return part[1] + strings.Repeat("*", len([]rune(part[2])))
	})
}
