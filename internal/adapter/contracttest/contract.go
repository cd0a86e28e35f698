// Package contracttest holds what every adapter must do, as one suite of tests. The fake passes it too, so that what
// is tested against the fake holds for the real ones.
package contracttest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
)

// Subject is an adapter under test.
type Subject struct {
	// Make starts a system of its own and gives a node in it that is on; what it starts ends in t.Cleanup, and no
	// goroutine of an adapter package is left then.
	Make func(t *testing.T) *Thing
	// Settle is the longest time that a verb needs to be done in Make's system; 0: 10 s.
	Settle time.Duration
	// Secrets are the planted secrets that no error or detail may hold.
	Secrets []string
}

// Thing is one node of a subject, with the hands to break it. A nil hand means that it can't be broken in this way.
type Thing struct {
	Node adapter.Node
	Can  plan.Verbs
	// Truth tells the state from the system's side, not through the adapter: On, Off, Starting or Stopping. Nil for
	// what nobody can tell (a person's step); then its probe must say Unknown.
	Truth func() plan.State
	// Mute: once off it does not answer any more, so that Unreachable is all that can be seen of it, and a Stop or
	// Force may be ErrUnreachable then.
	Mute bool
	// Aside are the verbs that go another way than over the node's own connection, and work when that is broken: the
	// Start of a node with a wake.
	Aside plan.Verbs
	// Vanish makes the node cease to exist.
	Vanish func()
	// Silence makes its system unreachable.
	Silence func()
	// Freeze makes its system accept calls and answer none.
	Freeze func()
	// Close ends the connection of the node, as Set.Close does.
	Close func() error
}

const (
	callWithin = 5 * time.Second        // for a call to a system that answers
	brokenCall = 400 * time.Millisecond // for a call to one that doesn't
	grace      = 500 * time.Millisecond // that a call may outlast its context
)

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	if s.Settle == 0 {
		s.Settle = 10 * time.Second
	}
	for _, c := range []struct {
		name string
		run  func(*contract)
	}{
		{"a probe tells what is on", (*contract).on},
		{"a stop is proven and can be repeated", func(c *contract) { c.down(plan.Stop) }},
		{"a force is proven and can be repeated", func(c *contract) { c.down(plan.Force) }},
		{"a start is proven and can be repeated", (*contract).up},
		{"a cache is protected, flushed and given back", (*contract).cache},
		{"a verb that it cannot do is refused", (*contract).refuses},
		{"a call ends with its context", (*contract).ends},
		{"what has vanished is gone", (*contract).gone},
		{"a silent system is unreachable in time", (*contract).silent},
		{"a frozen system ends by the deadline", (*contract).frozen},
		{"many calls at a time do no harm", (*contract).concurrent},
		{"a closed connection is unreachable", (*contract).closed},
	} {
		before := adapterGoroutines()
		t.Run(c.name, func(t *testing.T) {
			thing := s.Make(t)
			rec := &contract{t: t, Subject: s, Thing: thing}
			defer rec.noSecrets()
			c.run(rec)
		})
		noneLeft(t, c.name, before)
	}
}

// contract runs one part of the suite on one thing and keeps every text that came out of it.
type contract struct {
	t *testing.T
	Subject
	*Thing

	mu    sync.Mutex
	texts []string
}

func (c *contract) probe(within time.Duration) (plan.Observation, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), within)
	defer cancel()
	start := time.Now()
	seen, err := c.Node.Probe(ctx)
	c.inTime("probe", start, within)
	c.keep(seen.Detail, err)
	return seen, err
}

func (c *contract) do(v plan.Verb, within time.Duration) error {
	return c.give(c.t.Context(), v, within)
}

func (c *contract) give(ctx context.Context, v plan.Verb, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	start := time.Now()
	err := c.Node.Do(ctx, v)
	c.inTime(v.String(), start, within)
	c.keep("", err)
	return err
}

// inTime may be called from any goroutine.
func (c *contract) inTime(what string, start time.Time, within time.Duration) {
	if took := time.Since(start); took > within+grace {
		c.t.Errorf("%s took %v with a deadline of %v", what, took, within)
	}
}

