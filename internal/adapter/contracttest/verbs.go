package contracttest

import (
	"errors"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
)

func (c *contract) on() {
	seen, err := c.probe(callWithin)
	require.NoError(c.t, err)
	if c.blind() {
		require.Equal(c.t, plan.Unknown, seen.State)
		return
	}
	require.Equal(c.t, plan.On, c.Truth(), "Make must give a node that is on")
	require.Equal(c.t, plan.On, seen.State)
}

// down stops the node and follows it: no Off before it is true, and no On after it was seen to leave.
func (c *contract) down(v plan.Verb) {
	if !c.Can.Has(v) {
		c.t.Skip("it cannot " + v.String())
	}
	require.NoError(c.t, c.do(v, callWithin))
	if c.blind() {
		require.NoError(c.t, c.do(v, callWithin))
		return
	}
	left := false
	c.until("off", func(seen plan.Observation) bool {
		if left {
			require.NotEqual(c.t, plan.On, seen.State, "told as on again")
		}
		left = left || seen.State != plan.On
		return c.isDown(seen.State) && (seen.State == plan.Off || c.Truth() == plan.Off) // silence proves nothing until it has lasted
	})
	if err := c.do(v, callWithin); !c.Mute || !errors.Is(err, adapter.ErrUnreachable) {
		require.NoError(c.t, err, "a %s of what is off", v)
	}
	require.Equal(c.t, plan.Off, c.Truth())
	seen, err := c.probe(callWithin)
	require.NoError(c.t, err)
	require.True(c.t, c.isDown(seen.State), "told as %s", seen.State)
}

func (c *contract) isDown(s plan.State) bool {
	return s == plan.Off || c.Mute && s == plan.Unreachable
}

func (c *contract) up() {
	if !c.Can.Has(plan.Start) {
		c.t.Skip("it cannot start")
	}
	require.NoError(c.t, c.do(plan.Start, callWithin), "a start of what is on")
	if c.blind() {
		return
	}
	seen, err := c.probe(callWithin)
	require.NoError(c.t, err)
	require.Equal(c.t, plan.On, seen.State)
	if !c.Can.Has(plan.Stop) {
		return
	}
	require.NoError(c.t, c.do(plan.Stop, callWithin))
	c.until("off", func(seen plan.Observation) bool { return c.isDown(seen.State) })
	require.NoError(c.t, c.do(plan.Start, callWithin))
	c.until("on", func(seen plan.Observation) bool { return seen.State == plan.On })
	require.Equal(c.t, plan.On, c.Truth())
}

func (c *contract) cache() {
	if !c.Can.Has(plan.Protect) {
		c.t.Skip("it is no cache")
	}
	seen, err := c.probe(callWithin)
	require.NoError(c.t, err)
	require.Equal(c.t, plan.No, seen.Protected, "Make must give a cache in write-back mode")
	was := seen.Settings
	for range 2 {
		require.NoError(c.t, c.do(plan.Protect, callWithin))
		c.until("protected", func(seen plan.Observation) bool { return seen.Protected == plan.Yes })
	}
	if c.Can.Has(plan.Flush) {
		for range 2 {
			require.NoError(c.t, c.do(plan.Flush, callWithin))
			c.until("clean", func(seen plan.Observation) bool {
				require.False(c.t, seen.Clean == plan.Yes && seen.Dirty > 0, "told as clean with %d bytes dirty", seen.Dirty)
				return seen.Clean == plan.Yes
			})
		}
	}
	if c.Can.Has(plan.Unprotect) {
		for range 2 {
			require.NoError(c.t, c.give(adapter.Command{Verb: plan.Unprotect, Settings: was}, callWithin))
			c.until("not protected", func(seen plan.Observation) bool { return seen.Protected == plan.No && seen.Settings == was })
		}
	}
}

func (c *contract) refuses() {
	for _, v := range []plan.Verb{plan.Protect, plan.Flush, plan.Stop, plan.Force, plan.Cut, plan.Start, plan.Unprotect} {
		if !c.Can.Has(v) {
			require.ErrorIs(c.t, c.do(v, callWithin), adapter.ErrRefused, v.String())
		}
	}
	if !c.blind() {
		require.Equal(c.t, plan.On, c.Truth())
	}
}
