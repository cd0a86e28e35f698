package rest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/certificate"
	"ebbtide/internal/adapter/lockout"
	"ebbtide/internal/adapter/reach"
)

// What a client allows itself and its server.
const (
	MaxAnswer     = 4 << 20 // bytes of one answer
	Concurrency   = 4       // requests at a time: an appliance has better things to do
	connectWithin = 5 * time.Second
	idleFor       = 20 * time.Second // that a connection is kept
	maxHeader     = 64 << 10
)

// Session is what a login gave: each request carries it.
type Session struct {
	Header http.Header
	Form   url.Values // goes with the form of a request that has one
}

// Config makes a client.
type Config struct {
	Name   string // of the connection
	Server Server
	Port   string // the usual one, "" for that of HTTPS
	// Login logs in, by Send. A refusal of the account wraps ErrDenied. Nil: no request needs a session.
	Login func(ctx context.Context, c *Client) (*Session, error)
}

// Client sends requests to one appliance. It is an adapter.Conn, and its methods may be called at the same time.
type Client struct {
	name    string
	base    string
	http    *http.Client
	login   func(context.Context, *Client) (*Session, error)
	lockout lockout.Guard
	ctx     context.Context // ends with Close
	end     context.CancelFunc

	entry   chan struct{} // holds one token: who has it may log in
	mu      sync.Mutex
	session *Session // nil: none yet, or it has ended
}

// New makes a client without dialling.
func New(c Config) (*Client, error) {
	if err := errors.Join(c.Server.Check()...); err != nil {
		return nil, err
	}
	base, err := c.Server.base(c.Port)
	if err != nil {
		return nil, err
	}
	config, err := certificate.Config(c.Server.Thumbprint, c.Server.CAFile)
	if err != nil {
		return nil, err
	}
	client := &Client{name: c.Name, base: base, login: c.Login, entry: make(chan struct{}, 1)}
	client.entry <- struct{}{}
	client.ctx, client.end = context.WithCancel(context.Background())
	client.http = NewHTTP(config, Concurrency)
	return client, nil
}