func (c *contract) keep(detail string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.texts = append(c.texts, detail)
	if err != nil {
		c.texts = append(c.texts, err.Error(), fmt.Sprintf("%#v", err))
	}
}

func (c *contract) noSecrets() {
	for _, text := range c.texts {
		for _, secret := range c.Secrets {
			if strings.Contains(text, secret) {
				c.t.Errorf("an error or detail holds the planted secret %q", secret)
			}
		}
	}
}

// blind: nobody can tell its state, and the suite can only see that nothing is claimed.
func (c *contract) blind() bool { return c.Truth == nil }

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
		return c.isDown(seen.State)
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
			require.NoError(c.t, c.give(adapter.WithSettings(c.t.Context(), was), plan.Unprotect, callWithin))
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
		c.keep("", c.Node.Do(ctx, v))
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

// asks tells whether a verb has to ask the node's own system.
func (c *contract) asks(v plan.Verb) bool { return c.Can.Has(v) && !c.Aside.Has(v) }

func (c *contract) silent() {
	if c.Silence == nil {
		c.t.Skip("it cannot fall silent")
	}
	_, err := c.probe(callWithin)
	require.NoError(c.t, err)
	c.Silence()
	c.noClaim()
	for v := plan.Protect; v <= plan.Unprotect; v++ {
		if !c.asks(v) {
			continue
		}
		err := c.do(v, brokenCall)
		require.True(c.t, errors.Is(err, adapter.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded), "%s: %v", v, err)
	}
}

// noClaim probes a system that does not answer: nothing may be claimed of its node.
func (c *contract) noClaim() {
	for range 2 {
		seen, err := c.probe(brokenCall)
		if err != nil {
			require.True(c.t, errors.Is(err, adapter.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded), "%v", err)
			continue
		}
		require.Contains(c.t, []plan.State{plan.Unreachable, plan.Unknown}, seen.State)
	}
}

func (c *contract) frozen() {
	if c.Freeze == nil {
		c.t.Skip("it cannot freeze")
	}
	_, err := c.probe(callWithin)
	require.NoError(c.t, err)
	c.Freeze()
	c.noClaim()
	for v := plan.Protect; v <= plan.Unprotect; v++ {
		if c.asks(v) {
			require.Error(c.t, c.do(v, brokenCall), "%s of a frozen system", v)
		}
	}
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

// until probes until an answer is good, and holds each answer against the truth.
func (c *contract) until(what string, good func(plan.Observation) bool) {
	c.untilAnswer(what, func(seen plan.Observation, err error) bool {
		if !c.Mute { // the last answers of a system that goes down with its node may be broken off
			require.NoError(c.t, err)
		}
		if err != nil {
			return false
		}
		if seen.State == plan.Off && !c.blind() {
			require.NotEqual(c.t, plan.On, c.Truth(), "told as off while it is on")
			require.NotEqual(c.t, plan.Stopping, c.Truth(), "told as off while it is stopping")
		}
		return good(seen)
	})
}

func (c *contract) untilAnswer(what string, good func(plan.Observation, error) bool) {
	c.t.Helper()
	deadline := time.NewTimer(c.Settle)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		seen, err := c.probe(callWithin)
		if good(seen, err) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			require.FailNow(c.t, "not "+what+" in time", "after %v: %+v, error %v", c.Settle, seen, err)
		}
	}
}

// ours marks the goroutines that an adapter is answerable for: its own, and those of its connections.
var ours = []string{"ebbtide/internal/adapter", "golang.org/x/crypto/ssh", "net/http.(*persistConn)"}

func adapterGoroutines() int {
	buf := make([]byte, 4<<20)
	n := 0
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		mine := slices.ContainsFunc(ours, func(mark string) bool { return strings.Contains(g, mark) })
		if mine && !strings.Contains(g, "testing.(*T).Run") && !strings.Contains(g, "testing.tRunner") {
			n++
		}
	}
	return n
}

func noneLeft(t *testing.T, after string, before int) {
	t.Helper()
	deadline := time.NewTimer(5 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for adapterGoroutines() > before {
		select {
		case <-tick.C:
		case <-deadline.C:
			buf := make([]byte, 1<<20)
			t.Fatalf("goroutines are left after %q:\n%s", after, buf[:runtime.Stack(buf, true)])
		}
	}
}
