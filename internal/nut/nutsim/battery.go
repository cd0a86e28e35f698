package nutsim

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Test is how a UPS tests its battery.
type Test struct {
	Start, Stop string  // its instant commands: "test.battery.start.deep", "test.battery.stop"; "calibrate.start", "calibrate.stop"
	Status      string  // ups.status while it runs: "OL CAL DISCHRG", or "OB DISCHRG" of a UPS that knows no CAL
	Fall        float64 // of the charge, in percent a second
	Deaf        bool    // it goes on when it is told to end
}

// testTick is how often a running test changes the figures.
const testTick = 20 * time.Millisecond

// OffersTest lets a UPS test its battery, beside the commands that it has: while the test runs its charge and its runtime
// fall. It takes the UPS's figures as they are when a test begins, and puts its status back when that ends.
func (u *UPS) OffersTest(t Test) {
	u.server.mu.Lock()
	defer u.server.mu.Unlock()
	before := u.onCommand
	var end chan struct{} // of the test that runs; commands of one server may come at the same time
	u.onCommand = func(command, parameter string) error {
		switch command {
		case t.Start, t.Stop:
		default:
			return before(command, parameter)
		}
		u.server.mu.Lock()
		defer u.server.mu.Unlock()
		switch {
		case command == t.Start && end == nil:
			end = make(chan struct{})
			u.server.all.Go(func() { u.test(t, end) })
		case command == t.Stop && end != nil && !t.Deaf:
			close(end)
			end = nil
		}
		return nil
	}
	u.commands = slices.Sorted(slices.Values(append(u.commands, t.Start, t.Stop)))
}

// test runs until end is closed or the server is.
func (u *UPS) test(t Test, end <-chan struct{}) {
	clock := time.NewTicker(testTick)
	defer clock.Stop()
	status, from := u.Get("ups.status"), time.Now()
	number := func(name string) float64 {
		v, err := strconv.ParseFloat(strings.TrimSpace(u.Get(name)), 64)
		if err != nil {
			return 0
		}
		return v
	}
	charge, runtime := number("battery.charge"), number("battery.runtime")
	for {
		left := max(0, charge-t.Fall*time.Since(from).Seconds())
		u.Set("ups.status", t.Status, "battery.charge", strconv.FormatFloat(left, 'f', 1, 64),
			"battery.runtime", strconv.Itoa(int(runtime*left/max(charge, 1))))
		select {
		case <-clock.C:
		case <-end:
			u.Set("ups.status", status)
			return
		case <-u.server.closing:
			return
		}
	}
}
