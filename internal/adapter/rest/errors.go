package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/certificate"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/adapter/reach"
)

var (
	// ErrEnded says that a request's session is over: it is sent again with a new one.
	ErrEnded = errors.New("the session has ended")
	// ErrDenied says that the account was not let in. It comes with a pause, since an account is locked after a few of them.
	ErrDenied = fmt.Errorf("%w: the account was denied access", adapter.ErrRefused)
	// ErrLost says that a request was sent and the connection broke before its answer: nobody knows whether it was done,
	// but after a shutdown it is what one would expect.
	ErrLost = errors.New("the connection broke before the answer")
)

// StatusError says what an answer means that is not a success. It wraps one of the sentinels, or a context error where
// nobody knows whether a command was done.
type StatusError struct {
	Code int    // of HTTP
	Body []byte // as it came: at most MaxAnswer
	text string
	is   error
}

func (e *StatusError) Error() string { return e.text + ": " + e.is.Error() }

// Unwrap gives what it means.
func (e *StatusError) Unwrap() error { return e.is }

// explained reports whether an error says already what it means.
func explained(err error) bool {
	for _, is := range []error{adapter.ErrUnreachable, adapter.ErrRefused, adapter.ErrBusy, adapter.ErrGone} {
		if errors.Is(err, is) {
			return true
		}
	}
	_, status := errors.AsType[*StatusError](err)
	return status
}

// explain says what became of a request that got no answer. asks: it would have changed nothing.
func explain(ctx context.Context, at *reach.Course, err error, asks bool) error {
	cause := context.Cause(ctx)
	switch {
	case certificate.Refused(err):
		return fmt.Errorf("%w: %s: %v; if it was renewed, check it and put its SHA-256 into thumbprint", adapter.ErrRefused, at.Address(),
			err) //nolint:errorlint // only the sentinel is for others
	case errors.Is(cause, adapter.ErrUnreachable): // the connection was closed
		return cause
	case errors.Is(cause, context.Canceled):
		return fmt.Errorf("%s: %w", at.Address(), cause)
	}
	unsent := at.Unsent(err)
	switch {
	case unsent != nil:
		return unsent
	case asks:
		return reach.New(at.Address(), reach.Answering,
			fmt.Errorf("it accepted the request but did not answer (%v)", reach.Plainly(err))) //nolint:errorlint // a deadline in it would read as if nobody knew
	case cause != nil:
		return fmt.Errorf("%s did not answer in time, so it is unknown whether it was done: %w", at.Address(), cause)
	}
	return fmt.Errorf("%w of %s: %v", ErrLost, at.Address(), reach.Plainly(err)) //nolint:errorlint // what it was is for people
}

// explainStatus says what an answer means that is not a success. A command that ends in a server's own failure may have
// been done or not.
func explainStatus(path string, code int, body []byte, asks bool) error {
	said := fmt.Sprintf("it answers %s with %d %s", path, code, http.StatusText(code))
	if text := message(body); text != "" {
		said += " (" + text + ")"
	}
	means := func(is error, hint string) error { return &StatusError{code, body, said + hint, is} }
	switch code {
	case http.StatusUnauthorized:
		return means(ErrDenied, "")
	case http.StatusForbidden:
		return means(adapter.ErrRefused, "; the account lacks a right")
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return means(adapter.ErrRefused, "; it does not offer this: check the address and the version")
	case http.StatusConflict, http.StatusLocked, http.StatusTooManyRequests:
		return means(adapter.ErrBusy, "; it is in the middle of something")
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return means(adapter.ErrBusy, "; its services are still starting, or stopping")
	}
	switch {
	case code < 500:
		return means(adapter.ErrRefused, "")
	case asks:
		return means(adapter.ErrBusy, "")
	}
	return means(context.DeadlineExceeded, "; it is unknown whether it was done")
}

// message finds what a server says for people in the body of an error: by the keys that appliances use for it.
func message(body []byte) string {
	var any any
	if json.Unmarshal(body, &any) != nil {
		return ""
	}
	return printable.Text(strings.TrimSpace(search(any, 4)), 200)
}

func search(v any, depth int) string {
	if depth == 0 {
		return ""
	}
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			if text := search(one, depth-1); text != "" {
				return text
			}
		}
	case map[string]any:
		for _, key := range []string{"message", "text", "reason", "en-US"} {
			if text, ok := v[key].(string); ok {
				return text
			}
		}
		for _, key := range []string{"error", "messages", "message", "data", "code"} {
			if text := search(v[key], depth-1); text != "" {
				return text
			}
		}
	}
	return ""
}
