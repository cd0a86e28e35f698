package site

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Moment is one thing that happened, as a peer saw it:
//
//	mains off, mains on, ups output off, ups output on
//	vm NAME on, vm NAME off, host NAME on, host NAME off, nas on, nas off
//	ShutdownGuest NAME, PowerOffVM_Task NAME, PowerOnVM_Task NAME, ShutdownHost_Task NAME: a command arrived
//	nas asked COMMAND: protect, unprotect, flush or stop arrived
//	nas COMMAND: it was carried out
//	nas says protected=yes dirty=0: what it answered to a probe; only with Options.Answers
//	ups INSTCMD COMMAND, ups SET VARIABLE VALUE: a command reached the UPS's driver
type Moment struct {
	At   time.Time
	What string
}

// Chronicle keeps what peers tell, in order. Its methods may be called at the same time.
type Chronicle struct {
	t testing.TB

	mu    sync.Mutex
	story []Moment
}

// NewChronicle starts an empty one.
func NewChronicle(t testing.TB) *Chronicle { return &Chronicle{t: t} }

// Tell adds what happened now.
func (c *Chronicle) Tell(what string) { c.TellAt(time.Now(), what) }

// TellAt puts a moment into its place in time: some peers are asked only now and then what happened.
func (c *Chronicle) TellAt(at time.Time, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := len(c.story)
	for i > 0 && c.story[i-1].At.After(at) {
		i--
	}
	c.story = slices.Insert(c.story, i, Moment{At: at, What: what})
}

// Story is what happened so far, in order.
func (c *Chronicle) Story() []Moment {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.story)
}

// Told is what happened so far, in words.
func (c *Chronicle) Told() []string {
	var told []string
	for _, m := range c.Story() {
		told = append(told, m.What)
	}
	return told
}

// At gives where a moment stands in what was told, -1 if it does not.
func (c *Chronicle) At(what string) int { return slices.Index(c.Told(), what) }

// Until waits for a condition of what the chronicle is about.
func (c *Chronicle) Until(what string, within time.Duration, holds func() bool) {
	c.t.Helper()
	clock := time.NewTicker(20 * time.Millisecond)
	defer clock.Stop()
	for end := time.Now().Add(within); time.Now().Before(end); <-clock.C {
		if holds() {
			return
		}
	}
	c.t.Fatalf("no %s within %s; the story so far:\n%s", what, within, strings.Join(c.Told(), "\n"))
}
