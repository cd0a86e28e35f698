package nut

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// secondaries are the machines that go down by NUT's own word: those whose upsmon is logged in to a UPS at its server.
// Those of the server's own machine and of ours are none of them.
type secondaries struct {
	unit
	closed func() bool
	settle time.Duration // from the last login gone to off: upsmon leaves before its machine is down

	mu     sync.Mutex
	seen   bool      // any was logged in, or was to be told
	goneAt time.Time // since when none is; zero: some are
}

// roll is who is logged in to a UPS.
type roll struct {
	secondaries []string // addresses, one for each login
	ours        []string // upsmon of this machine
	servers     []string // upsmon of the server's own, which as a rule is the primary: it goes by the flag too, and then cuts the UPS
	fsd         bool     // the forced-shutdown flag is set
}

// Probe tells On while a secondary is logged in, Stopping when it was told to go, and Off when none has been for long
// enough. Two counts that disagree are Unknown.
func (s *secondaries) Probe(ctx context.Context) (plan.Observation, error) {
	if s.closed() {
		return plan.Observation{State: plan.Unreachable, Detail: "the connection is closed"}, nil
	}
	r, err := s.call(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return plan.Observation{}, err
	case errors.Is(err, ErrUnknownUPS):
		return plan.Observation{State: plan.Gone, Detail: err.Error()}, nil
	case errors.Is(err, errDisagree):
		return plan.Observation{State: plan.Unknown, Detail: err.Error()}, nil
	case err != nil:
		return plan.Observation{State: plan.Unreachable, Detail: err.Error()}, nil
	}
	return s.judge(time.Now(), r), nil
}

func (s *secondaries) judge(now time.Time, r roll) plan.Observation {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(r.secondaries); n > 0 {
		s.goneAt, s.seen = time.Time{}, true
		if r.fsd {
			return plan.Observation{State: plan.Stopping, Detail: "told to shut down, but still logged in: " + hosts(r.secondaries)}
		}
		seen := plan.Observation{State: plan.On, Detail: "logged in: " + hosts(r.secondaries)}
		if len(r.servers) > 0 {
			seen.Caution = "they can't be told to go down: an upsmon on the machine of their NUT server " + serversUpsmon.Says + ": " + serversUpsmon.Do
		}
		return seen
	}
	if s.goneAt.IsZero() {
		s.goneAt = now
	}
	flag := ""
	if r.fsd {
		s.seen, flag = true, "; the forced-shutdown flag is still set, and any machine that logs in shuts down again: restart upsd"
	}
	switch {
	case now.Sub(s.goneAt) >= s.settle:
		return plan.Observation{State: plan.Off, Detail: "none is logged in" + flag}
	case s.seen:
		return plan.Observation{State: plan.Stopping, Detail: "none is logged in any longer" + flag}
	}
	return plan.Observation{State: plan.Unknown, Detail: "none is logged in yet"}
}

// hosts lists the addresses of machines, each once.
func hosts(addresses []string) string {
	return english.List(slices.Compact(slices.Sorted(slices.Values(addresses))), 8)
}

var errDisagree = errors.New("two counts disagree")

