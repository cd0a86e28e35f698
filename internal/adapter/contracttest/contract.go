// Package contracttest holds what every adapter must do, as one suite of tests. The fake passes it too, so that what
// is tested against the fake holds for the real ones.
package contracttest

import (
	"context"
	"fmt"
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
	// Elsewhere are the verbs that go another way than over the node's own connection, and work when that is broken: the
	// Start of a node with a wake.
	Elsewhere plan.Verbs
	// Vanish makes the node cease to exist.
	Vanish func()
	// Silence makes its system unreachable: it refuses connections.
	Silence func()
	// RefusalIsSilence: a connection that is refused counts as silence, as the node's declaration says, or as it does for what can tell
	// no difference.
	RefusalIsSilence bool
	// Freeze makes its system accept calls and answer none.
	Freeze func()
	// Revoke has its system let in nobody any more whom it let in before, as one whose directory is down.
	Revoke func()
	// Close ends the connection of the node, as Set.Close does.
	Close func() error
}

const (
	callWithin = 5 * time.Second        // for a call to a system that answers
	brokenCall = 400 * time.Millisecond // for a call to one that doesn't
	grace      = 3 * time.Second        // that a call may outlast its context, on a machine that has much else to do
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
		{"a login that is refused after it was accepted is no refusal", (*contract).revoked},
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
	return c.give(adapter.Command{Verb: v}, within)
}

func (c *contract) give(do adapter.Command, within time.Duration) error {
	ctx, cancel := context.WithTimeout(c.t.Context(), within)
	defer cancel()
	start := time.Now()
	err := c.Node.Do(ctx, do)
	c.inTime(do.Verb.String(), start, within)
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

// until probes until an answer is good, and holds each answer against the truth.
func (c *contract) until(what string, good func(plan.Observation) bool) {
	up := func() bool { return !c.blind() && (c.Truth() == plan.On || c.Truth() == plan.Stopping) }
	before := up()
	c.untilAnswer(what, func(seen plan.Observation, err error) bool {
		after := up()
		wrong := seen.State == plan.Off && before && after // what changed between the two looks may be told either way
		before = after
		if !c.Mute { // the last answers of a system that goes down with its node may be broken off
			require.NoError(c.t, err)
		}
		if err != nil {
			return false
		}
		require.False(c.t, wrong, "told as off while it is on or stopping")
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
