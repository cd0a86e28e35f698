package snmp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gosnmp/gosnmp"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/reach"
	"ebbtide/internal/plan"
)

// How a PDU is asked.
const (
	tryWithin   = 2 * time.Second // for one packet to be answered
	retries     = 2               // of a packet that was not
	concurrency = 2               // calls at a time
)

var (
	auths     = map[string]gosnmp.SnmpV3AuthProtocol{"sha": gosnmp.SHA, "sha256": gosnmp.SHA256, "sha512": gosnmp.SHA512}
	privacies = map[string]gosnmp.SnmpV3PrivProtocol{"aes": gosnmp.AES, "aes256": gosnmp.AES256}
)

// conn is a connection to a PDU. It keeps no socket: SNMP has no sessions.
type conn struct {
	name    string
	spec    *ConnectionSpec
	profile profile
	host    string
	port    uint16
	secrets adapter.Secrets
	slots   chan struct{}
	ctx     context.Context
	end     context.CancelFunc
}

// connect makes a connection without dialling.
func connect(name string, spec *ConnectionSpec, secrets adapter.Secrets) (*conn, error) {
	if err := errors.Join(check(spec)...); err != nil {
		return nil, err
	}
	host, port, err := split(spec.Address)
	if err != nil {
		return nil, err
	}
	p, err := spec.profile()
	if err != nil {
		return nil, err
	}
	c := &conn{name: name, spec: spec, profile: p, host: host, port: port, secrets: secrets, slots: make(chan struct{}, concurrency)}
	c.ctx, c.end = context.WithCancel(context.Background())
	return c, nil
}

// Close ends what is under way.
func (c *conn) Close() error {
	c.end()
	return nil
}

// Concurrency is how many calls a PDU takes at once.
func (*conn) Concurrency() int { return concurrency }

// Outlet reads an outlet's state.
func (c *conn) Outlet(ctx context.Context, outlet int) (plan.Observation, error) {
	var seen plan.Observation
	err := c.ask(ctx, func(g *gosnmp.GoSNMP) (err error) {
		seen, err = c.read(g, outlet)
		return err
	})
	return seen, err
}

// Switch turns an outlet on or off, unless it is.
func (c *conn) Switch(ctx context.Context, outlet int, on bool) error {
	want, to := plan.Off, c.profile.off
	if on {
		want, to = plan.On, c.profile.on
	}
	return c.ask(ctx, func(g *gosnmp.GoSNMP) error {
		seen, err := c.read(g, outlet)
		if err != nil || seen.State == want {
			return err
		}
		answer, err := g.Set([]gosnmp.SnmpPDU{{Name: of(to.oid, outlet), Type: gosnmp.Integer, Value: to.value}})
		if err != nil {
			if refused := refusal(err); refused != nil {
				return refused
			}
			return fmt.Errorf("%w (%v)", errUnanswered, err) //nolint:errorlint // the text is enough
		}
		return denied(answer.Error, outlet)
	})
}

// read reads an outlet's state.
func (c *conn) read(g *gosnmp.GoSNMP, outlet int) (plan.Observation, error) {
	answer, err := g.Get([]string{of(c.profile.status, outlet)})
	if err != nil {
		return plan.Observation{}, err
	}
	if answer.Error != gosnmp.NoError {
		return plan.Observation{}, denied(answer.Error, outlet)
	}
	if len(answer.Variables) != 1 {
		return plan.Observation{}, fmt.Errorf("%w: it answers %d values to a question for one", adapter.ErrRefused, len(answer.Variables))
	}
	v := answer.Variables[0]
	if v.Type == gosnmp.NoSuchObject || v.Type == gosnmp.NoSuchInstance {
		return plan.Observation{}, denied(gosnmp.NoSuchName, outlet)
	}
	n := gosnmp.ToBigInt(v.Value)
	state := plan.Unknown
	if v.Type == gosnmp.Integer && n.IsInt64() {
		state = c.profile.reads[int(n.Int64())]
	}
	return plan.Observation{State: state, Detail: fmt.Sprintf("outlet %d reads %s (%s)", outlet, state, n)}, nil
}

// errUnanswered says that a command was sent and not answered. It reads as a deadline: nobody knows whether it was done.
var errUnanswered = fmt.Errorf("no answer, so it is unknown whether it was done: %w", context.DeadlineExceeded)

// ask asks with a socket of its own, which ends with ctx.
func (c *conn) ask(ctx context.Context, questions func(*gosnmp.GoSNMP) error) error {
	ctx, cancel := reach.Bound(ctx, c.ctx, context.Canceled)
	defer cancel(nil)
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
	}
	err := c.asked(ctx, questions)
	switch {
	case err == nil:
		return nil
	case c.ctx.Err() != nil:
		return fmt.Errorf("%w: the connection %q is closed", adapter.ErrUnreachable, c.name)
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	}
	return fmt.Errorf("PDU %s: %w", c.spec.Address, err)
}

