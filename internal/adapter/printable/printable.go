// Package printable makes texts from outside fit to be shown and kept.
package printable

import (
	"strings"
	"unicode"
)

// Most bounds in characters what a system may say in one detail or error.
const Most = 1000

// Text makes a text from outside fit for logs, terminals, mails and records: one line of at most most characters, with
// a blank for each that can't be seen. Escape sequences lose their escape, lines their ends.
func Text(text string, most int) string {
	seen := 0
	for i := range text {
		if seen++; seen > most {
			text = text[:i] + "…"
			break
		}
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, text)
}

// plainError reads as a plain text, and is what the error below it is.
type plainError struct {
	text string
	err  error
}

func (e *plainError) Error() string { return e.text }
func (e *plainError) Unwrap() error { return e.err }

// Error makes plain what an error says; nil for nil.
func Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if tidy := Text(text, Most); tidy != text {
		return &plainError{tidy, err}
	}
	return err
}
