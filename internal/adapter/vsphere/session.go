package vsphere

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"ebbtide/internal/adapter"

	vimsession "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// session is a login that was accepted.
type session struct {
	*vim25.Client
	manager *vimsession.Manager
}

// agent reports whether the server is a host's own agent rather than a vCenter.
func (s *session) agent() bool { return s.ServiceContent.About.ApiType == "HostAgent" }

// session gives the current session, or logs in.
func (c *Conn) session(ctx context.Context) (*session, error) {
	select {
	case <-c.login:
		defer func() { c.login <- struct{}{} }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: still logging in: %w", errLogin, unreachable(ctx))
	}
	if c.closed {
		return nil, errClosed
	}
	if c.current != nil {
		return c.current, nil
	}
	if err := c.lockout.Locked(); err != nil {
		return nil, err
	}
	password, err := c.secrets.Secret(c.spec.Password)
	if err != nil {
		return nil, fmt.Errorf("%w: %w: cannot read the password of connection %q: %w", errLogin, adapter.ErrRefused, c.name, err)
	}
	ctx, cancel := c.limit(ctx)
	defer cancel()
	client := c.client()
	vc, err := newVim(ctx, client)
	if err != nil {
		client.CloseIdleConnections()
		return nil, fmt.Errorf("%w: %w", errLogin, explainRead(err))
	}
	s := &session{vc, vimsession.NewManager(vc)}
	if err := s.manager.Login(ctx, url.UserPassword(c.spec.Username, password)); err != nil {
		client.CloseIdleConnections()
		return nil, c.denied(err)
	}
	c.current = s
	c.lockout.Accepted()
	return s, nil
}

// denied remembers a login that was refused: a directory locks an account after a few of them, so the next one waits.
func (c *Conn) denied(err error) error {
	if !isKind(err, &types.InvalidLogin{}) && !isKind(err, &types.NoPermission{}) {
		return fmt.Errorf("%w: %w", errLogin, explainRead(err))
	}
	return c.lockout.Refused(fmt.Errorf("%w: %w: %q may not log in (%w): check the password; on a host in lockdown mode, its exception users",
		errLogin, adapter.ErrRefused, c.spec.Username, err))
}

// drop forgets a session that has expired, unless somebody has already replaced it.
func (c *Conn) drop(ctx context.Context, s *session) {
	select {
	case <-c.login:
		defer func() { c.login <- struct{}{} }()
		if c.current == s {
			c.current = nil
			s.CloseIdleConnections()
		}
	case <-ctx.Done():
	}
}

// do makes calls with a session, at most concurrency at once. ctx bounds it; so does the pace of the connection. The
// error is not yet explained.
func (c *Conn) do(ctx context.Context, calls func(context.Context, *session) error) error {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return fmt.Errorf("too many calls are waiting: %w", unreachable(ctx))
	}
	return c.withSession(ctx, calls)
}

// withSession makes calls, and makes them once more with a new session if theirs has expired.
func (c *Conn) withSession(ctx context.Context, calls func(context.Context, *session) error) error {
	for again := true; ; again = false {
		s, err := c.session(ctx)
		if err != nil {
			return err
		}
		limited, cancel := c.limit(ctx)
		err = calls(limited, s)
		cancel()
		if !expired(err) {
			return err
		}
		c.drop(ctx, s)
		if !again {
			return fmt.Errorf("%w: %w: the server ends the session at once: %s", errLogin, adapter.ErrUnreachable, oneLine(err))
		}
	}
}

func expired(err error) bool { return err != nil && isKind(err, &types.NotAuthenticated{}) }

// unreachable says that nothing was sent before ctx ended.
func unreachable(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %s", adapter.ErrUnreachable, ctx.Err().Error())
}
