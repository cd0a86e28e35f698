package nut

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// Cutting says how an output is cut.
type Cutting struct {
	Way schema.Cut    // "": shutdown.return
	Off time.Duration // from the command to the cut: ups.delay.shutdown; 0: the UPS's own
	On  time.Duration // from mains back to output on: ups.delay.start; 0: the UPS's own
}

// The instant commands of a cut beside those that a runbook names.
const (
	rebootCommand  = "shutdown.reboot"
	onDelayCommand = "load.on.delay"
)

const (
	// readBackWithin is how long a driver may take to show what it was told: twice its usual round.
	readBackWithin = 5 * time.Second
	readBackEvery  = 100 * time.Millisecond
)

// ways lists the ways to cut of which a UPS has the commands, the runbook's own first. The others are for one that took a
// cut and did not make it: some ignore shutdown.return while the mains are there. All of these give the output back, and
// so they are none for a runbook that wants it to stay off.
func (c Cutting) ways(offered []string) ([][]string, error) {
	own := string(cmp.Or(c.Way, schema.CutShutdownReturn))
	if _, err := first(offered, own); err != nil {
		return nil, err
	}
	delayed := []string{onDelayCommand, string(schema.CutLoadOff)}
	switch schema.Cut(own) {
	case schema.CutStayOff:
		return [][]string{{own}}, nil
	case schema.CutLoadOff:
		if !slices.Contains(offered, onDelayCommand) {
			return [][]string{{own}}, nil
		}
	case schema.CutShutdownReturn, schema.CutNone:
	}
	all := [][]string{{string(schema.CutShutdownReturn)}, {rebootCommand}, delayed}
	all = slices.DeleteFunc(all, func(way []string) bool {
		return slices.ContainsFunc(way, func(cmd string) bool { return !slices.Contains(offered, cmd) })
	})
	slices.SortStableFunc(all, func(a, b []string) int {
		return cmp.Compare(slices.Index(b, own), slices.Index(a, own)) // -1 where it is not its own
	})
	return all, nil
}

func (o *output) cut(ctx context.Context) error {
	return o.session(ctx, "cut the output of", func(c *Client, vars []Var) error {
		seen := o.observed(vars)
		if seen == plan.Off || seen == plan.Stopping {
			return nil
		}
		if err := o.mayCount(vars); err != nil {
			return err
		}
		offered, err := c.ListCmd(ctx, o.ups)
		if err != nil {
			return unsent(ctx, err)
		}
		ways, err := o.cutting.ways(offered)
		if err != nil {
			return err
		}
		shown, told, err := o.setDelays(ctx, c, vars)
		if err != nil {
			return err
		}
		way := ways[o.misses()%len(ways)]
		for at, command := range way {
			err := o.command(ctx, c, command, shown.parameter(command)...)
			if at == len(way)-1 { // what comes before it cuts nothing
				o.noteLost(err, delayOf(shown.off))
			}
			if err != nil {
				return err
			}
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.cutAt, o.delay, o.notTaken = time.Now(), delayOf(shown.off), told
		o.made, o.uncut, o.away = false, false, false
		return nil
	})
}

// noteLost takes down until when a cut may happen of which nobody has heard whether it was taken, where that is so.
func (o *output) noteLost(err error, delay time.Duration) {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.lostUntil = time.Now().Add(delay + cutMargin)
	}
}

// mayCount refuses a cut as long as one before it, whose answer was lost, may count down: many UPSes would begin anew, and never come to
// it. One that shows its timer tells whether it counts.
func (o *output) mayCount(vars []Var) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	left := time.Until(o.lostUntil)
	if left <= 0 || valueOf(vars, varTimer) != "" {
		return nil
	}
	return fmt.Errorf("the reply to the previous cut was lost: its countdown may be running, and another cut could restart it, so none is sent for %s: %w",
		english.Span(left), adapter.ErrBusy)
}

func (o *output) misses() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.missed
}

// delays are those of a cut as a UPS shows them: to the cut, and from mains back to output on.
type delays struct{ off, on string }

