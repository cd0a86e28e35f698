// Package lockout keeps a wrong password from being tried again and again.
package lockout

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

// Guard stands before the logins of one connection: appliances and controllers, and the directories behind them, lock an
// account, or shut out an address, after a few that are refused. Its methods may be called at the same time.
type Guard struct {
	mu       sync.Mutex
	why      error
	refusals int
	until    time.Time
}

// Locked gives the error of the last refused login while the pause after it lasts.
func (g *Guard) Locked() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Now().Before(g.until) {
		return g.why
	}
	return nil
}

// Refused notes a refused login, begins a pause, each twice as long as the one before, and gives the error that says so.
func (g *Guard) Refused(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = time.Now().Add(min(firstPause<<min(g.refusals, 10), longestPause))
	g.refusals++
	g.why = fmt.Errorf("%w; the next login is tried no earlier than %s", err, g.until.Format(time.TimeOnly))
	return g.why
}

// Accepted notes that a login was accepted.
func (g *Guard) Accepted() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.why, g.refusals, g.until = nil, 0, time.Time{}
}
