package engine

import "strings"

// The beginnings of reasons that say that a time limit was over.
const (
	notProven  = "not proven within "
	notSettled = "not settled within "
)

// OutOfTime tells whether a record forces a step, or gives it up, because its time was over: what was commanded did not
// come about by itself. One that is forced because it was refused, or because the battery runs out, is none.
func (r *Record) OutOfTime() bool {
	return strings.HasPrefix(r.Reason, notProven) || strings.HasPrefix(r.Reason, notSettled)
}
