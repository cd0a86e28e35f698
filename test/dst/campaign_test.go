package dst_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/families"
	"ebbtide/internal/ledger"
	"ebbtide/internal/runbook"
	"ebbtide/internal/sim"
	"ebbtide/test/dst"
)

var (
	seeds  = flag.Int("dst.seeds", 500, "how many seeds the campaign plays")
	from   = flag.Uint64("dst.from", 0, "the first of them; 0: as dst.random says, or by the commit's hash")
	random = flag.Bool("dst.random", false, "begin at a random seed")
	faults = flag.Int("dst.faults", 1, "how many times as likely as usual faults, lies, crashes and silences are")
	one    = flag.Uint64("dst.seed", 0, "play this seed alone, and tell its text and its story")
	scene  = flag.String("dst.scenario", "", "with dst.seed: play this file in its place")
	stop   = flag.Bool("dst.first", false, "end at the first seed that breaks a rule, and leave it as it is")
	lines  = flag.String("dst.lines", "", "with dst.seed: show the effects that speak of this")
	broken = flag.Int("dst.broken", 1, "how many seeds may break a rule (docs/adr/0016)")
	check  = flag.Int("dst.check", 0, "hold the engine against its own records, and against itself, in one seed of so many")
	until  = flag.Duration("dst.until", 0, "with dst.seed: end the run here")
	few    = flag.Bool("dst.few", false, "draw few guests: a night takes half of the time, and most faults need no more")
	near   = flag.Bool("dst.near", false, "play worlds that differ a little from those of the regressions, dst.faults times")
	shrink = flag.Int("dst.shrink", 2000, "how many tries a failing seed's scenario is given to become smaller")
	keep   = flag.String("dst.keep", os.TempDir(), "where the scenarios of failing seeds are written")
)

var checked atomic.Int64 // scenarios that were played

var schema = families.Schema()

// play runs the text of a scenario.
func play(text string) (*sim.Result, error) {
	_, r, err := playWith(sim.Check, text)
	return r, err
}

// playWith runs the text of a scenario with sim.Check, or with sim.Run, whose result tells the whole story.
func playWith(run func(sim.Scenario) *sim.Result, text string) (sim.Scenario, *sim.Result, error) {
	return new(reader).play(run, text)
}

// reader reads scenarios. The runbook of several in a row is read once.
type reader struct {
	text   string
	loader *sim.Loader
}

func (c *reader) play(run func(sim.Scenario) *sim.Result, text string) (sim.Scenario, *sim.Result, error) {
	scenario, book := dst.Parts(text)
	if book != c.text || c.loader == nil {
		rb, wrong := runbook.Load("drawn", []byte(book), schema)
		if wrong.HasErrors() {
			return sim.Scenario{}, nil, fmt.Errorf("cannot use the drawn runbook:\n%s", wrong.Text())
		}
		c.text, c.loader = book, &sim.Loader{Schema: schema, Runbook: rb}
	}
	sc, problems, err := c.loader.Load("drawn", []byte(scenario))
	if err != nil {
		return sc, nil, fmt.Errorf("%w\n%s", err, problems.Text())
	}
	if *until > 0 {
		sc.For = *until
	}
	sc.Checked = *check > 0 && checked.Add(1)%int64(*check) == 0
	return sc, run(sc), nil
}

// draw draws the text of a seed as the flags have it.
func draw(seed uint64) string {
	if *scene != "" {
		text, err := os.ReadFile(filepath.Clean(*scene))
		if err != nil {
			panic(err)
		}
		return string(text)
	}
	if *near {
		d := dice(seed)
		text := known()[d(len(known()))].text
		for range *faults {
			text = dst.Near(d, text)
		}
		return text
	}
	return dst.DrawNight(estateDice(seed), dice(seed), *faults)
}

// world is one of the regressions.
type world struct{ name, text string }

// known are those that a drawn one may be near to.
var known = sync.OnceValue(func() []world {
	var worlds []world
	for _, pattern := range []string{"testdata/*.yaml", "testdata/found/*.yaml"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			if text, err := os.ReadFile(filepath.Clean(file)); err == nil && dst.IsDrawn(string(text)) {
				worlds = append(worlds, world{file, string(text)})
			}
		}
	}
	return worlds
})

// whence names the world that the one of a seed is near to.
func whence(seed uint64) string {
	if !*near {
		return ""
	}
	return " (near " + known()[dice(seed)(len(known()))].name + ")"
}

// dice are those of a seed's night.
func dice(seed uint64) dst.Dice { return dst.Seeded(seed) }

// estateDice are those of its estate, as the flags have them.
func estateDice(seed uint64) dst.Dice {
	if *few {
		return dst.Few(dst.EstateOf(seed))
	}
	return dst.EstateOf(seed)
}

// rule tells how a run broke its first rule, without which node and when; "" if it broke none.
func rule(r *sim.Result) string {
	if len(r.Violations) == 0 {
		return ""
	}
	how, _, _ := strings.Cut(r.Violations[0], " at ")
	return strings.Join(digits.Split(how, -1), "#")
}

var digits = regexp.MustCompile(`[0-9]+`)

// leftOnOf nights may have one in which storage is left on without need.
const leftOnOf = 1000

