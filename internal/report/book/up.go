package book

import (
	"fmt"
	"slices"

	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/report/doc"
)

func (b *book) powerUp() {
	b.chapter("Power up")
	b.add(
		doc.Paragraph{Text: doc.Join(doc.T("The same in reverse: what is needed starts before what needs it, and nothing starts until "+
			"what it needs is verified as healthy. Start only what was on before: the ticked steps of “Power down” tell you. "+
			"At a machine where you have not typed anything yet, begin with "),
			doc.Ref("what comes before the first line", beforeTyping), doc.T("."))},
		doc.Note{Title: "Hold point: the gate", Anchor: "hold-gate", Text: b.gate()},
	)
	from := len(b.doc.Blocks)
	for r, row := range b.up.rows {
		s := &b.up.plan.Steps[row.Steps[0]]
		n := b.estate.Node(s.Node)
		hand := b.handOf(n)
		step := b.stepHead(b.up, r, row)
		step.AddField(firstField, b.neededFirst(row, s))
		step.AddField("by hand", b.byHand(n, s.Verb, hand)...)
		proof := hand.On
		if s.Verb == plan.Unprotect {
			proof = hand.Back
		}
		step.AddPart("verify", instructions(proof)...)
		step.AddField(takesField, doc.T("%s", b.timesOf(row, s, n)))
		step.AddPart("if that fails", b.ifNotUp(n, s)...)
		step.AddField(notesField, doc.T("%s", n.Notes))
		b.add(b.sorted(b.up, row, step))
	}
	b.alike(from)
	b.add(doc.Note{Title: "Done", Text: doc.T("Compare with what was on before, inform those who were told of the outage, and allow an " +
		"hour for what only users notice. Caches set to write-through and clusters suspended for the shutdown are back to normal once " +
		"their step is ticked. If Ebbtide was off or stopped meanwhile, continue with “The controller (the machine with Ebbtide) is " +
		"dead” in “What if” before it is started.")})
}

// gate says when the way up may begin, and how that is seen without Ebbtide.
func (b *book) gate() doc.Text {
	gate := b.compiled.Policy.Restore
	text := doc.T("Do not begin before this holds: %s. A battery that is not recharged can't carry a second failure: everything would lose "+
		"power at once. "+
		"By hand: mains back and steady, no flicker, and each UPS that was cut or on battery says so, on its display or by ups.status "+
		"(OL) and battery.charge in what this shows: ", gate)
	asks := b.asks()
	for i, ask := range asks[:min(len(asks), mostAsked)] {
		if i > 0 {
			text = append(text, doc.Span{Text: "; "})
		}
		text = append(text, doc.Span{Text: ask, Style: doc.Code})
	}
	if len(asks) > mostAsked {
		text = append(text, doc.Span{Text: fmt.Sprintf(", and likewise for the other %d", len(asks)-mostAsked)})
	}
	text = append(text, doc.Span{Text: "."})
	if slices.Contains(gate.Needs(), power.RechargedFor) {
		text = append(text, doc.T(" A battery is recharged for another shutdown when it is full, or shows at least a fifth more than this sum: what the power-up "+
			"itself needs, and what “The last safe time” has for step 1.")...)
	}
	return text
}

// mostAsked is how many UPSes' lines the gate has.
const mostAsked = 6

// neededFirst says what must be so before a step of the way up begins.
func (b *book) neededFirst(row PlanRow, s *plan.Step) doc.Text {
	if s.Verb == plan.Unprotect {
		return doc.T("The gate is open; no earlier step is outstanding; what it needs is up: %s",
			english.List(b.namesOf(b.estate.Needs(s.Node)), 12))
	}
	names := b.namesOf(b.estate.Needs(s.Node))
	if len(names) == 0 {
		return doc.T("Nothing: it is the first.")
	}
	text := doc.T("%s", english.List(names, 12))
	if n := b.estate.Node(s.Node); len(row.Steps) == 1 && n.Can.Has(plan.Start) && !n.ByPower {
		if r := b.stopOf(s.Node); r >= 0 {
			text = append(text, doc.Span{Text: "; and it must have been on: "},
				doc.Span{Text: fmt.Sprintf("step %d", r+1), Link: fmt.Sprintf("down-%d", r+1)}, doc.Span{Text: " is ticked"})
		}
	}
	return text
}

// stopOf is the line of the power-down that stops a node, -1 if none does.
func (b *book) stopOf(node int) int {
	for i := range b.down.plan.Steps {
		if s := &b.down.plan.Steps[i]; s.Node == node && s.Verb == plan.Stop {
			return b.down.of[i]
		}
	}
	return -1
}

func (b *book) ifNotUp(n *plan.Node, s *plan.Step) []doc.Text {
	after := "After " + Brief(s.Times.Within) + ": "
	switch {
	case s.Verb == plan.Unprotect && n.Kind == plan.Cluster:
		return []doc.Text{doc.T("Report it: until it is put back, nothing restarts automatically if it fails.")}
	case s.Verb == plan.Unprotect && n.Kind == plan.Host:
		return []doc.Text{doc.T("Report it: until then nothing runs on it.")}
	case s.Verb == plan.Unprotect:
		return []doc.Text{doc.T("Leave it in write-through: slower, but safe. Report it.")}
	case n.Kind == plan.Manual:
		return []doc.Text{doc.T("%sskip it, and write that down.", after)}
	case n.Kind == plan.Supply:
		return []doc.Text{doc.T("%slook at its display, press its on button, and call whoever is responsible for it. Nothing that only "+
			"it feeds can start.", after)}
	case n.Can.Has(plan.Start):
		again := ""
		if n.Attempts > 1 {
			again = "try again, up to " + english.Count(n.Attempts, "attempt") + " in all; then "
		}
		return []doc.Text{doc.T("%s%sreport it. What needs it stays off: do not start it.", after, again)}
	default:
		return []doc.Text{doc.T("%spress its power button; then report it. What needs it stays off: do not start it.", after)}
	}
}
