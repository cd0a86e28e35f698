package sim

import (
	"time"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/forecast"
	"ebbtide/internal/foresight"
	"ebbtide/internal/plan"
)

// Scenario is one run: an estate, what happens to it, and what goes wrong.
type Scenario struct {
	Settings  engine.Settings
	Changes   []Change
	Batteries map[string]Battery // by supply; a missing one is full
	Faults    map[string]Fault
	LiesAt    map[string]int // by node: which of its probes is answered with the opposite
	GoneAt    map[string]int // by node: which of its probes is answered as if it did not exist
	// Took is how long an action really takes, Never if it does not end by itself; one that is missing takes its nominal
	// time.
	Took map[Action]time.Duration
	// Poll is how often a supply is polled; 0: each second.
	Poll time.Duration
	// PollQuiet is how often a supply is polled whose mains have been on, or whose output off, for two minutes; 0: each second,
	// as otherwise.
	PollQuiet time.Duration
	// EstimateTrials is how many trials an estimate of the rest of the plan takes; 0: 100, and fewer where there are over 200 nodes.
	EstimateTrials int
	forecaster     *forecast.Forecaster // which has played some of that estate; nil: none has
	Off            []string             // nodes that are off at the start
	Protected      []string             // caches in write-through, suspended clusters and hosts in maintenance mode, at the start
	// nodes that start by themselves whenever their power comes back, or VMs with their host, whatever the runbook says
	Boots []string
	BMCs  map[string]BMC // by node: how the BMC is that starts it and is asked for the second proof of its being off
	// Habits are how nodes answer and come up, where that is not as usual.
	Habits  map[string]Habit
	Awake   bool          // no machine is silent in a self-test, but those whose Habit says so
	Watched bool          // systems tell of changes of VMs by themselves
	CrashAt []uint64      // the engine is thrown away right after these records, counted over the run: see Counted
	CrashOn []uint64      // and right after these commands were sent
	Away    time.Duration // it is resumed so much later; 0: 10 s
	// Forecast answers how long the rest of the plan takes (nil: from what the runbook says, in a few trials).
	Forecast func(*plan.Estate, effect.Estimate) foresight.Estimate
	// Witness is told each event as the engine gets it (nil: nobody).
	Witness func(at time.Time, ev engine.Event)
	For     time.Duration // the run ends then, or when all is over and no change is left
	// Checked has the engine held against its own records and against itself after each event: dear.
	Checked bool
	// Apart keeps the things that happen at different places from happening at the same instant, by some nanoseconds
	// each: what runs beside each other in the shell has an order only then. An estimate is there at once.
	Apart bool
}

// Action is a verb on a node.
type Action struct {
	Node string
	Verb plan.Verb
}

// Never is how long an action takes that does not end by itself: longer than any run.
const Never time.Duration = 1 << 62

// Change is a change of the world from outside: of a supply's mains, unless one of the pointers is set.
type Change struct {
	At     time.Duration
	Supply string
	Mains  bool
	Silent *bool // the supply falls silent, or speaks again; with Node: nothing reaches that node, or all does again
	// ExtraLoad is what the supply carries from now on beside its nodes, as a share of nominal: fans that spin up.
	ExtraLoad   *float64
	Temperature *float64       // °C that its UPS tells from now on
	Voltage     *float64       // of its input, as its UPS tells it from now on; 230 is nominal
	Order       *engine.Order  // an operator's command
	Drill       *engine.Drill  // somebody asks for a drill
	Node        string         // of Becomes and of Silent
	Becomes     *plan.State    // somebody else switched the node on or off, or deleted it
	SwitchedOn  bool           // a person switched the supply's output on
	Journal     *bool          // the journal's disk is lost (true), or back
	Clock       *time.Duration // the wall clock is set forth or back by so much: records bear its time, decisions do not
}

// OfMains reports whether a change is of a supply's mains.
func (c *Change) OfMains() bool {
	return c.Supply != "" && c.Silent == nil && c.ExtraLoad == nil && c.Temperature == nil && c.Voltage == nil
}

