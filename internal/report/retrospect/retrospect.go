// Package retrospect tells an outage from its records: what happened, why, how long it took, and what follows from it.
package retrospect

import (
	"errors"
	"maps"
	"slices"
	"time"

	"ebbtide/internal/forecast"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/report/chart"
	"ebbtide/internal/timeline"
)

// Retrospective is what an outage was, for people who were not there: a fold over its records. Durations are in seconds.
type Retrospective struct {
	Outage      string          `json:"outage"`
	Mode        ledger.Mode     `json:"mode"`
	Simulated   bool            `json:"simulated"`
	Scope       []string        `json:"scope,omitempty"` // of a drill: the nodes that it took, or the supply whose battery it discharged
	By          string          `json:"by,omitempty"`    // who ordered a drill
	Digest      string          `json:"digest,omitempty"`
	Supplies    []string        `json:"supplies"` // that failed
	Start       time.Time       `json:"start"`
	Until       time.Time       `json:"until"` // of the last record
	Open        bool            `json:"open"`  // it was not over then: all of this is so far
	Result      string          `json:"result,omitempty"`
	Sentences   []string        `json:"sentences"`   // what failed, what went down, how near it was, what came back, what did not
	Notes       []string        `json:"notes"`       // what must be known in order not to misread this
	Away        []Absence       `json:"away"`        // of the mains
	Timeline    []Moment        `json:"timeline"`    //
	Steps       []StepTaken     `json:"steps"`       // the slowest first
	Decisions   []Decision      `json:"decisions"`   // with the numbers they were made from
	Forced      []Forced        `json:"forced"`      //
	Unproven    []StepTaken     `json:"unproven"`    // ended without proof, or not at all
	Waits       []Wait          `json:"waits"`       // the longest first
	Nearest     *Nearest        `json:"nearest"`     // null: no slack is on record
	Batteries   []BatteryTold   `json:"batteries"`   //
	Surprises   []Surprise      `json:"surprises"`   // hangs first, then what took the longest beside what was expected
	Suggestions []Suggestion    `json:"suggestions"` //
	Chains      []CriticalChain `json:"critical_chains"`
	NotRestored []string        `json:"not_restored"`
	Proof       Proof           `json:"proof"`

	zone  *time.Location
	story timeline.Timeline
	told  []ledger.Record // decisions and discharges: what the battery's curve is drawn from
	order []chart.Node    // for drawing
}

// Basis is what a retrospective rests on beside the records. Any of it may be absent.
type Basis struct {
	Estate *plan.Estate                 // of the runbook: what waits for what
	Find   func(node string) *plan.Node // what was expected of a node; nil: it is not known
	Sheets []power.Supply               // what the runbook says of batteries
	Past   []forecast.Sample            // of earlier outages
	Proven map[string]power.Capacity    // what earlier outages had shown of batteries
	Zone   *time.Location               // that people read times in; nil: as recorded
	// Modelled says that the records are of a simulation, whatever their mode is: a drill may be simulated.
	Modelled bool
}

// Absence is a stretch for which a supply's mains were away, as Ebbtide saw it.
type Absence struct {
	Supply string    `json:"supply"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to,omitzero"` // zero: they were not back
}

// Proof counts what became of the nodes that were on, supplies apart.
type Proof struct {
	WasOn    int `json:"was_on"`
	Off      int `json:"off"`      // proven off, without force
	Silent   int `json:"silent"`   // of those: they no longer answered after they had taken their stop
	Forced   int `json:"forced"`   // proven off, by force
	Unproven int `json:"unproven"` // commanded off, and never proven
	Lost     int `json:"lost"`     // lost their power without having been told to go, or while that was waited for
	Back     int `json:"back"`     // of all these: on again
}

// down counts what went down, in whatever way.
func (p *Proof) down() int { return p.Off + p.Forced + p.Unproven + p.Lost }

// Outages divides records into those of each outage, oldest first. What belongs to none that was seen to begin is left
// out.
func Outages(records []ledger.Record) [][]ledger.Record {
	var all [][]ledger.Record
	for i := range records {
		switch n := len(all); {
		case records[i].Kind == ledger.Opened:
			all = append(all, []ledger.Record{records[i]})
		case n > 0:
			all[n-1] = append(all[n-1], records[i])
		}
	}
	return all
}

