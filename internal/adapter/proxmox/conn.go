package proxmox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/certificate"
	"ebbtide/internal/adapter/lockout"
	"ebbtide/internal/adapter/reach"
	"ebbtide/internal/adapter/rest"
)

// What a connection allows itself.
const (
	concurrency = 8 // calls at a time: a node has three workers (pvedaemon), and each starts a task of its own
	maxAnswer   = 32 << 20
)

// conn is a connection to a cluster, by whichever of its nodes answers.
type conn struct {
	name    string
	spec    ConnSpec
	urls    []*url.URL
	secrets adapter.Secrets
	http    *http.Client
	lockout lockout.Guard
	ctx     context.Context // ends with Close
	end     context.CancelFunc
	best    atomic.Int32 // of urls: the one that answered last
}

func connect(name string, spec *ConnSpec, secrets adapter.Secrets) (*conn, error) {
	if err := errors.Join(checkConn(spec)...); err != nil {
		return nil, err
	}
	config, err := certificate.Config(spec.Thumbprint, spec.CAFile)
	if err != nil {
		return nil, err
	}
	c := &conn{name: name, spec: *spec, secrets: secrets}
	for _, text := range append([]string{spec.URL}, spec.Others...) {
		u, err := parseURL(text)
		if err != nil {
			return nil, err
		}
		c.urls = append(c.urls, u)
	}
	c.http = rest.NewHTTP(config, concurrency)
	c.ctx, c.end = context.WithCancel(context.Background())
	return c, nil
}

// Concurrency is how many calls a node's API takes well at once.
func (*conn) Concurrency() int { return concurrency }

// Close ends the connection and all calls over it.
func (c *conn) Close() error {
	c.end()
	c.http.CloseIdleConnections()
	return nil
}

// get asks.
func (c *conn) get(ctx context.Context, path string, into any) error {
	err := c.call(ctx, http.MethodGet, path, nil, into)
	if none, ok := errors.AsType[*unanswered](err); ok { // a question does nothing: no answer is as good as not asked
		return fmt.Errorf("%w: %w", adapter.ErrUnreachable, none.err)
	}
	return err
}

// call makes one call: of the node that answered last, and of the next one as long as the call did not get there.
func (c *conn) call(ctx context.Context, method, path string, form url.Values, into any) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("it was not asked: %w", err)
	}
	ctx, cancel := reach.Bound(ctx, c.ctx, errClosed)
	defer cancel(nil)
	if c.ctx.Err() != nil {
		return errClosed
	}
	secret, err := c.secrets.Secret(c.spec.Secret)
	if err != nil {
		return fmt.Errorf("%w: %w", adapter.ErrRefused, err)
	}
	first := int(c.best.Load())
	var none []*reach.Error
	for i := range c.urls {
		at := (first + i) % len(c.urls)
		err := c.ask(ctx, c.urls[at], secret, method, path, form, into)
		no, ok := errors.AsType[*reach.Error](err)
		if !ok {
			c.best.Store(int32(at))
			return err
		}
		none = append(none, no)
		if ctx.Err() != nil {
			break
		}
	}
	return reach.All(none)
}

// unanswered says that a call was sent and its answer never came. It wraps no sentinel: nobody knows whether it was done.
type unanswered struct {
	host string
	err  error
}

func (e *unanswered) Error() string {
	return fmt.Sprintf("%s did not answer, so it is unknown whether it was done: %v", e.host, e.err)
}
func (e *unanswered) Unwrap() error { return e.err }

var errClosed = fmt.Errorf("the connection is closed: %w", adapter.ErrUnreachable)

// ask makes one call of one node.
func (c *conn) ask(ctx context.Context, at *url.URL, secret, method, path string, form url.Values, into any) error {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	course := reach.NewCourse(at.Host)
	req, err := http.NewRequestWithContext(course.Follow(ctx), method, at.JoinPath("api2/json").String()+path, body)
	if err != nil {
		return fmt.Errorf("%w: %w", adapter.ErrRefused, err)
	}
	req.Header.Set("Authorization", "PVEAPIToken="+c.spec.Token+"="+secret)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return explainTransport(ctx, course, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return explainTransport(ctx, course, err)
	case len(text) > maxAnswer: // which is not one that is cut short
		return fmt.Errorf("%w: the answer of %s is larger than %d bytes", adapter.ErrRefused, at.Host, maxAnswer)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return c.explain(resp, text)
	}
	c.lockout.Accepted()
	if into == nil {
		return nil
	}
	err = rest.Decode(text, &struct {
		Data any `json:"data"`
	}{into})
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return explainTransport(ctx, course, err)
	case err != nil:
		return fmt.Errorf("%w: %s does not answer like Proxmox VE: %w", adapter.ErrRefused, at.Host, err)
	}
	return nil
}

// seg makes one segment of a path.
func seg(text string) string { return "/" + url.PathEscape(text) }

// task is the end of a task, as far as it has one.
type task struct {
	Status string `json:"status"` // running, stopped
	Exit   string `json:"exitstatus"`
}

// upid is a task's name. It holds the node that runs it: UPID:NODE:…
type upid string

func (u upid) node() string {
	parts := strings.Split(string(u), ":")
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

func (u upid) path() string { return "/nodes" + seg(u.node()) + "/tasks" + seg(string(u)) }

// failure reports whether a task is over, and how it failed. One that warns has not failed.
func (c *conn) failure(ctx context.Context, u upid) (over bool, err error) {
	var t task
	if err := c.get(ctx, u.path()+"/status", &t); err != nil {
		return false, nil // its log is gone with its node: the guest's state says the rest
	}
	switch {
	case t.Status == "running":
		return false, nil
	case t.Exit == "OK", strings.HasPrefix(t.Exit, "WARNINGS"):
		return true, nil
	}
	return true, errors.New(t.Exit)
}