// Battery is the truth about a supply's battery, and what its UPS makes of it.
type Battery struct {
	Charge   float64       // at the start, 0..1
	Runtime  time.Duration // of a full battery as on its sheet, at the load at the start; 0: what the runbook's curve says, or 30 minutes
	Recharge time.Duration // from empty to full; 0: what the runbook says, or 2 hours
	Health   float64       // its true capacity against its sheet, of which its UPS knows nothing; 0: 1
	Slips    int           // which of its readings is wrong, where it says Slips; 0: slipsEvery
	Steps    float64       // 0..1: its UPS tells the charge in steps of so much; 0: as it is
	DiesAt   float64       // 0..1: the output is lost at this charge, without a word before
	Bias     float64       // what its UPS says that it lasts, as a share of what its sheet says; 0: 1
	Says     []Lie
	Test     Test // how its UPS takes a test of the battery
	Deaf     int  // its UPS takes so many cuts while its mains are there, and does not make them
}

// Test is how a UPS takes a test of its battery. The zero Test is one that runs on battery until it is told to end.
type Test struct {
	None    bool // it has none
	Endless bool // it goes on when it is told to end, until the battery is low
	Volts   bool // the UPS tells its input voltage
}

// What holds of a battery where neither scenario nor runbook says.
const (
	usualRuntime  = 30 * time.Minute
	usualRecharge = 2 * time.Hour
)

// Fault is how a node misbehaves.
type Fault string

// The faults that a node may have.
const (
	Hang    Fault = "hang"    // accepts a stop and never goes down by itself
	Refuse  Fault = "refuse"  // refuses a graceful stop
	Vanish  Fault = "vanish"  // is deleted when it is first commanded
	Mute    Fault = "mute"    // does what it is told, but its answers are lost
	Stuck   Fault = "stuck"   // accepts every stop, forced ones too, and stays on
	Late    Fault = "late"    // its first command is not answered, and takes effect long after it was given up
	Deny    Fault = "deny"    // carries out its first command and says that it refused
	Busy    Fault = "busy"    // is too busy for its first two commands
	Unready Fault = "unready" // takes a stop or a start only as every third command that it gets, and refuses the others
	Dud     Fault = "dud"     // accepts a start and does not come up, or to leave maintenance mode and stays in it
	Freeze  Fault = "freeze"  // accepts a stop, does not answer from then on, and stays on
	Halves  Fault = "halves"  // a cache or a cluster: its first Unprotect by what is on record is accepted, and carried out by half
	Tardy   Fault = "tardy"   // a cache or a cluster: its first Unprotect is not answered, and takes effect long after it was given up
)

// Faults lists all faults.
var Faults = []Fault{Hang, Refuse, Vanish, Mute, Stuck, Late, Deny, Busy, Unready, Dud, Freeze, Halves, Tardy}

// BMC is how the management controller of a machine answers.
type BMC string

// How a BMC may be. One is asked for as long as it has standby power.
const (
	Well      BMC = "well"       // it knows the power of its machine
	NoAnswer  BMC = "silent"     // it can't be reached
	AlwaysOn  BMC = "always-on"  // it belongs to another machine, which is on, or is stuck
	AlwaysOff BMC = "always-off" // it belongs to another machine, which is off, or is stuck
	Contrary  BMC = "contrary"   // it always says the opposite of what is
	OutOfDate BMC = "stale"      // it says what was ten seconds ago
	Fitful    BMC = "fitful"     // it answers one question in three
)

// BMCs lists all ways.
var BMCs = []BMC{Well, NoAnswer, AlwaysOn, AlwaysOff, Contrary, OutOfDate, Fitful}

// misleading are those that say on of a machine that is off, whatever else they say: nobody can believe its own system then.
var misleading = []BMC{AlwaysOn, Contrary}

// Lie is what a UPS says wrongly of its battery.
type Lie string

// The lies of a UPS.
const (
	Jumps     Lie = "jumping-runtime" // its runtime jumps up and down by a factor of up to three
	LowAtOnce Lie = "low-at-once"     // it raises its low-battery flag the moment that it is on battery
	NoRuntime Lie = "no-runtime"      // it does not tell its runtime
	NoCharge  Lie = "no-charge"       // it does not tell its charge
	Twice     Lie = "twice-as-long"   // it says that it lasts twice as long as it does
	NeverLow  Lie = "never-low"       // it never raises its low-battery flag
	Slips     Lie = "slips"           // one of its readings in a while tells of an empty battery, or of a runtime of nothing
)

// Lies lists all lies.
var Lies = []Lie{Jumps, LowAtOnce, NoRuntime, NoCharge, Twice, NeverLow, Slips}
