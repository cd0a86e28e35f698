package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A night takes much longer if it does by half, and by so much.
const muchLonger = 10 * time.Minute

// harm is by how much a night is worse with one engine than with the other: the first that differs decides.
type harm struct {
	crashed, missing int
	longer           time.Duration // 0: not much, or something is missing
}

func harmOf(n, other *night) harm {
	h := harm{crashed: len(n.Crashed) - len(other.Crashed), missing: len(n.Missing) - len(other.Missing)}
	if a, b := n.makespan(), other.makespan(); a > 0 && b > 0 && a-b > muchLonger && a > b*3/2 {
		h.longer = a - b
	}
	return h
}

// worse reports whether the night is clearly worse: in one way, and not better in a graver one.
func (h harm) worse() bool {
	return h.crashed > 0 || h.crashed == 0 && (h.missing > 0 || h.missing == 0 && h.longer > 0)
}

func (h harm) compare(o harm) int {
	return cmp.Or(cmp.Compare(h.crashed, o.crashed), cmp.Compare(h.missing, o.missing), cmp.Compare(h.longer, o.longer))
}

// weigh counts the nights in which either engine is clearly worse, and lists those of the new one, the worst first.
func weigh(b *strings.Builder, judged []pair, show int) {
	var worse, better []pair
	for _, p := range judged {
		if harmOf(p.now, p.before).worse() {
			worse = append(worse, p)
		}
		if harmOf(p.before, p.now).worse() {
			better = append(better, p)
		}
	}
	slices.SortStableFunc(worse, func(x, y pair) int { return harmOf(y.now, y.before).compare(harmOf(x.now, x.before)) })
	fmt.Fprintf(b, "\nClearly worse (more nodes lost their power while on, else fewer are back, else it takes half as long again and %s more):\n", muchLonger)
	fmt.Fprintf(b, "  nights of the old engine: %d (%s), of the new one: %d (%s)\n",
		len(better), percent(len(better), len(judged)), len(worse), percent(len(worse), len(judged)))
	for _, p := range worse[:min(show, len(worse))] {
		fmt.Fprintf(b, "  seed %d: %s\n", p.now.Seed, p.differs())
	}
	if len(worse) > show {
		fmt.Fprintf(b, "  and %d more (-show %d)\n", len(worse)-show, len(worse))
	}
}

// differs says in what the new engine is worse, old before new.
func (p pair) differs() string {
	h := harmOf(p.now, p.before)
	var said []string
	list := func(what string, before, now []string) {
		said = append(said, fmt.Sprintf("%s: %d, were %d (only now: %s)", what, len(now), len(before),
			cmp.Or(strings.Join(first(now, before), " "), "none")))
	}
	if h.crashed != 0 {
		list("lost power while on", p.before.Crashed, p.now.Crashed)
	}
	if h.missing != 0 {
		list("not back", p.before.Missing, p.now.Missing)
	}
	if h.longer > 0 {
		said = append(said, fmt.Sprintf("down for %s, was %s", p.now.Down.Round(time.Second), p.before.Down.Round(time.Second)))
	}
	if len(p.before.Broken) > 0 {
		said = append(said, "the old one breaks rule "+p.before.Broken[0])
	}
	if p.now.Kills+p.before.Kills > 0 {
		said = append(said, "Ebbtide is killed in it")
	}
	return strings.Join(said, "; ")
}

// first gives the first few that only the new engine's list has.
func first(now, before []string) []string {
	const few = 6
	only := slices.DeleteFunc(slices.Clone(now), func(id string) bool { return slices.Contains(before, id) })
	if len(only) > few {
		return append(only[:few], "…")
	}
	return only
}
