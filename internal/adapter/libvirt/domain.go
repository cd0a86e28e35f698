package libvirt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
)

// domain is a libvirt.domain, or a member of a libvirt.domains.
type domain struct {
	conn  *conn
	name  string    // "" if uuid is given
	uuid  uuid.UUID //
	agent bool
}

func (n *domain) String() string {
	if n.name != "" {
		return fmt.Sprintf("domain %q", n.name)
	}
	return fmt.Sprintf("domain with UUID %s", n.uuid)
}

// is reports whether an event is about this domain.
func (n *domain) is(d libvirt.Domain) bool {
	if n.name != "" {
		return d.Name == n.name
	}
	return d.UUID == libvirt.UUID(n.uuid)
}

// sight is a domain as the daemon knows it.
type sight struct {
	domain libvirt.Domain
	state  libvirt.DomainState
	reason int32
}

// look asks for the domain and its state.
func (n *domain) look(ctx context.Context) (sight, error) {
	s, err := call(ctx, n.conn, func(l *libvirt.Libvirt) (s sight, err error) {
		if n.name != "" {
			s.domain, err = l.DomainLookupByName(n.name)
		} else {
			s.domain, err = l.DomainLookupByUUID(libvirt.UUID(n.uuid))
		}
		if err != nil {
			return s, err
		}
		state, reason, err := l.DomainGetState(s.domain, 0)
		s.state, s.reason = libvirt.DomainState(state), reason
		return s, err
	})
	return s, explainRead(err)
}

// Probe tells the domain's state.
func (n *domain) Probe(ctx context.Context) (plan.Observation, error) {
	s, err := n.look(ctx)
	switch {
	case errors.Is(err, adapter.ErrGone):
		return plan.Observation{State: plan.Gone, Detail: "libvirt knows no such domain; one that was never defined (transient) is gone " +
			"once it is off"}, nil
	case err != nil:
		return plan.Observation{}, fmt.Errorf("cannot probe %s: %w", n, err)
	}
	return s.observation(), nil
}

// observation says what a state means. What is suspended in memory is on: it is lost when the power is.
func (s sight) observation() plan.Observation {
	switch s.state {
	case libvirt.DomainRunning, libvirt.DomainBlocked:
		return plan.Observation{State: plan.On, Detail: "running"}
	case libvirt.DomainPaused:
		o := plan.Observation{State: plan.On, Detail: "paused (" + s.whyPaused() + ")"}
		if libvirt.DomainPausedReason(s.reason) == libvirt.DomainPausedUser {
			o.Caution = `it is paused and cannot shut down: run "virsh resume" on it`
		}
		return o
	case libvirt.DomainPmsuspended:
		return plan.Observation{State: plan.On, Detail: "asleep, in memory"}
	case libvirt.DomainShutdown:
		return plan.Observation{State: plan.Stopping, Detail: "shutting down"}
	case libvirt.DomainShutoff:
		if s.isMigrated() { // nothing of it is here to be stopped or started
			return plan.Observation{
				State: plan.Gone, Detail: "it was migrated to another host, and only its definition is left here: name the connection of the " +
					"host that it runs on, or undefine it here",
			}
		}
		if libvirt.DomainShutoffReason(s.reason) == libvirt.DomainShutoffSaved {
			return plan.Observation{State: plan.Off, Detail: "off, its memory saved on disk"}
		}
		return plan.Observation{State: plan.Off, Detail: "shut off"}
	case libvirt.DomainCrashed: // libvirt says so only of one whose process is kept: neither is it off, nor does it serve anybody
		return plan.Observation{
			State: plan.Unknown, Detail: "crashed, and its process is kept (on_crash: preserve)",
			Caution: `it has crashed and cannot shut down: look into it, and then "virsh destroy" it`,
		}
	default:
		return plan.Observation{State: plan.Unknown, Detail: "libvirt cannot tell its state"}
	}
}

// isMigrated reports whether what is left here is the definition of a domain that was moved to another host.
func (s sight) isMigrated() bool {
	return s.state == libvirt.DomainShutoff && libvirt.DomainShutoffReason(s.reason) == libvirt.DomainShutoffMigrated
}

func (s sight) whyPaused() string {
	switch libvirt.DomainPausedReason(s.reason) {
	case libvirt.DomainPausedUser:
		return "by a person"
	case libvirt.DomainPausedMigration:
		return "for a migration"
	case libvirt.DomainPausedSave, libvirt.DomainPausedDump, libvirt.DomainPausedSnapshot:
		return "while it is being saved"
	case libvirt.DomainPausedIoerror:
		return "by an error of its disk"
	case libvirt.DomainPausedStartingUp:
		return "while it starts"
	default:
		return "by libvirt"
	}
}

// holds reports whether a domain is where a verb leads.
func (s sight) holds(v plan.Verb) bool {
	switch s.observation().State {
	case plan.Off:
		return v != plan.Start
	case plan.On:
		return v == plan.Start
	case plan.Stopping:
		return v == plan.Stop
	default:
		return false
	}
}

