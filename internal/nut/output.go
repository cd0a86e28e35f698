package nut

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/reach"
	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

const (
	startCommand = "load.on"

	varDelay         = "ups.delay.shutdown"
	varStartDelay    = "ups.delay.start"
	varTimer         = "ups.timer.shutdown"
	varOutputVoltage = "output.voltage"

	// cutMargin is how much longer than its delay a UPS may take.
	cutMargin = 15 * time.Second
	// unwatched is as long as an output may be off and on again without having been seen.
	unwatched = 8 * time.Second
	// timerStands is how long a timer that runs may show the same: drivers look at some variables every 30 s only.
	timerStands = 45 * time.Second

	noVoltage   = 10 // volts: less at the output is none
	someVoltage = 80 // volts: what comes through the filters of an output that is off stays below it, and mains do not
)

// output is a supply's output as a node of the estate.
type output struct {
	unit
	cutting Cutting

	mu    sync.Mutex
	cutAt time.Time     // our cut was accepted; zero: none is pending
	delay time.Duration // after which it happens
	// lostUntil is until when a cut may happen that nobody has heard to be accepted: its answer was lost.
	lostUntil time.Time
	made      bool         // it was seen to have happened
	missed    int          // cuts in a row that it took and did not make
	uncut     bool         // the last one was such a cut
	lookAt    time.Time    // when it was last looked at
	away      bool         // nobody looked for a while after our cut was due: it may have been made and be over
	notTaken  string       // of the cut: what the UPS did not take as it was asked to
	timer     power.Figure // ups.timer.shutdown in the last probe
	fellAt    time.Time    // when it was last seen to fall
	powered   bool         // output.voltage was seen well above 0: the UPS has that sensor
	said      offWord
}

// offWord is what OFF is worth in the words of a UPS.
type offWord struct {
	plain       bool // the UPS was heard without it
	spuriousOff bool // on line it was said each time, and nothing was off
	meant       bool // the output is off by this word, or by silence, and it is said since
	zero        bool // and output.voltage has shown that too
}

// NewOutput makes the node of a UPS's output. It knows Cut and Start.
//
// Delays are set right before the cut, and read back: what the UPS then says it will take is what counts, and one that
// does not let them be set is cut with its own.
func NewOutput(o Options, ups string, how Cutting) adapter.Node {
	return &output{unit: unit{options: o, ups: ups}, cutting: how}
}

// Probe tells Off only of an output that the UPS says is dark, or of a UPS that fell silent after it accepted our cut
// and whose delay is over; Stopping while a cut counts down.
func (o *output) Probe(ctx context.Context) (plan.Observation, error) {
	vars, err := o.vars(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		if ctx.Err() != nil {
			return plan.Observation{}, err
		}
		return o.silent(time.Now(), err), nil
	}
	return o.judge(time.Now(), vars), nil
}

// pending tells how long our cut still takes; negative once it should have happened.
func (o *output) pending(now time.Time) (left time.Duration, ours bool) {
	if o.cutAt.IsZero() {
		return 0, false
	}
	return o.delay - now.Sub(o.cutAt), true
}

// silent judges an output whose UPS could not be asked. Only what may be the UPS's own silence counts: its driver has lost it, or nothing
// comes back from the machine that it is attached to. Where that machine refuses, or this one can't ask, nothing is told of the UPS.
func (o *output) silent(now time.Time, why error) plan.Observation {
	left, ours := o.pending(now)
	lost := errors.Is(why, ErrDriverNotConnected) || errors.Is(why, ErrDataStale) || reach.Classify(why) == reach.Silent
	switch {
	case !ours:
		return plan.Observation{State: plan.Unreachable, Detail: why.Error()}
	case left > 0:
		return plan.Observation{State: plan.Stopping, RemainFor: left, Detail: "silent since it accepted the cut"}
	case !lost && !o.made:
		return plan.Observation{State: plan.Unreachable, Detail: "its cut is due, but its state can't be read: " + why.Error()}
	}
	o.made, o.uncut, o.said.meant = true, false, !o.said.spuriousOff
	return plan.Observation{State: plan.Off, Detail: "silent since it accepted the cut, and its delay is over"}
}

func (o *output) judge(now time.Time, vars []Var) plan.Observation {
	if left, ours := o.pending(now); ours && left < 0 && now.Sub(o.lookAt) > unwatched {
		o.away = true
	}
	o.lookAt = now
	status := power.ParseStatus(bare(valueOf(vars, varStatus)))
	voltage := within(number(valueOf(vars, varOutputVoltage)), 0, 1000)
	timer := number(valueOf(vars, varTimer))
	o.powered = o.powered || voltage.Value >= noVoltage
	falling := o.falls(now, timer)

	if status == 0 || status.Has(power.WAIT) {
		return plan.Observation{State: plan.Unknown, Detail: "the UPS gives no status"}
	}
	if off, why := o.off(now, status, voltage); off {
		o.made, o.uncut = true, false
		return plan.Observation{State: plan.Off, Detail: why}
	}
	if o.counts(timer) || falling {
		left := time.Duration(timer.Value * float64(time.Second))
		return plan.Observation{
			State: plan.Stopping, RemainFor: left,
			Detail: fmt.Sprintf("its timer cuts in %s%s", english.Span(left), o.notTaken),
		}
	}
	left, ours := o.pending(now)
	switch {
	case ours && (o.made || o.away):
		o.cutAt, o.missed = time.Time{}, 0 // and came back
	case ours && left+cutMargin > 0:
		return plan.Observation{State: plan.Stopping, RemainFor: max(0, left), Detail: "has accepted the cut" + o.notTaken}
	case ours:
		o.cutAt, o.uncut = time.Time{}, true
		o.missed++
	}
	if o.uncut {
		return plan.Observation{
			State: plan.On, Uncut: true,
			Detail: fmt.Sprintf("%s; it accepted a cut but was not seen to make it", status),
		}
	}
	return plan.Observation{State: plan.On, Detail: status.String()}
}

