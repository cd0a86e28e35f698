package dst_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/sim"
)

var moments = flag.Int("dst.moments", 1, "at how many moments one thing happens beside an outage of each example estate")

// calm is what an outage of a sound room comes to for those who look at nothing but the room.
type calm struct{ forced, lost, missing []string }

func calmOf(sc *sim.Scenario) calm {
	r := sim.Run(*sc)
	c := calm{lost: sim.Unplanned(sc.Settings.Estate, r), missing: r.Missing}
	for i := range r.Records {
		if rec := &r.Records[i]; rec.Kind == ledger.Intent && *rec.Verb == plan.Force {
			c.forced = append(c.forced, rec.Node)
		}
	}
	return c
}

// worse tells what came to more than in a night in which nothing happened beside; "": nothing did.
func (c *calm) worse(than *calm) string {
	beyond := func(a, b []string) []string {
		return slices.DeleteFunc(slices.Clone(a), func(id string) bool { return slices.Contains(b, id) })
	}
	forced, lost, missing := beyond(c.forced, than.forced), beyond(c.lost, than.lost), beyond(c.missing, than.missing)
	if len(forced)+len(lost)+len(missing) == 0 {
		return ""
	}
	return fmt.Sprintf("powered off: %v, lost its power while on: %v, not back: %v", forced, lost, missing)
}

// room is how an example estate is, where that may be so or otherwise.
type room struct {
	showsOn bool    // its machines show as on until they fall silent
	health  float64 // of its first battery
}

const missed = "one word missed"

// trifles are small things that happen beside an outage.
var trifles = map[string]func(*sim.Scenario, time.Duration){
	"silent for 62 s": silentFor(62 * time.Second), "silent for 130 s": silentFor(130 * time.Second), missed: missesOne,
	"a restart of 3 s": restart(3 * time.Second), "a restart of 20 s": restart(20 * time.Second),
}

// TestOneThingBeside plays an outage of each example estate in which one small thing happens beside, at moments that are drawn anew each
// time: its UPSes are silent for one or two minutes, one of them misses a word, or Ebbtide restarts. Nothing is powered off for that, loses
// its power while on, or is left off.
func TestOneThingBeside(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../runbooks/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			played, worse := 0, 0
			for _, room := range []room{{false, 1}, {true, 1}, {true, 0.4}} {
				base := room.outage(t, file)
				sound := calmOf(&base)
				first, last := span(t, sim.Run(base))
				for name, beside := range trifles {
					if room.health < 1 && name != missed { // while such a battery can't be heard nobody knows that it lasts
						continue
					}
					for range *moments {
						at := first + rand.N(last-first)
						sc := room.outage(t, file)
						beside(&sc, at)
						c := calmOf(&sc)
						played++
						if why := c.worse(&sound); why != "" {
							worse++
							t.Errorf("%s at %s, %+v: %s", name, at, room, why)
						}
					}
				}
			}
			t.Logf("%d nights, of which %d came to something worse", played, worse)
		})
	}
}

// outage is an example estate whose mains all fail after a minute, for three hours.
func (r *room) outage(t *testing.T, file string) sim.Scenario {
	t.Helper()
	sc := exampleOf(t, file)
	sc.For = 24 * time.Hour
	weak := sc.Settings.Supplies[0].ID
	battery, given := sc.Batteries[weak]
	if !given {
		battery.Charge = 1
	}
	battery.Health = r.health
	sc.Batteries[weak] = battery
	estate := sc.Settings.Estate
	for i := range estate.Len() {
		n := estate.Node(i)
		switch {
		case n.Kind == plan.Supply:
			sc.Changes = append(sc.Changes, sim.Change{At: time.Minute, Supply: n.ID},
				sim.Change{At: 3 * time.Hour, Supply: n.ID, Mains: true})
		case n.OffAfter > 0:
			h := sc.Habits[n.ID]
			h.ShowsOn = r.showsOn
			sc.Habits[n.ID] = h
		}
	}
	return sc
}

// span gives from when to when a room goes down.
func span(t *testing.T, r *sim.Result) (first, last time.Duration) {
	t.Helper()
	for i := range r.Records {
		if rec := &r.Records[i]; rec.Kind == ledger.Intent && rec.Verb.TakesDown() {
			if last = rec.At.Sub(sim.Epoch); first == 0 {
				first = last
			}
		}
	}
	require.Positive(t, last-first)
	return first, last
}

func silentFor(d time.Duration) func(*sim.Scenario, time.Duration) {
	return func(sc *sim.Scenario, at time.Duration) {
		for _, s := range sc.Settings.Supplies {
			silences(sc, s.ID, at, d)
		}
	}
}

func missesOne(sc *sim.Scenario, at time.Duration) {
	silences(sc, sc.Settings.Supplies[rand.IntN(len(sc.Settings.Supplies))].ID, at, 1500*time.Millisecond)
}

func silences(sc *sim.Scenario, id string, at, d time.Duration) {
	yes, no := true, false
	sc.Changes = append(sc.Changes, sim.Change{At: at, Supply: id, Silent: &yes}, sim.Change{At: at + d, Supply: id, Silent: &no})
}

func restart(away time.Duration) func(*sim.Scenario, time.Duration) {
	return func(sc *sim.Scenario, at time.Duration) {
		sc.Away = away
		sc.CrashAt = []uint64{1 + uint64(at/time.Second)%60}
	}
}