// Do asks the guest to shut down, powers the domain off, or starts it. A start goes on from memory that was saved on
// disk, as libvirt does by itself.
func (n *domain) Do(ctx context.Context, do adapter.Command) error {
	if !domainVerbs.Has(do.Verb) {
		return fmt.Errorf("cannot %s %s: %w: a domain has no such verb", do.Verb, n, adapter.ErrRefused)
	}
	s, err := n.look(ctx)
	if err == nil && do.Verb == plan.Start && s.isMigrated() { // two of one VM would write to one disk
		err = fmt.Errorf("%w: it was migrated to another host, and may run there", adapter.ErrRefused)
	}
	if err == nil && !s.holds(do.Verb) {
		err = n.give(ctx, s, do.Verb)
	}
	switch {
	case errors.Is(err, adapter.ErrGone) && do.Verb == plan.Start:
		return fmt.Errorf(`cannot start %s: %w; one that was never defined is gone once it is off: keep it with "virsh define"`, n, err)
	case err != nil:
		return fmt.Errorf("cannot %s %s: %w", do.Verb, n, err)
	}
	return nil
}

// give sends the command for a verb.
func (n *domain) give(ctx context.Context, s sight, v plan.Verb) error {
	command := libvirtStart
	switch {
	case v == plan.Force:
		command = libvirtDestroy
	case v == plan.Stop && s.state == libvirt.DomainPmsuspended:
		if err := n.order(ctx, s, v, libvirtWake); err != nil {
			return err
		}
		return fmt.Errorf("%w: it was asleep and is being woken, so that it can shut down", adapter.ErrBusy)
	case v == plan.Stop && s.state == libvirt.DomainPaused:
		return fmt.Errorf(`%w: it is paused (%s) and cannot shut down: run "virsh resume" on it, or let down.force power it off`,
			adapter.ErrRefused, s.whyPaused())
	case v == plan.Stop && n.agent:
		command = shutdown(libvirt.DomainShutdownGuestAgent | libvirt.DomainShutdownAcpiPowerBtn) // in this order, says libvirt
	case v == plan.Stop:
		command = shutdown(libvirt.DomainShutdownAcpiPowerBtn)
	}
	return n.order(ctx, s, v, command)
}

// order gives one command. One that came too late, since the domain has got there meanwhile, is no error.
func (n *domain) order(ctx context.Context, s sight, v plan.Verb, command func(*libvirt.Libvirt, libvirt.Domain) error) error {
	_, err := call(ctx, n.conn, func(l *libvirt.Libvirt) (struct{}, error) { return struct{}{}, command(l, s.domain) })
	if errors.Is(err, adapter.ErrBusy) || errors.Is(err, adapter.ErrRefused) {
		if now, lookErr := n.look(ctx); lookErr == nil && now.holds(v) {
			return nil
		}
	}
	return err
}

func libvirtStart(l *libvirt.Libvirt, d libvirt.Domain) error   { return l.DomainCreate(d) }
func libvirtDestroy(l *libvirt.Libvirt, d libvirt.Domain) error { return l.DomainDestroy(d) }
func libvirtWake(l *libvirt.Libvirt, d libvirt.Domain) error    { return l.DomainPmWakeup(d, 0) }

// shutdown asks in certain ways, and in the driver's own way where it knows none of them.
func shutdown(by libvirt.DomainShutdownFlagValues) func(*libvirt.Libvirt, libvirt.Domain) error {
	return func(l *libvirt.Libvirt, d libvirt.Domain) error {
		err := l.DomainShutdownFlags(d, by)
		switch number, _ := code(err); number {
		case libvirt.ErrInvalidArg, libvirt.ErrArgumentUnsupported, libvirt.ErrNoSupport, libvirt.ErrOperationUnsupported:
			return l.DomainShutdown(d)
		default:
			return err
		}
	}
}

// probeWithin bounds the questions of a watch, which has no deadline of its own.
const probeWithin = 15 * time.Second

// Watch tells of changes as libvirt tells of them, until the connection breaks.
func (n *domain) Watch(ctx context.Context, seen func(plan.Observation)) error {
	cl, err := n.conn.get(ctx)
	if err != nil {
		return fmt.Errorf("cannot watch %s: %w", n, err)
	}
	change, stop, err := cl.listen(n.is)
	if err != nil {
		return fmt.Errorf("cannot watch %s: %w", n, err)
	}
	defer stop()
	for {
		part, cancel := context.WithTimeout(ctx, probeWithin)
		now, err := n.Probe(part)
		cancel()
		if err != nil {
			return err
		}
		seen(now)
		select {
		case <-change:
		case <-cl.wire.ended:
			return fmt.Errorf("cannot watch %s any longer: %w: the connection to libvirt is gone", n, adapter.ErrUnreachable)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