// counts reports whether the UPS's timer says that our cut is armed: it runs, and shows no more than the delay.
func (o *output) counts(timer power.Figure) bool {
	return !o.cutAt.IsZero() && !o.made && timer.Value > 0 && timer.Value <= o.delay.Seconds()
}

// falls notes the UPS's timer and reports whether it counts down to a cut. Three dumps show one that stands still on a UPS
// in use, so only one that falls does, until it stands for longer than drivers take to look at it.
func (o *output) falls(now time.Time, timer power.Figure) bool {
	before := o.timer
	o.timer = timer
	if !timer.Known || timer.Value <= 0 || !before.Known || before.Value >= 65535 || timer.Value > before.Value {
		o.fellAt = time.Time{}
		return false
	}
	if timer.Value < before.Value {
		o.fellAt = now
	}
	return now.Sub(o.fellAt) < timerStands
}

// off reports whether the UPS says that its output is dark. OFF beside OL is a habit of some UPSes and needs the
// voltage as a witness; others say it while they wait with their output, mains and all, so that it is believed of one
// that was off by its word already, or begins to say it once our cut is due. A voltage of 0 on battery is believed of a
// sensor that has shown more. One that is on bypass feeds its load.
func (o *output) off(now time.Time, status power.Status, voltage power.Figure) (off bool, why string) {
	said, w := status.Has(power.OFF), &o.said
	dark := voltage.Known && voltage.Value < noVoltage
	switch {
	case status.Has(power.BYPASS):
		off = said && dark
	case status.Has(power.OL):
		off = said && (dark || o.isMeant(now, voltage))
		o.learn(said && !off, status)
	case status.Has(power.OB):
		off = said && !w.spuriousOff || dark && o.powered
	default:
		off = said || dark
	}
	w.plain = w.plain || !said && !status.Has(power.CAL)
	w.meant = off && said && !w.spuriousOff
	w.zero = off && (w.zero || dark)
	if !off {
		return false, ""
	}
	return true, fmt.Sprintf("the UPS says %s", status)
}

// isMeant reports whether OFF beside OL is believed without a voltage of 0: the output was off by that word already, and
// nothing shows it lit since; or the word begins to be said once our cut is due.
func (o *output) isMeant(now time.Time, voltage power.Figure) bool {
	w := &o.said
	lit := w.zero && voltage.Value >= someVoltage
	left, ours := o.pending(now)
	return w.meant && !lit || w.plain && !w.spuriousOff && ours && left < 0
}

// learn takes down whether OFF is a habit of the UPS: it says so on line, and nothing is off. What it says in a
// calibration, or while our cut may be under way, tells nothing of that.
func (o *output) learn(says bool, status power.Status) {
	switch {
	case status.Has(power.CAL) || !o.cutAt.IsZero():
	case says:
		o.said.spuriousOff = true
	case !status.Has(power.OFF):
		o.said.spuriousOff = false
	}
}

// Do cuts the output, or switches it on where it is dark although the mains are back; or begins or ends a test of the
// battery.
func (o *output) Do(ctx context.Context, do adapter.Command) error {
	switch do.Verb {
	case plan.Cut:
		return o.cut(ctx)
	case plan.Start:
		return o.start(ctx)
	case plan.Discharge:
		return o.discharge(ctx)
	case plan.EndDischarge:
		return o.endDischarge(ctx)
	case plan.Protect, plan.Flush, plan.Stop, plan.Force, plan.Unprotect:
	}
	return fmt.Errorf("cannot %s the output of UPS %q: it can only be cut and started, and its battery discharged: %w", do.Verb, o.ups,
		adapter.ErrRefused)
}

func (o *output) start(ctx context.Context) error {
	return o.session(ctx, "start the output of", func(c *Client, vars []Var) error {
		switch o.observed(vars) {
		case plan.Stopping:
			return fmt.Errorf("a cut is counting down: %w", adapter.ErrBusy)
		case plan.Off:
		case plan.On, plan.Unknown, plan.Starting, plan.Unreachable, plan.Gone:
			return nil
		}
		status := power.ParseStatus(bare(valueOf(vars, varStatus)))
		if !status.Has(power.OL) {
			return nil // it gives its output back by itself when the mains are there
		}
		on, err := o.offers(ctx, c, startCommand)
		if err != nil {
			return err
		}
		return o.command(ctx, c, on)
	})
}

func (o *output) observed(vars []Var) plan.State {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.judge(time.Now(), vars).State
}
