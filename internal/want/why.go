package want

import (
	"cmp"
	"strings"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// Why says what a step waits for, as a value. The status, the log and the paper show its Text: nothing else invents an
// explanation.
type Why struct {
	Code  WhyCode
	Until time.Time // of a pause
	Node  int       // the node or the supply that it waits for, -1: none
	verb  plan.Verb // of a step that was given up
	stage int
	step  int // that waits for others, and one more; 0: none
}

// WhyCode sorts what a step may wait for.
type WhyCode uint8

// What a step waits for. Each is a node, a supply, a person or a time.
const (
	NothingElse   WhyCode = iota // its turn has come
	NothingToDo                  // it is so already, or it is no concern of this outage
	UnderWay                     // the node has a step under way
	PersonAsked                  // a person
	NotInSnapshot                // the snapshot is being made
	NotLooked                    // the node is being asked
	Pausing                      // a time
	GivenUp                      // a person
	WasAborted                   // a person
	OnHold                       // a person
	StageNotBegun                // the triggers of the stage
	SupplyUnheard                // a supply's first word since Ebbtide began
	MaybeBack                    // a supply that is on line again
	DrillUnfit                   // all supplies to be well
	SupplySilent                 // a supply
	SupplyUnfit                  // a supply
	CutUseless                   // nothing: the output stays on
	OthersFirst                  // nodes before it
	NotProven                    // a person: what comes before it was given up
	PowerLost                    // a supply
	CycleOwed                    // its outputs to go off and come on again: Ebbtide has no other way to start it
	CutTogether                  // what hangs on another output, which is cut together with this one
	MaybeRising                  // a time
	NoAnswer                     // the node
	MaybeCut                     // what came of a cut from before a crash
	GateShut                     // a supply's recharge gate
	NoJournal                    // the journal's disk
	WhyCodes
)

// Person reports whether it is a person that is waited for.
func (c WhyCode) Person() bool {
	return c == PersonAsked || c == GivenUp || c == WasAborted || c == OnHold || c == NotProven
}

// whyTexts say each in words; {} is what it is about. What has none is nothing to wait for.
var whyTexts = [WhyCodes]string{
	NothingElse:   "next in line under the limit for {}",
	NotInSnapshot: "waiting for the snapshot of what is on",
	NotLooked:     "waiting for an answer from {}",
	Pausing:       "trying again in {}",
	GivenUp:       "given up: {} was not proven; manual action needed",
	WasAborted:    "aborted by an operator",
	OnHold:        "the outage is on hold",
	StageNotBegun: "waiting for stage {}",
	SupplyUnheard: "waiting to hear from {}",
	MaybeBack:     "waiting to see whether the power is back",
	DrillUnfit:    "waiting for every supply to be healthy",
	SupplySilent:  "waiting to hear from {}, which accepts no commands while it is silent",
	SupplyUnfit:   "waiting for {}, which is " + belief.Unfit.String(),
	OthersFirst:   "waiting for {}",
	NotProven:     "blocked: a step of {} was given up; manual action needed unless it settles on its own",
	PowerLost:     "waiting for power: {}",
	CycleOwed:     "waiting for a power cycle of {}: nothing else starts this node",
	CutTogether:   "waiting for {}, which is fed by another output that is cut at the same time",
	MaybeRising:   "it may be starting up: no commands are sent to it for up to {} more",
	NoAnswer:      "no answer; trying again",
	MaybeCut:      "waiting to see whether it was cut while Ebbtide was not running",
	GateShut:      "waiting for {}",
	NoJournal:     "waiting for the journal: nothing is started without it",
}

// whyObserved are those that would read as if there were something to do.
var whyObserved = [WhyCodes]string{
	GivenUp:   "given up: {} would not have been proven",
	PowerLost: "would wait for power: {}",
	CycleOwed: "would wait for a power cycle of {}: nothing else starts this node",
	NotProven: "would be blocked: a step of {} would have been given up",
}

// Text says it in words.
func (e *Wants) Text(w Why) string {
	about := ""
	if w.Node >= 0 && w.Node < len(e.Beliefs) {
		about = e.ID(w.Node)
	}
	switch w.Code {
	case NothingElse:
		about = e.Graph.Node(w.Node).Type
	case Pausing, MaybeRising:
		about = english.Span(max(0, w.Until.Sub(e.Now)).Round(time.Second))
	case GivenUp:
		about = w.verb.String() + " " + about
	case OthersFirst:
		about += e.andOthers(w.step - 1)
	case StageNotBegun:
		about = string(e.Ledger.Stages[w.stage])
	case PowerLost:
		about = e.whyDark(w.Node)
	case CycleOwed:
		about = e.FeedsOf(w.Node)
	case GateShut:
		about = e.GateText(w.Node)
	default:
	}
	text := whyTexts[w.Code]
	if e.Observes {
		text = cmp.Or(whyObserved[w.Code], text)
	}
	return strings.Replace(text, "{}", about, 1)
}

// FeedsOf names the supplies that feed a node.
func (e *Wants) FeedsOf(i int) string {
	var ids []string
	for _, f := range e.Graph.Sources(i) {
		ids = append(ids, e.ID(f))
	}
	return english.Series(ids, len(ids))
}

// WhyDown says why a node can't be brought up now.
func (e *Wants) WhyDown(i int) string {
	if e.JournalLost {
		return e.Text(Why{Code: NoJournal, Node: i})
	}
	return e.Text(Why{Code: GateShut, Node: e.UnfedBy(i)})
}

// whyDark names the supplies whose power a node waits for.
func (e *Wants) whyDark(i int) string {
	for _, d := range e.Graph.Needs(i) {
		if !e.Ledger.Outage.Lost[d] {
			continue
		}
		if k := e.Ledger.SupplyOf[d]; k >= 0 {
			return e.ID(d) + " " + e.isHow(k)
		}
		return e.whyDark(d)
	}
	if k := e.Ledger.SupplyOf[i]; k >= 0 {
		return e.ID(i) + " " + e.isHow(k)
	}
	return e.ID(i)
}

// isHow says how a supply is. What is only observed has not gone off.
func (e *Wants) isHow(k int) string {
	c, online := e.Supplies[k].Condition, e.Supplies[k].State.Mains == power.MainsOnline
	switch {
	case e.Observes && c == belief.ToBeCut:
		return "would have to be cut"
	case e.Observes && (c == belief.CutArmed || c == belief.Dark):
		return "would be " + c.String()
	case c == belief.Dark && e.Supplies[k].StaysOff:
		return "is off and stays off until a person switches it on"
	case c == belief.Dark && online:
		return "is off and comes back on by itself"
	case c == belief.Dark:
		return "is off and comes back on when mains power returns"
	}
	return "is " + c.String()
}

// whose begins what is said of a supply: it is its output that is off.
func (e *Wants) whose(k int) string {
	if e.Supplies[k].Condition == belief.Dark && !e.Observes {
		return ", whose output "
	}
	return ", which "
}

// GateText says what the gate of a supply waits for.
func (e *Wants) GateText(supply int) string {
	if supply < 0 {
		return "power"
	}
	k := e.Ledger.SupplyOf[supply]
	if k < 0 {
		return e.ID(supply)
	}
	s := &e.Supplies[k]
	switch {
	case s.Condition != belief.Charging:
		return e.ID(supply) + e.whose(k) + e.isHow(k)
	case s.Sags:
		return e.ID(supply) + ", which is browned out"
	case s.State.Bypass:
		return e.ID(supply) + ", which is on bypass: its battery protects nothing"
	case s.State.Overload:
		return e.ID(supply) + ", which is overloaded"
	}
	wanted := e.Policy.Restore.Missing(power.Facts{State: s.State})
	if wanted == "" { // all but what is not known here
		wanted = e.Policy.Restore.String()
	}
	return "the recharge gate of " + e.ID(supply) + ": " + wanted
}
