package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"

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

	errSilent = errors.New("no answer to the connection")
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

// course is how far a request came.
type course struct {
	address   string
	connected atomic.Bool // there is a connection
	sent      atomic.Bool // the request is on it
}

func (a *course) follow(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				a.connected.Store(true)
			}
		},
		GotConn:      func(httptrace.GotConnInfo) { a.connected.Store(true) },
		WroteHeaders: func() { a.sent.Store(true) },
	})
}

// explain says what became of a request that got no answer. asks: it would have changed nothing.
func (a *course) explain(ctx context.Context, err error, asks bool) error {
	cause := context.Cause(ctx)
	op, dial := errors.AsType[*net.OpError](err)
	switch {
	case certificate.Refused(err):
		return fmt.Errorf("%w: %s: %v; if it was renewed, check it and put its SHA-256 into thumbprint", adapter.ErrRefused, a.address,
			err) //nolint:errorlint // only the sentinel is for others
	case errors.Is(cause, adapter.ErrUnreachable): // the connection was closed
		return cause
	case errors.Is(cause, context.Canceled):
		return fmt.Errorf("%s: %w", a.address, cause)
	case dial && op.Op == "dial":
		return reach.New(a.address, reach.Classify(err), plainly(op))
	case !a.connected.Load():
		return reach.New(a.address, reach.Silent, errSilent)
	case !a.sent.Load():
		return reach.New(a.address, reach.Answering,
			fmt.Errorf("it does not complete the TLS handshake (%v)",
				plainly(err))) //nolint:errorlint // a deadline in it would read as if nobody knew
	case asks:
		return reach.New(a.address, reach.Answering,
			fmt.Errorf("it took the request and did not answer (%v)", plainly(err))) //nolint:errorlint // as above
	case cause != nil:
		return fmt.Errorf("%s did not answer in time, so it is unknown whether it was done: %w", a.address, cause)
	}
	return fmt.Errorf("%w of %s: %v", ErrLost, a.address, plainly(err)) //nolint:errorlint // what it was is for people
}

// plainly leaves out the request, whose address may hold more than is for people.
func plainly(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return errors.New(printable.Text(err.Error(), 200))
		}
		err = inner
	}
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