// parameter gives that of an instant command. usbhid-ups takes its own table's default for load.off.delay and load.on.delay where it is
// given none, 20 s and 30 s on most, and not what ups.delay.shutdown and ups.delay.start say: as it gives them itself for shutdown.return
// (usbhid-ups.c, instcmd), they go along. snmp-ups takes the parameter likewise; riello_usb reads the variables.
func (d delays) parameter(command string) []string {
	shown := map[string]string{onDelayCommand: d.on, string(schema.CutLoadOff): d.off}[command]
	if seconds, err := strconv.Atoi(bare(shown)); err == nil && seconds > 0 && seconds < noDelay {
		return []string{bare(shown)}
	}
	return nil
}

// setDelays sets what the runbook asks for and reads it back. It gives the delays that then hold, as the UPS has them, and what is to be
// told of them.
func (o *output) setDelays(ctx context.Context, c *Client, vars []Var) (held delays, told string, err error) {
	held = delays{valueOf(vars, varDelay), valueOf(vars, varStartDelay)}
	for _, d := range o.cutting.delays() {
		shown, why := valueOf(vars, d.name), ""
		if want := d.value(); bare(shown) != want {
			if shown, why, err = o.setDelay(ctx, c, d.name, shown, want); err != nil {
				return delays{}, "", err
			}
		}
		if d.name == varDelay {
			held.off = shown
		} else {
			held.on = shown
		}
		told += why
	}
	return held, told, nil
}

// noDelay is the least that a UPS shows which has no delay, where it shows that: more than anybody would wait.
const noDelay = 65535

// delayOf reads a delay as UPSes tell it. Those that have none say -1, or more than anybody would wait.
func delayOf(value string) time.Duration {
	if d := number(value); d.Value > 0 && d.Value < noDelay {
		return time.Duration(d.Value * float64(time.Second))
	}
	return schema.UsualOffDelay
}

type delaySetting struct {
	name string
	want time.Duration
}

func (d delaySetting) value() string { return strconv.Itoa(int(d.want.Seconds())) }

func (c Cutting) delays() []delaySetting {
	all := []delaySetting{{varDelay, c.Off}, {varStartDelay, c.On}}
	return slices.DeleteFunc(all, func(d delaySetting) bool { return d.want <= 0 })
}

// setDelay sets one variable and gives what the UPS shows of it then. One that refuses keeps its own, which is no error
// and is told; one that falls silent before it shows anything is.
func (o *output) setDelay(ctx context.Context, c *Client, name, before, want string) (shown, told string, err error) {
	var answer *Error
	if err := c.Set(ctx, o.ups, name, want); errors.As(err, &answer) && answer.Code != ErrDriverNotConnected.Code &&
		answer.Code != ErrDataStale.Code {
		return before, fmt.Sprintf("; it refused %s=%s (%s) and keeps %s", name, want, answer.Code, known(before)), nil
	} else if err != nil {
		return "", "", unsent(ctx, err)
	}
	if shown, err = o.readBack(ctx, c, name, before, want); err != nil {
		return "", "", unsent(ctx, err)
	}
	if bare(shown) != want {
		told = fmt.Sprintf("; it was told %s=%s and shows %s", name, want, known(shown))
	}
	return shown, told, nil
}

func known(value string) string {
	if bare(value) == "" {
		return "its own"
	}
	return bare(value)
}

// readBack waits until a variable shows what was set, or anything else than before (some UPSes round it), or for as long
// as a driver may take to show it.
func (o *output) readBack(ctx context.Context, c *Client, name, before, want string) (shown string, err error) {
	tick := time.NewTicker(readBackEvery)
	defer tick.Stop()
	end := time.NewTimer(readBackWithin)
	defer end.Stop()
	for {
		shown, err = c.Get(ctx, o.ups, name)
		if err != nil || bare(shown) == want || bare(shown) != bare(before) {
			return shown, err
		}
		select {
		case <-tick.C:
		case <-end.C:
			return shown, nil
		case <-ctx.Done():
			return "", ended(ctx)
		}
	}
}
