package engine_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
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
	exploreVMs     = flag.Int("explore.vms", 4, "explore an estate of so many VMs")
	exploreFlips   = flag.Int("explore.flips", 0, "explore with up to so many flips of the mains")
	exploreCrashes = flag.Int("explore.crashes", 0, "explore with up to so many crashes of the controller")
	exploreFaults  = flag.Int("explore.faults", 0, "explore with up to so many faults of systems")
	exploreDrains  = flag.Int("explore.drains", 0, "explore with a battery that falls up to so many times (4: to the end)")
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
	return x.place(w, p, c.taken)
}

func (x *explorer) place(w *world, before *place, taken []int8) *place {
	p := &place{world: w, key: x.key(w), before: before, taken: slices.Clone(taken)}
	if before != nil {
		p.depth = before.depth + 1
	}
	return p
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

// explore walks a small estate within budgets, prints what there was, and fails for each kind of fault that is not known.
func explore(t *testing.T, vms int, limit budgets, known ...string) {
	t.Helper()
	l := newLab(t, vms, limit)
	x := &explorer{seen: map[key]struct{}{}, ends: map[string]int{}, chain: map[key]bool{}}
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // next to nothing lives long
	began := time.Now()
	x.explore(x.place(l.world(), nil, nil))
	t.Logf("%d VMs, %+v: %d states, %d transitions, depth %d, %s", vms, limit, len(x.seen), x.transitions, x.deepest, time.Since(began).Round(10*time.Millisecond))
	for _, end := range slices.Sorted(maps.Keys(x.ends)) {
		t.Logf("%d ways end: %s", x.ends[end], end)
	}
	for _, f := range x.faults {
		if at := slices.IndexFunc(known, func(k string) bool { return kind(k) == kind(f.text) }); at >= 0 {
			known = slices.Delete(known, at, at+1)
			continue
		}
		t.Errorf("%s\n%s", f.text, story(l, f.at.path(), f.text))
	}
	require.Empty(t, known, "known faults that are there no more: take them out")
	require.NotEmpty(t, x.ends)
}

// TestExplore walks every history of a small estate: four VMs, one of them off, on two hosts, an array that only the
// return of its power starts, a UPS, and everything that may happen to them within a budget of mains flips, crashes of
// the controller, faults of systems and falls of the battery. It is rules 1 to 7, 9, 10, 18, 19 and 21 after every event
// and, from every state, rules 8 and 20. It prints how many states it saw, how many steps between them, and the longest
// way that it walked without coming by the same state twice.
//
// A step is a moment of ten seconds: the grain at which the engine's own times (a look is old after 2 and 30 s, a retry
// comes after 2 to 15 s, a supply is back after 5 s, an outage has stalled after 2 min) still come in their order, while
// the reachable states are few enough to see them all. What is left open in a step is chosen, and every choice is taken:
//
//   - whether the mains flip, and whether the battery falls to the next level: to less than the plan needs, to the
//     reserve, to the end, to nothing;
//   - for each node that is going off or coming up, whether it gets there in this moment or in the next;
//   - after each record and each command, whether the controller crashes there: the rest of the batch and all answers
//     are lost, and it comes back a moment later with what Restored makes of its records;
//   - for each command, probe and poll, whether it goes wrong and how: not done, refused, busy, unreachable, accepted and never
//     carried out, answered late or never, with or without having been done; and whether somebody else starts a VM.
//
// A state is the world's truth, what the referee keeps of the past, the budgets that are left, the engine, and while it
// may still crash, the engine that its journal would bring back. Walk_test.go writes down the engine by reflection over
// all its fields, with times as ages and operations by their place among the outstanding ones; export_test.go says what
// is left out and why, and a field of a kind that it does not know stops the test.
//
// What is not walked: answers that are not late come in the order of the questions, and before the next moment; another
// order is had only by making one of them late, at the price of a fault. Each says what is true when it comes, and nothing
// else happens within a moment, so that their order can matter only where a record or command is due to one of several;
// the campaigns of random scenarios draw other orders. While nothing goes on at all, time goes to the engine's next sweep
// at once: until then only the mains could flip, and when they do makes no difference to an engine whose looks are all
// old. The journal is left out where no crash is left to read it. VMs are not taken for each other: the engine takes
// them in their order, so that they are not alike. TestFingerprintsAreExact shows that states taken for the same are.
//
// From every state the walk first goes on with nothing more going wrong, and the mains as they are. That way is one and
// no more, so it is followed until it joins one that was followed before, or comes round to itself: there, everything
// must be restored, or all down and cut, or a person is waited for. So no state is stuck. (A search along every way for a
// fair cycle would ask the same, at many times the cost, of a world that is kinder.)
//
// The walk is depth first, with copies of the engine on the way only: a million states cost no more memory than their
// hashes. Where a rule is broken, choices are left out for as long as it still is, and the story of what is left is told.
//
// -explore.vms, -explore.flips, -explore.crashes, -explore.faults and -explore.drains walk another estate or further.
func TestExplore(t *testing.T) {
	if given := (budgets{*exploreFlips, *exploreCrashes, *exploreFaults, *exploreDrains}); *exploreVMs != 4 || given != (budgets{}) {
		explore(t, *exploreVMs, given)
		return
	}
	t.Run("mains and crashes", func(t *testing.T) {
		explore(t, 4, budgets{flips: 3, crashes: 2})
	})
	t.Run("systems that fail", func(t *testing.T) { explore(t, 4, budgets{flips: 2, faults: 1}) })
	t.Run("systems that fail twice", func(t *testing.T) { explore(t, 4, budgets{flips: 1, faults: 2}) })
	t.Run("systems that fail, and a crash", func(t *testing.T) { explore(t, 4, budgets{flips: 1, crashes: 1, faults: 1}) })
	t.Run("a battery that fails", func(t *testing.T) { explore(t, 4, budgets{flips: 1, crashes: 1, drains: 4}) })
}
