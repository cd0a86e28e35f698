package book

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/english"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/report/doc"
)

var stepBoxes = []string{"time", "initials"}

func (b *book) powerDown() {
	b.chapter("Power down")
	b.add(doc.Paragraph{Text: doc.T(english.Count(len(b.down.rows), "step")+
		", in this order. “Expected” is the usual time; 19 of 20 runs finish within the time in brackets, as far as is known; after "+
		"“at most”, do what it says under “if that fails”. "+
		"Look before each step. Skip what is already off: write “was off” in its box instead of a tick, because it stays off in "+
		"“Power up”. Several people may do steps of one stage at the same time as long as every “comes after” is respected. A box with "+
		"several numbers holds identical steps: in its lines, replace ‹A›, ‹B› and so on with the values beside each step's name, and %s "+
		"with its name.", nameBlank)})
	from := len(b.doc.Blocks)
	stage, held := plan.Stage(""), map[string]bool{}
	for r, row := range b.down.rows {
		s := &b.down.plan.Steps[row.Steps[0]]
		n := b.estate.Node(s.Node)
		if s.Stage != stage || r == 0 {
			stage = s.Stage
			title, when := b.stageWords(stage)
			b.add(doc.Heading{Level: 2, Text: title, Anchor: doc.Anchor("stage", string(stage))},
				doc.Paragraph{Text: doc.T("Begins on this condition: %s.", when)})
		}
		b.holdDown(s, n, held)
		b.add(b.sorted(b.down, row, b.stepDown(r, row)))
	}
	b.alike(from)
	if t := b.dropping(); len(t.Rows) > 0 {
		b.add(doc.Paragraph{Text: doc.T("Without a step of their own, because they need no shutdown and go off with their power:")}, t)
	}
	b.add(doc.Note{Title: "Done", Text: doc.T("Everything is off. Write the time on the log pages, leave this book where the next person " +
		"will find it, and read “Power up” before mains power is back.")})
}

// stageWords name a stage and say when it begins.
func (b *book) stageWords(stage plan.Stage) (title, when string) {
	policy := &b.compiled.Policy
	switch stage {
	case plan.ProtectStage:
		return "Stage: protect", policy.Protect.String()
	case plan.ShutdownStage:
		return "Stage: shutdown", policy.Shutdown.String()
	}
	for _, s := range policy.Shed {
		if plan.Stage(s.Name) == stage {
			return "Stage: shed " + s.Name, s.When.String()
		}
	}
	return "Stage: " + string(stage), "it is its turn"
}

// holdDown puts a hold point before the first step that can't be undone, of each sort.
func (b *book) holdDown(s *plan.Step, n *plan.Node, held map[string]bool) {
	sort, text := "", ""
	switch {
	case s.Verb == plan.Cut:
		sort, text = "cut", "Everything that only this output feeds must be verified as off, or its loss accepted and written down with "+
			"a name, except for the machine from which you order the cut and the network in between: those lose their power with it. After the "+
			"cut, nobody can check any more."
	case s.Verb == plan.Stop && n.Kind == plan.Host:
		sort, text = "host", "No VM may be running on a host when it is shut down. Go through the steps above: each is ticked, or says "+
			"why not. Caches on these hosts must be flushed."
	case s.Verb == plan.Stop && n.Kind == plan.Other && n.Risk >= plan.Storage:
		sort, text = "storage", "Nothing that uses this storage may be on: every VM, host and service above must be verified as off. "+
			"Whatever still writes loses its data."
	default:
		return
	}
	if n.ByPower && !held["return"] {
		held["return"] = true
		text += " From here on, there is no way back without a power cycle: what is shut down now starts again only when its power " +
			"returns. If mains power is back by now, stop here and go to “What if”."
	}
	if !held[sort] {
		held[sort] = true
		b.add(doc.Note{Title: "Hold point", Text: doc.T("%s", text), Anchor: doc.Anchor("hold", sort)})
	}
}

func (b *book) stepDown(r int, row PlanRow) doc.Step {
	c := b.down
	s := &c.plan.Steps[row.Steps[0]]
	n := b.estate.Node(s.Node)
	hand := b.handOf(n)
	step := b.stepHead(c, r, row)
	reason := b.whyHere(s, b.usersOf(s.Node), b.estate.Needs(s.Node))
	proof := hand.Off
	if s.Verb == plan.Protect || s.Verb == plan.Flush {
		proof = hand.Clean
	}
	step.AddField(whyField, doc.T("%s", reason))
	step.AddField("by hand", b.byHand(n, s.Verb, hand)...)
	step.AddPart("verify", instructions(proof)...)
	step.AddField(takesField, doc.T("%s", b.timesOf(row, s, n)))
	step.AddPart("if that fails", b.ifNot(n, s, hand)...)
	step.AddField(notesField, doc.T("%s", n.Notes))
	return step
}

