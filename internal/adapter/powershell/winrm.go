package powershell

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/go-ntlmssp"
	"github.com/masterzen/winrm"
	"github.com/masterzen/winrm/soap"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/certificate"
	"ebbtide/internal/adapter/lockout"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/adapter/process"
	"ebbtide/internal/adapter/reach"
	"ebbtide/internal/schema"
)

// ConnSpec are the keys of a connection of type "winrm".
type ConnSpec struct {
	URL        string           `yaml:"url" check:"required"`      // https://hv1:5986
	Username   string           `yaml:"username" check:"required"` // LAB\ebbtide, or one of the machine itself
	Password   schema.SecretRef `yaml:"password" check:"required"`
	Auth       string           `yaml:"auth"`       // ntlm if not given, or basic
	Thumbprint string           `yaml:"thumbprint"` // of the certificate of the HTTPS listener
	CAFile     string           `yaml:"ca_file"`
}

// What a connection allows itself.
const (
	concurrency   = 5 // PowerShell processes at a time: each takes a second and 60 MB on the host
	connectWithin = 5 * time.Second
	maxAnswer     = 8 << 20
)

// conn is a connection to one Windows machine.
type conn struct {
	name    string
	spec    ConnSpec
	at      *url.URL
	secrets adapter.Secrets
	lanes   chan *lane // those that no command has
	lockout lockout.Guard
	door    chan struct{}   // where one command at a time logs in, until a login is accepted
	ctx     context.Context // ends with Close
	end     context.CancelFunc
}

// lane carries one command at a time. NTLM authenticates a connection, in three requests that must not be spread over several: so each has
// one, and input has its own, since a command is asked for its output all the while.
type lane struct{ requests, input *line }

// line is a client with one connection.
type line struct {
	client *http.Client
	conn   *http.Transport
}

// brokenKey leads to how the last of the requests failed that one takes with its login: the library that speaks NTLM gives the 401 before
// that instead.
type brokenKey struct{}

// RoundTrip sends one of the requests that a login takes. What it is answered frees the connection for the next one.
func (l *line) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.conn.RoundTrip(req)
	if broken, ok := req.Context().Value(brokenKey{}).(*error); ok {
		*broken = err
	}
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // what is not had of it is not needed
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// do sends a request, logging in where that is asked for.
func (l *line) do(req *http.Request) (*http.Response, error) {
	var broken error
	resp, err := l.client.Do(req.WithContext(context.WithValue(req.Context(), brokenKey{}, &broken)))
	if err == nil && broken != nil {
		_ = resp.Body.Close()
		return nil, broken
	}
	return resp, err
}

// newLane makes a lane with connections of its own.
func newLane(config *tls.Config, ntlm bool) *lane {
	single := func() *line {
		l := &line{conn: &http.Transport{ // no proxy: it may be down when this is needed most
			TLSClientConfig:     config,
			DialContext:         (&net.Dialer{Timeout: connectWithin}).DialContext,
			TLSHandshakeTimeout: connectWithin,
			MaxConnsPerHost:     1,
			IdleConnTimeout:     30 * time.Second,
		}}
		l.client = &http.Client{Transport: l}
		if ntlm {
			l.client.Transport = ntlmssp.Negotiator{RoundTripper: l}
		}
		return l
	}
	return &lane{single(), single()}
}

// close ends connections that nobody uses.
func (l *lane) close() {
	l.requests.conn.CloseIdleConnections()
	l.input.conn.CloseIdleConnections()
}

func checkConn(s *ConnSpec) []error {
	errs := certificate.Check(s.Thumbprint, s.CAFile)
	if _, err := parseURL(s.URL); err != nil && s.URL != "" {
		errs = append(errs, &schema.KeyError{Key: "url", Err: err})
	}
	if s.Auth != "" && s.Auth != "ntlm" && s.Auth != "basic" {
		errs = append(errs, schema.Mistake("auth",
			"auth %q is neither ntlm nor basic; where NTLM is off (Protected Users, a domain policy) use a connection of type ssh", s.Auth))
	}
	return errs
}

func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" && u.Path != "/wsman" {
		return nil, fmt.Errorf("url %q is not of the form https://host:5986; plain HTTP would show the commands to the network",
			text[strings.LastIndex(text, "@")+1:])
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Host, "5986")
	}
	u.Path = "/wsman"
	return u, nil
}