var errNoBeginning = errors.New("the records do not begin with the opening of an outage")

// Of folds the records of one outage, oldest first. The same arguments give the same retrospective.
func Of(records []ledger.Record, basis Basis) (*Retrospective, error) {
	if len(records) == 0 || records[0].Kind != ledger.Opened {
		return nil, errNoBeginning
	}
	if basis.Find == nil {
		basis.Find = func(string) *plan.Node { return nil }
	}
	first, last := &records[0], &records[len(records)-1]
	f := fold{
		Basis: basis, records: records, before: forecast.Learn(basis.Past, first.At),
		Retrospective: &Retrospective{
			Outage: first.Outage, Mode: first.Mode, Digest: first.Digest, Scope: first.Scope, By: first.By,
			Simulated: basis.Modelled || first.Mode == ledger.ModeSimulate, Start: first.At, Until: last.At,
			Open: last.Kind != ledger.Closed, zone: basis.Zone,
			Sentences: []string{}, Notes: []string{}, Away: []Absence{}, Timeline: []Moment{}, Steps: []StepTaken{},
			Decisions: []Decision{},
			Forced:    []Forced{}, Unproven: []StepTaken{}, Waits: []Wait{}, Batteries: []BatteryTold{}, Surprises: []Surprise{},
			Suggestions: []Suggestion{}, Chains: []CriticalChain{}, NotRestored: []string{},
		},
	}
	f.moments()
	f.mains()
	f.steps()
	f.decisions()
	f.proof()
	f.waits()
	f.batteries()
	f.surprises()
	f.chains()
	f.suggest()
	f.say()
	f.drawOrder()
	return f.Retrospective, nil
}

// fold is a retrospective in the making.
type fold struct {
	*Retrospective
	Basis
	records []ledger.Record
	before  *forecast.Knowledge // what was known when the outage began
	powered []string            // nodes that were powered off by force
	unsure  []string            // nodes that were commanded off and never proven so
	lost    []string            // nodes that were cut off without being proven off
}

// overtaken reports whether it was only observed, and closed before it was over, since Ebbtide was armed.
func (f *fold) overtaken() bool { return f.records[len(f.records)-1].Cause == ledger.Armed }

// isSupply reports whether a node is a supply's output.
func (f *fold) isSupply(node string) bool {
	if n := f.Find(node); n != nil {
		return n.Kind == plan.Supply
	}
	return slices.Contains(f.story.Supplies, node)
}

// mains finds when the mains were away. An output that goes off by its cut while they are there is none of that.
func (f *fold) mains() {
	cut := map[string]bool{}
	for i := range f.records {
		r := &f.records[i]
		if r.Kind == ledger.Intent && *r.Verb == plan.Cut {
			cut[r.Node] = !f.isAway(r.Node)
		}
		for _, id := range r.Supplies {
			switch {
			case r.Kind == ledger.Opened:
				f.goAway(r.At, id)
			case r.Kind != ledger.Mains || isOfOutput(r, cut[id]):
			case f.returned(r, id):
				f.comeBack(r.At, id)
			default:
				f.goAway(r.At, id)
			}
		}
	}
	f.Supplies = append([]string{}, f.story.Supplies...)
}

// isOfOutput reports whether a record of a supply tells of its output, and not of its mains: also where that went off by its cut.
func isOfOutput(r *ledger.Record, cut bool) bool {
	switch r.Cause {
	case ledger.Cycled, ledger.Unseen, ledger.Released:
		return true
	case ledger.Dark:
		return cut
	case ledger.Failing:
		return cut && r.Off
	default:
		return false
	}
}

func (f *fold) goAway(at time.Time, id string) {
	if !f.isAway(id) {
		f.Away = append(f.Away, Absence{Supply: id, From: at})
	}
}

func (f *fold) comeBack(at time.Time, id string) {
	for k := range f.Away {
		if a := &f.Away[k]; a.Supply == id && a.To.IsZero() {
			a.To = at
		}
	}
}

