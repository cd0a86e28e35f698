package runbook

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ebbtide/internal/plan"
)

// loads holds what supplies are to carry against what they can: in ordinary times, and as the survivor when another
// one of those that feed the same nodes is lost.
func (c *checker) loads() {
	if c.order == nil {
		return
	}
	type draw struct {
		watts float64
		from  []int // supplies
	}
	var draws []draw
	drawn := make([]bool, len(c.rb.Supplies))
	sources := c.sources()
	for i := range c.rb.Nodes {
		n := &c.rb.Nodes[i]
		if n.Watts == 0 || len(sources[i]) == 0 {
			continue
		}
		count := 1
		if c.types[i] != nil && c.types[i].Selects {
			count = max(1, min(n.Expect, maxExpect))
		}
		draws = append(draws, draw{n.Watts * float64(count), sources[i]})
		for _, s := range sources[i] {
			drawn[s] = true
		}
	}
	// load is what a supply carries while another is dead; -1: none is.
	load := func(supply, dead int) (watts float64) {
		for _, d := range draws {
			live := len(d.from)
			if slices.Contains(d.from, dead) {
				live--
			}
			if slices.Contains(d.from, supply) {
				watts += d.watts / float64(live)
			}
		}
		return watts
	}
	for i := range c.rb.Supplies {
		s := &c.rb.Supplies[i]
		warn := func(keys []string, hint, format string, args ...any) {
			c.say(Warning, "supplies", s.at, keys, hint, format, args...)
		}
		switch {
		case s.Watts == 0 && drawn[i]:
			warn(nil, "add watts: its nominal output power",
				"what %s feeds has watts, but %s itself does not: its load can't be calculated", s.ID, s.ID)
			continue
		case s.Watts == 0:
			continue
		case !drawn[i]:
			warn([]string{"watts"}, "add watts: to what it feeds", "nothing that %s feeds has watts: its load can't be calculated", s.ID)
			continue
		}
		if now := load(i, -1); now > s.Watts {
			warn([]string{"watts"}, "feed less from it", "what %s feeds draws %s, more than its %s", s.ID, wattsText(now),
				wattsText(s.Watts))
			continue
		}
		for dead := range c.rb.Supplies {
			if alone := load(i, dead); dead != i && alone > s.Watts {
				warn([]string{"watts"}, fmt.Sprintf("feed less from both: %s would drop its whole load when %s dies", s.ID,
					c.rb.Supplies[dead].ID),
					"without %s, %s would have to carry %s, more than its %s", c.rb.Supplies[dead].ID, s.ID, wattsText(alone),
					wattsText(s.Watts))
				break
			}
		}
	}
}

// goesForOthers warns of what only the return of its own power starts, and which goes down for something that it needs
// while its own supplies carry it: they are not cut then.
func (c *checker) goesForOthers() {
	for i := range c.rb.Nodes {
		n, tr := &c.rb.Nodes[i], &c.traits[i]
		if c.order == nil || !tr.Can.Has(plan.Stop) || !n.Wake.OnlyPower() || len(n.FedBy) == 0 {
			continue
		}
		seen := map[int]bool{i: true}
		for queue := c.vertices[i].deps; len(queue) > 0; queue = queue[1:] {
			d := queue[0].to
			if seen[d] {
				continue
			}
			seen[d] = true
			queue = append(slices.Clone(queue), c.vertices[d].deps...)
			if d >= len(c.rb.Nodes) || len(c.rb.Nodes[d].FedBy) == 0 {
				continue
			}
			feeds := c.rb.Nodes[d].FedBy
			if own := slices.IndexFunc(n.FedBy, func(f string) bool { return !slices.Contains(feeds, f) }); own >= 0 {
				c.nodeWarning(i, []string{"up", "wake"}, "give it another up.wake, or feed "+c.rb.Nodes[d].ID+" from "+n.FedBy[own]+" as well",
					"%s is shut down along with %s when %s fails, but keeps its power from %s, so nothing starts it again", n.ID, c.rb.Nodes[d].ID,
					strings.Join(feeds, " and "), n.FedBy[own])
				break
			}
		}
	}
}

func wattsText(w float64) string { return fmt.Sprintf("%d W", int(math.Round(w))) }

// sources finds for each vertex the supplies whose power it draws, as plan.Estate.Sources does for the nodes that it
// becomes.
func (c *checker) sources() [][]int {
	sources := make([][]int, len(c.vertices))
	for _, v := range c.order { // what a vertex depends on comes before it
		if v < len(c.rb.Nodes) {
			for _, name := range c.rb.Nodes[v].FedBy {
				if s, ok := c.supply[name]; ok && !slices.Contains(sources[v], s) {
					sources[v] = append(sources[v], s)
				}
			}
		}
		for _, hosts := range [...]bool{true, false} {
			for _, e := range c.vertices[v].deps {
				host := e.to < len(c.rb.Nodes) && c.traits[e.to].Kind == plan.Host
				if len(sources[v]) == 0 && host == hosts {
					sources[v] = sources[e.to]
				}
			}
		}
	}
	return sources
}
