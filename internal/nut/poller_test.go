package nut_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/nut"
	"ebbtide/internal/nut/nuttest"
	"ebbtide/internal/power"
)

// polled runs a poller until the test ends and gives what it delivers.
type polled struct {
	t        *testing.T
	readings chan power.Reading
	log      *safeBuffer
}

func poll(t *testing.T, o nut.PollerOptions, servers ...nut.Server) *polled {
	t.Helper()
	p := &polled{t: t, readings: make(chan power.Reading, 10_000), log: &safeBuffer{}}
	o.Log = slog.New(slog.NewTextHandler(p.log, nil))
	poller := nut.NewPoller(o, servers, func(r power.Reading) { p.readings <- r })
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); poller.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return p
}

// until waits for a reading of a supply.
func (p *polled) until(supply, what string, is func(power.Reading) bool) power.Reading {
	p.t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	for {
		select {
		case r := <-p.readings:
			if r.Supply == supply && is(r) {
				return r
			}
		case <-deadline.C:
			p.t.Fatalf("waited 20s in vain for %s of %s; the log says\n%s", what, supply, p.log)
		}
	}
}

func linked(l power.Link) func(power.Reading) bool {
	return func(r power.Reading) bool { return r.Link == l }
}

func says(s power.Status) func(power.Reading) bool {
	return func(r power.Reading) bool { return r.Link == power.Fresh && r.Status == s }
}

type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func supplies(ids ...string) []nut.Supply {
	var all []nut.Supply
	for _, id := range ids {
		all = append(all, nut.Supply{ID: id, UPS: strings.TrimPrefix(id, "x-")})
	}
	return all
}

var fastPoll = nut.PollerOptions{Interval: 20 * time.Millisecond, OnBattery: 10 * time.Millisecond}

func TestPollerFollowsUpsd(t *testing.T) {
	upsd := nuttest.Start(t, nuttest.Config{UPSes: []string{"ups1", "ups2"}})
	driver := upsd.Driver("ups1")
	driver.Set("ups.status", "OL", "battery.charge", "100", "battery.runtime", "1800", "ups.load", "30", "input.voltage", "230.1",
		"ups.temperature", "25")
	upsd.Await("ups1", "ups.temperature", "25")
	p := poll(t, fastPoll, nut.Server{
		Options:  nut.Options{Address: upsd.Addr},
		Supplies: []nut.Supply{{"left", "ups1"}, {"right", "ups2"}},
	})

	require.Equal(t, power.Reading{
		Supply: "left", Status: power.OL, Charge: power.Known(100), Runtime: power.Known(1800), Load: power.Known(30),
		Voltage: power.Known(230.1), Temperature: power.Known(25),
	}, p.until("left", "a first reading", linked(power.Fresh)))

	// Fast figures come with each poll, the others at once with a change of the status.
	driver.Set("battery.charge", "99")
	p.until("left", "the charge", func(r power.Reading) bool { return r.Charge.Value == 99 })
	driver.Set("input.voltage", "0.0", "ups.temperature", "26", "ups.status", "OB DISCHRG")
	r := p.until("left", "on battery", says(power.OB|power.DISCHRG))
	require.Equal(t, power.Known(0), r.Voltage)
	require.Equal(t, power.Known(26), r.Temperature)
	driver.Del("battery.runtime")
	p.until("left", "no runtime", func(r power.Reading) bool { return !r.Runtime.Known && r.Charge.Known })

	// Driver trouble is stale and concerns this UPS only.
	driver.Stale()
	r = p.until("left", "stale", linked(power.Stale))
	require.Contains(t, r.Detail, "DATA-STALE")
	p.until("right", "the other UPS", linked(power.Fresh))
	driver.OK()
	p.until("left", "fresh again", linked(power.Fresh))
	driver.Kill()
	r = p.until("left", "driver gone", linked(power.Stale))
	require.Contains(t, r.Detail, "DRIVER-NOT-CONNECTED")
	driver.Revive()
	p.until("left", "driver back", says(power.OB|power.DISCHRG))

	// upsd restarted.
	upsd.Stop()
	p.until("left", "upsd gone", linked(power.Lost))
	p.until("right", "upsd gone", linked(power.Lost))
	upsd.Launch()
	p.until("left", "upsd back", says(power.OB|power.DISCHRG))
	p.until("right", "upsd back", linked(power.Fresh))
}

func TestPollerNamesAnUnknownUPSOnce(t *testing.T) {
	s := simulate(t)
	s.Add("ups1", "").Set("ups.status", "OL")
	p := poll(t, fastPoll, nut.Server{Options: nut.Options{Address: s.Addr()}, Supplies: supplies("nosuch", "ups1")})
	for range 5 {
		r := p.until("nosuch", "a reading", linked(power.Lost))
		require.Contains(t, r.Detail, "UNKNOWN-UPS")
		p.until("ups1", "the other UPS", says(power.OL))
	}
	require.Equal(t, 1, strings.Count(p.log.String(), "level=ERROR"), "%s", p.log)
	require.Contains(t, p.log.String(), "ups=nosuch")
	require.Contains(t, p.log.String(), "upsc -l")
}