// NewHTTP makes the HTTPS client for one system, which takes so many requests at a time. It goes through no proxy, which may
// be down when this is needed most, and follows no redirect to elsewhere: a password goes where the runbook says.
func NewHTTP(config *tls.Config, concurrency int) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			TLSClientConfig:        config,
			DialContext:            (&net.Dialer{Timeout: connectWithin}).DialContext,
			TLSHandshakeTimeout:    connectWithin,
			MaxConnsPerHost:        concurrency,
			MaxIdleConnsPerHost:    concurrency,
			IdleConnTimeout:        idleFor,
			MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: func(to *http.Request, from []*http.Request) error {
			if to.URL.Scheme != "https" || to.URL.Host != from[0].URL.Host || len(from) > 3 {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

// Close ends the connection and all that is under way on it.
func (c *Client) Close() error {
	c.end()
	c.http.CloseIdleConnections()
	return nil
}

// Concurrency is how many requests an appliance takes at once.
func (*Client) Concurrency() int { return Concurrency }

// Base is the server's address: https://host:port.
func (c *Client) Base() string { return c.base }

// HTTP is the client below, for what is not a plain request: see Under.
func (c *Client) HTTP() *http.Client { return c.http }

// Request is one request.
type Request struct {
	Method string // GET if not given
	Base   string // another address of the same appliance; "" is its own
	Path   string
	Query  url.Values
	Header http.Header
	JSON   any        // a body, or
	Form   url.Values // a form
	// Answer is what the body of a success is decoded into; nil: it does not matter.
	Answer any
	// Judge tells, once Answer is filled, what is wrong with it, for servers that say no with a success: an ErrEnded has
	// the request sent again with a new session.
	Judge func() error
	// Asks: it changes nothing, so that no answer means unreachable and not "nobody knows".
	Asks bool
}

// Do sends a request with a session. One that has ended is replaced, once.
func (c *Client) Do(ctx context.Context, r Request) error {
	s, fresh, err := c.enter(ctx)
	if err != nil {
		return err
	}
	if err = c.try(ctx, r, s); fresh || !over(err) {
		return c.denied(err)
	}
	if s, _, err = c.enter(ctx); err != nil {
		return err
	}
	return c.denied(c.try(ctx, r, s))
}

// try sends a request with a session, and gives the session up if it is over.
func (c *Client) try(ctx context.Context, r Request, s *Session) error {
	_, err := c.send(ctx, r, s)
	switch {
	case over(err):
		c.leave(s)
	case err == nil:
		c.lockout.Accepted()
	}
	return err
}

// over reports whether an error says that a session is over.
func over(err error) bool { return errors.Is(err, ErrEnded) || errors.Is(err, ErrDenied) }

// Send sends a request as it is, without a session, and gives the header of the answer.
func (c *Client) Send(ctx context.Context, r Request) (http.Header, error) {
	return c.send(ctx, r, nil)
}

// enter gives the session, or logs in.
func (c *Client) enter(ctx context.Context) (s *Session, fresh bool, err error) {
	if c.login == nil {
		return nil, true, nil
	}
	select {
	case <-c.entry:
		defer func() { c.entry <- struct{}{} }()
	case <-ctx.Done():
		return nil, false, fmt.Errorf("%w: %s: still logging in: %w", adapter.ErrUnreachable, c.base, context.Cause(ctx))
	}
	c.mu.Lock()
	s = c.session
	c.mu.Unlock()
	if s != nil {
		return s, false, nil
	}
	if err := c.lockout.Locked(); err != nil {
		return nil, false, err
	}
	if s, err = c.login(ctx, c); err != nil {
		return nil, false, c.denied(err)
	}
	c.mu.Lock()
	c.session = s
	c.mu.Unlock()
	return s, true, nil
}

// denied notes a login that was refused, if err says so.
func (c *Client) denied(err error) error {
	if errors.Is(err, ErrDenied) {
		return c.lockout.Refused(err)
	}
	return err
}

// leave gives up a session, unless it was replaced since.
func (c *Client) leave(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == s {
		c.session = nil
	}
}

// send sends a request and reads its answer.
func (c *Client) send(ctx context.Context, r Request, s *Session) (http.Header, error) {
	var header http.Header
	err := c.under(ctx, cmp.Or(r.Base, c.base), r.Asks, func(ctx context.Context) error {
		req, err := r.build(ctx, cmp.Or(r.Base, c.base), s)
		if err != nil {
			return err
		}
		resp, err := c.http.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		header = resp.Header
		body, err := io.ReadAll(io.LimitReader(resp.Body, MaxAnswer+1))
		switch {
		case err != nil:
			return err
		case len(body) > MaxAnswer:
			return fmt.Errorf("%w: its answer to %s is larger than %d bytes", adapter.ErrRefused, r.Path, MaxAnswer)
		case resp.StatusCode < 200 || resp.StatusCode > 299:
			return explainStatus(r.Path, resp.StatusCode, body, r.Asks)
		case r.Answer == nil, len(body) == 0 && !r.Asks: // a command may be taken without a word
			return nil
		}
		err = Decode(body, r.Answer)
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return err
		case err != nil:
			return fmt.Errorf("%w: its answer to %s is not as expected: %v", adapter.ErrRefused, r.Path,
				err) //nolint:errorlint // only the sentinel is for others
		}
		return nil
	})
	if err == nil && r.Judge != nil {
		err = r.Judge()
	}
	return header, err
}

// Under makes an exchange over HTTP() that ends with ctx and with the connection, and says what became of it if it failed.
// asks: it changes nothing. A server that lets nothing be heard is given up while there is still time to say so.
func (c *Client) Under(ctx context.Context, asks bool, exchange func(context.Context) error) error {
	return c.under(ctx, c.base, asks, exchange)
}

func (c *Client) under(ctx context.Context, base string, asks bool, exchange func(context.Context) error) error {
	ctx, cancel := c.Bound(ctx)
	defer cancel(nil)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	at := reach.NewCourse(strings.TrimPrefix(base, "https://"))
	if deadline, ok := ctx.Deadline(); ok {
		late := time.AfterFunc(time.Until(deadline)*3/4, func() {
			if !at.Connected() {
				cancel(reach.ErrSilent)
			}
		})
		defer late.Stop()
	}
	err := exchange(at.Follow(ctx))
	if err == nil || explained(err) {
		return err
	}
	if !at.Connected() {
		c.http.CloseIdleConnections() // also ends a dial that nobody waits for any more
	}
	return explain(ctx, at, err, asks)
}

// Bound gives a context that ends with ctx and, as adapter.ErrUnreachable, with the connection.
func (c *Client) Bound(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	return reach.Bound(ctx, c.ctx, fmt.Errorf("%w: the connection %q is closed", adapter.ErrUnreachable, c.name))
}

// build makes the request of package http.
func (r *Request) build(ctx context.Context, base string, s *Session) (*http.Request, error) {
	target := base + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	var body io.Reader
	kind := ""
	switch {
	case r.JSON != nil:
		data, err := json.Marshal(r.JSON)
		if err != nil {
			return nil, err
		}
		body, kind = bytes.NewReader(data), "application/json"
	case r.Form != nil:
		form := url.Values{}
		for _, from := range []url.Values{r.Form, s.form()} {
			maps.Copy(form, from)
		}
		body, kind = strings.NewReader(form.Encode()), "application/x-www-form-urlencoded"
	}
	req, err := http.NewRequestWithContext(ctx, cmp.Or(r.Method, http.MethodGet), target, body)
	if err != nil {
		return nil, err
	}
	for _, from := range []http.Header{s.header(), r.Header} {
		maps.Copy(req.Header, from)
	}
	req.Header.Set("Accept", "application/json")
	if kind != "" && req.Header.Get("Content-Type") == "" { // one of the request's own says more: a kind of patch
		req.Header.Set("Content-Type", kind)
	}
	return req, nil
}

func (s *Session) header() http.Header {
	if s == nil {
		return nil
	}
	return s.Header
}

func (s *Session) form() url.Values {
	if s == nil {
		return nil
	}
	return s.Form
}
