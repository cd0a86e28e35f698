package ledger

import (
	"ebbtide/internal/plan"
)

// openDrill takes the first record of a drill.
func (l *Ledger) openDrill(r *Record) {
	o := l.Outage
	for _, id := range r.Scope {
		i, _ := l.estate.Index(id)
		if l.SupplyOf[i] >= 0 {
			o.Drill = Drill{Phase: DrillBattery, Supply: i}
			return
		}
		if o.Drill.In == nil {
			o.Drill = Drill{Phase: DrillDown, In: make([]bool, len(o.Nodes))}
		}
		o.Drill.In[i], o.Scope[i] = true, true
	}
}

// Drill is what is on record of a drill.
type Drill struct {
	Phase   DrillPhase
	Was     bool   // the outage began as a drill
	In      []bool // the nodes that it takes
	Supply  int    // whose battery it discharges
	Battery BatteryTest
}

// DrillPhase is what a drill does.
type DrillPhase uint8

// The phases of a drill.
const (
	NoDrill      DrillPhase = iota // none, or a supply has failed since
	DrillDown                      // it takes its nodes down
	DrillUp                        // and brings them back
	DrillBattery                   // it discharges a battery
)

// BatteryTest is how far the test of a battery is on record.
type BatteryTest uint8

// How far the test of a battery is.
const (
	NotBegun BatteryTest = iota
	TestTold
	TestRuns
	EndTold      // and that may not have left before a crash
	EndToldAgain // one of the two has
	TestEnded
)

// On reports whether a drill is open, and no supply has failed in it.
func (d *Drill) On() bool { return d.Phase != NoDrill }

// leave makes a drill an outage: nothing more is stopped for it, and what it has stopped stays in the snapshot as on.
func (d *Drill) leave() { d.Was, d.Phase = d.Was || d.On(), NoDrill }

// follow takes a record about the test of a battery.
func (d *Drill) follow(r *Record) {
	switch {
	case r.Kind == Intent && *r.Verb == plan.Discharge:
		d.Battery = TestTold
	case r.Kind == Proven && *r.Verb == plan.Discharge:
		d.Battery = TestRuns
	case r.Kind == Intent && d.Battery >= EndTold:
		d.Battery = EndToldAgain
	case r.Kind == Intent:
		d.Battery = EndTold
	case *r.Verb == plan.EndDischarge && (r.Kind == Proven || r.Kind == Failed):
		d.Battery = TestEnded
	}
}
