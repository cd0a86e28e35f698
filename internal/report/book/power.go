package book

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/english"
	"ebbtide/internal/forecast"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/report/doc"
	"ebbtide/internal/runbook"
)

// power tells which UPS feeds what.
func (b *book) power() {
	b.chapter("Which UPS feeds what")
	b.add(doc.Paragraph{Text: doc.T("Nodes with two feeds stay on while one of them is live. Nodes with one feed go off with it.")})
	t := doc.Table{Columns: []doc.Column{
		{Title: "supply"},
		{Title: "where", Weight: 2},
		{Title: "feeds", Weight: 3.6},
		{Title: "its load", Weight: 1.4},
	}}
	for i := range b.estate.Len() {
		n := b.estate.Node(i)
		s := b.supplies[n.ID]
		if s == nil {
			continue
		}
		var only, also []int
		for _, u := range b.usersOf(i) {
			if feeds := b.estate.Feeds(u); len(feeds) == 1 {
				only = append(only, u)
			} else if slices.Contains(feeds, i) {
				also = append(also, u)
			}
		}
		var feeds []string
		if names := b.namesOf(only); len(names) > 0 {
			feeds = append(feeds, "alone: "+strings.Join(names, ", "))
		}
		if names := b.namesOf(also); len(names) > 0 {
			feeds = append(feeds, "with another: "+strings.Join(names, ", "))
		}
		load := "not said"
		if w := b.load(i, nil); w > 0 && s.Watts > 0 {
			load = fmt.Sprintf("%.0f W of %.0f W, %.0f%%", w, s.Watts, 100*w/s.Watts)
		} else if w > 0 {
			load = fmt.Sprintf("%.0f W", w)
		}
		cutting := "cut last, returns with the mains"
		if !n.Can.Has(plan.Cut) {
			cutting = "never cut"
		}
		where := strings.Join(doc.Filled(s.Rack, s.NUT(), cutting), "\n")
		t.Rows = append(t.Rows, doc.Row{
			Anchor: "supply-" + doc.Anchor(n.ID),
			Cells:  []doc.Text{doc.Bold("%s", n.ID), doc.T("%s", where), doc.T("%s", strings.Join(feeds, "\n")), doc.T("%s", load)},
		})
		if s.Notes != "" {
			t.Rows = append(t.Rows, doc.Row{Cells: []doc.Text{nil, nil, doc.T("%s", s.Notes), nil}})
		}
	}
	b.add(t)
}

// load is what a supply carries, in watts, without the nodes that are off. What has several feeds draws from each alike.
func (b *book) load(supply int, off func(node int) bool) float64 {
	sum := 0.0
	for i := range b.estate.Len() {
		n := b.estate.Node(i)
		if sources := b.estate.Sources(i); n.Watts > 0 && slices.Contains(sources, supply) && (off == nil || !off(i)) {
			sum += n.Watts / float64(len(sources))
		}
	}
	return sum
}

// trials of the whole plan, for the time that it is over within in 19 of 20.
const bookTrials = 200

// byHandPace is how long a person takes for a step, beside what the step itself takes: to read, to walk, to type.
const byHandPace = time.Minute

// remainingTime is what must still fit into the battery from a line of the plan on.
type remainingTime struct {
	team  time.Duration // as Ebbtide, or several people: what may go together goes together
	alone time.Duration // one person, one line after the other
}

// left reckons backwards from the end of the plan, for each line.
func (b *book) left() []remainingTime {
	c := b.down
	odds := forecast.Play(c.plan, b.known, bookTrials)
	stretch := 1.0
	if c.sc.Total > 0 {
		stretch = max(1, odds.At(0.95).Seconds()/c.sc.Total.Seconds())
	}
	reserve := b.compiled.Policy.Reserve
	all := make([]remainingTime, len(c.rows))
	var team, alone time.Duration
	for r := len(c.rows) - 1; r >= 0; r-- {
		row := &c.rows[r]
		team = max(team, time.Duration(float64(c.sc.Total-row.Start)*stretch))
		alone += row.End - row.Start + byHandPace
		all[r] = remainingTime{max(team, reserve), max(alone, team, reserve)}
	}
	return all
}

