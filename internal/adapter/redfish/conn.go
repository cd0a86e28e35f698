package redfish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/stmcginnis/gofish"
	"github.com/stmcginnis/gofish/schemas"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/certificate"
	"ebbtide/internal/adapter/lockout"
	"ebbtide/internal/adapter/rest"
	"ebbtide/internal/english"
)

// What is believed of a controller, and asked of it.
const (
	maxAnswer   = 4 << 20 // bytes of one answer
	concurrency = 2       // requests at a time: many controllers have a small processor and one thread
)

// systems is where the machines of a controller are listed (DSP0266, 6.5).
const systems = "/redfish/v1/Systems"

// conn is a connection to the controller of one machine.
type conn struct {
	name    string
	spec    *ConnectionSpec
	base    string
	secrets adapter.Secrets
	http    *http.Client
	lockout lockout.Guard
	ctx     context.Context // ends with Close
	end     context.CancelFunc

	mu     sync.Mutex
	client *gofish.APIClient // nil: none yet, or its password was refused
	path   string            // of the machine, "" before it is known
}

// connect makes a connection without dialling.
func connect(name string, spec *ConnectionSpec, secrets adapter.Secrets) (*conn, error) {
	if err := errors.Join(check(spec)...); err != nil {
		return nil, err
	}
	at, err := base(spec.URL)
	if err != nil {
		return nil, err
	}
	config, err := certificate.Config(spec.Thumbprint, spec.CAFile)
	if err != nil {
		return nil, err
	}
	c := &conn{name: name, spec: spec, base: at, secrets: secrets}
	c.ctx, c.end = context.WithCancel(context.Background())
	c.http = rest.NewHTTP(config, concurrency)
	c.http.Transport = bounded{c.http.Transport}
	return c, nil
}

// Close ends the connection.
func (c *conn) Close() error {
	c.end()
	c.http.CloseIdleConnections()
	return nil
}

// Concurrency is how many calls a controller takes at once.
func (*conn) Concurrency() int { return concurrency }

// system reads the machine's resource. The client that it comes from ends with ctx.
func (c *conn) system(ctx context.Context) (*schemas.ComputerSystem, error) {
	client, err := c.login(ctx)
	if err != nil {
		return nil, err
	}
	at, err := c.find(client)
	if err != nil {
		return nil, c.explain(ctx, err, false)
	}
	s, err := schemas.GetComputerSystem(client, at)
	if err != nil {
		c.forget()
		return nil, c.explain(ctx, err, false)
	}
	c.lockout.Accepted()
	return s, nil
}

// login gives a client whose requests end with ctx. Nothing is sent that needs a password.
func (c *conn) login(ctx context.Context) (*gofish.APIClient, error) {
	if c.ctx.Err() != nil {
		return nil, fmt.Errorf("%w: the connection %q is closed", adapter.ErrUnreachable, c.name)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := c.lockout.Locked(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	client := c.client
	c.mu.Unlock()
	if client != nil {
		return client.WithContext(ctx), nil
	}
	password, err := c.secrets.Secret(c.spec.Password)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot read the password of connection %q: %w", adapter.ErrRefused, c.name, err)
	}
	client, err = gofish.ConnectContext(ctx, gofish.ClientConfig{
		Endpoint: c.base, Username: c.spec.Username, Password: password, BasicAuth: true,
		HTTPClient: c.http, NoModifyTransport: true, ReuseConnections: true, MaxConcurrentRequests: concurrency,
	})
	if err != nil {
		return nil, c.explain(ctx, err, false)
	}
	c.mu.Lock()
	c.client = client
	c.mu.Unlock()
	return client.WithContext(ctx), nil
}

// forget gives up what may have changed: the password, or the place of the machine.
func (c *conn) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client, c.path = nil, ""
}

// find gives the path of the machine.
func (c *conn) find(client *gofish.APIClient) (string, error) {
	c.mu.Lock()
	known := c.path
	c.mu.Unlock()
	if known != "" {
		return known, nil
	}
	paths, err := list(client)
	if err != nil {
		c.forget()
		return "", err
	}
	var ids []string
	found := ""
	for _, p := range paths {
		id := path.Base(p)
		ids = append(ids, id)
		if id == c.spec.System || c.spec.System == "" && len(paths) == 1 {
			found = p
		}
	}
	switch {
	case found != "":
	case len(ids) == 0:
		return "", fmt.Errorf("%w: the controller knows of no machine: the account may lack the right to log in", adapter.ErrRefused)
	case c.spec.System == "":
		return "", fmt.Errorf("%w: the controller has several machines: say which one by system: %s", adapter.ErrRefused,
			english.List(ids, 9))
	default:
		return "", fmt.Errorf("%w: the controller has no machine %q: it has %s", adapter.ErrRefused, c.spec.System, english.List(ids, 9))
	}
	c.mu.Lock()
	c.path = found
	c.mu.Unlock()
	return found, nil
}

// list gives the paths of a controller's machines.
func list(client *gofish.APIClient) ([]string, error) {
	resp, err := client.Get(systems)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var collection struct {
		Members []struct {
			Path string `json:"@odata.id"`
		}
	}
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	err = rest.Decode(answer, &collection)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: what it answers is not Redfish: %v", adapter.ErrRefused,
			err) //nolint:errorlint // only the sentinel is for others
	}
	var paths []string
	for _, m := range collection.Members {
		if strings.HasPrefix(m.Path, systems+"/") { // nothing else is a machine, wherever it leads
			paths = append(paths, m.Path)
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// bounded believes no endless answer.
type bounded struct{ http.RoundTripper }

// RoundTrip bounds the body of the answer.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}
