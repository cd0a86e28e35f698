// Package render writes a document as PDF, HTML or Markdown. Each shows all of it, by its own means.
package render

import (
	"fmt"
	"io"
	"strings"

	"ebbtide/internal/report/doc"
)

// Formats are the forms in which a document is written.
var Formats = []string{"pdf", "html", "md"}

// Write writes a document as one of Formats. Paper is for PDF alone.
func Write(w io.Writer, d *doc.Document, format string, paper Paper) error {
	switch format {
	case "pdf":
		return PDF(w, d, paper)
	case "html":
		return HTML(w, d)
	case "md":
		return Markdown(w, d)
	default:
		return fmt.Errorf("cannot write a document as %q: the formats are %s", format, strings.Join(Formats, ", "))
	}
}

// unbroken keeps together what reads badly at two ends of lines: a number and its percent sign, and the parts of a span of
// time such as "1m 30s".
func unbroken(s string) string {
	digit := func(i int) bool { return 0 <= i && i < len(s) && '0' <= s[i] && s[i] <= '9' }
	var b strings.Builder
	from := 0
	for i := 1; i+1 < len(s); i++ {
		percent := digit(i-1) && s[i+1] == '%'
		span := (s[i-1] == 'h' || s[i-1] == 'm') && digit(i-2) && digit(i+1)
		if s[i] == ' ' && (percent || span) {
			b.WriteString(s[from:i] + "\u00a0")
			from = i + 1
		}
	}
	if from == 0 {
		return s
	}
	return b.String() + s[from:]
}
