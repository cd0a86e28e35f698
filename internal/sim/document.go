package sim

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Document is a scenario as it stands in a file: a whole outage, what goes wrong in it, and, if it stands alone, the
// runbook. runbook.ReadDocument reads it.
type Document struct {
	Version   int                      `yaml:"version" check:"required"`         // of the scenario language: DocumentVersion
	Scenario  string                   `yaml:"scenario" check:"required"`        // what happens, in a line
	Runbook   string                   `yaml:"runbook"`                          // the text of a whole runbook; "": one is given beside the scenario
	For       time.Duration            `yaml:"for" check:"positive"`             // the run ends then at the latest; 12h if not given
	Poll      time.Duration            `yaml:"poll" check:"positive"`            // between two readings of a supply; 1s
	PollQuiet time.Duration            `yaml:"poll_quiet" check:"positive"`      // between two readings of a supply that has been on line, or off, for two minutes; 1s
	Trials    int                      `yaml:"estimate_trials" check:"positive"` // of an estimate of how long the rest takes; 100, and fewer where there are over 200 nodes
	Members   map[string][]MemberDecl  `yaml:"members"`                          // by selector: what the live inventory would have
	Supplies  map[string]BatteryDecl   `yaml:"supplies"`                         //
	Nodes     map[string]ConditionDecl `yaml:"nodes"`                            //
	Watched   bool                     `yaml:"watched"`                          // systems tell of changes of VMs by themselves, as vCenter does
	Events    []EventDecl              `yaml:"events"`                           //
	// CrashAfter are records, counted from 1 over the run, right after which the controller is killed, and
	// CrashAfterCommand are commands. It starts again after Away, 10s if not given.
	CrashAfter        []int         `yaml:"crash_after"`
	CrashAfterCommand []int         `yaml:"crash_after_command"`
	Away              time.Duration `yaml:"away" check:"positive"`
}

// DocumentVersion is the version of the scenario language that this package reads.
const DocumentVersion = 1

// MemberDecl is one VM that a selector covers.
type MemberDecl struct {
	Name string `yaml:"name" check:"required"`
	Host string `yaml:"host"` // where it runs
}

// BatteryDecl is the truth about a supply's battery, and what its UPS says of it.
type BatteryDecl struct {
	Charge   *Percent      `yaml:"charge"`                    // at the start; 100%
	Runtime  time.Duration `yaml:"runtime" check:"positive"`  // that a full one as on its sheet lasts at the load at the start; as the runbook's watts and curve have it, or 30m
	Recharge time.Duration `yaml:"recharge" check:"positive"` // from empty to full; as the runbook has it, or 2h
	Health   *Percent      `yaml:"health"`                    // true capacity against the sheet, of which its UPS knows nothing; 100%
	Slips    int           `yaml:"slips"`                     // which of its readings is wrong, where it says slips
	Steps    Percent       `yaml:"steps"`                     // its UPS tells the charge in steps of so much
	DiesAt   Percent       `yaml:"dies_at"`                   // it gives out at this charge, without a word before
	Says     []Lie         `yaml:"says"`
	Deaf     int           `yaml:"deaf"` // it takes so many cuts while its mains are there, and does not make them
}

// ConditionDecl is what is the matter with a node.
type ConditionDecl struct {
	Off    bool  `yaml:"off"` // at the start
	Fault  Fault `yaml:"fault"`
	LiesAt int   `yaml:"lies_at"` // its n-th probe, from 1, is answered with the opposite; 0: none
	GoneAt int   `yaml:"gone_at"` // its n-th probe, from 1, is answered as if it did not exist; 0: none
	// Protected: it is in write-through, or suspended, at the start. Boots: it starts by itself whenever its power comes back.
	Protected bool `yaml:"protected"`
	Boots     bool `yaml:"boots"` // and of a VM: whenever its host comes up
	BMC       BMC  `yaml:"bmc"`   // that starts it is also asked whether it is off, and answers so; "": it is not asked
	// How it answers and comes up: see Habit.
	Fails       bool           `yaml:"fails"`                        // a look that gets no answer is an error, and does not say unreachable
	SelfTest    *time.Duration `yaml:"self_test"`                    // it is silent for so long when it begins to start; half of its nominal start, and 0s: not at all
	Refuses     bool           `yaml:"refuses"`                      // after its self-test it refuses connections until it is on, and does not say that it starts
	Network     bool           `yaml:"network"`                      // what depends on it is reached through it, as long as it is on
	ThroughHost bool           `yaml:"through_host"`                 // of a VM: its host alone answers for it
	Lags        time.Duration  `yaml:"lags" check:"positive"`        // for so long after a command looks show what was before it
	ShowsOn     bool           `yaml:"shows_on"`                     // while it goes down looks show it as on, until it falls silent
	Slow        time.Duration  `yaml:"slow" check:"positive"`        // a look takes so long, and shows how it is half way through
	Way         time.Duration  `yaml:"way" check:"positive"`         // a command takes so long to arrive
	BootsAfter  time.Duration  `yaml:"boots_after" check:"positive"` // it starts by itself so long after its power is back
}

