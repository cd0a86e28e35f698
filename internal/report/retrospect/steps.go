package retrospect

import (
	"cmp"
	"math"
	"slices"
	"time"

	"ebbtide/internal/forecast"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/report/chart"
	"ebbtide/internal/timeline"
)

// StepTaken is what became of a step, beside what was expected of it when the outage began. Durations are in seconds.
type StepTaken struct {
	Node     string         `json:"node"`
	Group    string         `json:"group,omitempty"` // the selector that the node is a member of
	Verb     plan.Verb      `json:"verb"`
	State    timeline.State `json:"state"`
	Started  time.Time      `json:"started"`
	Ended    time.Time      `json:"ended,omitzero"`
	Took     float64        `json:"took"`               // 0: it was so already, has no end, or was only observed
	Expected float64        `json:"expected,omitempty"` // half of the runs take less; 0: not known
	Worst    float64        `json:"worst,omitempty"`    // 95% of the runs take less
	Limit    float64        `json:"limit,omitempty"`    // then it is forced or given up; 0: none is known
	Attempts int            `json:"attempts"`           // 0: it was so without a command
	Reason   string         `json:"reason,omitempty"`
	blurred  bool           // its time says nothing of the node
}

// Forced is a command that took something down without its consent.
type Forced struct {
	Node   string       `json:"node"`
	Verb   plan.Verb    `json:"verb"`
	At     time.Time    `json:"at"`
	Waited float64      `json:"waited"` // since it had been asked to stop
	Reason string       `json:"reason"`
	Cause  ledger.Cause `json:"cause,omitempty"`
}

// unbounded is from when on a limit is none: where no runbook bounds a node.
const unbounded = 500 * time.Hour

// steps compares what was done with what was expected, the slowest first.
func (f *fold) steps() {
	for i := range f.story.Steps {
		s := f.taken(&f.story.Steps[i])
		f.Steps = append(f.Steps, s)
		switch s.State {
		case timeline.Proven, timeline.Stopped:
		default:
			f.Unproven = append(f.Unproven, s)
		}
	}
	slices.SortStableFunc(f.Steps, func(a, b StepTaken) int {
		return cmp.Or(-cmp.Compare(a.Took, b.Took), a.Started.Compare(b.Started), cmp.Compare(a.Node, b.Node))
	})
	for _, x := range f.story.Forced {
		one := Forced{Node: x.Node, Verb: x.Verb, At: x.At, Reason: x.Reason, Cause: x.Cause}
		for i := range f.story.Steps {
			if s := &f.story.Steps[i]; s.Node == x.Node && !s.Started.After(x.At) && (s.Verb == plan.Stop || s.Verb == x.Verb) {
				one.Waited = x.At.Sub(s.Started).Seconds()
			}
		}
		f.Forced = append(f.Forced, one)
	}
}

func (f *fold) taken(s *timeline.Step) StepTaken {
	t := StepTaken{
		Node: s.Node, Group: f.group(s.Node), Verb: s.Verb, State: s.State, Started: s.Started, Ended: s.Ended,
		Attempts: s.Attempts, Reason: s.Reason, blurred: !s.Tells(),
	}
	if n := f.Find(s.Node); n != nil && n.Kind == plan.Self && s.State == timeline.Open && t.Reason == "" {
		t.Reason = "the machine that Ebbtide runs on can't record its own shutdown"
	}
	if s.Attempts > 0 && !f.observed() { // how long a rehearsal takes says nothing
		t.Took = s.Took().Seconds()
	}
	if d, known := f.expected(s.Node, s.Verb); known {
		t.Expected, t.Worst = d.Median.Seconds(), d.Quantile(0.95).Seconds()
		if d.Within > 0 && d.Within < unbounded {
			t.Limit = d.Within.Seconds()
		} else if d.Quantile(0.95) >= unbounded {
			t.Worst = 0
		}
	}
	return t
}

// expected gives what was known of a verb on a node when the outage began.
func (f *fold) expected(node string, verb plan.Verb) (forecast.Duration, bool) {
	n := f.Find(node)
	if n == nil || n.Time(verb).Nominal <= 0 {
		return forecast.Duration{}, false
	}
	own := *n
	own.ID = node
	return f.before.Of(&own, verb), true
}

// Surprise is a duration that hardly one run in ten has, and what is assumed after it. Durations are in seconds.
type Surprise struct {
	Node   string    `json:"node"`
	Verb   plan.Verb `json:"verb"`
	Took   float64   `json:"took,omitempty"`
	Hung   bool      `json:"hung,omitempty"` // it did not end by itself
	Low    float64   `json:"low"`            // 5% of the runs were expected to take less,
	High   float64   `json:"high"`           // and 5% more
	Median float64   `json:"median"`         // expected before
	Next   float64   `json:"next"`           // that the next plan assumes
	Worst  float64   `json:"next_worst"`     // what it assumes at the 95th percentile
	Hang   float64   `json:"next_hang"`      // the chance of a hang that it assumes
}

