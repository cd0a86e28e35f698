package retrospect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/effect"
	"ebbtide/internal/english"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Moment is a line of the timeline. What many members of a selector did alike is one.
type Moment struct {
	At    time.Time   `json:"at"`
	Until time.Time   `json:"until,omitzero"` // of the last, where there are many
	Kind  ledger.Kind `json:"kind"`
	Count int         `json:"count"`
	Text  string      `json:"text"`
}

// alike is from how many on the members of a selector share a moment.
const alike = 4

// moments tells what happened, in the order of time.
func (f *fold) moments() {
	var done []ledger.Record // steps that were proven or forced, since something else happened
	var texts []string
	flush := func() {
		f.stepMoments(done, texts)
		done, texts = nil, nil
	}
	for i := range f.records {
		r := f.records[i]
		f.story.Add(r)
		text := f.story.Phrase(&r)
		switch r.Kind {
		case ledger.Asked:
			text += ", by hand"
		case ledger.Snapshot:
			text = fmt.Sprintf("%ssnapshot: %s on, %s brought back later", f.would("", effect.Observing),
				english.Count(f.on(r.Nodes), "node"), f.would("to be", "would be"))
		case ledger.Triggered:
			text = fmt.Sprintf("%sstage %s for %s%s: %s", f.would("", effect.Observing), r.Stage, english.Series(r.Supplies, named),
				f.would("", " would start"), r.Reason)
		default:
		}
		switch {
		case text == "":
			continue
		case r.Kind == ledger.Proven || r.Kind == ledger.Intent:
			done, texts = append(done, r), append(texts, text)
		default:
			flush()
			f.Timeline = append(f.Timeline, Moment{At: r.At, Kind: r.Kind, Count: 1, Text: text})
		}
		if r.Numbers != nil || r.Discharge != nil || r.Kind == ledger.Gap {
			f.told = append(f.told, r)
		}
	}
	flush()
}

// stepMoments tells of steps without anything else in between.
func (f *fold) stepMoments(records []ledger.Record, texts []string) {
	type like struct {
		group, forced string
		kind          ledger.Kind
		verb          plan.Verb
	}
	of := func(r *ledger.Record) like {
		k := like{group: f.group(r.Node), kind: r.Kind, verb: *r.Verb}
		if r.Kind == ledger.Intent {
			k.forced = r.Reason
		}
		return k
	}
	members := map[like][]int{}
	for i := range records {
		members[of(&records[i])] = append(members[of(&records[i])], i)
	}
	for i := range records {
		k := of(&records[i])
		all := members[k]
		switch {
		case k.group == "" || len(all) < alike:
			f.Timeline = append(f.Timeline, Moment{At: records[i].At, Kind: k.kind, Count: 1, Text: texts[i]})
		case all[0] == i:
			m := Moment{At: records[i].At, Until: records[all[len(all)-1]].At, Kind: k.kind, Count: len(all)}
			m.Text = fmt.Sprintf("%s %s proven for %d members of %s, the last at %s", k.verb, f.would("is", "would be"), len(all),
				k.group, f.clock(m.Until))
			if k.kind == ledger.Intent {
				m.Text = fmt.Sprintf("%s %d members of %s, the last at %s: %s", f.would("powering off", "would power off"), len(all), k.group,
					f.clock(m.Until), k.forced)
			}
			m.Text = f.would("", effect.Observing) + m.Text
			f.Timeline = append(f.Timeline, m)
		}
	}
}

// Decision is one that Ebbtide or an operator took.
type Decision struct {
	At      time.Time       `json:"at"`
	Kind    ledger.Kind     `json:"kind"`
	What    string          `json:"what"`
	Text    string          `json:"text"` // why, in a sentence
	Numbers *ledger.Numbers `json:"numbers,omitempty"`

	reason string
	stages []string // that start
	of     string   // whose power fails for them
	nodes  []string // that are forced
	until  time.Time
}

// together is within what nodes that are forced for the same reason are forced by one decision.
const together = 10 * time.Second

// decisions tells what was decided, and from what.
func (f *fold) decisions() {
	for i := range f.records {
		r := &f.records[i]
		d := Decision{At: r.At, Kind: r.Kind, Numbers: r.Numbers, reason: r.Reason}
		switch {
		case r.Kind == ledger.Intent && (*r.Verb == plan.Force || *r.Verb == plan.Cut && r.Reason != ""):
			if f.joinsLast(r) {
				continue
			}
			d.nodes, d.until, d.Text = []string{r.Node}, r.At, because(f.forcedFor(r), "")
		case !f.decides(r, &d):
			continue
		}
		f.Decisions = append(f.Decisions, d)
	}
	for i := range f.Decisions {
		d := &f.Decisions[i]
		d.Text = f.would("", effect.Observing) + d.Text
		if d.nodes != nil {
			d.What = f.forcedWhat(d)
		}
	}
}

