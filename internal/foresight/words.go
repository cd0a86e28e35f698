package foresight

import (
	"fmt"
	"strings"

	"ebbtide/internal/belief"
	"ebbtide/internal/english"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// Deadline is when a stage has to start at the latest.
type Deadline struct {
	Stage   plan.Stage   `json:"stage"`
	Started bool         `json:"started,omitempty"`
	Need    float64      `json:"need"`  // seconds that it and all after it take, pessimistically
	Start   power.Figure `json:"start"` // seconds from now: the battery's time less the reserve and the need
}

// Deadlines are reckoned backward from the end of the battery: the reserve first, then each stage with all after it.
func (e *Foresight) Deadlines(s *belief.Supply) []Deadline {
	var list []Deadline
	for _, st := range e.Estimate.Stages {
		d := Deadline{Stage: st.Stage, Need: st.Need.Seconds()}
		if s.State.Left.Known {
			d.Start = power.Known(s.State.Left.Value - e.Policy.Reserve.Seconds() - d.Need)
		}
		d.Started = e.HasBegun(st.Stage, s)
		list = append(list, d)
	}
	return list
}

// WhyNotYet says in one sentence why the shutdown for a supply is or is not starting now.
func (e *Foresight) WhyNotYet(s *belief.Supply) string {
	o := e.Ledger.Outage
	switch {
	case s.State.Mains == power.MainsUnknown && !s.State.OutputOff:
		return "nothing is known: it has never been heard from"
	case e.HasBegun(plan.ShutdownStage, s):
		return e.hasBegun(s)
	case e.Standing(e.Ledger.SupplyOf[s.Node]).Fails == ledger.CalledOff:
		return "not starting: it was aborted by an operator" + e.lastsStill(s) + "; `ebbtide go` starts it anyway"
	case o != nil && o.Orders.Hold:
		return "not starting anything: the outage is on hold" + e.lastsStill(s) + "; `ebbtide resume` ends the hold"
	case e.IsUnfit(s):
		return e.Tells(s)
	case s.State.Mains != power.MainsOnBattery:
		return e.ifItFailed(s)
	}
	return e.notDue(s)
}

// ifItFailed says of a supply that is not on battery what a failure of its mains would mean.
func (e *Foresight) ifItFailed(s *belief.Supply) string {
	is := "on line"
	switch st := &s.State; {
	case st.OutputOff && !st.Calibrating:
		return "its output is off: what it feeds gets no power from it"
	case st.Bypass:
		return "on bypass: if mains power fails, its load loses power at once"
	case st.SilentFor > 0:
		is = "silent for " + english.Span(st.SilentFor) + ", and on line before that"
	case st.Calibrating:
		is = "its battery is being discharged on purpose"
	}
	return is + "; if its mains failed now, " + e.reckon(s, true)
}

// hasBegun says of a supply whose shutdown is due whether it goes on.
func (e *Foresight) hasBegun(s *belief.Supply) string {
	reason := e.Standing(e.Ledger.SupplyOf[s.Node]).Reason
	switch {
	case e.Ledger.Outage.Orders.Hold:
		return "the shutdown is due (" + reason + "), but on hold" + e.lastsStill(s) + "; `ebbtide resume` ends the hold"
	case e.Observes:
		return "the shutdown would have started: " + reason
	}
	return "the shutdown has started: " + reason
}

// notDue says of a supply on battery what its trigger still waits for.
func (e *Foresight) notDue(s *belief.Supply) string {
	var missed []string
	f, trigger := e.Facts(s), e.Policy.Shutdown
	for _, kind := range trigger.Needs() {
		if !f.Tells(kind) {
			missed = append(missed, string(kind))
		}
	}
	text := "not starting yet: " + e.reckon(s, false) + "; shutdown trigger: " + trigger.String()
	if f.WaitsForSlack(trigger) {
		text += " (slack counts once it has been on battery for " + english.Span(power.SlackAfter) + ")"
	}
	if len(missed) > 0 {
		text += " (the UPS does not report what these need: " + strings.Join(missed, ", ") + ")"
	}
	return text
}

// lastsStill says for how long the battery of a supply lasts for which nothing is done, and what comes after that.
func (e *Foresight) lastsStill(s *belief.Supply) string {
	switch {
	case s.State.Mains != power.MainsOnBattery:
		return ""
	case !s.State.Left.Known:
		return "; how long its battery lasts is not known, and whatever is on when it gives out loses power"
	case s.State.Left.Value <= 0:
		return "; its battery is giving out now, and whatever is on loses power"
	}
	return fmt.Sprintf("; its battery lasts at least %s, and whatever is on when it gives out loses power", power.Roughly(s.State.Left.Value))
}

// reckon is the reckoning behind slack, in words: as it is, or would be.
func (e *Foresight) reckon(s *belief.Supply, would bool) string {
	lasts, take, can := "lasts", "take", "can"
	if would {
		lasts, take, can = "would last", "would take", "could"
	}
	slack := e.Slack(s)
	switch {
	case !s.State.Left.Known:
		return "how long its battery lasts is not known"
	case !slack.Known:
		return "how long the plan takes is not known yet"
	}
	odds := ""
	if e.Policy.Odds > 0 {
		odds = " at the accepted odds"
	}
	wait := "; with the uncertainty of both combined, the plan " + can + " wait " + power.Roughly(slack.Value) + odds
	if slack.Value < 0 {
		wait = "; with the uncertainty of both combined, that is " + power.Roughly(-slack.Value) + " too long" + odds
	}
	text := fmt.Sprintf("the battery %s at least %s (by %s), and the plan and its reserve %s up to %s (p95)%s", lasts, power.Roughly(s.State.Left.Value),
		s.State.By, take, power.Roughly(e.Estimate.At(Pessimistic).Seconds()+e.Policy.Reserve.Seconds()), wait)
	if !s.State.Proven {
		text += "; the battery is unproven"
	}
	return text
}