func connect(name string, spec *ConnSpec, secrets adapter.Secrets) (*conn, error) {
	if err := errors.Join(checkConn(spec)...); err != nil {
		return nil, err
	}
	at, err := parseURL(spec.URL)
	if err != nil {
		return nil, err
	}
	config, err := certificate.Config(spec.Thumbprint, spec.CAFile)
	if err != nil {
		return nil, err
	}
	c := &conn{name: name, spec: *spec, at: at, secrets: secrets, lanes: make(chan *lane, concurrency), door: make(chan struct{}, 1)}
	for range concurrency {
		c.lanes <- newLane(config, spec.Auth != "basic")
	}
	c.ctx, c.end = context.WithCancel(context.Background())
	return c, nil
}

// Concurrency is how many commands run at once.
func (*conn) Concurrency() int { return concurrency }

// Close ends the connection and all that waits on it.
func (c *conn) Close() error {
	c.end()
	for {
		select {
		case l := <-c.lanes:
			l.close()
		default: // a command that is under way closes its own
			return nil
		}
	}
}

// give gives a lane back.
func (c *conn) give(l *lane) {
	if c.ctx.Err() != nil {
		l.close()
		return
	}
	c.lanes <- l
}

// Run runs a program to its end. None of its words may need quotes.
func (c *conn) Run(ctx context.Context, command schema.Command, stdin string) (process.Result, error) {
	if c.ctx.Err() != nil {
		return process.Result{}, fmt.Errorf("the connection %q is closed: %w", c.name, adapter.ErrUnreachable)
	}
	var own *lane
	select {
	case own = <-c.lanes:
		defer c.give(own)
	case <-ctx.Done():
		if len(c.lanes) > 0 { // the time was over before its turn
			return process.Result{}, fmt.Errorf("%w: it was not asked: %w", adapter.ErrUnreachable, context.Cause(ctx))
		}
		return process.Result{}, fmt.Errorf("%d commands are under way on the connection %q: %w", concurrency, c.name, adapter.ErrBusy)
	}
	leave, err := c.enter(ctx)
	if err != nil {
		return process.Result{}, err
	}
	defer leave()
	password, err := c.secrets.Secret(c.spec.Password)
	if err != nil {
		return process.Result{}, fmt.Errorf("%w: %w", adapter.ErrRefused, err)
	}
	ctx, cancel := reach.Bound(ctx, c.ctx, context.Canceled)
	defer cancel(nil)
	t := &transport{conn: c, lane: own, ctx: ctx, end: func() { cancel(nil) }, password: password, entered: leave}
	params := winrm.NewParameters("PT60S", "en-US", 153600)
	params.TransportDecorator = func() winrm.Transporter { return t }
	client, err := winrm.NewClientWithParameters(winrm.NewEndpoint(c.at.Hostname(), 5986, true, false, nil, nil, nil, 0),
		c.spec.Username, password, params)
	if err != nil {
		return process.Result{}, fmt.Errorf("%w: %w", adapter.ErrRefused, err)
	}
	stdout, stderr, status, err := client.RunWithContextWithString(ctx, strings.Join(command.Argv, " "), stdin)
	if failed := t.failed.Load(); failed != nil { // the library tells some of its errors by exit statuses of its own
		err = *failed
	}
	switch {
	case err == nil:
		return process.Result{Stdout: stdout, Stderr: stderr, Code: status}, nil
	case c.ctx.Err() != nil:
		return process.Result{}, fmt.Errorf("the connection %q is closed: %w", c.name, adapter.ErrUnreachable)
	case t.given.Load() && errors.Is(err, adapter.ErrUnreachable): // what asks for its output: the command is there
		err = fmt.Errorf("%s was lost before the command ended: %v", c.at.Host, err) //nolint:errorlint // that it is unreachable now says nothing of it
	case !t.given.Load() && Unknown(err) && !errors.Is(err, context.Canceled):
		err = reach.New(c.at.Host, reach.Answering, err)
	}
	return process.Result{}, err
}

