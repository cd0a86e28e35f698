package wake

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/reach"
	"ebbtide/internal/plan"
)

// powered is a node whose machine has a BMC. The BMC starts it. It powers it off where the node's own system has no
// Force, or refused it, or can't be asked for it, or accepted one that did not help. And it is the second proof:
//
//   - the node's own system says off, and the BMC too: Off;
//   - the own system does not answer, and the BMC says off: Off, which is a proof where silence alone is none;
//   - the own system says off, and the BMC says on: they disagree, and the node is not off. It is told as Stopping, or
//     as Starting if it was being started;
//   - the own system does not answer, and the BMC says on: it runs, and nobody knows what. It is told as Starting if it
//     was being started, as Stopping after a stop, as Unknown otherwise; never as silent;
//   - the BMC does not answer: the own system's word, with the note that it is all there is.
//
// A BMC that says off while the machine answers is taken for another machine's: its off proves nothing, and it is never
// told to power off, until the two have agreed once that the machine is on.
type powered struct {
	inner adapter.Node
	id    string // of the node
	name  string // of the BMC's connection
	bmc   adapter.Powered

	mu     sync.Mutex
	course plan.State // Starting or Stopping: where the last command sends it, or its being on again after it was off; Unknown: neither
	agreed bool       // both have said at the same time that it is on
	odd    bool       // the BMC has said off while the machine answered
	forced bool       // it was told to power off since the last start or stop, and may have taken that
	took   bool       // and its own system or the BMC did
}

func (p *powered) Probe(ctx context.Context) (plan.Observation, error) {
	own, cancel := reach.Share(ctx, firstShare)
	seen, err := p.inner.Probe(own)
	cancel()
	return p.second(ctx, seen, err)
}

// second asks the BMC about what the node's own system said, or did not say.
func (p *powered) second(ctx context.Context, seen plan.Observation, err error) (plan.Observation, error) {
	if ctx.Err() != nil || errors.Is(err, adapter.ErrGone) {
		return seen, err
	}
	if err == nil {
		switch seen.State {
		case plan.On:
			return p.compare(ctx, seen), nil
		case plan.Gone, plan.Starting, plan.Stopping:
			return seen, nil
		case plan.Off, plan.Unreachable, plan.Unknown:
		}
	}
	power, bmcErr := p.bmc.Power(ctx)
	if bmcErr != nil {
		if err == nil {
			seen.Detail = joined(seen.Detail, "one proof only: its BMC does not answer: "+bmcErr.Error())
		}
		return seen, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch power.State {
	case plan.Off:
		return p.bothOff(seen, err)
	case plan.On, plan.Starting, plan.Stopping:
		return p.onByBMC(seen, err, power)
	default:
		if err == nil {
			seen.Detail = joined(seen.Detail, "one proof only: its BMC can't tell whether it is on")
		}
		return seen, err
	}
}

// compare holds the first On of a node's own system against the BMC, until they agree.
func (p *powered) compare(ctx context.Context, seen plan.Observation) plan.Observation {
	p.mu.Lock()
	agreed := p.agreed
	p.course = plan.Unknown
	p.mu.Unlock()
	if agreed {
		return seen
	}
	power, err := p.bmc.Power(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil:
	case power.State == plan.On:
		p.agreed, p.odd = true, false
	case power.State == plan.Off:
		p.odd = true
		seen.Detail = joined(seen.Detail, fmt.Sprintf("its BMC reports it off: check that %q belongs to this machine", p.name))
	}
	return seen
}

// bothOff is what holds when the BMC says off and the own system does not say on.
func (p *powered) bothOff(seen plan.Observation, err error) (plan.Observation, error) {
	if p.odd {
		seen.Detail = joined(seen.Detail, fmt.Sprintf("one proof only: its BMC reported it off while it answered: check that %q belongs "+
			"to this machine", p.name))
		return seen, err
	}
	p.course = plan.Starting // if it is seen on after this, it comes up
	switch {
	case err != nil:
		const says = "its BMC reports it off; its own system could not be queried"
		return plan.Observation{State: plan.Off, ByBMC: true, Agreed: p.agreed, Detail: says}, nil
	case seen.State == plan.Off:
		seen.Detail = joined(seen.Detail, "its BMC reports it off, too")
	default:
		seen.Detail = joined("its BMC reports it off", seen.Detail)
		seen.State, seen.ByBMC, seen.Agreed = plan.Off, true, p.agreed
	}
	return seen, nil
}

// onByBMC is what holds when the BMC says that there is power and the own system does not say on.
func (p *powered) onByBMC(seen plan.Observation, err error, power plan.Observation) (plan.Observation, error) {
	says := "its BMC reports it on"
	course := p.course
	if power.State != plan.On {
		says, course = "its BMC reports that it is "+power.State.String(), power.State
	}
	switch {
	case err != nil && course == plan.Unknown:
		return seen, fmt.Errorf("%w; %s", err, says)
	case err != nil:
		return plan.Observation{State: course, Detail: says + "; its own system could not be asked"}, nil
	case seen.State == plan.Off && course == plan.Unknown:
		seen.State = plan.Stopping // two proofs that disagree are none
	default:
		seen.State = course
	}
	seen.Detail = joined(says, seen.Detail)
	return seen, nil
}

// Do gives Start to the BMC, and Force where the node's own system does not do it.
func (p *powered) Do(ctx context.Context, do adapter.Command) error {
	switch do.Verb {
	case plan.Start:
		err := p.head(do.Verb, plan.Starting, func() error { return p.bmc.PowerOn(ctx) })
		if err != nil {
			return fmt.Errorf("cannot wake %q through %q: %w", p.id, p.name, err)
		}
		return nil
	case plan.Force:
		return p.head(do.Verb, plan.Stopping, func() error { return p.force(ctx) })
	case plan.Stop:
		return p.head(do.Verb, plan.Stopping, func() error { return p.inner.Do(ctx, adapter.Command{Verb: plan.Stop}) })
	default:
		return p.inner.Do(ctx, do)
	}
}

// head gives a command, and notes where it sends the node. One that has reached nobody sends it nowhere.
func (p *powered) head(v plan.Verb, course plan.State, give func() error) error {
	p.mu.Lock()
	before := p.course
	p.course = course
	if v != plan.Force {
		p.forced, p.took = false, false
	}
	p.mu.Unlock()
	err := give()
	if errors.Is(err, adapter.ErrUnreachable) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.course = before
	}
	return err
}

