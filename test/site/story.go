package site

import (
	"slices"
	"strings"
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

func (s *Site) tell(what string) { s.tellAt(time.Now(), what) }

func (s *Site) tellAt(at time.Time, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(at, what)
}

// note puts a moment into its place in time: some peers are asked only now and then what happened. It needs s.mu.
func (s *Site) note(at time.Time, what string) {
	i := len(s.story)
	for i > 0 && s.story[i-1].At.After(at) {
		i--
	}
	s.story = slices.Insert(s.story, i, Moment{At: at, What: what})
}

// Story is what happened so far, in order.
func (s *Site) Story() []Moment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.story)
}

// Told is what happened so far, in words.
func (s *Site) Told() []string {
	var told []string
	for _, m := range s.Story() {
		told = append(told, m.What)
	}
	return told
}

// At gives where a moment stands in what was told, -1 if it does not.
func (s *Site) At(what string) int { return slices.Index(s.Told(), what) }

// Until waits for a condition of the site.
func (s *Site) Until(what string, within time.Duration, holds func() bool) {
	s.t.Helper()
	clock := time.NewTicker(20 * time.Millisecond)
	defer clock.Stop()
	for end := time.Now().Add(within); time.Now().Before(end); <-clock.C {
		if holds() {
			return
		}
	}
	s.t.Fatalf("no %s within %s; the story so far:\n%s", what, within, strings.Join(s.Told(), "\n"))
}