// TestCampaign plays seeds and holds what came of each against every rule, from the truth of the modelled estate. A
// seed that breaks one is shrunk and written to a file.
func TestCampaign(t *testing.T) {
	first, why := begin(t)
	count, run := uint64(*seeds), sim.Check
	if *one != 0 {
		first, why, count, run = *one, "asked for", 1, sim.Run
	}
	t.Logf("the first seed is %d (%s): -dst.from %d -dst.faults %d plays the same again", first, why, first, *faults)
	c := &campaign{first: first, count: count, next: first, sums: tally{}, brokenBy: map[uint64]string{}}
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			var worlds reader
			for from, to := c.take(); from < to; from, to = c.take() {
				for seed := from; seed < to; seed++ {
					sc, r, err := worlds.play(run, draw(seed))
					c.played(t, seed, &sc, r, err)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d seeds, %d events, %d seeds broke a rule\n%s", count, c.sums["events"], len(c.brokenBy), c.sums)
	most := min(*broken, int(count)/50)
	for i, seed := range slices.Sorted(maps.Keys(c.brokenBy)) {
		where := ""
		if i < 5 && !*stop && *shrink > 0 && len(c.brokenBy) > most {
			where = "\n" + keepShrunk(t, seed)
		}
		t.Logf("seed %d: %s%s", seed, c.brokenBy[seed], where)
	}
	if few := 2 + int(count)/leftOnOf; c.sums[leftOn] > few && !*near {
		t.Errorf("in %d of %d nights storage lost its power that could have been stopped, and it may in %d", c.sums[leftOn], count, few)
	}
	if len(c.brokenBy) > most {
		t.Errorf("%d of %d seeds broke a rule, and %d may", len(c.brokenBy), count, most)
	}
}

// campaign is seeds that several play at once, and what came of them.
type campaign struct {
	first, count uint64

	mu       sync.Mutex
	next     uint64
	sums     tally
	brokenBy map[uint64]string // per seed: its first violation, or why it could not be played
}

// take gives the next seeds to play, from the first to before the second: the nights of one estate, which are played by one. There are none
// if all are taken, or one has broken a rule and that is enough.
func (c *campaign) take() (from, to uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *stop && len(c.brokenBy) > 0 {
		return 0, 0
	}
	from = c.next
	c.next += dst.Nights - c.next%dst.Nights
	return from, min(c.next, c.first+c.count)
}

// played takes what came of a seed. One that is played alone is told whole.
func (c *campaign) played(t *testing.T, seed uint64, sc *sim.Scenario, r *sim.Result, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.brokenBy[seed] = err.Error()
		return
	}
	if len(r.Violations) > 0 {
		c.brokenBy[seed] = r.Violations[0]
		t.Logf("found at %d of %d: rule %s%s", seed-c.first, c.count, r.Violations[0], whence(seed)) // a campaign is long
	}
	c.sums.add(sc, r)
	for _, what := range r.Avoidable {
		t.Logf("avoidable at %d of %d: %s", seed-c.first, c.count, what)
	}
	if *one != 0 {
		tell(t, seed, sc, r)
	}
}

// tell shows all of a night: its text, what was done and why, and how it ended.
func tell(t *testing.T, seed uint64, sc *sim.Scenario, r *sim.Result) {
	t.Log("\n" + draw(seed))
	tellLines(t, *sc, r)
	t.Log("\n" + sim.Tell(r))
	for _, n := range r.View.Nodes {
		if n.Why != "" || n.Doing != "" {
			t.Logf("%s is %s: %s %s", n.ID, n.Seen.State, n.Doing, n.Why)
		}
	}
}

// tellLines shows what the engine was told and what it did, as far as that speaks of what -dst.lines asks for.
func tellLines(t *testing.T, sc sim.Scenario, r *sim.Result) {
	if *lines == "" {
		return
	}
	type heard struct {
		at time.Duration
		ev engine.Event
	}
	var events []heard
	sc.Witness = func(at time.Time, ev engine.Event) { events = append(events, heard{at.Sub(sim.Epoch), ev}) }
	sim.Run(sc)
	asked := map[ledger.Op]string{}
	show := func(at time.Duration, what any) {
		text := fmt.Sprintf("%12s %T %+v", at, what, what)
		if done, ok := what.(engine.Finished); ok {
			text += " of " + asked[done.Op]
		}
		if strings.Contains(text, *lines) {
			t.Log(text)
		}
	}
	for _, l := range r.Lines {
		for len(events) > 0 && (events[0].at < l.At) {
			show(events[0].at, events[0].ev)
			events = events[1:]
		}
		switch e := l.Effect.(type) {
		case effect.Probe:
			asked[e.Op] = e.Node
		case effect.Do:
			asked[e.Op] = e.Node
		default:
		}
		show(l.At, l.Effect)
	}
}

// keepShrunk makes a failing seed's scenario small and writes it to a file, and tells how to replay it.
func keepShrunk(t *testing.T, seed uint64) string {
	path := filepath.Join(*keep, fmt.Sprintf("ebbtide-seed-%d.yaml", seed))
	if *near {
		require.NoError(t, os.WriteFile(path, []byte(draw(seed)), 0o600))
		return path
	}
	var tape dst.Tape
	text := dst.DrawNight(tape.Record(estateDice(seed)), tape.Record(dice(seed)), *faults)
	r, err := play(text)
	if err != nil {
		return text
	}
	want := rule(r)
	text = dst.Shrink(tape, *faults, *shrink, func(text string) bool {
		r, err := play(text)
		return err == nil && rule(r) == want
	})
	_, r, err = playWith(sim.Run, text)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return fmt.Sprintf("ebbtide simulate --scenario %s\n%s\n%s", path, text, sim.Tell(r))
}