// decides says what a record decided, of what is not forced, and reports whether it decided anything.
func (f *fold) decides(r *ledger.Record, d *Decision) bool {
	of := english.Series(r.Supplies, named)
	switch {
	case r.Kind == ledger.Triggered:
		d.stages, d.of = []string{string(r.Stage)}, of
		d.What = fmt.Sprintf("stage %s for %s %s", r.Stage, of, f.would("starts", "would have started"))
		d.Text = because(r.Reason, f.reckoning(r.Numbers, plan.Down))
	case r.Kind == ledger.Turned:
		d.What = f.would("power-", "would have begun the power-") + string(r.Goal)
		d.Text = because(r.Reason, f.reckoning(r.Numbers, r.Goal))
	case r.Kind == ledger.Forbidden:
		d.What = "nothing " + f.would("is", "would have been") + " sent, because of a bug in Ebbtide"
		if r.Verb != nil {
			d.What = fmt.Sprintf("%s %s %s sent, because of a bug in Ebbtide", r.Verb, r.Node, f.would("is not", "would not have been"))
		}
		d.Text = because(r.Reason, "") + " Please report it."
	case r.Kind == ledger.Mains && r.Cause == ledger.Released:
		d.What, d.Text = "the output of "+of+f.would(" is not cut", " would not have been cut"), because(r.Reason, "")
	case r.Kind == ledger.NoReturn && r.Cause == ledger.AfterAll:
		d.What = "the output of " + of + f.would(" is to be cut after all", " would have been cut after all")
		d.Text = fmt.Sprintf("Only the return of its power starts %s: %s.", r.Node, r.Reason)
	case r.Kind == ledger.NoReturn:
		d.What = "the point of no return " + f.would("has been passed", "would have been passed")
		d.Text = fmt.Sprintf(f.would("From here on, the shutdown is carried through to the end even if mains power returns; the output of %s is to be cut.",
			"From here on, the shutdown would have been carried through to the end, and the output of %s cut, even if mains power had returned."), of)
	case r.Kind == ledger.Ordered:
		d.What, d.Text = strings.TrimSpace(string(r.Order)+" "+r.Node), "Ordered by "+r.By+"."
		if r.Reason != "" {
			d.Text = "Ordered by " + r.By + ", and refused: " + r.Reason + "."
		}
	default:
		return false
	}
	return true
}

// joinsLast adds what is forced to the last decision, if that was for the same reason a moment ago, and reports whether it was.
func (f *fold) joinsLast(r *ledger.Record) bool {
	n := len(f.Decisions)
	if n == 0 {
		return false
	}
	last := &f.Decisions[n-1]
	if last.nodes == nil || last.reason != r.Reason || r.At.Sub(last.until) >= together {
		return false
	}
	last.nodes, last.until = append(last.nodes, r.Node), r.At
	return true
}

// forcedWhat says what was forced by a decision.
func (f *fold) forcedWhat(d *Decision) string {
	what := f.would("", "would have ") + f.would("power off ", "powered off ") + english.Series(d.nodes, named) + " by force"
	if slices.ContainsFunc(d.nodes, f.isSupply) {
		what = f.would("", "would have ") + "cut the output of " + english.Series(d.nodes, named) + " without proof that all is off"
	}
	if d.until.Sub(d.At) >= time.Second {
		what += ", until " + f.clock(d.until)
	}
	return what
}

// forcedFor says why something is forced.
func (f *fold) forcedFor(r *ledger.Record) string {
	told := f.would("told to stop", "it would have been told to stop")
	switch r.Cause {
	case ledger.Overtime:
		return told + ", but " + r.Reason
	case ledger.Denied:
		return told + ", which was " + r.Reason
	default:
		return r.Reason
	}
}

// isOn reports whether a node is on, or on its way up. A supply is none.
func (f *fold) isOn(n ledger.NodeState) bool {
	return (n.State == plan.On || n.State == plan.Starting) && !f.isSupply(n.Node)
}

// on counts what is on, supplies apart.
func (f *fold) on(nodes []ledger.NodeState) int {
	n := 0
	for _, s := range nodes {
		if f.isOn(s) {
			n++
		}
	}
	return n
}

// because makes sentences of a reason and the numbers behind it.
func because(reason, numbers string) string {
	if reason != "" { // which may begin with a name, so that its first letter stays
		reason += "."
	}
	return strings.TrimSpace(reason + " " + sentence(numbers))
}

// Nearest is where the outage came nearest to the end of a battery.
type Nearest struct {
	At    time.Time `json:"at"`
	Slack float64   `json:"slack"` // negative: it was too late already
	What  string    `json:"what"`  // the stage that it was reckoned for
}

// nearest finds the least slack on record, on the way down.
func (f *fold) nearest() *Nearest {
	var least *Nearest
	for i := range f.Decisions {
		d := &f.Decisions[i]
		if d.Kind != ledger.Triggered || d.Numbers == nil || d.Numbers.Slack == nil {
			continue
		}
		if least == nil || *d.Numbers.Slack < least.Slack {
			least = &Nearest{At: d.At, Slack: *d.Numbers.Slack, What: fmt.Sprintf("stage %s for %s", d.stages[0], d.of)}
		}
	}
	return least
}
