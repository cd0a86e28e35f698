package nut

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

const (
	cutCommand   = "shutdown.return" // cuts the output and gives it back when the mains are there
	startCommand = "load.on"

	varDelay         = "ups.delay.shutdown"
	varStartDelay    = "ups.delay.start"
	varTimer         = "ups.timer.shutdown"
	varOutputVoltage = "output.voltage"

	// defaultDelay is what a UPS takes to cut where it does not say: NUT's own default.
	defaultDelay = 20 * time.Second
	// cutMargin is how much longer than its delay a UPS may take.
	cutMargin = 15 * time.Second
)

// Delays are how a cut is timed, where the UPS lets them be set. Zero leaves the UPS's own.
type Delays struct {
	Off time.Duration // from the command to the cut: ups.delay.shutdown
	On  time.Duration // from mains back to output on: ups.delay.start
}

// output is a supply's output as a node of the estate.
type output struct {
	options Options
	ups     string
	delays  Delays

	mu      sync.Mutex
	cutAt   time.Time     // our cut was accepted; zero: none is pending
	delay   time.Duration // after which it happens
	made    bool          // it was seen to have happened
	timer   power.Figure  // ups.timer.shutdown in the last probe
	powered bool          // output.voltage was seen well above 0: the UPS has that sensor
}

