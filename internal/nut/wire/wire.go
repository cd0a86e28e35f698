// Package wire reads and writes the words of a NUT line, as parseconf does on the network and on the driver's socket:
// words are parted by blanks, double quotes hold a word together, and a backslash takes the next byte as it is.
package wire

import (
	"errors"
	"fmt"
	"strings"
)

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `#`, `\#`)

// Quote wraps a word in quotes. A bare # inside quotes makes upsd 2.8.0 close the connection, so it is escaped like a
// quote and a backslash.
func Quote(word string) string { return `"` + escaper.Replace(word) + `"` }

// Check refuses what cannot be sent: upsd's parser drops control characters and everything that is not ASCII, and a
// line end would be a second command.
func Check(word string) error {
	for i, c := range []byte(word) {
		if c < ' ' || c > '~' {
			return fmt.Errorf("character %d (%#02x) can't be sent: NUT knows printable ASCII only", i+1, c)
		}
	}
	return nil
}

// Errors of Split.
var (
	ErrUnfinished = errors.New("quote or backslash without an end")
	ErrJoined     = errors.New("quote in the middle of a word")
)

// Split reads the words of one line, which has no line end any more.
func Split(line string) ([]string, error) {
	var words []string
	for i := 0; i < len(line); {
		switch line[i] {
		case ' ', '\t':
			i++
		case '"':
			word, after, err := quoted(line, i+1)
			if err != nil {
				return nil, err
			}
			words, i = append(words, word), after
		default:
			word, after, err := unquoted(line, i)
			if err != nil {
				return nil, err
			}
			words, i = append(words, word), after
		}
	}
	return words, nil
}

func quoted(line string, from int) (word string, after int, err error) {
	var b strings.Builder
	for i := from; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
			if i == len(line) {
				return "", 0, ErrUnfinished
			}
			b.WriteByte(line[i])
		case '"':
			if i+1 < len(line) && line[i+1] != ' ' && line[i+1] != '\t' {
				return "", 0, ErrJoined
			}
			return b.String(), i + 1, nil
		default:
			b.WriteByte(line[i])
		}
	}
	return "", 0, ErrUnfinished
}

func unquoted(line string, from int) (word string, after int, err error) {
	var b strings.Builder
	i := from
	for ; i < len(line) && line[i] != ' ' && line[i] != '\t'; i++ {
		switch line[i] {
		case '\\':
			i++
			if i == len(line) {
				return "", 0, ErrUnfinished
			}
			b.WriteByte(line[i])
		case '"':
			return "", 0, ErrJoined
		default:
			b.WriteByte(line[i])
		}
	}
	return b.String(), i, nil
}
