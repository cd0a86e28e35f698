// Package reach tells how a system could not be reached over the network. That makes the difference between a proof and
// none: a machine that says nothing at all may be off, one that refuses a connection runs and may still be writing.
package reach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
)

// How a system could not be reached.
type How uint8

// The ways.
const (
	Silent    How = iota // nothing came back at all
	Refused              // the connection was refused: by a machine that runs, as a rule
	Answering            // it was there, and its server did not do its part
	Local                // the question did not leave this machine: no route, no such name
)

// Error says that a system could not be asked. No command was given to it: it wraps adapter.ErrUnreachable.
type Error struct {
	Address string
	How     How
	Err     error
}

// New makes an Error.
func New(address string, how How, err error) error { return &Error{address, how, err} }

// All is what several ways to the same thing come to, of which none led there: it is silent where all of them are.
func All(none []*Error) error {
	if len(none) == 1 {
		return none[0]
	}
	all := &Error{How: Silent, Err: adapter.ErrUnreachable}
	var addresses []string
	for _, e := range none {
		addresses = append(addresses, e.Address)
		if all.Err = e.Err; e.How != Silent {
			all.How = e.How
		}
	}
	all.Address = strings.Join(addresses, " or ")
	return all
}

func (e *Error) Error() string {
	text := fmt.Sprintf("cannot reach %s: %v", e.Address, e.Err)
	switch {
	case e.How == Refused && isUnfound(e.Err):
		text += "; its address answers, so a firewall rejects the connection: allow it"
	case e.How == Refused:
		text += "; something answers at that address, but nothing listens on that port"
	}
	return text
}

// Unwrap gives adapter.ErrUnreachable and what was the matter.
func (e *Error) Unwrap() []error { return []error{adapter.ErrUnreachable, e.Err} }

// Classify tells what the error of a dial shows.
func Classify(err error) How {
	var timeout net.Error
	var name *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET):
		return Refused
	case isUnfound(err) && hasNeighbour(err):
		return Refused // by a firewall
	case isUnfound(err):
		return Silent // nobody on the network has the address
	case errors.As(err, &name):
		return Local
	case errors.As(err, &timeout) && timeout.Timeout():
		return Silent
	}
	return Local
}

// isUnfound reports whether a dial was told that there is no such machine.
func isUnfound(err error) bool {
	return errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.EHOSTDOWN)
}

// Runs reports whether an error shows that something runs there, though it does not do its part.
func Runs(err error) bool {
	none, ok := errors.AsType[*Error](err)
	return ok && (none.How == Refused || none.How == Answering)
}

// Seen turns an error into what it shows of the machine itself; false if it shows nothing. A machine that can't be reached
// is Unreachable only if nothing came back from it at all, because that may come to count as a proof that it is off; one
// that refuses or accepts a connection and says no more is Unknown, unless refusal says that a refusal counts as silence
// too.
func Seen(err error, refusal bool) (plan.Observation, bool) {
	none, ok := errors.AsType[*Error](err)
	if !ok {
		return plan.Observation{}, false
	}
	seen := plan.Observation{State: plan.Unknown, Detail: none.Error()}
	if none.How == Silent || none.How == Refused && refusal {
		seen.State = plan.Unreachable
	}
	return seen, true
}

// Probe asks a node by look. An error of that which shows what is so of the machine itself is an answer: see Seen.
func Probe(
	ctx context.Context, node string, refusal bool, look func(context.Context) (plan.Observation, error),
) (plan.Observation, error) {
	if ctx.Err() != nil {
		return plan.Observation{}, fmt.Errorf("cannot probe %q: %w", node, context.Cause(ctx))
	}
	seen, err := look(ctx)
	if err == nil {
		return seen, nil
	}
	if none, ok := Seen(err, refusal); ok && ctx.Err() == nil {
		return none, nil
	}
	return plan.Observation{}, fmt.Errorf("cannot probe %q: %w", node, err)
}
