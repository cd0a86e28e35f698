package contracttest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
)

func (c *contract) ends() {
	ctx, cancel := context.WithCancel(c.t.Context())
	cancel()
	start := time.Now()
	seen, err := c.Node.Probe(ctx)
	c.inTime("probe with an ended context", start, 0)
	if err == nil {
		require.NotContains(c.t, []plan.State{plan.Off, plan.Gone}, seen.State)
	}
	for v := plan.Protect; v <= plan.Unprotect; v++ {
		start := time.Now()
		c.keep("", c.Node.Do(ctx, adapter.Command{Verb: v}))
		c.inTime(v.String()+" with an ended context", start, 0)
	}
}

func (c *contract) gone() {
	if c.Vanish == nil {
		c.t.Skip("it cannot vanish")
	}
	_, err := c.probe(callWithin)
	require.NoError(c.t, err)
	c.Vanish()
	c.untilAnswer("gone", func(seen plan.Observation, err error) bool {
		return errors.Is(err, adapter.ErrGone) || err == nil && seen.State == plan.Gone
	})
	for v := plan.Protect; v <= plan.Unprotect; v++ {
		if c.asks(v) {
			require.ErrorIs(c.t, c.do(v, callWithin), adapter.ErrGone, v.String())
		}
	}
}

// asks reports whether a verb has to ask the node's own system.
func (c *contract) asks(v plan.Verb) bool { return c.Can.Has(v) && !c.Elsewhere.Has(v) }

func (c *contract) silent() {
	if c.Silence == nil {
		c.t.Skip("it cannot fall silent")
	}
	_, err := c.probe(callWithin)
	require.NoError(c.t, err)
	c.Silence()
	c.noClaim(c.RefusalIsSilence)
	for v := plan.Protect; v <= plan.Unprotect; v++ {
		if !c.asks(v) {
			continue
		}
		err := c.do(v, brokenCall)
		require.True(c.t, errors.Is(err, adapter.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded), "%s: %v", v, err)
	}
}

// noClaim probes a system that does not answer: nothing may be claimed of its node, and of one that takes or refuses connections not even
// that it is silent.
func (c *contract) noClaim(isSilent bool) {
	for range 2 {
		seen, err := c.probe(brokenCall)
		if err != nil {
			require.True(c.t, errors.Is(err, adapter.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded), "%v", err)
			continue
		}
		want := []plan.State{plan.Unknown}
		if isSilent {
			want = append(want, plan.Unreachable)
		}
		require.Contains(c.t, want, seen.State, seen.Detail)
	}
}

func (c *contract) frozen() {
	if c.Freeze == nil {
		c.t.Skip("it cannot freeze")
	}
	_, err := c.probe(callWithin)
	require.NoError(c.t, err)
	c.Freeze()
	c.noClaim(false)
	for v := plan.Protect; v <= plan.Unprotect; v++ {
		if c.asks(v) {
			require.Error(c.t, c.do(v, brokenCall), "%s of a frozen system", v)
		}
	}
}

// revoked: two refusals of a stop are followed by a power-off, and in an outage the directory goes down before what asks it.
func (c *contract) revoked() {
	if c.Revoke == nil {
		c.t.Skip("it asks for no login, or none that can be taken back")
	}
	_, err := c.probe(callWithin)
	require.NoError(c.t, err)
	c.Revoke()
	for v := plan.Protect; v <= plan.Unprotect; v++ {
		if c.asks(v) {
			err := c.do(v, callWithin)
			require.ErrorIs(c.t, err, adapter.ErrUnreachable, v.String())
			require.NotErrorIs(c.t, err, adapter.ErrRefused, v.String())
		}
	}
	c.noClaim(false)
}

func (c *contract) concurrent() {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 3 {
				if seen, err := c.probe(2 * callWithin); err == nil && seen.State == plan.Gone {
					c.t.Error("told as gone")
				}
			}
		})
		wg.Go(func() {
			if c.Can.Has(plan.Stop) {
				// Busy is an honest answer to the second of two stops, and a node that is off may not answer.
				err := c.do(plan.Stop, 2*callWithin)
				honest := errors.Is(err, adapter.ErrBusy) || c.Mute && errors.Is(err, adapter.ErrUnreachable)
				if err != nil && !honest {
					c.t.Errorf("stop: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if c.Can.Has(plan.Stop) && !c.blind() {
		c.until("off", func(seen plan.Observation) bool { return c.isDown(seen.State) })
	}
}

func (c *contract) closed() {
	if c.Close == nil {
		c.t.Skip("it has no connection")
	}
	_, err := c.probe(callWithin)
	require.NoError(c.t, err)
	require.NoError(c.t, c.Close())
	seen, err := c.probe(callWithin)
	if err != nil {
		require.ErrorIs(c.t, err, adapter.ErrUnreachable)
	} else {
		require.Equal(c.t, plan.Unreachable, seen.State)
	}
	for v := plan.Protect; v <= plan.Unprotect; v++ {
		if c.asks(v) {
			require.ErrorIs(c.t, c.do(v, callWithin), adapter.ErrUnreachable, v.String())
		}
	}
}
