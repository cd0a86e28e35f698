package reach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"sync/atomic"

	"ebbtide/internal/adapter/printable"
)

// ErrSilent is what the matter is where nothing came back in the time that there was.
var ErrSilent = errors.New("no answer to the connection")

// Course follows a request over HTTPS, so that it is known how far it came where it fails.
type Course struct {
	address   string
	resolving atomic.Bool // its name is being looked up
	dialling  atomic.Bool // a connection to it was begun
	connected atomic.Bool // there is one
	sent      atomic.Bool // the request is on it
}

// NewCourse follows a request to an address, which is for people.
func NewCourse(address string) *Course { return &Course{address: address} }

// Address is where the request goes.
func (c *Course) Address() string { return c.address }

// Follow gives the context that the request is to be made with.
func (c *Course) Follow(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart:     func(httptrace.DNSStartInfo) { c.resolving.Store(true) },
		DNSDone:      func(httptrace.DNSDoneInfo) { c.resolving.Store(false) },
		ConnectStart: func(_, _ string) { c.dialling.Store(true) },
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				c.connected.Store(true)
			}
		},
		GotConn:      func(httptrace.GotConnInfo) { c.connected.Store(true) },
		WroteHeaders: func() { c.sent.Store(true) },
	})
}

// Connected reports whether there was a connection to send it on.
func (c *Course) Connected() bool { return c.connected.Load() }

// Unsent says why a request that failed did not reach its server, as an Error; nil if it may have reached it.
func (c *Course) Unsent(err error) error {
	op, dial := errors.AsType[*net.OpError](err)
	switch {
	case dial && op.Op == "dial":
		return New(c.address, Classify(err), Plainly(op))
	case c.sent.Load():
		return nil
	case c.connected.Load():
		return New(c.address, Answering,
			fmt.Errorf("it does not complete the TLS handshake (%v)", Plainly(err))) //nolint:errorlint // a deadline in it would read as if nobody knew
	case c.dialling.Load():
		return New(c.address, Silent, ErrSilent)
	case c.resolving.Load():
		return New(c.address, Local, errors.New("its address was not told in time: the name servers are silent"))
	}
	return New(c.address, Local, errors.New("there was no time left to ask it"))
}

// Plainly leaves out of an error the request, whose address may hold more than is for people, and what it wraps.
func Plainly(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return errors.New(printable.Text(err.Error(), 200))
		}
		err = inner
	}
}
