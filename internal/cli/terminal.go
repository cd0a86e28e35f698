package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"unicode"
	"unicode/utf8"
)

// safe is a stream that a terminal may show: control characters other than the line's end and the tab, and those that
// turn the direction of writing, are written as \uXXXX. Names and messages from outside come this way, from a journal or
// a daemon that we do not know among them. In a JSON document it is what the character is written as anyway.
//
// Each Write is taken for whole: a character must not be split over two of them.
type safe struct{ to io.Writer }

// Write writes p; n counts the bytes of p.
func (s safe) Write(p []byte) (n int, err error) {
	if !bytes.ContainsFunc(p, func(r rune) bool { return r == utf8.RuneError || control(r) }) {
		return s.to.Write(p)
	}
	out := make([]byte, 0, 2*len(p))
	for rest := p; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1: // a lone byte could be a control character to an old terminal
			out = utf8.AppendRune(out, r)
		case control(r):
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, rest[:size]...)
		}
		rest = rest[size:]
	}
	if _, err := s.to.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

func control(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}

// isTerminal reports whether what is written can be drawn over.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || os.Getenv("TERM") == "" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
