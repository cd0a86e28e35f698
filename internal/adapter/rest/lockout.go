package rest

import (
	"fmt"
	"sync"
	"time"
)

// The pauses after refused logins: the first, and the longest.
const (
	firstPause   = time.Minute
	longestPause = 15 * time.Minute
)

// Lockout keeps a wrong password from being tried again and again: appliances, and the directories behind them, lock an
// account, or shut out an address, after a few refused logins. Its methods may be called at the same time.
type Lockout struct {
	mu       sync.Mutex
	why      error
	refusals int
	until    time.Time
}

// Locked gives the error of the last refused login while the pause after it lasts.
func (l *Lockout) Locked() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.until) {
		return l.why
	}
	return nil
}

// Refused notes a refused login and begins a pause, each twice as long as the one before.
func (l *Lockout) Refused(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = time.Now().Add(min(firstPause<<min(l.refusals, 10), longestPause))
	l.refusals++
	l.why = fmt.Errorf("%w; the next login is tried no earlier than %s", err, l.until.Format(time.TimeOnly))
	return l.why
}

// Accepted notes that a login was accepted.
func (l *Lockout) Accepted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.why, l.refusals, l.until = nil, 0, time.Time{}
}