// stepHead makes what all steps have: number, title and place.
func (b *book) stepHead(c *bookPlan, r int, row PlanRow) doc.Step {
	s := &c.plan.Steps[row.Steps[0]]
	n := b.estate.Node(s.Node)
	step := doc.Step{
		Number: fmt.Sprint(r + 1), Anchor: fmt.Sprintf("%s-%d", c.mark, r+1),
		Title: doc.T("%s %s", actionByHand(n, s), row.What), Boxes: stepBoxes,
	}
	if c.mark == "up" {
		step.Number = "U" + step.Number
	}
	where := doc.Filled(n.Type, n.Rack)
	if d := b.declOf(n); d != nil && d.Via != "" {
		if at := b.Runbook.EndpointOf(&b.Schema, d.Via); at.Address != "" {
			where = append(where, "through "+d.Via+" at "+at.Address)
		}
	}
	if supply := b.supplies[n.ID]; supply != nil {
		where = append(where, supply.NUT())
	}
	if len(n.FedBy) > 0 {
		where = append(where, "fed by "+strings.Join(n.FedBy, " and "))
	}
	if n.Host != "" && len(row.Steps) == 1 {
		where = append(where, "runs on "+n.Host)
	}
	step.AddField(whereField, doc.T("%s", strings.Join(where, "; ")))
	if len(row.Steps) > 1 {
		step.AddField("which", b.which(n, row))
	}
	return step
}

// actionByHand is Action to somebody who is to do it.
func actionByHand(n *plan.Node, s *plan.Step) string {
	switch {
	case n.Kind == plan.Manual && s.Verb == plan.Stop:
		return "do by hand:"
	case n.Kind == plan.Manual:
		return "undo what was done by hand:"
	}
	return Action(n, s)
}

// which says what a folded line stands for.
func (b *book) which(n *plan.Node, row PlanRow) doc.Text {
	name := b.folds[n.ID]
	at := doc.Anchor("appendix", name)
	if n.Group != "" {
		return doc.Join(doc.T("%d, as the runbook expects; how they are found: ", len(row.Steps)), doc.Ref("appendix", at))
	}
	return doc.Join(doc.T("%d alike, on %s; their names: ", len(row.Steps), strings.Join(b.hostsOf(name), ", ")), doc.Ref("appendix", at))
}

