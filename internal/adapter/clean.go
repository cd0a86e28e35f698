package adapter

import (
	"context"
	"strings"
	"unicode"

	"ebbtide/internal/plan"
)

// maxText bounds in characters what a system may say in one detail or error.
const maxText = 1000

// maxSettings bounds what an adapter may write down of what it is about to change.
const maxSettings = 4000

// Plain makes a text from outside fit for logs, terminals, mails and records: one line of at most most characters, with
// a blank for each that can't be seen. Escape sequences lose their escape, lines their ends.
func Plain(text string, most int) string {
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

// PlainError makes plain what an error says; nil for nil.
func PlainError(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if tidy := Plain(text, maxText); tidy != text {
		return &plainError{tidy, err}
	}
	return err
}

type clean struct{ inner Node }

// Clean makes everything plain that a node says of itself. It belongs below all other decorators: whatever a system
// answers passes it before anything else sees it.
func Clean(n Node) Node {
	c := clean{n}
	if w, ok := n.(Watcher); ok {
		return struct {
			Node
			Watcher
		}{c, cleanWatch{w}}
	}
	return c
}

func (c clean) Probe(ctx context.Context) (plan.Observation, error) {
	seen, err := c.inner.Probe(ctx)
	return tidy(seen), PlainError(err)
}

// tidy leaves out settings that are not plain: half of them would put back something else.
func tidy(seen plan.Observation) plan.Observation {
	seen.Detail, seen.Caution = Plain(seen.Detail, maxText), Plain(seen.Caution, maxText)
	if Plain(seen.Settings, maxSettings) != seen.Settings {
		seen.Settings = ""
	}
	return seen
}

func (c clean) Do(ctx context.Context, v plan.Verb) error { return PlainError(c.inner.Do(ctx, v)) }

type cleanWatch struct{ inner Watcher }

func (c cleanWatch) Watch(ctx context.Context, seen func(plan.Observation)) error {
	return PlainError(c.inner.Watch(ctx, func(o plan.Observation) {
		seen(tidy(o))
	}))
}
