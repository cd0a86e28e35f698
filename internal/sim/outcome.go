package sim

import (
	"slices"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// Outcome is what is kept of one run.
type Outcome struct {
	Crashed     bool // something lost its power while on, and that was not the plan
	Forced      int  // nodes that were powered off without asking
	Shutdown    bool // the shutdown stage began
	Unnecessary bool // it did, though without it the batteries would have lasted
	Stranded    []string
	Violations  []string
	Down, Back  time.Duration                // see Result.Down; Back is from when the mains were back for good
	Slack       map[plan.Stage]time.Duration // by stage: when it first began, if it was known
	Critical    []Action                     // the chain of steps that ended last, up to the first cut; none if there was no cut
}

// Judge keeps of a run what counts. It plays the outage once more without a shutdown, to tell whether that was needed.
func Judge(sc Scenario, r *Result) Outcome {
	o := Outcome{
		Crashed: len(Unplanned(sc.Settings.Estate, r)) > 0, Stranded: r.Missing, Violations: r.Violations,
		Down: r.Down, Slack: map[plan.Stage]time.Duration{}, Critical: criticalOf(sc.Settings.Estate, r.Records),
	}
	if r.Down > 0 {
		o.Back = max(0, r.Back-mainsBack(&sc))
	}
	var forced []string
	for i := range r.Records {
		rec := &r.Records[i]
		switch {
		case rec.Kind == ledger.Intent && *rec.Verb == plan.Force:
			forced = append(forced, rec.Node)
		case rec.Kind == ledger.Triggered:
			o.Shutdown = o.Shutdown || rec.Stage == plan.ShutdownStage
			if _, began := o.Slack[rec.Stage]; !began && rec.Numbers != nil && rec.Numbers.Slack != nil {
				o.Slack[rec.Stage] = time.Duration(*rec.Numbers.Slack * float64(time.Second))
			}
		}
	}
	slices.Sort(forced)
	o.Forced = len(slices.Compact(forced))
	o.Unnecessary = o.Shutdown && lasts(sc)
	return o
}

// Unplanned lists what lost its power while on. The machine that the controller runs on does so by plan, once its supply
// has been told to cut.
func Unplanned(estate *plan.Estate, r *Result) []string {
	var cut []string
	for i := range r.Records {
		if rec := &r.Records[i]; rec.Kind == ledger.Intent && *rec.Verb == plan.Cut {
			cut = append(cut, rec.Node)
		}
	}
	var crashed []string
	for _, id := range r.Crashed {
		i, _ := estate.Index(id)
		byPlan := estate.Node(i).Kind == plan.Self &&
			slices.ContainsFunc(estate.Node(i).FedBy, func(f string) bool { return slices.Contains(cut, f) })
		if !byPlan {
			crashed = append(crashed, id)
		}
	}
	return crashed
}

// lasts reports whether the batteries last through a scenario in which no shutdown begins.
func lasts(sc Scenario) bool {
	sc.Settings.Policy.Shutdown = power.Condition{}
	if back := mainsBack(&sc); back > 0 {
		sc.For = back
	}
	return len(play(sc, true).Crashed) == 0
}

// mainsBack is when the mains of the last supply come back for good; 0: never, or they never fail.
func mainsBack(sc *Scenario) time.Duration {
	var last time.Duration
	for i := range sc.Changes {
		c := &sc.Changes[i]
		if c.OfMains() && c.Mains {
			last = max(last, c.At)
		}
	}
	return last
}

// criticalOf goes back from the first cut to what ended last before it, and from there to what that waited for.
func criticalOf(estate *plan.Estate, records []ledger.Record) []Action {
	ended := make([]*ledger.Record, estate.Len()) // the last end of each node
	for i := range records {
		rec := &records[i]
		at, known := estate.Index(rec.Node)
		switch {
		case !known || rec.Verb == nil:
		case rec.Kind == ledger.Intent && *rec.Verb == plan.Cut:
			return chain(estate, at, ended)
		case rec.Kind == ledger.Proven, rec.Kind == ledger.Failed:
			ended[at] = rec
		}
	}
	return nil
}

func chain(estate *plan.Estate, from int, ended []*ledger.Record) []Action {
	var steps []Action
	for {
		last := -1
		for _, u := range estate.Users(from) {
			if ended[u] != nil && (last < 0 || ended[u].Seq > ended[last].Seq) {
				last = u
			}
		}
		if last < 0 {
			return steps
		}
		steps, from = append(steps, Action{ended[last].Node, *ended[last].Verb}), last
	}
}
