package engine_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/plan"
)

var (
	exploreVMs     = flag.Int("explore.vms", 0, "explore with so many VMs (0: as the test says)")
	exploreFlips   = flag.Int("explore.flips", -1, "explore with so many mains flips")
	exploreCrashes = flag.Int("explore.crashes", -1, "explore with so many crashes")
	exploreFaults  = flag.Int("explore.faults", -1, "explore with so many faults of systems")
	exploreDrains  = flag.Int("explore.drains", -1, "explore with a battery that falls so many times")
)

// choices are the answers to what a step leaves open, taken in order; where they end, the first answer of each question
// is taken, which is the one that nothing goes wrong with. next goes to the next sequence of answers, so that a step that
// is taken again and again from the same world is taken in every way.
type choices struct {
	taken, widths []int8
	at            int
}

func (c *choices) pick(n int) int {
	if c.at == len(c.taken) {
		c.taken, c.widths = append(c.taken, 0), append(c.widths, int8(n))
	}
	c.widths[c.at] = int8(n)
	v := min(c.taken[c.at], int8(n)-1)
	c.at++
	return int(v)
}

func (c *choices) next() bool {
	for c.at = 0; len(c.taken) > 0; {
		last := len(c.taken) - 1
		if c.taken[last]++; c.taken[last] < c.widths[last] {
			return true
		}
		c.taken, c.widths = c.taken[:last], c.widths[:last]
	}
	return false
}

// key names a state: 128 bits of a cryptographic hash of its fingerprint.
type key [16]byte

// place is a state on the way that is walked, and how it was come to.
type place struct {
	world  *world
	key    key
	before *place
	taken  []int8
	depth  int
	turns  choices // that may be taken from here
}

// fault is the first way that was found to one kind of fault.
type fault struct {
	text string
	at   *place
}

// explorer walks every way from a first world.
type explorer struct {
	seen        map[key]struct{}
	print       []byte
	transitions int
	deepest     int
	ends        map[string]int
	faults      []fault
	chain       map[key]bool
}

func (x *explorer) key(w *world) key {
	x.print = w.fingerprint(x.print[:0])
	sum := sha256.Sum256(x.print)
	return key(sum[:16])
}

// explore walks depth first. From a state it first goes on as nothing goes wrong any more, until it comes to the end of
// that way, or to where an earlier such way went by, whose end is known to be right: so every state reaches a right end.
// Then it takes every other turn on that way, the last ones first.
func (x *explorer) explore(p *place) {
	var way []*place
	clear(x.chain)
	for {
		if _, seen := x.seen[p.key]; seen {
			if x.chain[p.key] {
				x.arrive(p)
			}
			break
		}
		x.seen[p.key] = struct{}{}
		if p.world.broken != "" {
			x.found(p.world.broken, p)
			break
		}
		x.chain[p.key] = true
		x.deepest = max(x.deepest, p.depth)
		way = append(way, p)
		p = x.step(p, &p.turns)
	}
	for _, p := range slices.Backward(way) {
		for p.turns.next() {
			q := x.step(p, &p.turns)
			if _, seen := x.seen[q.key]; !seen {
				x.explore(q)
			}
		}
		p.world = nil
	}
}

func (x *explorer) step(p *place, c *choices) *place {
	w := p.world.clone()
	w.step(c)
	x.transitions++
	return &place{world: w, key: x.key(w), before: p, taken: slices.Clone(c.taken), depth: p.depth + 1}
}

// arrive judges a state that comes round to itself when nothing goes wrong any more: rules 8 and 20.
func (x *explorer) arrive(p *place) {
	end := p.world.end()
	x.ends[end]++
	if strings.HasPrefix(end, "8:") {
		x.found(end, p)
	}
}

func (x *explorer) found(text string, p *place) {
	if !slices.ContainsFunc(x.faults, func(f fault) bool { return kind(f.text) == kind(text) }) {
		x.faults = append(x.faults, fault{text, p})
	}
}

var particular = regexp.MustCompile(`[0-9].*|\b([a-z]|ups|array|host.)\b`)

// kind is what faults have in common that differ in figures and names only.
func kind(text string) string {
	rule, what, _ := strings.Cut(text, ":")
	return rule + particular.ReplaceAllString(what, "…")
}