// isAway reports whether a supply's mains are away as far as the records have been followed.
func (f *fold) isAway(id string) bool {
	return slices.ContainsFunc(f.Away, func(a Absence) bool { return a.Supply == id && a.To.IsZero() })
}

// returned reports whether a record says that a supply's mains are back. One without a cause says that they are otherwise
// than before.
func (f *fold) returned(r *ledger.Record, id string) bool {
	return r.Cause == ledger.Returned || r.Cause == "" && f.isAway(id)
}

// proof counts what became of what was on.
func (f *fold) proof() {
	on := f.inSnapshot()
	last, back, forced := map[string]*timeline.Step{}, map[string]bool{}, map[string]bool{}
	for i := range f.story.Steps {
		s := &f.story.Steps[i]
		switch {
		case s.Verb == plan.Stop:
			last[s.Node], back[s.Node] = s, false
			forced[s.Node] = forced[s.Node] || s.State == timeline.Stopped
		case s.Verb == plan.Start && s.State == timeline.Proven:
			back[s.Node] = true
		}
	}
	f.NotRestored = append(f.NotRestored, f.story.NotRestored...)
	f.Result = f.story.Result
	f.Proof.WasOn = len(on)
	lost := f.lostWithCuts()
	for _, node := range on {
		if !f.wentDown(node, last[node], forced[node]) {
			cameUp := last[node] == nil && back[node] && f.canStop(node) // and was not told to go
			if !lost[node] && !cameUp {
				continue
			}
			f.Proof.Lost++
			f.lost = append(f.lost, node)
		}
		// What comes by itself with its power has no start on record, but an outage is closed only when all is on again.
		closed := !f.Open && !f.overtaken() && !slices.Contains(f.NotRestored, node)
		if closed || back[node] && (f.Open || f.overtaken()) {
			f.Proof.Back++
		}
	}
}

// canStop reports whether a node can be told to stop, as far as is known of it.
func (f *fold) canStop(id string) bool {
	if f.Estate == nil {
		return true
	}
	i, known := f.Estate.Index(id)
	return known && f.Estate.Node(i).Can.Has(plan.Stop)
}

// inSnapshot lists what the snapshot has as on, supplies apart.
func (f *fold) inSnapshot() []string {
	on := map[string]bool{}
	for i := range f.records {
		if r := &f.records[i]; r.Kind == ledger.Snapshot || r.Kind == ledger.Widened {
			for _, n := range r.Nodes {
				if f.isOn(n) {
					on[n.Node] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(on))
}

// lostWithCuts finds what was not proven off as the last of the outputs that feed it was cut, and what runs on such a thing.
func (f *fold) lostWithCuts() map[string]bool {
	lost := map[string]bool{}
	if f.Estate == nil {
		return lost
	}
	unproven := map[string]bool{}
	for i := range f.records {
		if r := &f.records[i]; r.Kind == ledger.Intent && *r.Verb == plan.Cut {
			for _, n := range r.Nodes {
				unproven[n.Node] = true
			}
		}
	}
	cut := f.cuts()
	isCut := func(feed int) bool { return slices.Contains(cut, f.Estate.Node(feed).ID) }
	for i := range f.Estate.Len() { // what a node needs comes before it
		node, feeds := f.Estate.Node(i).ID, f.Estate.Feeds(i)
		dark := unproven[node] && len(feeds) > 0 && !slices.ContainsFunc(feeds, func(feed int) bool { return !isCut(feed) })
		if dark || lost[f.Estate.Node(i).Host] {
			lost[node] = true
		}
	}
	return lost
}

// wentDown counts how a node went down, by its last stop, and reports whether it did.
func (f *fold) wentDown(node string, last *timeline.Step, forced bool) bool {
	switch {
	case last == nil:
		return false
	case forced: // once is enough: it may be damaged
		f.Proof.Forced++
		f.powered = append(f.powered, node)
	case last.State == timeline.Proven:
		f.Proof.Off++
		if last.Cause == ledger.Silence {
			f.Proof.Silent++
		}
	case last.State == timeline.Pending:
		return false // it was seen on again, or was never commanded with effect
	default:
		f.Proof.Unproven++
		f.unsure = append(f.unsure, node)
	}
	return true
}
