package nut

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/power"
)

// batteryTests are the instant commands by which a UPS discharges its battery under its load, the better first, and what
// ends each. test.battery.start alone is too short to show anything.
var batteryTests = []struct{ start, stop string }{
	{"test.battery.start.deep", "test.battery.stop"},
	{"calibrate.start", "calibrate.stop"},
}

// BatteryTest tells by which command a UPS would discharge its battery. It wraps adapter.ErrRefused where there is none
// that can also be ended.
func BatteryTest(ctx context.Context, o Options, ups string) (command string, err error) {
	out := &output{unit: unit{options: o, ups: ups}}
	err = out.session(ctx, "see how to test the battery of", func(c *Client, _ []Var) error {
		command, _, err = out.batteryTest(ctx, c)
		return err
	})
	return command, err
}

func (o *output) batteryTest(ctx context.Context, c *Client) (start, stop string, err error) {
	all, err := c.ListCmd(ctx, o.ups)
	if err != nil {
		return "", "", unsent(ctx, err)
	}
	var related []string
	for _, test := range batteryTests {
		if slices.Contains(all, test.start) && slices.Contains(all, test.stop) {
			return test.start, test.stop, nil
		}
	}
	for _, cmd := range all {
		if strings.HasPrefix(cmd, "test.") || strings.HasPrefix(cmd, "calibrate.") {
			related = append(related, cmd)
		}
	}
	has := "it has no such command"
	if len(related) > 0 {
		has = "it has " + strings.Join(related, ", ")
	}
	return "", "", fmt.Errorf("the UPS has no deep battery test that can be stopped (%s): %w", has, adapter.ErrRefused)
}

// discharge begins the UPS's own test.
func (o *output) discharge(ctx context.Context) error {
	return o.session(ctx, "discharge the battery of", func(c *Client, vars []Var) error {
		status := power.ParseStatus(bare(valueOf(vars, varStatus)))
		if !status.Has(power.OL) || status.Has(power.OB) || status.Has(power.CAL) {
			return fmt.Errorf("the UPS says %s, and is tested only on line: %w", status, adapter.ErrRefused)
		}
		start, _, err := o.batteryTest(ctx, c)
		if err != nil {
			return err
		}
		return o.command(ctx, c, start)
	})
}

// endDischarge ends whichever test runs: after a restart nobody knows which it was. It is told although the UPS seems
// not to test, since the command that began it may still be on its way.
func (o *output) endDischarge(ctx context.Context) error {
	return o.session(ctx, "end the test of the battery of", func(c *Client, _ []Var) error {
		all, err := c.ListCmd(ctx, o.ups)
		if err != nil {
			return unsent(ctx, err)
		}
		var errs []error
		told := false
		for _, test := range batteryTests {
			if !slices.Contains(all, test.stop) {
				continue
			}
			if err := o.command(ctx, c, test.stop); err != nil {
				errs = append(errs, err)
				continue
			}
			told = true
		}
		switch {
		case told:
			return nil
		case len(errs) == 0:
			return fmt.Errorf("the UPS has no command for it: %w", adapter.ErrRefused)
		}
		return errors.Join(errs...)
	})
}