// set puts what is the matter with a node into a scenario.
func (c *ConditionDecl) set(sc *Scenario, id string) {
	if c.Off {
		sc.Off = append(sc.Off, id)
	}
	if c.Fault != "" {
		sc.Faults[id] = c.Fault
	}
	if c.LiesAt > 0 {
		sc.LiesAt[id] = c.LiesAt
	}
	if c.GoneAt > 0 {
		sc.GoneAt[id] = c.GoneAt
	}
	if c.Protected {
		sc.Protected = append(sc.Protected, id)
	}
	if c.Boots {
		sc.Boots = append(sc.Boots, id)
	}
	if c.BMC != "" {
		sc.BMCs[id] = c.BMC
	}
	if h := c.habit(); h != (Habit{}) {
		sc.Habits[id] = h
	}
}

// wrong tells what can't be the matter with a node, and what to write instead; "" if all can.
func (c *ConditionDecl) wrong(n *plan.Node) string {
	switch {
	case c.Network && n.Kind != plan.Passive:
		return fmt.Sprintf("network is for nodes of type passive, and this is a %s", n.Type)
	case c.ThroughHost && n.Host == "" && n.Kind != plan.VM:
		return fmt.Sprintf("through_host is for VMs and other guests, and this is a %s", n.Type)
	case c.BootsAfter > 0 && n.Kind == plan.VM:
		return "boots_after is for machines with a power supply of their own: write boots: true, and it comes up with its host"
	}
	return ""
}

// habit gives how a node answers and comes up.
func (c *ConditionDecl) habit() Habit {
	h := Habit{
		Fails: c.Fails, Refuses: c.Refuses, Network: c.Network, ThroughHost: c.ThroughHost, Lags: c.Lags, ShowsOn: c.ShowsOn,
		Slow: c.Slow, Way: c.Way, BootsAfter: c.BootsAfter,
	}
	if c.SelfTest != nil {
		if h.SelfTest = *c.SelfTest; h.SelfTest == 0 {
			h.SelfTest = -1
		}
	}
	return h
}

// EventDecl is something that happens from outside. Exactly one of its keys beside at, supply and node is given.
type EventDecl struct {
	At     time.Duration `yaml:"at"`     // from the start
	Supply string        `yaml:"supply"` // of mains, silent and becomes (or node), discharge, extra_load, temperature and voltage
	Mains  string        `yaml:"mains"`  // on, off
	Silent *bool         `yaml:"silent"` // the supply or the node stops or begins to answer; neither looks nor commands reach such a node
	// ExtraLoad is what a supply carries from now on beside what the nodes draw that are on, as a share of its nominal
	// power: fans that spin up when the air conditioning stops.
	ExtraLoad   *Percent `yaml:"extra_load"`
	Temperature *float64 `yaml:"temperature"`              // °C that its UPS tells from now on
	Voltage     *float64 `yaml:"voltage" check:"positive"` // of its input, as its UPS tells it from now on; 230 is nominal
	Node        string   `yaml:"node"`                     // of becomes and silent, and of an order that is about a node
	Becomes     string   `yaml:"becomes"`                  // on, off, gone: somebody else did that; of a supply: on, its output, which stays off after its cut
	Order       string   `yaml:"order"`                    // an operator's command
	Drill       []string `yaml:"drill"`                    // somebody asks for a drill of these nodes, by name or label
	Discharge   *Percent `yaml:"discharge"`                // the charge down to which somebody asks for a drill of the supply's battery
	Journal     string   `yaml:"journal"`                  // lost, back: its disk
	Clock       string   `yaml:"clock"`                    // the wall clock is set by so much: 1h, -90m
}

// Percent is a share as a file has it: "80%".
type Percent float64

// UnmarshalText reads a share from 0% to 100%.
func (p *Percent) UnmarshalText(text []byte) error {
	number, ok := strings.CutSuffix(string(text), "%")
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(v >= 0 && v <= 100) {
		return fmt.Errorf("expected a share from 0%% to 100%%, found %q", text)
	}
	*p = Percent(v)
	return nil
}

// UnmarshalText reads a fault by its name.
func (f *Fault) UnmarshalText(text []byte) error {
	return name(f, text, "fault", Faults)
}

// UnmarshalText reads a lie by its name.
func (l *Lie) UnmarshalText(text []byte) error {
	return name(l, text, "lie", Lies)
}

// UnmarshalText reads how a BMC is by its name.
func (b *BMC) UnmarshalText(text []byte) error {
	return name(b, text, "way of a BMC", BMCs)
}

func name[T ~string](to *T, text []byte, what string, known []T) error {
	names := make([]string, len(known))
	for i, k := range known {
		if names[i] = string(k); names[i] == string(text) {
			*to = k
			return nil
		}
	}
	return fmt.Errorf("%q is no %s: write one of %s", text, what, strings.Join(names, ", "))
}

