// Package nut speaks the network protocol of NUT (Network UPS Tools): a client, a poller that turns variables into
// readings, and a supply's output as a node of the estate. Why it is our own: docs/adr/0002-own-nut-client.md.
package nut

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// Options say how a server is reached.
type Options struct {
	Address string // host:port
	// TLS asks for STARTTLS before anything else is sent; nil: plain text. A server without it is then an error.
	// ServerName is taken from Address if it is empty.
	TLS      *tls.Config
	Username string // "": no credentials are sent, which is enough for reading
	// Password is asked for at each dial with a Username. It never stands in an error.
	Password func() (string, error)
	// Timeout bounds the dial and each answer where the context does not end earlier; 0: 2 s.
	Timeout time.Duration
}

const (
	defaultPort    = "3493"
	defaultTimeout = 2 * time.Second
	// maxLine bounds a line. upsd's own values end at 255 characters.
	maxLine = 8 << 10
)

// ParseTarget splits "ups@host:port" as upsc does: without a port it is 3493, without a host this machine.
func ParseTarget(target string) (ups, address string, err error) {
	ups, host, found := strings.Cut(target, "@")
	if ups == "" {
		return "", "", fmt.Errorf("cannot read UPS %q: the name before @ is missing; write ups@host or ups@host:3493", target)
	}
	if !found || host == "" {
		host = "localhost"
	}
	if _, _, err := net.SplitHostPort(host); err == nil {
		return ups, host, nil
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.Contains(bare, ":") && net.ParseIP(bare) == nil {
		return "", "", fmt.Errorf("cannot read UPS %q: %q is not host:port; write ups@host or ups@host:3493", target, host)
	}
	return ups, net.JoinHostPort(bare, defaultPort), nil
}

// Dial connects, goes over to TLS and gives the credentials, as far as o asks for it. upsd does not look at credentials
// before a command needs them: VerifyCredentials tests them.
func Dial(ctx context.Context, o Options) (*Client, error) {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", o.Address)
	if errors.Is(err, os.ErrDeadlineExceeded) { // the socket's deadline may be faster than the context's
		err = fmt.Errorf("%w: %w", err, context.DeadlineExceeded)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot connect to NUT server %q: %w", o.Address, err)
	}
	return open(ctx, promptly(conn), o)
}

// open makes a client of a connection. With an error the connection is closed.
func open(ctx context.Context, conn net.Conn, o Options) (*Client, error) {
	c := &Client{
		address: o.Address, timeout: o.Timeout, turn: make(chan struct{}, 1),
		conn: conn, in: bufio.NewReaderSize(conn, maxLine),
	}
	if err := c.greet(ctx, o); err != nil {
		_ = conn.Close() // the error that matters is the one before
		return nil, fmt.Errorf("cannot open a session with NUT server %q: %w", o.Address, err)
	}
	return c, nil
}

func (c *Client) greet(ctx context.Context, o Options) error {
	if o.TLS != nil {
		if err := c.startTLS(ctx, o.TLS); err != nil {
			return fmt.Errorf("cannot start TLS: %w", err)
		}
	}
	if o.Username == "" {
		return nil
	}
	password := ""
	if o.Password != nil {
		var err error
		if password, err = o.Password(); err != nil {
			return fmt.Errorf("cannot get the password of user %q: %w", o.Username, err)
		}
	}
	if err := c.ok(ctx, "USERNAME", o.Username); err != nil {
		return fmt.Errorf("cannot give user name %q: %w", o.Username, err)
	}
	if err := c.ok(ctx, "PASSWORD", password); err != nil {
		return fmt.Errorf("cannot give the password of user %q: %w", o.Username, err)
	}
	return nil
}

func (c *Client) startTLS(ctx context.Context, config *tls.Config) error {
	if err := c.ok(ctx, "STARTTLS"); err != nil {
		return err
	}
	if c.in.Buffered() > 0 {
		return fmt.Errorf("%w: plain text after the answer to STARTTLS", ErrProtocol)
	}
	if config.ServerName == "" && !config.InsecureSkipVerify {
		host, _, err := net.SplitHostPort(c.address)
		if err != nil {
			return err
		}
		config = config.Clone()
		config.ServerName = host
	}
	secure := tls.Client(c.conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return err
	}
	c.conn, c.in = secure, bufio.NewReaderSize(secure, maxLine)
	return nil
}

// nobodysVariable is one that no UPS has: to set it has no effect.
const nobodysVariable = "ebbtide.credentials"

// VerifyCredentials tests user and password by what upsd answers honestly and what changes nothing (it says OK to any
// USERNAME, PASSWORD and SET TRACKING ON, and looks at a command before it looks at the user): a SET of a variable that
// no UPS has, which needs `actions = SET`, and a LOGIN, which needs an upsmon line. A user with neither can't be tested,
// and his ErrAccessDenied says so. That he may give a certain command is not tested: only that command would.
func VerifyCredentials(ctx context.Context, o Options, ups string) error {
	c, err := Dial(ctx, o)
	if err != nil {
		return err
	}
	err = c.Set(ctx, ups, nobodysVariable, "1")
	switch {
	case errors.Is(err, ErrVarNotSupported):
		return c.Close()
	case errors.Is(err, ErrUnknownUPS):
		return errors.Join(err, c.Close())
	}
	err = c.Login(ctx, ups)
	if errors.Is(err, ErrAccessDenied) {
		err = fmt.Errorf("%w; user %q may neither LOGIN nor SET: either the password is wrong, or the user has only instcmds, so it "+
			"can't be tested before the command itself: "+
			"give the user the line `upsmon secondary` or `actions = SET` too, and restart Ebbtide", err, o.Username)
	}
	if err != nil {
		return errors.Join(err, c.Close())
	}
	return c.Close()
}
