package cli

import (
	"errors"
	"fmt"
)

// The exit codes, as the root command's help lists them.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitMistakes    = 3
	exitAssertion   = 4
	exitUnreachable = 5
	exitRefused     = 6
	exitInterrupted = 130
)

// failure is an error with the exit code and the hint that belong to it.
type failure struct {
	code int
	err  error
	hint string
	said bool // what there is to say has been printed already
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func fail(code int, hint, format string, args ...any) error {
	return &failure{code: code, hint: hint, err: fmt.Errorf(format, args...)}
}

// ended is a failure that has been told in the command's own output.
func ended(code int) error {
	return &failure{code: code, said: true, err: errors.New("")}
}

// hinter is an error of another package that knows what to do next.
type hinter interface{ Hint() string }

// explain gives the exit code and hint of an error.
func explain(err error) (code int, hint string, said bool) {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.code, f.hint, f.said
	}
	var h hinter
	if errors.As(err, &h) {
		return exitFailed, h.Hint(), false
	}
	return exitFailed, "", false
}