// Inventory gives the members of selectors as a compiler takes them.
func (d *Document) Inventory() map[string][]plan.Member {
	inventory := map[string][]plan.Member{}
	for selector, members := range d.Members {
		list := []plan.Member{}
		for _, m := range members {
			list = append(list, plan.Member{ID: selector + ":" + m.Name, Name: m.Name, Host: m.Host, On: true})
		}
		inventory[selector] = list
	}
	return inventory
}

func (b *BatteryDecl) battery() Battery {
	out := Battery{
		Charge: 1, Runtime: b.Runtime, Recharge: b.Recharge, DiesAt: float64(b.DiesAt) / 100, Steps: float64(b.Steps) / 100,
		Says: b.Says, Slips: b.Slips, Deaf: b.Deaf,
	}
	if b.Charge != nil {
		out.Charge = float64(*b.Charge) / 100
	}
	if b.Health != nil {
		out.Health = float64(*b.Health) / 100
	}
	return out
}

// change makes the change that an event is.
func (ev *EventDecl) change() (Change, error) {
	c := Change{At: ev.At, Supply: ev.Supply, Node: ev.Node}
	given := ev.figures()
	for _, is := range []bool{ev.Silent != nil, ev.Becomes != "", ev.Order != "", len(ev.Drill) > 0, ev.Journal != "", ev.Clock != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return c, fmt.Errorf("an event is one of mains, silent, extra_load, temperature, voltage, becomes, order, drill, discharge, journal and clock; it has %d of them", given)
	}
	var err error
	switch {
	case ev.figures() > 0:
		err = ev.changeSupply(&c)
	case ev.Silent != nil:
		if c.Silent = ev.Silent; (ev.Supply == "") == (ev.Node == "") {
			err = errors.New("silent needs the supply or the node that it is about")
		}
	case ev.Becomes != "" && ev.Supply != "" && ev.Node == "":
		if c.SwitchedOn = ev.Becomes == "on"; !c.SwitchedOn {
			return c, errors.New("the output of a supply becomes on: nothing but a cut takes it off")
		}
	case ev.Becomes != "":
		states := map[string]plan.State{"on": plan.On, "off": plan.Off, "gone": plan.Gone}
		state, ok := states[ev.Becomes]
		if !ok || ev.Node == "" {
			return c, errors.New("becomes is on, off or gone, of a node, or on, of a supply")
		}
		c.Becomes = &state
	case ev.Order != "":
		verb := ledger.OrderVerb(ev.Order)
		switch verb {
		case ledger.Hold, ledger.Resume, ledger.Abort, ledger.Go, ledger.Confirm, ledger.Skip:
			c.Order = &engine.Order{Verb: verb, Node: ev.Node, By: "scenario"}
		default:
			return c, fmt.Errorf("%q is not an order: write hold, resume, abort, go, confirm or skip", ev.Order)
		}
	case len(ev.Drill) > 0:
		c.Drill = &engine.Drill{Nodes: ev.Drill, By: "scenario"}
	case ev.Journal != "":
		var lost bool
		if lost, err = oneOf("journal", ev.Journal, "lost", "back"); err == nil {
			c.Journal = &lost
		}
	default:
		var by time.Duration
		if by, err = time.ParseDuration(ev.Clock); err == nil {
			c.Clock = &by
		}
	}
	return c, err
}

// figures counts what an event says of a supply.
func (ev *EventDecl) figures() (n int) {
	for _, is := range []bool{ev.Mains != "", ev.ExtraLoad != nil, ev.Temperature != nil, ev.Voltage != nil, ev.Discharge != nil} {
		if is {
			n++
		}
	}
	return n
}

// changeSupply takes what an event says of a supply.
func (ev *EventDecl) changeSupply(c *Change) (err error) {
	switch {
	case ev.Supply == "":
		return errors.New("mains, discharge, extra_load, temperature and voltage need the supply that they are about")
	case ev.Mains != "":
		c.Mains, err = oneOf("mains", ev.Mains, "on", "off")
	case ev.ExtraLoad != nil:
		share := float64(*ev.ExtraLoad) / 100
		c.ExtraLoad = &share
	case ev.Temperature != nil:
		c.Temperature = ev.Temperature
	case ev.Voltage != nil:
		if c.Voltage = ev.Voltage; *ev.Voltage <= 0 {
			err = fmt.Errorf("a voltage is more than 0, found %v: write mains: off", *ev.Voltage)
		}
	default:
		c.Supply, c.Drill = "", &engine.Drill{Supply: ev.Supply, Floor: float64(*ev.Discharge), By: "scenario"}
	}
	return err
}

// oneOf reports whether a word is the first of two that may stand there.
func oneOf(key, word, first, second string) (bool, error) {
	if word != first && word != second {
		return false, fmt.Errorf("%s is %s or %s, found %q", key, first, second, word)
	}
	return word == first, nil
}