// enter lets a command log in: one at a time until a login was accepted, so that a wrong password is tried once and not
// once on each lane. leave lets the next one in, and may be called twice.
func (c *conn) enter(ctx context.Context) (leave func(), err error) {
	leave = func() {}
	if !c.lockout.IsIn() {
		select {
		case c.door <- struct{}{}:
			leave = sync.OnceFunc(func() { <-c.door })
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: it was not asked: another login is under way: %w", adapter.ErrUnreachable, context.Cause(ctx))
		}
	}
	if err := c.lockout.Locked(); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// errStillRuns is the answer to a request for output when 60 s have brought none; the library asks again if it finds this
// word in an error (MS-WSMV 3.1.4.1.4, fault 2150858793).
var errStillRuns = errors.New("OperationTimeout")

// transport carries the requests of one command.
type transport struct {
	conn     *conn
	lane     *lane
	ctx      context.Context
	end      context.CancelFunc // of ctx: the library would wait for the output of a command whose input was lost
	entered  func()             // the login was accepted
	password string
	given    atomic.Bool           // the command was sent
	failed   atomic.Pointer[error] // the first failure
}

// Transport has nothing to prepare.
func (*transport) Transport(*winrm.Endpoint) error { return nil }

// Post sends one request.
func (t *transport) Post(_ *winrm.Client, message *soap.SoapMessage) (string, error) {
	text := message.String()
	isCommand := strings.Contains(text, "/windows/shell/Command<")
	t.given.CompareAndSwap(false, isCommand)
	answer, err := t.post(text)
	if isCommand && errors.Is(err, adapter.ErrUnreachable) {
		t.given.Store(false)
	}
	tidies := strings.Contains(text, "/shell/Signal<") || strings.Contains(text, "/transfer/Delete<") // which may fail
	if err != nil && !tidies && !errors.Is(err, errStillRuns) {
		t.failed.CompareAndSwap(nil, &err)
		t.end()
	}
	return answer, err
}

func (t *transport) post(text string) (string, error) {
	at := reach.NewCourse(t.conn.at.Host)
	req, err := http.NewRequestWithContext(at.Follow(t.ctx), http.MethodPost, t.conn.at.String(), strings.NewReader(text))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/soap+xml;charset=UTF-8")
	req.SetBasicAuth(t.conn.spec.Username, t.password) // NTLM takes it from there
	by := t.lane.requests
	if strings.Contains(text, "/windows/shell/Send<") {
		by = t.lane.input
	}
	resp, err := by.do(req)
	if err != nil {
		return "", t.explain(at, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return "", t.explain(at, err)
	}
	host := t.conn.at.Host
	switch resp.StatusCode {
	case http.StatusOK:
		t.conn.lockout.Accepted()
		t.entered()
		return string(body), nil
	case http.StatusUnauthorized:
		return "", t.conn.lockout.Refused(fmt.Errorf("%w: %s does not let %q in: check the password, that the account is in Remote Management Users, and "+
			"\"winrm get winrm/config/service/auth\"", adapter.ErrRefused, host, t.conn.spec.Username))
	case http.StatusForbidden:
		return "", fmt.Errorf("%w: %s lets %q run nothing: put the account into Remote Management Users", adapter.ErrRefused, host,
			t.conn.spec.Username)
	case http.StatusServiceUnavailable:
		return "", reach.New(host, reach.Answering, errors.New("WinRM is still starting there"))
	}
	if strings.Contains(string(body), errStillRuns.Error()) {
		return "", errStillRuns
	}
	if strings.Contains(string(body), "QuotaLimit") {
		return "", fmt.Errorf("%w: %s has no room for a further shell (MaxShellsPerUser)", adapter.ErrBusy, host)
	}
	return string(body), fmt.Errorf("%s answers with status %d: %s", host, resp.StatusCode, printable.Text(string(body), 200))
}

func (t *transport) explain(at *reach.Course, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	host := t.conn.at.Host
	if certificate.Refused(err) {
		return fmt.Errorf("%w: %s: %w; if it was renewed, check it and put its SHA-256 into thumbprint", adapter.ErrRefused, host, err)
	}
	unsent := at.Unsent(err)
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("gave up waiting for %s: %w", host, err)
	case unsent != nil:
		return unsent
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s did not answer in time: %w", host, err)
	}
	return fmt.Errorf("the connection to %s was lost: %w", host, err)
}