// lastSafe says at what charge or runtime which step must be reached.
func (b *book) lastSafe() {
	b.chapter("The last safe time")
	b.add(doc.Paragraph{Text: doc.T("When the UPS shows less than this, you must already be at this step: give up the earlier steps "+
		"(power off, or leave them to lose power), and continue from here. "+
		"“Together” is Ebbtide's pace, or that of several people, allowing for slow and hanging steps (19 of 20 outages). "+
		"“Alone” is one person who does one line after another and needs an extra minute for each. The last %s are only ever spent "+
		"on flushing, hosts, storage and the cut. "+
		"For a battery that no discharge has proven, the charges assume about half of the capacity on its data sheet. A UPS's own runtime figure may be "+
		"too high: believe the lower of the two.", Brief(b.compiled.Policy.Reserve))})
	var gauged []int
	for i := range b.estate.Len() {
		if s := b.supplies[b.estate.Node(i).ID]; s != nil && s.Watts > 0 && len(s.Curve) > 0 && b.load(i, nil) > 0 {
			gauged = append(gauged, i)
		}
	}
	left := b.left()
	b.add(b.safeTable(left, gauged[:min(mostGauged, len(gauged))]))
	for some := range slices.Chunk(gauged[min(mostGauged, len(gauged)):], mostGauged) {
		b.add(doc.Paragraph{Text: doc.T("The same for %s:", english.List(b.namesOf(some), 12))}, b.safeTable(left, some))
	}
	if len(gauged) > 0 {
		b.add(doc.Paragraph{Text: doc.T("A charge is calculated for the load that remains from that step on, shared by all supplies. " +
			"“—” means more than a full battery may hold: do not wait, begin at once.")})
	} else {
		b.add(doc.Paragraph{Text: doc.T("Charges are not known: the runbook gives no watts or no curve for the supplies. Go by the runtime.")})
	}
}

// mostGauged is how many supplies' charges fit side by side.
const mostGauged = 3

// safeTable is the table of last safe times with the charges of some supplies.
func (b *book) safeTable(left []remainingTime, gauged []int) doc.Table {
	t := doc.Table{Columns: []doc.Column{
		{Title: "step", Weight: 0.65, Right: true},
		{Title: "from here on", Weight: 2.6},
		{Title: "runtime, together", Right: true},
		{Title: "runtime, alone", Right: true},
	}}
	for _, i := range gauged {
		id := b.estate.Node(i).ID
		t.Columns = append(t.Columns, doc.Column{Title: id + ", together", Right: true}, doc.Column{Title: id + ", alone", Right: true})
	}
	for _, r := range b.milestones() {
		row := &b.down.rows[r]
		s := &b.down.plan.Steps[row.Steps[0]]
		title := fmt.Sprintf("%s %s", actionByHand(b.estate.Node(s.Node), s), row.What)
		cells := []doc.Text{
			doc.Ref(fmt.Sprint(r+1), fmt.Sprintf("down-%d", r+1)), doc.T("%s", title), doc.T("%s", roughly(left[r].team)),
			doc.T("%s", roughly(left[r].alone)),
		}
		off := b.offBefore(r)
		for _, i := range gauged {
			d := b.supplies[b.estate.Node(i).ID]
			lasts := b.lasts(d, b.load(i, off)/d.Watts)
			cells = append(cells, doc.T("%s", chargeFor(left[r].team, lasts)), doc.T("%s", chargeFor(left[r].alone, lasts)))
		}
		t.Rows = append(t.Rows, doc.Row{Cells: cells})
	}
	return t
}

// lasts is what is counted on of a full battery at a load: what was proven, or a part of its data sheet.
func (b *book) lasts(d *runbook.SupplyDecl, load float64) time.Duration {
	if proven := b.provenOf(d.ID); proven.Burn > 0 {
		_, least := proven.Lasts(d.Curve, load)
		return least
	}
	return power.NewCurve(d.Curve).Least(load)
}

func (b *book) provenOf(supply string) power.Capacity {
	if b.Learned.Capacity == nil {
		return power.Capacity{}
	}
	return b.Learned.Capacity(supply)
}

// mostSafe is how many lines the table of last safe times has.
const mostSafe = 36

// milestones are the lines that the table of last safe times shows: all of them, or where there are too many those with
// which something else begins.
func (b *book) milestones() []int {
	var all, chosen []int
	was := ""
	for r, row := range b.down.rows {
		s := &b.down.plan.Steps[row.Steps[0]]
		n := b.estate.Node(s.Node)
		all = append(all, r)
		if now := fmt.Sprint(s.Stage, s.Verb, n.Kind); now != was {
			was, chosen = now, append(chosen, r)
		}
	}
	if len(all) <= mostSafe {
		return all
	}
	return chosen
}

// offBefore tells which nodes are off when a line begins.
func (b *book) offBefore(r int) func(int) bool {
	off := map[int]bool{}
	for _, row := range b.down.rows[:r] {
		for _, i := range row.Steps {
			if s := &b.down.plan.Steps[i]; s.Verb == plan.Stop {
				off[s.Node] = true
			}
		}
	}
	return func(i int) bool { return off[i] }
}

// roughly rounds a time up to what a display shows.
func roughly(d time.Duration) string {
	if d > 2*time.Minute {
		return Brief(time.Duration(math.Ceil(d.Minutes())) * time.Minute)
	}
	return Brief(d)
}

// chargeFor is the charge at which a battery lasts so long at a load at which a full one lasts at least lasts.
func chargeFor(d, lasts time.Duration) string {
	if lasts <= 0 {
		return "?"
	}
	charge := math.Ceil(100 * d.Seconds() / lasts.Seconds())
	if charge > 100 {
		return "—"
	}
	return fmt.Sprintf("%.0f%%", charge)
}
