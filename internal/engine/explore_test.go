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
	"ebbtide/internal/referee"
)

var (
	exploreTwin    = flag.Bool("explore.twin", false, "explore the estate with two UPSes")
	exploreVMs     = flag.Int("explore.vms", 4, "explore an estate of one UPS and so many VMs")
	exploreFlips   = flag.Int("explore.flips", 0, "explore with up to so many flips of the mains")
	exploreCrashes = flag.Int("explore.crashes", 0, "explore with up to so many crashes of the controller")
	exploreFaults  = flag.Int("explore.faults", 0, "explore with up to so many faults of systems, of each kind one at most")
	exploreDrains  = flag.Int("explore.drains", 0, "explore with batteries that fall up to so many times (4: to the end)")
	exploreSlow    = flag.Int("explore.slow", 0, "explore with up to so many changes of state that take longer")
	exploreDepth   = flag.Int("explore.depth", 0, "explore with the usual budgets, 1: larger ones (ten minutes), 2: with the largest")
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
	ends bool // it is how a way ends
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
			x.found(p.world.broken, p, false)
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
	if wrong(end) {
		x.found(end, p, true)
	}
}

// wrong reports whether an end is none that the rules know.
func wrong(end string) bool { return strings.HasPrefix(end, "8:") || strings.HasPrefix(end, "20:") }

func (x *explorer) found(text string, p *place, ends bool) {
	if !slices.ContainsFunc(x.faults, func(f fault) bool { return kind(f.text) == kind(text) }) {
		x.faults = append(x.faults, fault{text, p, ends})
	}
}

var particular = regexp.MustCompile(`[0-9].*|\b([a-z]|ups(-.)?|array|cache|spare|apps/.|host.)\b`)

// kind is what faults have in common that differ in figures and names only, or in how many names there are.
func kind(text string) string {
	rule, what, _ := strings.Cut(text, ":")
	what = particular.ReplaceAllString(what, "…")
	return rule + strings.ReplaceAll(what, "…, ", "")
}

// end says how a world stands that changes no more. Where it is not as rules 8 and 20 have it, it begins with their number.
func (w *world) end() string {
	v := w.engine.View()
	if v.Outage == "" {
		return w.over()
	}
	judge := copied(w.referee)
	judge.Violations = nil
	if judge.Ended(w.now, referee.End{Open: true, Hold: v.Hold, Waiting: v.Waiting}); len(judge.Violations) > 0 {
		return judge.Violations[0]
	}
	if back := w.couldBeOn(); back != "" {
		return fmt.Sprintf("8: stuck: %s could be on: %s", back, v.Waiting)
	}
	return w.down(v.Waiting)
}

// over says how a world stands in which no outage is open.
func (w *world) over() string {
	lit := !slices.ContainsFunc(w.outputs, func(o output) bool { return !o.mains || !o.on })
	switch back := w.notBack(); {
	case !lit:
		return "8: nothing is done although there is no power"
	case back != "" && w.used&(w.used-1) != 0: // each of the tries of a start, it may be
		return "all restored, but for what went wrong twice, and is reported"
	case back != "" && w.excused:
		return "all restored, but for what was refused, or is no VM and hangs, and is reported"
	case back != "":
		return fmt.Sprintf("20: not restored without exceptions, %s: %s", w.wentWrong(), back)
	default:
		return "all restored"
	}
}

// down says how a world stands in which all that could be on is.
func (w *world) down(waiting string) string {
	ends := "all down and cut"
	for k, o := range w.outputs {
		switch {
		case o.mains && o.on:
			ends = "one feed down and cut, the rest is on"
		case !o.mains && !o.on:
		case w.things[w.supplies[k]].gaveUp:
			return "all down, and the cut was given up"
		case !w.carries(k):
			ends = "a feed that is not needed is left to its battery"
		case w.engine.Blocked() && w.limit.faults == 0:
			return "8: stuck: a person is waited for, although no system did anything wrong"
		case w.engine.Blocked():
			return "waits for a person: a step before was not proven"
		default:
			return "8: stuck: " + waiting
		}
	}
	return ends
}

// wasOn reports whether a node was on when the exploration began.
func (w *world) wasOn(i int) bool {
	return !slices.Contains(w.supplies, i) && i != len(w.things)-1
}

// wentWrong tells which faults there were.
func (w *world) wentWrong() string {
	var names []string
	for k := range faultKinds {
		if w.used&(1<<k) != 0 {
			names = append(names, faultNames[k])
		}
	}
	if names == nil {
		return "although no system did anything wrong"
	}
	return "after what " + strings.Join(names, " and ")
}

