package vsphere

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/reach"
	"ebbtide/internal/plan"
)

// errElsewhere says that a host's own agent doesn't have a VM: it may run on another host, so this proves nothing.
var errElsewhere = fmt.Errorf("%w: this host does not have it: it may run on another", adapter.ErrRefused)

// errLeft says that vCenter has a VM no more. Where its host was removed from vCenter, it may run on: whoever can ask that host knows.
var errLeft = fmt.Errorf("%w: it is no longer in the inventory", adapter.ErrGone)

// answered reports whether a way gave an answer that another way can't better.
func answered(err error) bool {
	return err == nil ||
		!errors.Is(err, adapter.ErrUnreachable) && !errors.Is(err, context.DeadlineExceeded) &&
			!errors.Is(err, errLogin) && !errors.Is(err, errElsewhere) && !errors.Is(err, errLeft)
}

// byWays tries the ways to a node in order, the first being via, until one answers. All but the last get half
// of the time that is left, and a way that is known to be broken none.
func byWays(ctx context.Context, conns []*Conn, ask func(ctx context.Context, c *Conn) error) error {
	var failed waysError
	for i, c := range conns {
		err := func() error {
			ctx, cancel := ctx, context.CancelFunc(func() {})
			last := i == len(conns)-1
			if !last {
				ctx, cancel = reach.Share(ctx, 0.5)
			}
			defer cancel()
			if err := c.settle(ctx, !last); err != nil {
				return err
			}
			return ask(ctx, c)
		}()
		if answered(err) {
			return err
		}
		failed = append(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	return failed
}

// waysError says why each way in turn led to no answer.
type waysError []error

func (e waysError) Error() string {
	var texts []string
	for _, err := range e {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

// Unwrap gives what each way said. Where one may have taken a command, what the others say of themselves tells nothing of it: nobody knows
// whether it was done.
func (e waysError) Unwrap() []error {
	taken := func(err error) bool { return errors.Is(err, errUnanswered) }
	if i := slices.IndexFunc(e, taken); i >= 0 {
		return e[i : i+1]
	}
	return e
}

// ofLastWay gives what an error says of the last way that was tried: another may be another system's.
func ofLastWay(err error) error {
	if ways, ok := errors.AsType[waysError](err); ok {
		return ways[len(ways)-1]
	}
	return err
}

// watchNode calls seen with what look says whenever something may have changed, until ctx ends. Where there is no
// answer the state is unknown: it is vCenter that doesn't answer, not the node.
func watchNode(ctx context.Context, conns []*Conn, keys []string, look func(context.Context) (plan.Observation, error),
	seen func(plan.Observation),
) error {
	o := &observer{keys: keys, ping: make(chan struct{}, 1)}
	for _, c := range conns {
		defer c.inventory.observe(o)()
	}
	var last *plan.Observation
	for {
		limited, cancel := context.WithTimeout(ctx, 2*conns[0].pace.call)
		now, err := look(limited)
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			now = plan.Observation{State: plan.Unknown, Detail: oneLine(err)}
		}
		if last == nil || *last != now {
			seen(now)
			last = &now
		}
		select {
		case <-o.ping:
		case <-ctx.Done():
			return nil
		}
	}
}

// baseName is the last component of an inventory path.
func baseName(name string) string { return name[strings.LastIndex(name, "/")+1:] }
