package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/lockout"
	"ebbtide/internal/adapter/reach"
)

// What a connection allows itself.
const (
	maxSessions = 8                // commands at a time: sshd's own limit is 10 (MaxSessions)
	aliveEvery  = 15 * time.Second // between questions whether the server is still there
	aliveWithin = 5 * time.Second  // for the answer
)

// Conn is an opened connection to one host, for the nodes of this family and of others that are worked with by commands.
// It keeps one client and replaces it when it breaks.
type Conn struct {
	name    string
	spec    ConnSpec
	address string
	secrets adapter.Secrets
	slots   chan struct{}
	lockout lockout.Guard
	ctx     context.Context // ends with Close: dials and keep-alives outlast single calls, but not the connection
	end     context.CancelFunc

	mu      sync.Mutex
	client  *ssh.Client // nil: none is open
	dialing *dialing    // nil: no dial is under way
}

// dialing is a dial that all who need the client wait for.
type dialing struct {
	done     chan struct{} // closed when client and err are valid
	client   *ssh.Client
	err      error
	mu       sync.Mutex
	sought   bool // its name has an address: the host was asked
	accepted bool // and it has accepted the connection
}

func connect(name string, spec *ConnSpec, secrets adapter.Secrets) (*Conn, error) {
	if err := errors.Join(checkConn(spec)...); err != nil {
		return nil, err
	}
	c := &Conn{
		name: name, spec: *spec, address: withPort(spec.Address), secrets: secrets,
		slots: make(chan struct{}, maxSessions),
	}
	c.ctx, c.end = context.WithCancel(context.Background())
	return c, nil
}

// User is the one whom the host knows us as.
func (c *Conn) User() string { return c.spec.User }

// Close ends the connection and all that runs over it.
func (c *Conn) Close() error {
	c.end()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil {
		_ = c.client.Close() // the host may be gone long since: there is nobody to whom an error would matter
		c.client = nil
	}
	return nil
}

// session opens a session, on the client that is there or on a new one. Opening has no effect on the host, so that a
// client that turns out to be dead is replaced, once.
func (c *Conn) session(ctx context.Context) (*ssh.Session, error) {
	client, fresh, err := c.get(ctx)
	if err != nil {
		return nil, err
	}
	if !fresh {
		part, cancel := reach.Share(ctx, 0.25)
		s, err := c.open(part, client)
		cancel()
		if err == nil || errors.Is(err, adapter.ErrBusy) || ctx.Err() != nil {
			return s, err
		}
		c.drop(client)
		if client, _, err = c.get(ctx); err != nil {
			return nil, err
		}
	}
	s, err := c.open(ctx, client)
	if err != nil && !errors.Is(err, adapter.ErrBusy) && ctx.Err() == nil {
		c.drop(client)
	}
	return s, err
}

// open opens a session on a client. The library waits for the server without end, so the wait is given up here.
func (c *Conn) open(ctx context.Context, client *ssh.Client) (*ssh.Session, error) {
	type opened struct {
		s   *ssh.Session
		err error
	}
	done := make(chan opened, 1)
	go func() {
		s, err := client.NewSession()
		done <- opened{s, err}
	}()
	select {
	case o := <-done:
		if no, ok := errors.AsType[*ssh.OpenChannelError](o.err); ok {
			return nil, fmt.Errorf("%s opens no further session: %w: %w", c.address, adapter.ErrBusy, no)
		}
		if o.err != nil {
			return nil, reach.New(c.address, reach.Answering, o.err)
		}
		return o.s, nil
	case <-ctx.Done():
		go func() {
			if o := <-done; o.s != nil {
				_ = o.s.Close()
			}
		}()
		return nil, reach.New(c.address, reach.Answering, context.Cause(ctx))
	}
}

// get gives the client that is open, or waits for a new one.
func (c *Conn) get(ctx context.Context) (client *ssh.Client, fresh bool, err error) {
	c.mu.Lock()
	if c.ctx.Err() != nil {
		c.mu.Unlock()
		return nil, false, fmt.Errorf("the connection %q is closed: %w", c.name, adapter.ErrUnreachable)
	}
	if c.client != nil {
		defer c.mu.Unlock()
		return c.client, false, nil
	}
	if c.dialing == nil {
		c.dialing = &dialing{done: make(chan struct{})}
		go c.dial(c.dialing)
	}
	d := c.dialing
	c.mu.Unlock()

	part, cancel := reach.Share(ctx, 0.75)
	defer cancel()
	select {
	case <-d.done:
		return d.client, true, d.err
	case <-part.Done():
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.accepted {
		return nil, false, reach.New(c.address, reach.Answering,
			errors.New("it accepts connections, but does not complete the SSH handshake"))
	}
	if !d.sought {
		return nil, false, reach.New(c.address, reach.Local, errors.New("no name server has answered for its name; give its IP address"))
	}
	return nil, false, reach.New(c.address, reach.Silent, errors.New("no answer to the connection"))
}

// dial makes a new client for all who wait for it.
func (c *Conn) dial(d *dialing) {
	client, err := c.login(d)
	c.mu.Lock()
	if err == nil && c.ctx.Err() != nil {
		_ = client.Close()
		client, err = nil, fmt.Errorf("the connection %q is closed: %w", c.name, adapter.ErrUnreachable)
	}
	d.client, d.err = client, err
	c.client, c.dialing = client, nil
	c.mu.Unlock()
	close(d.done)
	if err == nil {
		c.keepAlive(client)
	}
}

// drop gives up a client that does not work.
func (c *Conn) drop(client *ssh.Client) {
	c.mu.Lock()
	if c.client == client {
		c.client = nil
	}
	c.mu.Unlock()
	_ = client.Close()
}

// keepAlive asks the server from time to time whether it is there, until the client ends or the server is silent.
func (c *Conn) keepAlive(client *ssh.Client) {
	ended := make(chan struct{})
	go func() {
		_ = client.Wait()
		close(ended)
	}()
	tick := time.NewTicker(aliveEvery)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			c.drop(client)
			return
		case <-tick.C:
			late := time.AfterFunc(aliveWithin, func() { _ = client.Close() })
			_, _, err := client.SendRequest("keepalive@openssh.com", true, nil)
			late.Stop()
			if err != nil {
				c.drop(client)
			}
		}
	}
}

// Dial reaches a socket as the host sees it, such as "unix" and "/run/libvirt/libvirt-sock".
func (c *Conn) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	client, fresh, err := c.get(ctx)
	if err != nil {
		return nil, err
	}
	far, err := client.DialContext(ctx, network, address)
	no, refused := errors.AsType[*ssh.OpenChannelError](err)
	if err != nil && !refused && !fresh && ctx.Err() == nil {
		c.drop(client)
		if client, _, err = c.get(ctx); err != nil {
			return nil, err
		}
		far, err = client.DialContext(ctx, network, address)
		no, refused = errors.AsType[*ssh.OpenChannelError](err)
	}
	switch {
	case refused:
		return nil, fmt.Errorf("%s does not lead to its %s: %w: %w; see that what listens there runs, that %q may use it, and "+
			"AllowStreamLocalForwarding in sshd_config", c.address, address, adapter.ErrUnreachable, no, c.spec.User)
	case err != nil:
		return nil, reach.New(c.address, reach.Answering, err)
	}
	return far, nil
}