func (s *secondaries) call(ctx context.Context) (r roll, err error) {
	c, err := Dial(ctx, s.options)
	if err != nil {
		return roll{}, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return callRoll(ctx, c, s.ups)
}

// callRoll asks who is logged in, in two ways where the driver is there, and whether the flag is set.
func callRoll(ctx context.Context, c *Client, ups string) (roll, error) {
	clients, err := c.ListClient(ctx, ups)
	if err != nil {
		return roll{}, err
	}
	var answer *Error
	n, err := c.NumLogins(ctx, ups)
	switch {
	case err == nil && n != len(clients):
		return roll{}, fmt.Errorf("%w: NUMLOGINS says %d, and LIST CLIENT names %d", errDisagree, n, len(clients))
	case err != nil && !errors.As(err, &answer): // one whose driver is away gives no number
		return roll{}, err
	}
	status, err := c.Get(ctx, ups, varStatus)
	if err != nil && !errors.As(err, &answer) {
		return roll{}, err
	}
	r := roll{fsd: power.ParseStatus(bare(status)).Has(power.FSD)}
	for _, address := range clients {
		switch c.whose(address) {
		case ourMachine:
			r.ours = append(r.ours, address)
		case serversMachine:
			r.servers = append(r.servers, address)
		case anotherMachine:
			r.secondaries = append(r.secondaries, address)
		}
	}
	return r, nil
}

type machine uint8

const (
	anotherMachine machine = iota
	serversMachine
	ourMachine
)

// whose tells from which machine a login comes. A server that we reach by an address of our own is on our machine, and
// then so is who comes by the loopback.
func (c *Client) whose(address string) machine {
	ip := net.ParseIP(address)
	local, remote := ipOf(c.conn.LocalAddr()), ipOf(c.conn.RemoteAddr())
	loopback := ip.Equal(net.IPv4(127, 0, 0, 1)) || ip.Equal(net.IPv6loopback)
	switch {
	case ip.Equal(local), loopback && local.Equal(remote):
		return ourMachine
	case loopback, ip.Equal(remote):
		return serversMachine
	}
	return anotherMachine
}

func ipOf(a net.Addr) net.IP {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.IP
	}
	return nil
}

// Do tells the secondaries to go down, by setting the flag that nothing but a restart of upsd takes back: only where one is
// there to hear it, and never twice.
func (s *secondaries) Do(ctx context.Context, do adapter.Command) error {
	if do.Verb != plan.Stop {
		return fmt.Errorf("cannot %s the secondaries of UPS %q: they can only be stopped: %w", do.Verb, s.ups, adapter.ErrRefused)
	}
	if s.closed() {
		return fmt.Errorf("cannot stop the secondaries of UPS %q: the connection is closed: %w", s.ups, adapter.ErrUnreachable)
	}
	return s.stop(ctx)
}

func (s *secondaries) stop(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot stop the secondaries of UPS %q: %w", s.ups, err)
		}
	}()
	c, err := Dial(ctx, s.options)
	if err != nil {
		return unsent(ctx, err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	r, err := callRoll(ctx, c, s.ups)
	switch {
	case err != nil:
		return unsent(ctx, err)
	case r.fsd, len(r.secondaries) == 0:
		return nil
	case len(r.ours) > 0:
		return fmt.Errorf("%s: %w", ownUpsmon, adapter.ErrRefused)
	case len(r.servers) > 0:
		return fmt.Errorf("an upsmon on the machine of its NUT server %s: %s: %w", serversUpsmon.Says, serversUpsmon.Do, adapter.ErrRefused)
	}
	s.mu.Lock()
	s.seen = true
	s.mu.Unlock()
	err = c.FSD(ctx, s.ups)
	switch {
	case errors.Is(err, ErrAccessDenied):
		return fmt.Errorf("give the user `actions = FSD` in upsd.users: %w: %w", err, adapter.ErrRefused)
	case err == nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err
	}
	return classed(err, context.DeadlineExceeded)
}

// stopIt is what to do about an upsmon. One of power value 0 shuts nothing down, and logs in all the same: it can't be
// told from one that does.
const stopIt = "stop it there (systemctl disable --now nut-monitor): Ebbtide tells people of failures itself"

// ownUpsmon says what an upsmon on our own machine would do to it, and what to do about it.
const ownUpsmon = "an upsmon on this machine is logged in to the UPS: it would power this machine off, in the middle of the plan, " +
	"at the forced-shutdown flag or a low battery; " + stopIt

// serversUpsmon says what an upsmon on the server's machine does to all that the UPS feeds. It can't be seen whether it is the primary
// that its machine's power-off ends with a cut of, as Debian's packages set it up.
var serversUpsmon = Quirk{
	Says: "is logged in: at the forced-shutdown flag or a low battery it shuts that machine down and then, if it is the primary and has a " +
		"POWERDOWNFLAG, cuts this UPS, whatever still runs on it",
	Do:     stopIt + "; where that can't be done, as on a NAS, let shutdown begin long before a low battery",
	Source: "upsmon(8), upsmon.conf(5)",
}