// end says how a world stands that changes no more.
func (w *world) end() string {
	v := w.engine.View()
	switch {
	case v.Outage == "" && w.mains && w.output:
		return "all restored"
	case v.Outage == "":
		return "8: nothing is done although there is no power"
	case !w.mains && !w.output:
		return "all down and cut"
	case !w.mains && w.judge.verdicts[w.supply].failed.Has(plan.Cut):
		return "all down, and the cut was given up"
	case !w.mains && w.engine.Blocked() && w.limit.faults == 0:
		return "8: stuck: a person is waited for, although no system did anything wrong"
	case !w.mains && w.engine.Blocked():
		return "waits for a person: a step before was not proven"
	default:
		return "8: stuck: " + v.Waiting
	}
}

// path is the choices of each step from the start.
func (p *place) path() (path [][]int8) {
	for ; p.before != nil; p = p.before {
		path = append(path, p.taken)
	}
	slices.Reverse(path)
	return path
}

// replay walks a path again, and then on for some steps in which nothing goes wrong. It gives what is broken.
func replay(l *lab, path [][]int8, on int) *world {
	w := l.world()
	for _, taken := range path {
		w.step(&choices{taken: slices.Clone(taken), widths: make([]int8, len(taken))})
	}
	for range on {
		w.step(&choices{})
	}
	return w
}

// shrink leaves out of a path what the fault does not need.
func shrink(path [][]int8, fails func([][]int8) bool) [][]int8 {
	for again := true; again; {
		again = false
		for i := len(path) - 1; i >= 0; i-- {
			if shorter := slices.Delete(slices.Clone(path), i, i+1); fails(shorter) {
				path, again = shorter, true
				continue
			}
			for k := range path[i] {
				if path[i][k] == 0 {
					continue
				}
				milder := slices.Clone(path)
				milder[i] = slices.Clone(path[i])
				milder[i][k] = 0
				if fails(milder) {
					path, again = milder, true
				}
			}
		}
	}
	return path
}

// patience is how many steps a stuck outage is watched for.
const patience = 200

// story tells the shortest way to a fault that shrinking finds.
func story(l *lab, path [][]int8, fault string) string {
	stuck := strings.HasPrefix(fault, "8: stuck") || strings.HasPrefix(fault, "8: nothing")
	on := 0
	if stuck {
		on = patience
	}
	fails := func(path [][]int8) bool {
		w := replay(l, path, on)
		if stuck {
			return w.broken == "" && w.engine != nil && kind(w.end()) == kind(fault)
		}
		return kind(w.broken) == kind(fault)
	}
	if fails(path) {
		path = shrink(path, fails)
	}
	var b strings.Builder
	l.tell = func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	w := replay(l, path, min(on, 30))
	l.tell = nil
	if w.engine != nil {
		fmt.Fprintf(&b, "waiting: %q\n", w.engine.View().Waiting)
	}
	return b.String()
}

func explore(t *testing.T, vms int, limit budgets) {
	t.Helper()
	given := func(to *int, v int) {
		if v >= 0 {
			*to = v
		}
	}
	given(&limit.flips, *exploreFlips)
	given(&limit.crashes, *exploreCrashes)
	given(&limit.faults, *exploreFaults)
	given(&limit.drains, *exploreDrains)
	if *exploreVMs > 0 {
		vms = *exploreVMs
	}
	l := newLab(t, vms, limit)
	x := &explorer{seen: map[key]struct{}{}, ends: map[string]int{}, chain: map[key]bool{}}
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // next to nothing lives long
	began := time.Now()
	first := l.world()
	x.explore(&place{world: first, key: x.key(first)})
	t.Logf("%d VMs, %+v: %d states, %d transitions, depth %d, ends %v, %s", vms, limit, len(x.seen), x.transitions, x.deepest, x.ends, time.Since(began).Round(10*time.Millisecond))
	for _, f := range x.faults {
		t.Errorf("%s\n%s", f.text, story(l, f.at.path(), f.text))
	}
	require.NotEmpty(t, x.ends)
}

// TestExplore walks every history of a small estate.
func TestExplore(t *testing.T) {
	explore(t, 4, budgets{flips: 2, crashes: 1})
}
