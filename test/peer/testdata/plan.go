package plan

import (
	"time"

	"ebbtide/internal/english"
)

// Span stands in the place of today's english.Span when the old engine is built.
func Span(d time.Duration) string { return english.Span(d) }

// Person is what a manual step was called.
const Person = Manual