// notBack lists what was on when the exploration began, and is not.
func (w *world) notBack() string {
	var list []string
	for i := range w.things {
		if t := &w.things[i]; w.wasOn(i) && (t.state != plan.On || t.protected) {
			list = append(list, w.id(i))
		}
	}
	return strings.Join(list, ", ")
}

// couldBeOn names something that was on, was not given up, and is off although all that it needs is there for good.
func (w *world) couldBeOn() string {
	live := func(i int) bool {
		feeds := w.estate.Feeds(i)
		return len(feeds) == 0 || slices.ContainsFunc(w.supplies, func(s int) bool {
			o := &w.outputs[slices.Index(w.supplies, s)]
			return slices.Contains(feeds, s) && o.mains && o.on && o.cutIn == 0
		})
	}
	stands := func(d int) bool { return slices.Contains(w.supplies, d) || w.things[d].state == plan.On && live(d) }
	for i := range w.things {
		missing := func(d int) bool { return !stands(d) }
		if t := &w.things[i]; w.wasOn(i) && t.state != plan.On && !t.gaveUp && live(i) && !slices.ContainsFunc(w.estate.Needs(i), missing) {
			return w.id(i)
		}
	}
	return ""
}

// carries reports whether anything has its power from a supply alone, of those that are on.
func (w *world) carries(k int) bool {
	return slices.ContainsFunc(w.estate.Users(w.supplies[k]), func(u int) bool {
		return !slices.ContainsFunc(w.outputs, func(o output) bool { return o.mains && o.on }) || len(w.estate.Feeds(u)) == 1
	})
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
func story(l *lab, path [][]int8, fault string, ends bool) string {
	stuck := ends
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

// explore walks a small estate within budgets, prints what there was, and fails for each kind of fault.
func explore(t *testing.T, l *lab) {
	t.Helper()
	x := &explorer{seen: map[key]struct{}{}, ends: map[string]int{}, chain: map[key]bool{}}
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // next to nothing lives long
	began := time.Now()
	x.explore(x.place(l.world(), nil, nil))
	t.Logf("%d nodes, %+v: %d states, %d transitions, depth %d, %s", l.estate.Len(), l.limit, len(x.seen), x.transitions, x.deepest, time.Since(began).Round(10*time.Millisecond))
	for _, end := range slices.Sorted(maps.Keys(x.ends)) {
		t.Logf("%d ways end: %s", x.ends[end], end)
	}
	for _, f := range x.faults {
		t.Errorf("%s\n%s", f.text, story(l, f.at.path(), f.text, f.ends))
	}
	require.NotEmpty(t, x.ends)
}

// TestExplore walks every history of two small estates, with budgets of what goes wrong. One has a UPS, four VMs, of which one is
// off, on two hosts, and an array that only the return of its power starts; the other two UPSes, a host and storage on both, a host
// on one of them, a cache, and a selector with members on both hosts, so that an outage widens. The referee (internal/referee) is
// told all that happens, and is asked after every event; from every state a right end is reached (rules 8 and 20), and what was on
// is on again without exceptions, but for what was refused, for what is no VM and hangs, and for what went wrong twice, which is as often
// as a start is tried: such is reported, and a person looks.
// It prints how many states it saw, how many steps between them, and the longest way that it walked without coming by one twice.
//
// A step is a moment of ten seconds: the grain at which the engine's own times (a look is old after 2 and 30 s, a retry
// comes after 2 to 15 s, a supply is back after 5 s, an outage has stalled after 2 min) still come in their order, while
// the reachable states are few enough to see them all. What is left open in a step is chosen, and every choice is taken,
// within a budget of each:
//
//   - flips: whether the mains of a supply flip, or of all; drains: whether a battery falls to the next level: to less than the plan
//     needs, to the reserve, to the end, to nothing;
//   - slow: for each node that is going off or coming up, whether it gets there in this moment or in the next;
//   - crashes: after each record and each command, whether the controller crashes there: the rest of the batch and all answers
//     are lost, and it comes back a moment later with what Restored makes of its records;
//   - faults: for each command, probe and poll, and for each cut that comes due while the mains are on, whether it goes wrong and how,
//     and whether somebody else starts a VM. In a history each kind of fault (faultKind) is there once at most.
//
// A state is the world's truth, the referee, the budgets that are left, the engine, and while it may still crash, the engine that
// its journal would bring back. Walk_test.go writes down engine and referee by reflection over all their fields, with times as ages
// and operations by their place among the outstanding ones; export_test.go says what is left out and why, and a field of a kind
// that it does not know stops the test.
//
// What is not walked: answers that are not late come in the order of the questions, and before the next moment; another
// order is had only by making one of them late, at the price of a fault. Each says what is true when it comes, and nothing
// else happens within a moment, so that their order can matter only where a record or command is due to one of several;
// the campaigns of random scenarios draw other orders. While nothing goes on at all, time goes to the engine's next sweep
// at once: until then only the mains could flip, and when they do makes no difference to an engine whose looks are all
// old. The journal is left out where no crash is left to read it. VMs are not taken for each other: the engine takes
// them in their order, so that they are not alike. A selector is as it was expanded: no member is added in an outage.
// TestFingerprintsAreExact shows that states taken for the same are.
//
// From every state the walk first goes on with nothing more going wrong, and the mains as they are. That way is one and
// no more, so it is followed until it joins one that was followed before, or comes round to itself: there, everything
// must be restored, or all down and cut, or a person is waited for. So no state is stuck. (A search along every way for a
// fair cycle would ask the same, at many times the cost, of a world that is kinder.)
//
// The walk is depth first, with copies of the engine on the way only: a million states cost no more memory than their
// hashes. Where a rule is broken, choices are left out for as long as it still is, and the story of what is left is told.
//
// The budgets of a usual run are small. -explore.depth walks further (`make explore`: 1); -explore.twin, -explore.vms,
// -explore.flips, -explore.crashes, -explore.faults, -explore.drains and -explore.slow walk one estate with budgets of one's own.
func TestExplore(t *testing.T) {
	given := budgets{*exploreFlips, *exploreCrashes, *exploreFaults, *exploreDrains, *exploreSlow}
	switch {
	case *exploreTwin:
		explore(t, newTwin(t, given))
		return
	case *exploreVMs != 4 || given != budgets{}:
		explore(t, newLab(t, *exploreVMs, given))
		return
	}
	for _, run := range []struct {
		name  string
		made  func(*testing.T, budgets) *lab
		only  []faultKind
		limit [3]budgets // by depth
	}{
		{name: "mains and crashes", made: one, limit: [3]budgets{{flips: 2, crashes: 1, slow: 1}, {flips: 3, crashes: 1, slow: 1}, {flips: 3, crashes: 2, slow: 2}}},
		{name: "two crashes", made: one, limit: [3]budgets{{flips: 2, crashes: 2}, {flips: 2, crashes: 2}, {flips: 2, crashes: 2, slow: atWill}}},
		{name: "systems that fail", made: one, limit: [3]budgets{{flips: 2, faults: 1}, {flips: 2, faults: 1, slow: 1}, {flips: 2, faults: 1, slow: atWill}}},
		{name: "systems that fail twice", made: one, limit: [3]budgets{{}, {flips: 1, faults: 2}, {flips: 2, faults: 2}}},
		{
			name: "a VM that hangs, and a crash", made: one, only: []faultKind{hangs},
			limit: [3]budgets{
				{flips: 2, crashes: 1, faults: 1},
				{flips: 2, crashes: 1, faults: 1},
				{flips: 2, crashes: 2, faults: 1, slow: 1},
			},
		},
		{name: "a battery that fails", made: one, limit: [3]budgets{{flips: 1, crashes: 1, drains: 4}, {flips: 1, crashes: 1, drains: 4}, {flips: 1, crashes: 1, drains: 4, slow: atWill}}},
		{name: "two supplies, and a crash", made: newTwin, limit: [3]budgets{{flips: 2, crashes: 1}, {flips: 2, crashes: 1}, {flips: 3, crashes: 1, slow: 1}}},
		{name: "two supplies, and two crashes", made: newTwin, limit: [3]budgets{{flips: 1, crashes: 2}, {flips: 2, crashes: 2}, {flips: 2, crashes: 2, slow: 1}}},
		{name: "two supplies, and systems that fail", made: newTwin, limit: [3]budgets{{flips: 1, faults: 1}, {flips: 2, faults: 1}, {flips: 2, faults: 1, slow: 1}}},
		{name: "two supplies, systems that fail, and a crash", made: newTwin, limit: [3]budgets{{}, {flips: 1, crashes: 1, faults: 1}, {flips: 2, crashes: 1, faults: 1}}},
		{name: "two supplies whose batteries fail", made: newTwin, limit: [3]budgets{{flips: 1, drains: 3}, {flips: 1, drains: 5}, {flips: 1, crashes: 1, drains: 5}}},
	} {
		limit := run.limit[*exploreDepth]
		if limit == (budgets{}) {
			continue // it is walked further on
		}
		t.Run(run.name, func(t *testing.T) {
			l := run.made(t, limit)
			l.only = run.only
			explore(t, l)
		})
	}
}

func one(t *testing.T, limit budgets) *lab {
	t.Helper()
	return newLab(t, *exploreVMs, limit)
}
