package libvirt

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/certificate"

	"github.com/digitalocean/go-libvirt"
)

// What a connection allows itself.
const (
	// concurrency is how many calls are under way at once: the daemon itself takes five of a client at a time
	// (max_client_requests) and reads no further, so that one place is left for the question whether it is there.
	concurrency   = 4
	connectWithin = 10 * time.Second // for the connection and the daemon's greeting
	aliveWithin   = 5 * time.Second  // for the answer whether it is there
)

// dialer is a connection that can reach a socket on its far side: an ssh connection.
type dialer interface {
	Dial(ctx context.Context, network, address string) (net.Conn, error)
}

// conn is a connection to one daemon. It keeps one client and replaces it when it breaks.
type conn struct {
	name    string
	spec    ConnSpec
	secrets adapter.Secrets
	tunnel  dialer // nil: none; set before the first call
	slots   chan struct{}

	turn    chan struct{} // who holds it may use what follows
	current *client       // nil: none yet
	closed  bool
}

func connect(name string, spec *ConnSpec, secrets adapter.Secrets) (*conn, error) {
	if err := errors.Join(checkConn(spec)...); err != nil {
		return nil, err
	}
	c := &conn{name: name, spec: *spec, secrets: secrets, slots: make(chan struct{}, concurrency), turn: make(chan struct{}, 1)}
	c.spec.URI = cmp.Or(c.spec.URI, defaultURI)
	c.spec.Socket = cmp.Or(c.spec.Socket, defaultSocket)
	return c, nil
}

// Concurrency is how many calls the daemon takes of one client.
func (*conn) Concurrency() int { return concurrency }

// through finds the connection that leads to the daemon's host.
func (c *conn) through(others func(string) (adapter.Conn, error)) error {
	if c.spec.SSH == "" || c.tunnel != nil {
		return nil
	}
	other, err := others(c.spec.SSH)
	if err != nil {
		return fmt.Errorf("cannot reach libvirt through %q: %w", c.spec.SSH, err)
	}
	d, ok := other.(dialer)
	if !ok {
		return fmt.Errorf("cannot reach libvirt through %q: it is not a connection of type ssh", c.spec.SSH)
	}
	c.tunnel = d
	return nil
}

// Close ends the connection and all calls over it.
func (c *conn) Close() error {
	c.turn <- struct{}{} // a dial under way ends by itself, in connectWithin at the latest
	defer func() { <-c.turn }()
	c.closed = true
	if c.current != nil {
		c.current.close()
	}
	return nil
}

// place names the daemon in errors.
func (c *conn) place() string {
	switch {
	case c.spec.TLS != "":
		return withPort(c.spec.TLS)
	case c.spec.SSH != "":
		return c.spec.Socket + " through " + c.spec.SSH
	default:
		return c.spec.Socket
	}
}

// get gives the client that is there, or a new one.
func (c *conn) get(ctx context.Context) (*client, error) {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: still connecting to libvirt at %s", adapter.ErrUnreachable, c.place())
	}
	defer func() { <-c.turn }()
	switch {
	case c.closed:
		return nil, fmt.Errorf("the connection %q is closed: %w", c.name, adapter.ErrUnreachable)
	case c.current != nil && !c.current.lost():
		return c.current, nil
	}
	cl, err := c.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot reach libvirt at %s: %w", c.place(), err)
	}
	c.current = cl
	return cl, nil
}

// dial connects and lets the daemon open the driver.
func (c *conn) dial(ctx context.Context) (*client, error) {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	raw, err := c.reach(ctx)
	if err != nil {
		return nil, explainDial(err)
	}
	cl := newClient(raw)
	done := make(chan error, 1)
	go func() { done <- cl.ConnectToURI(libvirt.ConnectURI(c.spec.URI)) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		err = errors.New("it accepts the connection but does not answer")
	}
	if err != nil {
		cl.close()
		return nil, explainRead(err)
	}
	return cl, nil
}

// reach opens the way to the daemon.
func (c *conn) reach(ctx context.Context) (net.Conn, error) {
	d := net.Dialer{KeepAlive: 15 * time.Second}
	switch {
	case c.tunnel != nil:
		return c.tunnel.Dial(ctx, "unix", c.spec.Socket)
	case c.spec.TLS == "":
		return d.DialContext(ctx, "unix", c.spec.Socket)
	}
	config, err := c.tlsConfig()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", adapter.ErrRefused, err)
	}
	raw, err := (&tls.Dialer{NetDialer: &d, Config: config}).DialContext(ctx, "tcp", withPort(c.spec.TLS))
	if err != nil {
		return nil, err
	}
	// The daemon says with one byte whether it takes our certificate.
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	var verdict [1]byte
	if _, err = raw.Read(verdict[:]); err != nil || verdict[0] != 1 {
		_ = raw.Close()
		return nil, fmt.Errorf("%w: the daemon does not accept our certificate: check that its CA signed it, and tls_allowed_dn_list "+
			"in libvirtd.conf", adapter.ErrRefused)
	}
	return raw, nil
}

func (c *conn) tlsConfig() (*tls.Config, error) {
	config, err := certificate.Config("", c.spec.CAFile)
	if err != nil {
		return nil, err
	}
	cert, err := os.ReadFile(c.spec.Cert)
	if err != nil {
		return nil, fmt.Errorf("cannot read cert_file: %w", err)
	}
	key, err := c.secrets.Secret(c.spec.Key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, []byte(key))
	if err != nil {
		return nil, errors.New("cert_file and key are not a matching certificate and private key in PEM form")
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// call makes one call. Its error is one of the port, or says that nobody knows what became of it.
func call[T any](ctx context.Context, c *conn, f func(*libvirt.Libvirt) (T, error)) (T, error) {
	var none T
	if err := context.Cause(ctx); err != nil {
		return none, fmt.Errorf("it was not asked: %w", err)
	}
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return none, fmt.Errorf("%w: %d earlier calls to libvirt at %s have had no answer", adapter.ErrUnreachable, concurrency, c.place())
	}
	cl, err := c.get(ctx)
	if err != nil {
		<-c.slots
		return none, err
	}
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		defer func() { <-c.slots }() // not before: the daemon works on it even if nobody waits for it any more
		v, err := f(cl.Libvirt)
		done <- answer{v, err}
	}()
	select {
	case a := <-done:
		return a.value, explain(a.err)
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			go cl.suspect()
		}
		return none, fmt.Errorf("libvirt at %s did not answer in time, so it is unknown whether it was done: %w", c.place(),
			context.Cause(ctx))
	}
}