// surprises holds what was seen against what was known, and learns from it. What a simulation or a rehearsal showed is
// learned for the sake of this report alone.
func (f *fold) surprises() {
	if f.observed() {
		return
	}
	acted := f.story.Clone()
	if acted.Mode == ledger.ModeSimulate {
		acted.Mode = ledger.ModeRun
	}
	seen := acted.Samples()
	for i := range seen {
		if n := f.Find(seen[i].Node); n != nil {
			seen[i].Type, seen[i].Nominal = n.Type, n.Time(seen[i].Verb).Nominal
		}
	}
	after := forecast.Learn(slices.Concat(f.Past, seen), f.Until)
	for _, s := range seen {
		d, known := f.expected(s.Node, s.Verb)
		if !known {
			continue
		}
		low, high := d.Quantile(0.05), d.Quantile(0.95)
		if !s.Hung && low-soon <= s.Took && s.Took <= high+soon { // nobody plans by less than that
			continue
		}
		own := *f.Find(s.Node)
		own.ID = s.Node
		next := after.Of(&own, s.Verb)
		f.Surprises = append(f.Surprises, Surprise{
			Node: s.Node, Verb: s.Verb, Took: s.Took.Seconds(), Hung: s.Hung, Low: low.Seconds(), High: high.Seconds(),
			Median: d.Median.Seconds(), Next: next.Median.Seconds(), Worst: next.Quantile(0.95).Seconds(), Hang: next.Hang,
		})
	}
	slices.SortStableFunc(f.Surprises, func(a, b Surprise) int { return -cmp.Compare(a.factor(), b.factor()) })
}

// factor is how much longer it took than was expected.
func (s *Surprise) factor() float64 {
	if s.Hung {
		return math.Inf(1)
	}
	return s.Took / s.Median
}

// drawOrder is the order in which nodes are drawn: as they went down, those that only came up after them.
func (f *fold) drawOrder() {
	for i := range f.story.Steps {
		id := f.story.Steps[i].Node
		if !slices.ContainsFunc(f.order, func(n chart.Node) bool { return n.ID == id }) {
			f.order = append(f.order, chart.Node{ID: id, Group: f.group(id)})
		}
	}
}

// Course is what is drawn of it. What the battery's charge and load were is known where something was decided, and where
// a discharge began and ended: nothing is drawn in between but a line that says so.
func (r *Retrospective) Course() *chart.Course {
	c := &chart.Course{
		Title: r.Title() + r.would("", ", as it would have been"), Start: r.Start, Nodes: r.order,
		Outages: []timeline.Timeline{r.story.Clone()},
	}
	for _, a := range r.Away {
		away := chart.Interval{From: a.From.Sub(r.Start), To: r.Until.Sub(r.Start)}
		if !a.To.IsZero() {
			away.To = a.To.Sub(r.Start)
		}
		c.Away = append(c.Away, away)
	}
	c.Away = united(c.Away)
	supplies := slices.Clone(r.Supplies)
	for _, b := range r.Batteries { // also one that was drilled
		if !slices.Contains(supplies, b.Supply) {
			supplies = append(supplies, b.Supply)
		}
	}
	for _, id := range supplies {
		s := chart.Supply{ID: id, Sparse: true}
		for i := range r.told {
			if r.told[i].Kind == ledger.Gap || slices.Contains(r.told[i].Supplies, id) {
				s.Samples = append(s.Samples, sparse(&r.told[i], r.Start)...)
			}
		}
		slices.SortStableFunc(s.Samples, func(a, b chart.Sample) int { return cmp.Compare(a.At, b.At) })
		c.Supplies = append(c.Supplies, s)
	}
	return c
}

// united makes one of stretches that overlap.
func united(all []chart.Interval) []chart.Interval {
	slices.SortFunc(all, func(a, b chart.Interval) int { return cmp.Compare(a.From, b.From) })
	var out []chart.Interval
	for _, one := range all {
		if n := len(out); n > 0 && one.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, one.To)
			continue
		}
		out = append(out, one)
	}
	return out
}

// unknown is a share that is not on record.
var unknown = math.NaN()

// sparse gives what a record tells of a battery. After a discharge, and while nobody was there, nothing is known.
func sparse(r *ledger.Record, start time.Time) []chart.Sample {
	at := r.At.Sub(start)
	if d := r.Discharge; d != nil {
		return []chart.Sample{
			{At: at - d.Took, Charge: d.From, Load: unknown},
			{At: at, Charge: d.To, Load: unknown},
			{At: at, Charge: unknown, Load: unknown},
		}
	}
	s := chart.Sample{At: at, Charge: unknown, Load: unknown}
	if r.Kind == ledger.Gap {
		return []chart.Sample{s}
	}
	if r.Numbers.Charge != nil {
		s.Charge = *r.Numbers.Charge
	}
	if r.Numbers.Load != nil {
		s.Load = *r.Numbers.Load
	}
	return []chart.Sample{s}
}

// ChargedAt is a battery's charge, in percent, where it is on record.
type ChargedAt struct {
	Supply string    `json:"supply"`
	At     time.Time `json:"at"`
	Charge float64   `json:"charge"`
}

// Charge lists the charges that are on record, by supply and time.
func (r *Retrospective) Charge() []ChargedAt {
	all := []ChargedAt{}
	for _, s := range r.Course().Supplies {
		for _, x := range s.Samples {
			if !math.IsNaN(x.Charge) {
				all = append(all, ChargedAt{s.ID, r.Start.Add(x.At), x.Charge})
			}
		}
	}
	return all
}

// Stages lists the stages as they were triggered.
func (r *Retrospective) Stages() []timeline.Stage { return slices.Clone(r.story.Stages) }
