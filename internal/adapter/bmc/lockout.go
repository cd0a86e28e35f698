package bmc

import (
	"fmt"
	"sync"
	"time"

	"ebbtide/internal/adapter"
)

// The pauses after refused logins: the first, and the longest.
const (
	firstPause   = time.Minute
	longestPause = 15 * time.Minute
)

// Lockout keeps a wrong password from being tried again and again: controllers, and the directories behind them, lock an
// account after a few refused logins. Its methods may be called at the same time.
type Lockout struct {
	mu       sync.Mutex
	refused  error
	refusals int
	until    time.Time
}

// Locked gives the error of the last refused login while the pause after it lasts.
func (l *Lockout) Locked() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.until) {
		return l.refused
	}
	return nil
}

// Refused notes that a login was refused, begins a pause, each twice as long as the one before, and gives the error.
func (l *Lockout) Refused(why string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	pause := min(firstPause<<min(l.refusals, 10), longestPause)
	l.refusals++
	l.until = time.Now().Add(pause)
	l.refused = fmt.Errorf("%w: %s; the next login is tried no earlier than %s", adapter.ErrRefused, why, l.until.Format(time.TimeOnly))
	return l.refused
}

// Accepted notes that a login was accepted.
func (l *Lockout) Accepted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused, l.refusals, l.until = nil, 0, time.Time{}
}