// A frozen upsd, a refusing one and one that takes long over each answer delay no other server's polls.
func TestFrozenServerDelaysNoOther(t *testing.T) {
	frozen := nuttest.Start(t, nuttest.Config{})
	well := nuttest.Start(t, nuttest.Config{UPSes: []string{"well"}})
	p := poll(t, fastPoll,
		nut.Server{Options: nut.Options{Address: frozen.Addr, Timeout: 500 * time.Millisecond}, Supplies: supplies("ups1")},
		nut.Server{Options: nut.Options{Address: "127.0.0.1:1"}, Supplies: supplies("refused")},
		nut.Server{Options: nut.Options{Address: well.Addr}, Supplies: supplies("well")},
	)
	p.until("ups1", "a reading", linked(power.Fresh))
	p.until("refused", "a refused connection", linked(power.Lost))
	frozen.Freeze()
	defer frozen.Thaw()
	began := time.Now()
	others := 0
	r := p.until("ups1", "the frozen server's silence", func(r power.Reading) bool {
		return r.Link == power.Lost
	})
	require.Contains(t, r.Detail, "no answer within 0.5s")
	silence := time.Since(began)
	for {
		r := <-p.readings
		if r.Supply == "well" {
			require.Equal(t, power.Fresh, r.Link)
			others++
		}
		if r.Supply == "ups1" && time.Since(began) > 2*silence {
			break
		}
	}
	require.Greater(t, others, 10, "polls of the well server while the other one was waited for")
	well.Driver("well").Set("ups.status", "OB")
	flipped := time.Now()
	p.until("well", "on battery", says(power.OB))
	require.Less(t, time.Since(flipped), 400*time.Millisecond)
	frozen.Thaw()
	p.until("ups1", "the thawed server", linked(power.Fresh))
}

// Few questions each second, everything only from time to time or when the status changes.
func TestPollerAsksLittle(t *testing.T) {
	s := simulate(t)
	u := s.Add("ups1", "")
	u.Set("ups.status", "OL", "battery.charge", "100", "ups.serial", "1", "input.voltage", "230")
	requests := make(chan string, 10_000)
	s.SetFault(watch(requests))
	p := poll(t, fastPoll, nut.Server{Options: nut.Options{Address: s.Addr()}, Supplies: supplies("ups1")})
	for range 10 {
		p.until("ups1", "a reading", says(power.OL))
	}
	u.Set("ups.status", "OB")
	p.until("ups1", "on battery", says(power.OB))
	lists, gets, next := 0, 0, ""
	for lists < 2 {
		next = <-requests
		switch {
		case next == "LIST VAR ups1":
			lists++
		case strings.HasPrefix(next, "GET VAR ups1 "):
			gets++
			require.Contains(t, []string{"GET VAR ups1 ups.status", "GET VAR ups1 battery.charge"}, next)
		default:
			require.Equal(t, "LOGOUT", next)
		}
	}
	require.GreaterOrEqual(t, gets, 2*9)
	require.Less(t, gets, 2*100)
}

func TestPollerPollsFasterOnBattery(t *testing.T) {
	s := simulate(t)
	u := s.Add("ups1", "")
	u.Set("ups.status", "OB")
	s.Add("ups2", "").Set("ups.status", "OL")
	p := poll(t, nut.PollerOptions{Interval: time.Hour, OnBattery: 5 * time.Millisecond}, nut.Server{
		Options: nut.Options{Address: s.Addr()}, Supplies: supplies("ups1", "ups2"),
	})
	for range 5 {
		p.until("ups1", "on battery", says(power.OB))
		p.until("ups2", "its neighbour", says(power.OL))
	}
	// Silent on battery is no time to slow down.
	u.SetStale(true)
	for range 5 {
		p.until("ups1", "stale", linked(power.Stale))
	}
	u.SetStale(false)
	u.Set("ups.status", "OL")
	p.until("ups1", "on line", says(power.OL))
	p.until("ups2", "its neighbour", says(power.OL))
	requests := make(chan string, 10)
	s.SetFault(watch(requests))
	select {
	case request := <-requests:
		t.Fatalf("%q in the half minute between two polls", request)
	case <-time.After(50 * time.Millisecond):
	}
}

// A dropped connection and garbage cost one poll, not more.
func TestPollerReconnects(t *testing.T) {
	s := simulate(t)
	s.Add("ups1", "").Set("ups.status", "OL")
	p := poll(t, fastPoll, nut.Server{Options: nut.Options{Address: s.Addr()}, Supplies: supplies("ups1")})
	p.until("ups1", "a reading", linked(power.Fresh))
	s.DropConnections()
	p.until("ups1", "the loss", linked(power.Lost))
	p.until("ups1", "the return", linked(power.Fresh))
	s.SetFault(answerAll("VAR ups2 ups.status \"OB LB\"\n"))
	r := p.until("ups1", "the garbage", linked(power.Lost))
	require.Contains(t, r.Detail, "protocol")
	s.SetFault(nil)
	p.until("ups1", "the return", linked(power.Fresh))
	require.Equal(t, 2, strings.Count(p.log.String(), "answers again"), "%s", p.log)
}
