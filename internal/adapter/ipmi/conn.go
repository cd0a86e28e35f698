package ipmi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	ipmi "github.com/bougou/go-ipmi/pkg/client"
	"github.com/bougou/go-ipmi/pkg/command/chassis"
	"github.com/bougou/go-ipmi/pkg/types"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/lockout"
	"ebbtide/internal/adapter/reach"
	"ebbtide/internal/plan"
)

// conn is a connection to the controller of one machine.
type conn struct {
	name    string
	spec    *ConnectionSpec
	host    string
	port    int
	secrets adapter.Secrets
	lockout lockout.Guard
	turn    chan struct{} // of the one session that is open at a time
	ctx     context.Context
	end     context.CancelFunc
	ending  sync.WaitGroup // sessions that are being closed
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
	c := &conn{name: name, spec: spec, host: host, port: port, secrets: secrets, turn: make(chan struct{}, 1)}
	c.ctx, c.end = context.WithCancel(context.Background())
	return c, nil
}

// Close ends what is under way.
func (c *conn) Close() error {
	c.end()
	c.ending.Wait()
	return nil
}

// Concurrency is one: a session at a time.
func (*conn) Concurrency() int { return 1 }

// Power reads the chassis' power state.
func (c *conn) Power(ctx context.Context) (plan.Observation, error) {
	var seen plan.Observation
	err := c.session(ctx, func(ctx context.Context, cl *ipmi.Client) error {
		on, err := powered(ctx, cl)
		seen = plan.Observation{State: plan.Off, Detail: "its controller says that the power is off"}
		if on {
			seen = plan.Observation{State: plan.On, Detail: "its controller says that the power is on"}
		}
		return err
	})
	if err != nil {
		return plan.Observation{}, err
	}
	return seen, nil
}

// PowerOn powers the chassis on.
func (c *conn) PowerOn(ctx context.Context) error {
	return c.control(ctx, true, chassis.ChassisControlPowerUp)
}

// PowerOff takes the chassis' power away.
func (c *conn) PowerOff(ctx context.Context) error {
	return c.control(ctx, false, chassis.ChassisControlPowerDown)
}

// Shutdown presses the chassis' power button in the manner of ACPI.
func (c *conn) Shutdown(ctx context.Context) error {
	return c.control(ctx, false, chassis.ChassisControlSoftShutdown)
}

// control gives a command, unless the power is as it is to be.
func (c *conn) control(ctx context.Context, on bool, command chassis.ChassisControl) error {
	return c.session(ctx, func(ctx context.Context, cl *ipmi.Client) error {
		is, err := powered(ctx, cl)
		if err != nil || is == on {
			return err
		}
		if _, err := cl.ChassisControl(ctx, command); err != nil {
			if refused := c.refusal(err); refused != nil {
				return refused
			}
			return fmt.Errorf("no answer, so it is unknown whether it was done (%v): %w", err, //nolint:errorlint // the text is enough
				context.DeadlineExceeded)
		}
		return nil
	})
}

// powered asks for the power state.
func powered(ctx context.Context, cl *ipmi.Client) (bool, error) {
	status, err := cl.GetChassisStatus(ctx)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errAsking, err)
	}
	return status.PowerIsOn, nil
}

// errAsking marks what failed before any command was given.
var errAsking = errors.New("it does not tell its power state")

// session opens a session for some calls and closes it.
func (c *conn) session(ctx context.Context, calls func(context.Context, *ipmi.Client) error) error {
	ctx, cancel := reach.Bound(ctx, c.ctx, context.Canceled)
	defer cancel(nil)
	err := c.turned(ctx, calls)
	switch {
	case err == nil:
		return nil
	case c.ctx.Err() != nil:
		return fmt.Errorf("%w: the connection %q is closed", adapter.ErrUnreachable, c.name)
	}
	return fmt.Errorf("%s: %w", c.spec.Address, err)
}

func (c *conn) turned(ctx context.Context, calls func(context.Context, *ipmi.Client) error) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return c.unanswered(ctx, errors.New("another session is open"))
	}
	defer func() { <-c.turn }()
	if ctx.Err() != nil {
		return c.unanswered(ctx, ctx.Err())
	}
	if err := c.lockout.Locked(); err != nil {
		return err
	}
	cl, err := c.client(ctx)
	if err != nil {
		return err
	}
	if err := cl.Connect(ctx); err != nil {
		c.close(cl, false)
		return c.login(ctx, err)
	}
	c.lockout.Accepted()
	err = calls(ctx, cl)
	c.close(cl, ctx.Err() == nil)
	if !errors.Is(err, errAsking) {
		return err
	}
	if refused := c.refusal(err); refused != nil {
		return refused
	}
	return c.unanswered(ctx, err)
}

// client makes a client. Names are looked up here: the library would wait for it without end.
func (c *conn) client(ctx context.Context) (*ipmi.Client, error) {
	password, err := c.secrets.Secret(c.spec.Password)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot read the password of connection %q: %w", adapter.ErrRefused, c.name, err)
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", c.host)
	if err != nil {
		return nil, c.unanswered(ctx, err)
	}
	host := addresses[0].Unmap().String()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	cl, err := ipmi.NewClient(host, c.port, c.spec.Username, password)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", adapter.ErrRefused, err) //nolint:errorlint // the text is enough
	}
	// Operator is what power needs (IPMI 2.0, appendix G), whatever more the account may.
	cl.WithTimeout(tryWithin).WithRetry(retries).WithMaxPrivilegeLevel(types.PrivilegeLevelOperator)
	if c.spec.CipherSuite != 0 {
		cl.WithCipherSuiteID(types.CipherSuiteID(c.spec.CipherSuite))
	} else { // never what the controller says it has: suite 0 is among that
		cl.WithCipherSuiteID(types.CipherSuiteID17, types.CipherSuiteID3)
	}
	return cl, nil
}

// close ends a session, or, where nobody answers, only this side of it. It is not waited for: a read that was broken off
// holds the socket until its time is over.
func (c *conn) close(cl *ipmi.Client, answers bool) {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	if answers {
		_ = cl.Close(ctx) // the controller ends it by itself after a minute
		cancel()
		return
	}
	cancel()
	c.ending.Go(func() { _ = cl.Close(ctx) })
}

// unanswered says that a question was not answered. Nothing was commanded.
func (c *conn) unanswered(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) && c.ctx.Err() == nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %v", adapter.ErrUnreachable,
		err) //nolint:errorlint // a deadline inside it would read as if nobody knew what was done
}
