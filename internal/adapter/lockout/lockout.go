// Package lockout keeps a wrong password from being tried again and again.
package lockout

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"ebbtide/internal/adapter"
)

// The pauses after refused logins: the first, the longest, and the one that goes before them for an account that was let in before.
// Makers lock an account, or shut out an address, after three refusals within a minute (iDRAC) or five within three (vCenter), as they are
// delivered.
const (
	firstPause   = time.Minute
	longestPause = 15 * time.Minute
	pauseAgain   = 5 * time.Second
)

// ErrDenied says that a login was refused, whatever that means for a command that was not given.
var ErrDenied = errors.New("login refused")

// denial is the error of a refused login.
type denial struct{ error }

func (denial) Is(target error) bool { return target == ErrDenied }

func (d denial) Unwrap() error { return d.error }

// Guard stands before the logins of one connection: appliances and controllers, and the directories behind them, lock an
// account, or shut out an address, after a few that are refused. Its methods may be called at the same time.
type Guard struct {
	mu       sync.Mutex
	why      error
	wasIn    bool      // a login was accepted before,
	inAt     time.Time // the last one then
	refusals int
	until    time.Time
}

// Locked gives the error of the last refused login while the pause after it lasts: the system is not asked.
func (g *Guard) Locked() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Now().Before(g.until) {
		return adapter.As(g.why, adapter.ErrUnreachable)
	}
	return nil
}

// stillIn is how long after a login that was accepted another one is taken to be as well.
const stillIn = 20 * time.Second

// IsIn reports whether a login was accepted just now, so that another one is as well.
func (g *Guard) IsIn() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.wasIn && g.refusals == 0 && time.Since(g.inAt) < stillIn
}

// Refused notes a refused login, begins a pause, each twice as long as the one before, and gives the error that says so. An account that
// was let in before is not refused for good: in an outage the directory that knows it goes down first, and the system starts anew
// without it. Then the first pause is short, and the system counts as not asked.
func (g *Guard) Refused(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Now().Before(g.until) { // of several at once, the first has begun the pause
		return g.why
	}
	pause := min(firstPause<<min(g.refusals, 10), longestPause)
	if g.wasIn {
		err = again(err)
		if pause = max(pause/2, firstPause); g.refusals == 0 {
			pause = pauseAgain
		}
	}
	g.until = time.Now().Add(pause)
	g.refusals++
	g.why = denial{fmt.Errorf("%w; the next login is tried no earlier than %s", err, g.until.Format(time.TimeOnly))}
	return g.why
}

// Sort is Refused for a token, which no maker locks: there is no pause.
func (g *Guard) Sort(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.wasIn {
		return again(err)
	}
	return err
}

func again(err error) error {
	return adapter.As(fmt.Errorf("%w; it was let in before, so whoever knows its account may be down", err), adapter.ErrUnreachable)
}

// Accepted notes that a login was accepted.
func (g *Guard) Accepted() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.why, g.refusals, g.until, g.wasIn, g.inAt = nil, 0, time.Time{}, true, time.Now()
}