// NewOutput makes the node of a UPS's output. Each call uses a connection of its own. It knows Cut, which is
// shutdown.return and never load.off (after that the output stays dark when the mains return), and Start.
//
// Delays are set right before the cut. A UPS that does not let them be set is cut with its own: what it then says it will
// take is what counts.
func NewOutput(o Options, ups string, delays Delays) adapter.Node {
	return &output{options: o, ups: ups, delays: delays}
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

func (o *output) vars(ctx context.Context) ([]Var, error) {
	c, err := Dial(ctx, o.options)
	if err != nil {
		return nil, err
	}
	vars, err := c.ListVar(ctx, o.ups)
	return vars, errors.Join(err, c.Close())
}

// pending tells how long our cut still takes; negative once it should have happened.
func (o *output) pending(now time.Time) (left time.Duration, ours bool) {
	if o.cutAt.IsZero() {
		return 0, false
	}
	return o.delay - now.Sub(o.cutAt), true
}

func (o *output) silent(now time.Time, why error) plan.Observation {
	left, ours := o.pending(now)
	switch {
	case !ours:
		return plan.Observation{State: plan.Unreachable, Detail: why.Error()}
	case left > 0:
		return plan.Observation{State: plan.Stopping, RemainFor: left, Detail: "silent since it accepted the cut"}
	}
	o.made = true
	return plan.Observation{State: plan.Off, Detail: "silent since it accepted the cut, and its delay is over"}
}

func (o *output) judge(now time.Time, vars []Var) plan.Observation {
	status := power.ParseStatus(bare(valueOf(vars, varStatus)))
	voltage := within(number(valueOf(vars, varOutputVoltage)), 0, 1000)
	timer := number(valueOf(vars, varTimer))
	dark := voltage.Known && voltage.Value < 10
	if voltage.Known && !dark {
		o.powered = true
	}
	// Three dumps show a timer that stands still on a UPS in use, so only one that falls counts down.
	falling := timer.Known && o.timer.Known && timer.Value > 0 && timer.Value < o.timer.Value && o.timer.Value < 65535
	o.timer = timer

	if status == 0 || status.Has(power.WAIT) {
		return plan.Observation{State: plan.Unknown, Detail: "the UPS gives no status"}
	}
	if off, why := o.off(status, dark); off {
		o.made = true
		return plan.Observation{State: plan.Off, Detail: why}
	}
	if falling {
		left := time.Duration(timer.Value * float64(time.Second))
		return plan.Observation{State: plan.Stopping, RemainFor: left, Detail: fmt.Sprintf("cuts in %s", left)}
	}
	left, ours := o.pending(now)
	switch {
	case ours && o.made:
		o.cutAt = time.Time{} // and came back
	case ours && left+cutMargin > 0:
		return plan.Observation{State: plan.Stopping, RemainFor: max(0, left), Detail: "has accepted the cut"}
	case ours:
		o.cutAt = time.Time{}
		return plan.Observation{State: plan.On, Detail: fmt.Sprintf("%s; it accepted a cut and was not seen to make it", status)}
	}
	return plan.Observation{State: plan.On, Detail: status.String()}
}

// off tells whether the UPS says that its output is dark. OFF beside OL is a habit of some UPSes and needs the voltage
// as a witness; a voltage of 0 on battery is believed of a sensor that has shown more.
func (o *output) off(status power.Status, dark bool) (off bool, why string) {
	said := status.Has(power.OFF)
	switch {
	case status.Has(power.OL):
		off = said && dark
	case status.Has(power.OB):
		off = said || dark && o.powered
	default:
		off = said || dark
	}
	if !off {
		return false, ""
	}
	return true, fmt.Sprintf("the UPS says %s", status)
}

func valueOf(vars []Var, name string) string {
	for _, v := range vars {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}

// Do cuts the output, or switches it on where it is dark although the mains are back; or begins or ends a test of the
// battery.
func (o *output) Do(ctx context.Context, v plan.Verb) error {
	switch v {
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
	return fmt.Errorf("cannot %s the output of UPS %q: it can only be cut and started, and its battery discharged: %w", v, o.ups, adapter.ErrRefused)
}

func (o *output) cut(ctx context.Context) error {
	return o.session(ctx, "cut", func(c *Client, vars []Var) error {
		seen := o.observed(vars)
		if seen == plan.Off || seen == plan.Stopping {
			return nil
		}
		if err := o.offers(ctx, c, cutCommand); err != nil {
			return err
		}
		off := o.setDelays(ctx, c, valueOf(vars, varDelay))
		if err := o.command(ctx, c, cutCommand); err != nil {
			return err
		}
		delay := defaultDelay
		if said := number(off); said.Known && said.Value > 0 && said.Value < 65535 {
			delay = time.Duration(said.Value * float64(time.Second))
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.cutAt, o.delay, o.made = time.Now(), delay, false
		return nil
	})
}

// setDelays sets what the runbook asks for and gives the delay of the cut that then holds, as the UPS has it.
func (o *output) setDelays(ctx context.Context, c *Client, own string) string {
	for name, d := range map[string]time.Duration{varDelay: o.delays.Off, varStartDelay: o.delays.On} {
		if d <= 0 {
			continue
		}
		value := strconv.Itoa(int(d.Seconds()))
		if err := c.Set(ctx, o.ups, name, value); err == nil && name == varDelay {
			own = value
		}
	}
	return own
}

func (o *output) start(ctx context.Context) error {
	return o.session(ctx, "start", func(c *Client, vars []Var) error {
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
		if err := o.offers(ctx, c, startCommand); err != nil {
			return err
		}
		return o.command(ctx, c, startCommand)
	})
}

func (o *output) observed(vars []Var) plan.State {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.judge(time.Now(), vars).State
}

// session opens a connection, reads the UPS and lets do act. Until then no command was given, so every failure but the
// caller's own end is ErrUnreachable or ErrRefused.
func (o *output) session(ctx context.Context, what string, do func(c *Client, vars []Var) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot %s the output of UPS %q: %w", what, o.ups, err)
		}
	}()
	c, err := Dial(ctx, o.options)
	if err != nil {
		return unsent(ctx, err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	vars, err := c.ListVar(ctx, o.ups)
	if err != nil {
		return unsent(ctx, err)
	}
	return do(c, vars)
}

// unsent sorts a failure from before a command was given.
func unsent(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return classed(err, adapter.ErrUnreachable)
}

// classed adds the sentinel of an ERR answer to err, or otherwise the given one.
func classed(err, otherwise error) error {
	var answer *Error
	switch {
	case errors.Is(err, ErrDriverNotConnected), errors.Is(err, ErrDataStale):
		return fmt.Errorf("%w: %w", err, adapter.ErrUnreachable)
	case errors.Is(err, ErrUnknownUPS):
		return fmt.Errorf("%w: %w", err, adapter.ErrGone)
	case errors.As(err, &answer):
		return fmt.Errorf("%w: %w", err, adapter.ErrRefused)
	}
	return fmt.Errorf("%w: %w", err, otherwise)
}

// offers refuses where the UPS does not list a command.
func (o *output) offers(ctx context.Context, c *Client, command string) error {
	all, err := c.ListCmd(ctx, o.ups)
	if err != nil {
		return unsent(ctx, err)
	}
	var related []string
	for _, cmd := range all {
		if cmd == command {
			return nil
		}
		if strings.HasPrefix(cmd, "shutdown.") || strings.HasPrefix(cmd, "load.") {
			related = append(related, cmd)
		}
	}
	has := "it has no command for its output"
	if len(related) > 0 {
		has = "it has " + strings.Join(related, ", ")
	}
	return fmt.Errorf("the UPS lacks the command %s (%s): let its driver offer it, or take the node out of the runbook: %w", command, has, adapter.ErrRefused)
}

// command gives an instant command. If no answer comes, nobody knows whether the UPS took it: a context error.
func (o *output) command(ctx context.Context, c *Client, command string) error {
	err := c.InstCmd(ctx, o.ups, command)
	if err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	return classed(err, context.DeadlineExceeded)
}