// force asks the node's own system first: it knows best how to end what runs on it. A second Force is the BMC's.
func (p *powered) force(ctx context.Context) error {
	p.mu.Lock()
	again, odd, known := p.forced, p.odd, p.agreed || p.took
	p.mu.Unlock()
	var ownErr error
	if !again {
		own, cancel := reach.Share(ctx, firstShare)
		ownErr = p.inner.Do(own, adapter.Command{Verb: plan.Force})
		cancel()
		if ownErr == nil || !errors.Is(ownErr, adapter.ErrRefused) && !errors.Is(ownErr, adapter.ErrUnreachable) {
			p.forcedBy(ownErr)
			return ownErr
		}
		if ctx.Err() != nil {
			return ownErr
		}
	}
	if odd {
		err := fmt.Errorf("cannot power off %q through %q: %w: it reported the machine off while the machine answered, and may belong to "+
			"another machine: check its address", p.id, p.name, adapter.ErrRefused)
		if ownErr != nil {
			err = fmt.Errorf("%w (before that: %v)", err, ownErr) //nolint:errorlint // why the BMC is not asked decides what the error is
		}
		return err
	}
	if err := p.powerOff(ctx, known); err != nil {
		err = fmt.Errorf("cannot power off %q through %q: %w", p.id, p.name, err)
		if ownErr != nil {
			err = fmt.Errorf("%w (before that: %v)", err, ownErr) //nolint:errorlint // what the BMC said decides what the error is
		}
		return err
	}
	p.forcedBy(nil)
	return nil
}

// forcedBy notes that a power-off was accepted, or with an error that nobody knows whether it was.
func (p *powered) forcedBy(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forced, p.took = true, p.took || err == nil
}

// powerOff has the BMC power the machine off. One that takes it for off already does nothing, which says nothing of the machine
// unless the two have agreed once, or that took the power-off before.
func (p *powered) powerOff(ctx context.Context, known bool) error {
	if !known {
		power, err := p.bmc.Power(ctx)
		if err == nil && power.State == plan.Off {
			return fmt.Errorf("%w: it reports the machine already off, and has not yet been checked against the machine's own system",
				adapter.ErrUnreachable)
		}
	}
	return p.bmc.PowerOff(ctx)
}

// watchedWithin is how long a watch waits for the second proof.
const watchedWithin = 5 * time.Second

type poweredWatch struct {
	p     *powered
	inner adapter.Watcher
}

// Watch tells of what the node's own system tells of, held against the BMC as Probe does it.
func (w poweredWatch) Watch(ctx context.Context, seen func(plan.Observation)) error {
	return w.inner.Watch(ctx, func(o plan.Observation) {
		part, cancel := context.WithTimeout(ctx, watchedWithin)
		defer cancel()
		if told, err := w.p.second(part, o, nil); err == nil && ctx.Err() == nil {
			seen(told)
		}
	})
}

// joined puts two sentences of a detail together.
func joined(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + "; " + second
}
