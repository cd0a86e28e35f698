package schema

import (
	"fmt"
	"path"
)

// KeyError is a mistake in one key of a spec, so that it can be shown there.
type KeyError struct {
	Key string
	Err error
}

func (e *KeyError) Error() string { return e.Err.Error() }

// Unwrap gives the mistake itself.
func (e *KeyError) Unwrap() error { return e.Err }

// Mistake is a mistake in one key of a spec.
func Mistake(key, format string, args ...any) error {
	return &KeyError{Key: key, Err: fmt.Errorf(format, args...)}
}

// CheckGlobs finds those globs of a key that are malformed.
func CheckGlobs(key string, globs ...string) []error {
	var errs []error
	for _, glob := range globs {
		if _, err := path.Match(glob, ""); err != nil {
			errs = append(errs, Mistake(key, "glob %q is malformed: * stands for any characters, ? for one, [a-z] for a range", glob))
		}
	}
	return errs
}
