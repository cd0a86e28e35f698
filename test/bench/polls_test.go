package bench

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// polls notes when each supply was read, as the NUT servers saw it. These run beside the vCenters and the clients in
// this process: a clock beside them notes how late they are themselves.
type polls struct {
	mu    sync.Mutex
	seen  map[string]*hearing
	ticks []time.Time
}

const tickEvery = 20 * time.Millisecond

type hearing struct {
	at      []time.Time
	hurried time.Time // since when it is on battery; zero: it is not
}

func newPolls() *polls { return &polls{seen: map[string]*hearing{}} }

func (p *polls) of(supply string) *hearing {
	if p.seen[supply] == nil {
		p.seen[supply] = &hearing{}
	}
	return p.seen[supply]
}

// keepTime notes ticks until stop is closed.
func (p *polls) keepTime(stop <-chan struct{}) {
	clock := time.NewTicker(tickEvery)
	defer clock.Stop()
	for {
		select {
		case <-stop:
			return
		case <-clock.C:
		}
		p.mu.Lock()
		p.ticks = append(p.ticks, time.Now())
		p.mu.Unlock()
	}
}

// stood is how long this process stood still at the end of a gap, at most. p.mu is held.
func (p *polls) stood(from, to time.Time) time.Duration {
	first, _ := slices.BinarySearchFunc(p.ticks, from, time.Time.Compare)
	var longest time.Duration
	for i := max(1, first); i < len(p.ticks) && p.ticks[i-1].Before(to); i++ {
		longest = max(longest, p.ticks[i].Sub(p.ticks[i-1])-tickEvery)
	}
	return longest
}

// see notes a request of a connection that only reads: those with a user belong to the outputs.
func (p *polls) see(user, request string) {
	words := strings.Fields(request)
	first := len(words) > 2 && (words[0] == "LIST" && words[1] == "VAR" || words[0] == "GET" && len(words) > 3 && words[3] == "ups.status")
	if user != "" || !first {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.of(words[2])
	s.at = append(s.at, time.Now())
}

// hurry notes that a supply is on battery from now on.
func (p *polls) hurry(supply string, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of(supply).hurried = at
}

// pollFigures are what the polls between two moments come to.
type pollFigures struct {
	expected float64       // as the intervals have it
	missed   float64       // of those that passed between two readings which lie more than two intervals apart
	late     time.Duration // p99 of how much later than its interval a reading came
	longest  time.Duration // between two readings
	stood    time.Duration // the longest that the servers themselves stood still: a gap is longer by so much at most
}

// each is how often every supply was read since then: the least of all.
func (p *polls) each(supplies int, since time.Time) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.seen) < supplies {
		return 0
	}
	least := -1
	for _, s := range p.seen {
		n := len(s.at)
		for i, at := range s.at {
			if !at.Before(since) {
				n = i
				break
			}
		}
		if n = len(s.at) - n; least < 0 || n < least {
			least = n
		}
	}
	return least
}

// judge counts from one moment to another. A supply that goes on battery is polled faster once that was read: the
// interval in which this happens has its length from before.
func (p *polls) judge(from, to time.Time) pollFigures {
	p.mu.Lock()
	defer p.mu.Unlock()
	var f pollFigures
	var lateness []time.Duration
	for _, s := range p.seen {
		last := from
		for _, at := range append(slices.Clone(s.at), to) {
			if at.Before(from) || at.After(to) {
				continue
			}
			every := pollEvery
			if !s.hurried.IsZero() && last.After(s.hurried) {
				every = pollOnBattery
			}
			gap := at.Sub(last)
			f.expected += gap.Seconds() / every.Seconds()
			f.longest = max(f.longest, gap)
			if at != to {
				lateness = append(lateness, max(0, gap-every))
			}
			if gap > 2*every {
				if over := gap - p.stood(last, at); over > 2*every {
					f.missed += over.Seconds()/every.Seconds() - 1
				}
			}
			last = at
		}
	}
	f.stood = p.stood(from, to)
	f.late = percentile(lateness, 99)
	return f
}

func percentile(d []time.Duration, p int) time.Duration {
	if len(d) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(d))
	return s[(len(s)-1)*p/100]
}

func (f pollFigures) String() string {
	return fmt.Sprintf("%.0f polls, %.1f missed, late %s (p99), longest gap %s, servers stood %s", f.expected, f.missed, f.late,
		f.longest, f.stood)
}