func (c *conn) asked(ctx context.Context, questions func(*gosnmp.GoSNMP) error) error {
	if ctx.Err() != nil {
		return explain(ctx.Err())
	}
	g, err := c.client(ctx)
	if err != nil {
		return err
	}
	if err := g.Connect(); err != nil {
		return explain(err)
	}
	defer func() { _ = g.Close() }()
	socket := g.Conn // the client's own Close would take the socket from under a question that is being asked
	defer context.AfterFunc(ctx, func() { _ = socket.Close() })()
	return explain(questions(g))
}

// client makes a client with the secrets as they are now.
func (c *conn) client(ctx context.Context) (*gosnmp.GoSNMP, error) {
	g := &gosnmp.GoSNMP{Target: c.host, Port: c.port, Context: ctx, Timeout: tryWithin, Retries: retries, MaxOids: gosnmp.MaxOids}
	if c.spec.Version == "2c" {
		community, err := c.secrets.Secret(c.spec.Community)
		if err != nil {
			return nil, fmt.Errorf("%w: cannot read the community of connection %q: %w", adapter.ErrRefused, c.name, err)
		}
		g.Version, g.Community = gosnmp.Version2c, community
		return g, nil
	}
	auth, err := c.secrets.Secret(c.spec.AuthPassword)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot read auth_password of connection %q: %w", adapter.ErrRefused, c.name, err)
	}
	privacy, err := c.secrets.Secret(c.spec.PrivacyPassword)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot read privacy_password of connection %q: %w", adapter.ErrRefused, c.name, err)
	}
	g.Version, g.SecurityModel, g.MsgFlags = gosnmp.Version3, gosnmp.UserSecurityModel, gosnmp.AuthPriv
	g.SecurityParameters = &gosnmp.UsmSecurityParameters{
		UserName:               c.spec.User,
		AuthenticationProtocol: auths[cmp.Or(c.spec.Auth, "sha256")], AuthenticationPassphrase: auth,
		PrivacyProtocol: privacies[cmp.Or(c.spec.Privacy, "aes")], PrivacyPassphrase: privacy,
	}
	return g, nil
}

// explain turns an error into one of the port.
func explain(err error) error {
	switch {
	case err == nil, errors.Is(err, adapter.ErrRefused), errors.Is(err, adapter.ErrBusy), errors.Is(err, errUnanswered):
		return err
	case refusal(err) != nil:
		return refusal(err)
	}
	return fmt.Errorf("%w: %v; a community that is wrong, or not allowed from here, gets no answer either", adapter.ErrUnreachable,
		err) //nolint:errorlint // a deadline inside it would read as if nobody knew what was done
}

// refusal says what it means that a login of version 3 was refused; nil: it was not.
func refusal(err error) error {
	for _, r := range []struct {
		err  error
		hint string
	}{
		{gosnmp.ErrUnknownUsername, "it knows no such user"},
		{gosnmp.ErrWrongDigest, "auth_password or auth is wrong"},
		{gosnmp.ErrDecryption, "privacy_password or privacy is wrong"},
		{gosnmp.ErrUnknownSecurityLevel, "the user has no authentication or no privacy there"},
	} {
		if errors.Is(err, r.err) {
			return fmt.Errorf("%w: %s", adapter.ErrRefused, r.hint)
		}
	}
	if strings.Contains(err.Error(), "is not authentic") { // the library has no name for it: a report that nobody signed
		return fmt.Errorf("%w: it does not let the user in: user, auth or auth_password is wrong", adapter.ErrRefused)
	}
	return nil
}

// denied says what it means that a PDU answers with an error.
func denied(code gosnmp.SNMPError, outlet int) error {
	switch code {
	case gosnmp.NoError:
		return nil
	case gosnmp.NoSuchName, gosnmp.NoCreation, gosnmp.InconsistentName:
		return fmt.Errorf("%w: it has no outlet %d that can be switched: check the number, and that pdu names what it is (a metered PDU "+
			"switches nothing)", adapter.ErrRefused, outlet)
	case gosnmp.NoAccess, gosnmp.NotWritable, gosnmp.ReadOnly, gosnmp.AuthorizationError:
		return fmt.Errorf("%w: outlet %d may not be switched (%s): give the community or user the right to write",
			adapter.ErrRefused, outlet, code)
	case gosnmp.ResourceUnavailable, gosnmp.CommitFailed, gosnmp.GenErr, gosnmp.TooBig:
		return fmt.Errorf("%w: outlet %d can't be switched now (%s)", adapter.ErrBusy, outlet, code)
	default:
		return fmt.Errorf("%w: outlet %d (%s)", adapter.ErrRefused, outlet, code)
	}
}
