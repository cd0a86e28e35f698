package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// pair is a night as each engine played it.
type pair struct{ before, now *night }

// pairs finds the two of each night, by seed.
func pairs(olds, news []night) []pair {
	bySeed := map[uint64]*night{}
	for i := range olds {
		bySeed[olds[i].Seed] = &olds[i]
	}
	var all []pair
	for i := range news {
		if before := bySeed[news[i].Seed]; before != nil {
			all = append(all, pair{before, &news[i]})
		}
	}
	slices.SortFunc(all, func(a, b pair) int { return cmp.Compare(a.now.Seed, b.now.Seed) })
	return all
}

// tell prints how the engines compare, over the nights in which both were judged.
func tell(to io.Writer, all []pair, show int) error {
	judged := slices.DeleteFunc(slices.Clone(all), func(p pair) bool { return p.before.Unjudged != "" || p.now.Unjudged != "" })
	var b strings.Builder
	for _, p := range all {
		for who, n := range map[string]*night{"old": p.before, "new": p.now} {
			if n.Unjudged != "" {
				fmt.Fprintf(&b, "seed %d could not be judged (%s engine): %s\n", n.Seed, who, n.Unjudged)
			}
		}
	}
	fmt.Fprintf(&b, "Judged with both engines: %d of %d nights.\n\n", len(judged), len(all))
	table(&b, judged)
	broken(&b, judged)
	weigh(&b, judged, show)

	// Ebbtide is killed after so many records or commands, and so at another moment with each engine: what that does to a night is luck.
	same := slices.DeleteFunc(slices.Clone(judged), func(p pair) bool { return p.before.Kills+p.now.Kills > 0 })
	fmt.Fprintf(&b, "\nOf these, the %d nights in which Ebbtide is never killed, so that both engines meet the same:\n\n", len(same))
	table(&b, same)
	weigh(&b, same, show)
	_, err := io.WriteString(to, b.String())
	return err
}

// figure is a line of the table: a figure of all nights of one engine.
type figure struct {
	name string
	of   func([]*night) string
}

var figures = []figure{
	{"nights that break a rule", share(func(n *night) int { return len(n.Broken) })},
	{"nights in which a node lost its power while on", share(func(n *night) int { return len(n.Crashed) })},
	{"nodes that did", sum(func(n *night) int { return len(n.Crashed) })},
	{"nights with a forced power-off", share(func(n *night) int { return len(n.Forced) })},
	{"nodes forced off", sum(func(n *night) int { return len(n.Forced) })},
	{"commands given", sum(func(n *night) int { return n.Commands })},
	{"nodes that were on at the start and are in the end", restored},
	{"nights in which one is not", share(func(n *night) int { return len(n.Missing) })},
	{"nights in which one is not, and no report names it", share(func(n *night) int { return len(n.Untold) })},
}

// spans are the lines of the table that are about times, over the nights in which both engines have one.
var spans = []struct {
	name string
	of   func(*night) time.Duration
}{
	{"from the trigger to the cut", func(n *night) time.Duration { return n.ToCut }},
	{"makespan: anything was down", (*night).makespan},
}

// makespan is how long anything was down; 0: nothing was, or not everything came back.
func (n *night) makespan() time.Duration {
	if len(n.Missing) > 0 {
		return 0
	}
	return n.Down
}

func table(b *strings.Builder, judged []pair) {
	olds, news := split(judged)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	line := func(cells ...string) { fmt.Fprintf(t, "| %s\t|\n", strings.Join(cells, "\t| ")) }
	line("", "old", "new")
	line("---", "---", "---")
	for _, f := range figures {
		line(f.name, f.of(olds), f.of(news))
	}
	for _, s := range spans {
		both := slices.DeleteFunc(slices.Clone(judged), func(p pair) bool { return s.of(p.before) == 0 || s.of(p.now) == 0 })
		olds, news := split(both)
		line(fmt.Sprintf("%s, median of %d nights", s.name, len(both)), quantile(olds, 0.5, s.of), quantile(news, 0.5, s.of))
		line(s.name+", p95", quantile(olds, 0.95, s.of), quantile(news, 0.95, s.of))
		longer := func(by, than func(pair) *night) string {
			n := 0
			for _, p := range both {
				if float64(s.of(by(p))) > 1.1*float64(s.of(than(p))) {
					n++
				}
			}
			return percent(n, len(both))
		}
		before, now := func(p pair) *night { return p.before }, func(p pair) *night { return p.now }
		line(s.name+", > 10% longer than the other", longer(before, now), longer(now, before))
	}
	_ = t.Flush() // to a Builder
}

func split(all []pair) (olds, news []*night) {
	for _, p := range all {
		olds, news = append(olds, p.before), append(news, p.now)
	}
	return olds, news
}

func sum(of func(*night) int) func([]*night) string {
	return func(all []*night) string {
		total := 0
		for _, n := range all {
			total += of(n)
		}
		return fmt.Sprint(total)
	}
}

// share counts the nights that have any of something.
func share(of func(*night) int) func([]*night) string {
	return func(all []*night) string {
		have := 0
		for _, n := range all {
			have += min(1, of(n))
		}
		return fmt.Sprintf("%d (%s)", have, percent(have, len(all)))
	}
}

func restored(all []*night) string {
	on, missing := 0, 0
	for _, n := range all {
		on, missing = on+n.On, missing+len(n.Missing)
	}
	return fmt.Sprintf("%d of %d (%s)", on-missing, on, percent(on-missing, on))
}

func percent(n, of int) string { return fmt.Sprintf("%.2f%%", 100*float64(n)/float64(max(of, 1))) }

// quantile is by nearest rank: a time that was measured.
func quantile(all []*night, p float64, of func(*night) time.Duration) string {
	if len(all) == 0 {
		return "-"
	}
	var times []time.Duration
	for _, n := range all {
		times = append(times, of(n))
	}
	slices.Sort(times)
	return times[max(0, int(math.Ceil(p*float64(len(times))))-1)].Round(time.Second).String()
}

// broken counts the nights that break each rule, the most often broken first.
func broken(b *strings.Builder, judged []pair) {
	olds, news := split(judged)
	b.WriteString("\nNights by the first rule that they break:\n")
	for who, all := range [][]*night{olds, news} {
		counts := map[string]int{}
		for _, n := range all {
			if len(n.Broken) > 0 {
				rule, _, _ := strings.Cut(n.Broken[0], ":")
				counts[rule]++
			}
		}
		var said []string
		for rule, n := range counts {
			said = append(said, fmt.Sprintf("rule %s in %d", rule, n))
		}
		slices.SortFunc(said, func(x, y string) int {
			of := func(s string) int { return counts[strings.Fields(s)[1]] }
			return cmp.Or(cmp.Compare(of(y), of(x)), cmp.Compare(x, y))
		})
		if len(said) == 0 {
			said = []string{"none"}
		}
		fmt.Fprintf(b, "  %s: %s\n", []string{"old", "new"}[who], strings.Join(said, ", "))
	}
	for _, n := range news {
		if len(n.Broken) > 0 {
			fmt.Fprintf(b, "  new, seed %d: %s\n", n.Seed, n.Broken[0])
		}
	}
}
