package demo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"ebbtide/internal/nut/nutsim"
)

// The modelled UPS. Time is sped up for its battery: what it calls a second lasts a quarter of one.
const (
	hurry    = 4.0                    // seconds of battery time that go by in one second
	ample    = 140.0                  // seconds that it claims to last at fullLoad
	scant    = 103.0                  // seconds that it claims to last where something fails: so that it gives out in the time of a demo
	fullLoad = 64.0                   // percent, with everything on
	refill   = 0.15                   // of the charge, in one second on mains
	offDelay = time.Second            // from the accepted cut to the cut
	onDelay  = 500 * time.Millisecond // from mains back to output on
	rest     = 6 * time.Second        // that the output stays off at least: who looks every five seconds sees it
	stroke   = 50 * time.Millisecond  // between two steps of the model
	lowMark  = 0.2                    // of the charge: LB
)

// ups is a UPS with a battery, as a NUT server shows it. Its methods may be called at any time.
type ups struct {
	server  *nutsim.Server
	shown   *nutsim.UPS
	witness *witness
	onPower func(now truth, commanded bool)

	mu        sync.Mutex
	capacity  float64 // see ample
	charge    float64 // 0 to 1
	mains     bool
	since     time.Time // mains have been so
	output    bool
	switched  time.Time // the output was, last
	armedAt   time.Time // a cut was accepted; zero: none is pending
	hungAt    time.Time // a cut was accepted that will not be made; zero: none is pending
	commanded bool      // the output is off because it was told so
	failure   failure
	wake      chan struct{} // closed and made anew with each change of the output
}

// startUPS starts a NUT server with one UPS on it. onPower is told each change of the output, before any client can see
// it, and whether a command brought it about.
func startUPS(w *witness, onPower func(now truth, commanded bool)) (*ups, error) {
	server, err := nutsim.Start()
	if err != nil {
		return nil, err
	}
	server.AddUser(nutsim.User{Name: upsUser, Password: upsPassword, Commands: true})
	u := &ups{
		server: server, shown: server.Add("ups", "a modelled battery"), witness: w, onPower: onPower,
		capacity: ample, charge: 1, mains: true, since: time.Now(), output: true, wake: make(chan struct{}),
	}
	u.shown.Set("ups.delay.shutdown", fmt.Sprint(offDelay.Seconds()), "input.voltage.nominal", "230", "battery.runtime.low", "30")
	u.shown.OnCommand(u.command, "shutdown.return", "load.on")
	u.show()
	return u, nil
}

// isScant makes its battery a small one.
func (u *ups) isScant() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.capacity = scant
}

const (
	upsUser     = "ebbtide"
	upsPassword = "high tide"
)

// run lets time go by until ctx ends.
func (u *ups) run(ctx context.Context) {
	tick := time.NewTicker(stroke)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			u.pass(now, now.Sub(last))
			last = now
		}
	}
}

func (u *ups) pass(now time.Time, spent time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.mains {
		u.charge = min(1, u.charge+refill*spent.Seconds())
	} else if u.output {
		u.charge = max(0, u.charge-hurry*spent.Seconds()*rate(u.witness.load())/u.capacity)
	}
	switch {
	case !u.hungAt.IsZero() && now.Sub(u.hungAt) >= offDelay:
		u.hungAt = time.Time{}
		u.witness.uncut()
	case u.output && !u.armedAt.IsZero() && now.Sub(u.armedAt) >= offDelay:
		u.armedAt = time.Time{}
		u.power(false, true)
	case u.output && !u.mains && u.charge == 0:
		u.power(false, false)
	case !u.output && u.mains && now.Sub(u.since) >= onDelay && now.Sub(u.switched) >= rest:
		u.power(true, u.commanded)
	}
	u.show()
}

// power switches the output. The lock is held.
func (u *ups) power(on, commanded bool) {
	u.output, u.commanded, u.switched = on, commanded, time.Now()
	u.onPower(u.now(), commanded)
	close(u.wake)
	u.wake = make(chan struct{})
}

// rate is how fast a load drains the battery, compared with fullLoad.
func rate(load float64) float64 { return math.Pow((load+8)/(fullLoad+8), 1.25) }

// left is how long the battery says that it lasts, in seconds. The lock is held.
func (u *ups) left() float64 { return u.charge * u.capacity / rate(u.witness.load()) }

// show tells NUT's clients and the referee how it is. The lock is held.
func (u *ups) show() {
	u.witness.power(u.now())
	status, voltage := "OL", "231"
	switch {
	case !u.mains:
		status, voltage = "OB DISCHRG", "0"
		if u.charge < lowMark {
			status += " LB"
		}
	case u.charge < 1:
		status += " CHRG"
	}
	out := "230"
	if !u.output {
		status, out = status+" OFF", "0"
	}
	u.shown.Set("ups.status", status, "input.voltage", voltage, "output.voltage", out,
		"battery.charge", fmt.Sprintf("%.0f", 100*u.charge), "battery.runtime", fmt.Sprintf("%.0f", u.left()),
		"ups.load", fmt.Sprintf("%.0f", u.witness.load()))
}

// command carries out an instant command.
func (u *ups) command(name, _ string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.failure == refuse:
		return errors.New("the UPS refuses")
	case u.failure == hang:
		if name == "shutdown.return" {
			u.hungAt = time.Now()
		}
	case name == "shutdown.return" && u.output && u.armedAt.IsZero():
		u.armedAt = time.Now()
	case name == "load.on" && !u.output && u.mains:
		u.power(true, true)
	}
	return nil
}

// setMains takes the mains away or gives them back.
func (u *ups) setMains(on bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mains, u.since = on, time.Now()
	if on && u.failure == vanish {
		u.shown.SetStale(false)
	}
	u.show()
}

// truth is how the UPS is at one moment.
type truth struct {
	mains, output bool
	heard         bool      // it tells how it is
	since         time.Time // mains have been so
	charge        float64   // percent
	left          float64   // seconds, as it says
}

func (u *ups) truth() truth {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.now()
}

func (u *ups) now() truth {
	return truth{
		mains: u.mains, output: u.output, heard: u.mains || u.failure != vanish, since: u.since,
		charge: 100 * u.charge, left: u.left(),
	}
}

// awaitOff returns when the output is off.
func (u *ups) awaitOff(ctx context.Context) error {
	for {
		u.mu.Lock()
		on, changed := u.output, u.wake
		u.mu.Unlock()
		if !on {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
	}
}
