package chart

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"
	"time"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/timeline"
)

// mostRows is how many rows are drawn at most node by node. Beyond, those of a group share one.
const mostRows = 40

// bar is a step, or the time between the steps, of a row.
type bar struct {
	kind     kind
	from, to time.Duration
}

// kind is what a bar shows. The later lies over the earlier.
type kind int

const (
	off kind = iota
	protecting
	flushing
	stopping
	starting
	cutting
	forcing
	failing
)

// kinds is how each is drawn and named, and named where it was only observed.
var kinds = [...]struct {
	name, would string
	hue         color.Color
}{
	off: {"off", "would be off", pale}, protecting: {"cache protected or restored", "cache would be protected or restored", purple},
	flushing: {"flush", "would flush", orange}, stopping: {"stop", "would stop", blue}, starting: {"start", "would start", green},
	cutting: {"output cut", "output would be cut", black}, forcing: {"forced", "would be forced", vermillion},
	failing: {"no proof", "would have no proof", yellow},
}

// nameOf names what a bar shows.
func (c *Course) nameOf(k kind) string {
	if slices.ContainsFunc(c.Outages, func(t timeline.Timeline) bool { return t.Observed() }) {
		return kinds[k].would
	}
	return kinds[k].name
}

type row struct {
	name string
	bars []bar
}

// rows gives each node with a step its row, or each group if there are too many.
func (c *Course) rows() []row {
	bars := map[string][]bar{}
	for i := range c.Outages {
		for node, more := range c.barsOf(&c.Outages[i]) {
			bars[node] = append(bars[node], more...)
		}
	}
	var nodes []Node
	for _, n := range c.Nodes {
		if len(bars[n.ID]) > 0 {
			nodes = append(nodes, n)
		}
	}
	grouped := len(nodes) > mostRows
	var rows []row
	at, members := map[string]int{}, map[string]int{}
	for _, n := range nodes {
		name := n.ID
		if grouped {
			name = cmp.Or(n.Group, n.ID)
		}
		if _, known := at[name]; !known {
			at[name] = len(rows)
			rows = append(rows, row{name: name})
		}
		rows[at[name]].bars = append(rows[at[name]].bars, bars[n.ID]...)
		members[name]++
	}
	for i := range rows {
		if n := members[rows[i].name]; n > 1 {
			rows[i].name = fmt.Sprintf("%s (%d)", rows[i].name, n)
		}
		slices.SortStableFunc(rows[i].bars, func(a, b bar) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.from, b.from)) })
	}
	return rows
}

// barsOf makes the bars of an outage, by node: its steps, and the time from a proven stop to the start that ended it.
func (c *Course) barsOf(t *timeline.Timeline) map[string][]bar {
	bars, offSince := map[string][]bar{}, map[string]time.Duration{}
	last, turned := t.End, time.Time{}
	for _, m := range t.Marks {
		if m.At.After(last) {
			last = m.At
		}
		if m.Kind == ledger.Turned {
			turned = m.At
		}
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		from, to := s.Started.Sub(c.Start), s.Ended.Sub(c.Start)
		switch {
		case s.State == timeline.Open:
			to = from // nobody knows
		case s.Ended.IsZero():
			to = last.Sub(c.Start)
		}
		bars[s.Node] = append(bars[s.Node], bar{kindOf(s), from, to})
		switch {
		case s.Verb == plan.Stop && (s.State == timeline.Proven || s.State == timeline.Stopped), s.Verb == plan.Cut &&
			s.State == timeline.Proven:
			offSince[s.Node] = to
		case s.Verb == plan.Start:
			if since, was := offSince[s.Node]; was {
				bars[s.Node] = append(bars[s.Node], bar{off, since, from})
				delete(offSince, s.Node)
			}
		}
	}
	for node, since := range offSince {
		if c.isSupply(node) {
			continue // its return is no step
		}
		until := last
		if t.Goal == plan.Up && !t.End.IsZero() && !slices.Contains(t.NotRestored, node) {
			until = turned // it was on when all was to come back
		}
		bars[node] = append(bars[node], bar{off, since, max(since, until.Sub(c.Start))})
	}
	return bars
}

func (c *Course) isSupply(node string) bool {
	return slices.ContainsFunc(c.Supplies, func(s Supply) bool { return s.ID == node })
}

func kindOf(s *timeline.Step) kind {
	switch {
	case s.State == timeline.Failed:
		return failing
	case s.Verb == plan.Cut:
		return cutting
	case s.Rung == plan.Force:
		return forcing
	case s.Verb == plan.Protect || s.Verb == plan.Unprotect:
		return protecting
	case s.Verb == plan.Flush:
		return flushing
	case s.Verb == plan.Start:
		return starting
	}
	return stopping
}

func (p *page) drawRows(c draw.Canvas) {
	const least = 1.5 // points: what is shorter is still seen
	for i, r := range p.rows {
		y := p.upper - rowHeight*(vg.Length(i)+0.5)
		c.StrokeLine2(gridLine, p.left, y-rowHeight/2, p.right, y-rowHeight/2)
		c.FillText(rightwards(bodyText), vg.Point{X: p.left - gutter/2, Y: y}, r.name)
		for _, b := range r.bars {
			half := rowHeight * 0.32
			if b.kind == off {
				half = rowHeight * 0.14
			}
			left := p.x(max(b.from, p.from))
			right := min(p.right, max(p.x(min(b.to, p.to)), left+least))
			c.FillPolygon(kinds[b.kind].hue, rectangle(left, y-half, right, y+half))
		}
	}
}

// keyed is a colour of the bars with its name, as it is placed.
type keyed struct {
	kind kind
	left vg.Length
	row  int
}

// placeKeys gives each colour that there is its place under the drawing.
func (p *page) placeKeys() []keyed {
	used := map[kind]bool{}
	for _, r := range p.rows {
		for _, b := range r.bars {
			used[b.kind] = true
		}
	}
	var keys []keyed
	x, row := p.left, 0
	for k := off; k <= failing; k++ {
		if !used[k] {
			continue
		}
		width := 18 + bodyText.Width(p.nameOf(k))
		if x+width > p.width-margin && x > p.left {
			x, row = p.left, row+1
		}
		keys = append(keys, keyed{k, x, row})
		x += width + 16
	}
	return keys
}

// keyRows is how many lines the key takes, one at least.
func (p *page) keyRows() vg.Length {
	if len(p.keys) == 0 {
		return 1
	}
	return vg.Length(p.keys[len(p.keys)-1].row + 1)
}

// drawKey says what the colours of the bars mean.
func (p *page) drawKey(c draw.Canvas) {
	for _, k := range p.keys {
		y := p.lower - axisHeight - keyHeight*(vg.Length(k.row)+0.5)
		c.FillPolygon(kinds[k.kind].hue, rectangle(k.left, y-4, k.left+14, y+4))
		c.FillText(bodyText, vg.Point{X: k.left + 18, Y: y}, p.nameOf(k.kind))
	}
}
