package referee

import (
	"fmt"
	"slices"
	"time"

	"ebbtide/internal/plan"
)

// Command is a command at the moment at which it is given.
type Command struct {
	Node     int
	Verb     plan.Verb
	Op       uint64 // of the intent that it carries out; 0: the source does not see that
	Settings string // of Unprotect: what is put back
}

// command is a command that is judged.
type command struct {
	Command
	at   time.Time
	decl *plan.Node
	node *node
}

// stops reports whether it takes its node down.
func (c *command) stops() bool { return c.Verb == plan.Stop || c.Verb == plan.Force }

// ofCommands are the rules that speak of commands, in the order in which they are asked, with what a source must see. Each
// tells what breaks it, and "" if nothing does.
var ofCommands = [...]struct {
	rule   int
	needs  Sight
	breaks func(*Referee, *command) string
}{
	{7, Records, (*Referee).rule7},
	{13, Records, (*Referee).rule13},
	{4, 0, (*Referee).rule4},
	{6, Moves, (*Referee).rule6},
	{5, 0, (*Referee).rule5},
	{15, 0, (*Referee).rule15},
	{21, 0, (*Referee).rule21},
	{18, Records, (*Referee).rule18},
	{1, 0, (*Referee).rule1},
	{2, 0, (*Referee).rule2},
	{3, 0, (*Referee).rule3},
	{10, 0, (*Referee).rule10},
	{12, 0, (*Referee).rule12},
	{12, 0, (*Referee).rule12PutBack},
}

// Commanded takes a command at the moment at which it is given.
func (r *Referee) Commanded(at time.Time, given Command) {
	c := &command{Command: given, at: at, decl: r.estate.Node(given.Node), node: &r.nodes[given.Node]}
	if !r.has(Records) { // then a command is its own announcement
		r.intend(at, c.Node, intent{verb: c.Verb})
		r.protectionTold(c.Node, c.Verb)
	}
	for i := range ofCommands {
		rule := &ofCommands[i]
		if !r.has(rule.needs) || r.forgetful && restsOnRecords(rule.rule) {
			continue
		}
		if text := rule.breaks(r, c); text != "" {
			r.violate(at, rule.rule, text)
		}
	}
	c.node.intent.sent = true
	c.node.commanded |= plan.VerbSet(c.Verb)
	switch {
	case c.stops():
		c.node.toldBefore, c.node.toldToStop = c.node.toldToStop, c.node.toldToStop || r.mayGo(c.Node)
		c.node.mute, c.node.toldAtBefore, c.node.toldAt, c.node.toldBy = true, c.node.toldAt, at, c.Verb
		if c.Verb == plan.Stop {
			c.node.stopAt = at
		}
	case c.Verb == plan.Start:
		c.node.commanded &^= plan.VerbSet(plan.Stop, plan.Force)
		c.node.rousedBefore, c.node.roused, c.node.started = c.node.roused, at, at
	case c.Verb == plan.Protect:
		c.node.deniedBefore, c.node.denied = c.node.denied, false
	case c.Verb == plan.Cut:
		r.cutGiven(at, c.Node)
	}
}

// violate notes what broke a rule, unless that can't be asked any more.
func (r *Referee) violate(at time.Time, rule int, text string) {
	if r.forgetful && restsOnRecords(rule) {
		return
	}
	r.Broken(at, fmt.Sprintf("%d: %s", rule, text))
}

// restsOnRecords tells of the rules that rest on what was recorded before.
func restsOnRecords(rule int) bool {
	switch rule {
	case 4, 9, 10, 18, 20, 21:
		return true
	default:
		return false
	}
}

// usersOf lists what uses a node and can itself be stopped. Nodes that have no stop of their own are looked through.
func (r *Referee) usersOf(i int) []int {
	if r.users[i] != nil {
		return r.users[i]
	}
	users := []int{}
	seen := map[int]bool{}
	queue := append([]int(nil), r.estate.Users(i)...)
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		if seen[u] {
			continue
		}
		seen[u] = true
		switch n := r.estate.Node(u); {
		case n.Kind == plan.Self, n.Kind == plan.Manual, n.Kind == plan.Supply:
		case n.Can.Has(plan.Stop):
			users = append(users, u)
		default:
			queue = append(queue, r.estate.Users(u)...)
		}
	}
	r.users[i] = users
	return users
}

// intent is a node's last intent on record.
type intent struct {
	verb     plan.Verb
	op       uint64
	at       time.Time
	life     int
	again    bool // it is not the first attempt
	reasoned bool // it says why there was no other way
	pressed  bool // which was that time was short
	yields   bool // one of lower risk was on its way down
	sent     bool // its command was given
}

// intend takes an intent. What was given up of the opposite way is of another round.
func (r *Referee) intend(at time.Time, i int, in intent) {
	n := &r.nodes[i]
	r.flights.again[i] = r.flights.at[i] >= 0
	r.fly(i, true)
	in.at, in.life = at, r.life
	in.yields = slices.ContainsFunc(r.flights.nodes, func(j int) bool {
		return r.nodes[j].intent.verb == plan.Stop && r.estate.Node(j).Risk < r.estate.Node(i).Risk
	})
	n.intent = in
	switch in.verb {
	case plan.Start:
		n.failed &^= plan.VerbSet(plan.Stop, plan.Force)
	case plan.Stop, plan.Force:
		n.failed &^= plan.VerbSet(plan.Start)
	case plan.Unprotect:
		n.failed &^= plan.VerbSet(plan.Protect, plan.Flush)
	case plan.Protect:
		n.failed &^= plan.VerbSet(plan.Unprotect)
	case plan.Flush, plan.Cut, plan.Discharge, plan.EndDischarge:
	}
}