func (b *book) hostsOf(name string) []string {
	var hosts []string
	for _, id := range b.members[name] {
		i, _ := b.estate.Index(id) // it was found there
		if host := b.estate.Node(i).Host; host != "" && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return hosts
}

// whyHere says why a step of a down plan stands where it stands.
func (b *book) whyHere(s *plan.Step, users, needs []int) string {
	switch {
	case b.estate.Node(s.Node).Kind == plan.Self:
		return "Last of all: it goes down when everything else is down and the cut of what feeds it has been ordered, within the delay " +
			"of that cut."
	case s.Verb == plan.Protect && b.estate.Node(s.Node).Kind == plan.Cluster:
		return "First of its stage, and reversible: left alone, it would restart elsewhere what is shut down here, or migrate it: " +
			english.List(b.namesOf(users), 12) + "."
	case s.Verb == plan.Protect:
		return "First of all, and reversible: from then on, a dead battery loses no acknowledged write."
	case s.Verb == plan.Cut:
		users = slices.DeleteFunc(slices.Clone(users), func(i int) bool {
			kind := b.estate.Node(i).Kind
			return kind == plan.Self || kind == plan.Passive
		})
		return "Last: comes after everything it feeds that is shut down: " + english.List(b.namesOf(users), 12) + "."
	}
	var parts []string
	if names := b.namesOf(users); len(names) > 0 {
		use := "use"
		if len(names) == 1 {
			use = "uses"
		}
		parts = append(parts, "comes after "+english.Series(names, 12)+", which "+use+" it")
	} else {
		parts = append(parts, "nothing uses it: it is among the first of its stage")
	}
	needs = slices.DeleteFunc(slices.Clone(needs), func(i int) bool { return b.estate.Node(i).Kind == plan.Supply })
	if names := b.namesOf(needs); len(names) > 0 {
		parts = append(parts, "before "+english.Series(names, 12)+", which it uses")
	}
	text := strings.Join(parts, "; ") + "."
	return strings.ToUpper(text[:1]) + text[1:]
}

// byHand says how a verb is done by hand.
func (b *book) byHand(n *plan.Node, v plan.Verb, hand manual.Procedure) []doc.Text {
	if lines := instructions(hand.Do[v]); len(lines) > 0 {
		return lines
	}
	switch {
	case n.Kind == plan.Manual && n.Notes != "":
		return []doc.Text{doc.T("As the notes below say.")}
	case v == plan.Start && n.ByPower:
		return []doc.Text{doc.T("It starts when its power returns. If it does not, press its power button.")}
	default:
		return []doc.Text{doc.T("The runbook does not say how. Write in how it is done here: ______________________________________")}
	}
}

// oneLine is how many letters fit a line of a step, what is said and what is typed together.
const oneLine = 84

func instructions(all []manual.Instruction) []doc.Text {
	var lines []doc.Text
	for _, in := range all {
		switch {
		case in.Type == "":
			lines = append(lines, doc.T("%s", in.Say))
		case in.Say == "":
			lines = append(lines, doc.Verbatim(in.Type))
		default:
			between := "\n" // a line of its own is easier to type off
			if len(in.Say)+len(in.Type) <= oneLine && !strings.Contains(in.Type, "\n") {
				between = " "
			}
			lines = append(lines, doc.Join(doc.T("%s%s", in.Say, between), doc.Verbatim(in.Type)))
		}
	}
	return lines
}

// timesOf says how long a line takes.
func (b *book) timesOf(row PlanRow, s *plan.Step, n *plan.Node) string {
	each := ""
	if len(row.Steps) > 1 {
		each = " each"
	}
	took := b.known.Of(n, s.Verb)
	text := fmt.Sprintf("expected %s%s, at most %s", Brief(took.Median), each, Brief(s.Times.Within))
	if p95 := took.Quantile(0.95); p95 > took.Median && p95 < s.Times.Within {
		text += fmt.Sprintf(" (19 of 20 within %s)", Brief(p95))
	}
	if len(row.Steps) > 1 {
		text += fmt.Sprintf("; all of them in about %s the way Ebbtide does it, several at once", Brief(row.End-row.Start))
	}
	if row.Start < time.Second {
		return text
	}
	return fmt.Sprintf("%s; begins about %s after the start", text, Brief(row.Start))
}

// ifNot says what to do when a step does not come to its end.
func (b *book) ifNot(n *plan.Node, s *plan.Step, hand manual.Procedure) []doc.Text {
	after := "After " + Brief(s.Times.Within) + ": "
	switch {
	case s.Verb == plan.Stop && n.Kind == plan.Manual:
		return []doc.Text{doc.T("%sskip it, and write that down.", after)}
	case s.Verb == plan.Stop && n.Kind == plan.Self:
		return []doc.Text{doc.T("Leave it: its output goes off after its delay, and its journal is on disk.")}
	case s.Verb == plan.Stop && n.Can.Has(plan.Force):
		lines := instructions(hand.Do[plan.Force])
		if len(lines) == 0 {
			return []doc.Text{doc.T("%spower it off with its power button.", after)}
		}
		return append([]doc.Text{doc.T("%spower it off, and write down why. Whatever it had not written to disk is lost.", after)},
			lines...)
	case s.Verb == plan.Stop && n.Kind == plan.VM:
		return []doc.Text{doc.T("%sleave it: it goes off with its host. Write that down.", after)}
	case s.Verb == plan.Stop:
		return []doc.Text{doc.T("Do not force it off: what it holds is worth more than the wait. %scall whoever is responsible for it, "+
			"and continue with what does not depend on it. If the battery runs out first, it loses power as it is.", after)}
	case s.Verb == plan.Flush:
		return []doc.Text{doc.T("Wait: what is in it exists nowhere else. Do not stop what it writes to. %scall whoever is responsible for it.", after)}
	case s.Verb == plan.Protect && n.Kind == plan.Cluster:
		return []doc.Text{doc.T("%scontinue, and check again what was shut down: whatever is on again must be shut down on its host.",
			after)}
	case s.Verb == plan.Protect:
		return []doc.Text{doc.T("%scontinue, and flush it with all the more care.", after)}
	case s.Verb == plan.Cut:
		return []doc.Text{doc.T("Order it again. If it does not cut, leave it: the battery runs empty, and its output comes back with " +
			"mains power.")}
	default:
		return []doc.Text{doc.T("%sreport it to whoever is responsible for it, and continue with what does not need it.", after)}
	}
}

// dropping lists what has no step and drops with its power.
func (b *book) dropping() doc.Table {
	t := doc.Table{Columns: []doc.Column{
		{Title: "what", Weight: 1.2},
		{Title: "where"},
		{Title: "fed by", Weight: 1.2},
		{Title: "notes", Weight: 4},
	}}
	for i := range b.estate.Len() {
		n := b.estate.Node(i)
		if n.Kind != plan.Supply && !b.isJunction(n) && n.Kind != plan.Cluster && !n.Can.Has(plan.Stop) && !n.Can.Has(plan.Flush) {
			t.Rows = append(t.Rows, doc.Row{
				Anchor: "drops-" + doc.Anchor(n.ID),
				Cells: []doc.Text{
					doc.Bold("%s", n.ID), doc.T("%s", n.Rack), doc.T("%s", strings.Join(n.FedBy, ", ")),
					doc.T("%s", n.Notes),
				},
			})
		}
	}
	return t
}
