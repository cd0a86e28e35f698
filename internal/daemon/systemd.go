package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"ebbtide/internal/engine"
	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// tellSystemd tells the service manager. Without one it does nothing.
func tellSystemd(log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("systemd can't be notified", "state", state, keyError, err)
	}
}

// reloading is what Type=notify-reload wants to hear.
func reloading() string { return daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec() }

const statusEvery = 5 * time.Second

// supervise tells systemd that the daemon is ready, what it does, and, as long as the runner's loop comes round, that it
// is alive.
func (d *Daemon) supervise(ctx context.Context) {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		d.log.Warn("the watchdog's interval can't be read", keyError, err)
	}
	watchdog := every > 0
	if !watchdog || every/3 > statusEvery {
		every = 3 * statusEvery
	}
	tick := time.NewTicker(every / 3)
	defer tick.Stop()
	ready := false
	for {
		if d.alive(ctx, every/3) {
			if !ready {
				ready = true
				tellSystemd(d.log, daemon.SdNotifyReady)
			}
			if watchdog {
				tellSystemd(d.log, daemon.SdNotifyWatchdog)
			}
			if view, err := d.view(ctx); err == nil {
				tellSystemd(d.log, "STATUS="+d.inWords(view))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// alive reports whether the runner's loop has come round in time.
func (d *Daemon) alive(ctx context.Context, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return d.runner.Ping(ctx) == nil
}

// viewWithin bounds how long a question waits for the runner's loop.
const viewWithin = 5 * time.Second

func (d *Daemon) view(ctx context.Context) (engine.View, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, viewWithin, fmt.Errorf("the runner has not answered within %s", english.Span(viewWithin)))
	defer cancel()
	return d.runner.View(ctx)
}

// inWords says in one line what the daemon does.
func (d *Daemon) inWords(v engine.View) string {
	var parts []string
	if !d.isArmed() {
		parts = append(parts, "observing")
	}
	if v.Outage != "" {
		parts = append(parts, d.outageInWords(&v))
		if v.Hold {
			parts = append(parts, "on hold")
		}
		if v.Waiting != "" {
			parts = append(parts, d.conduct.observing()+v.Waiting)
		}
	}
	parts = append(parts, suppliesInWords(v.Supplies)...)
	if !v.Journal {
		parts = append(parts, "the journal can't be written")
	}
	if d.site.Load().edited {
		parts = append(parts, "the runbook was edited; the new version takes effect after the outage")
	}
	for _, file := range d.aside() {
		parts = append(parts, "a damaged journal was moved aside as "+file)
	}
	return strings.Join(parts, "; ")
}

const begunNot = "nothing to shut down yet"

// outageInWords says where an outage or a drill is. One that is only observed is told as what would be.
func (d *Daemon) outageInWords(v *engine.View) string {
	s, _ := d.history.summary()
	what, going := "outage", "shutting the estate down"
	switch {
	case v.Goal == plan.Up:
		going = "bringing the estate back"
	case !v.Begun && s.Down > 0: // an operator has called it off
		going = "shutting down no further nodes"
	case !v.Begun:
		going = begunNot
	case !v.Whole:
		going = "running its first stages"
	}
	if v.Drill {
		what, going = "drill", map[plan.Goal]string{
			plan.Down: "shutting down its nodes",
			plan.Up:   "bringing back its nodes",
		}[v.Goal]
	}
	return d.conduct.said(what+" "+v.Outage, going, &s)
}

// Well reports whether a supply is on line, and says so.
func Well(s *engine.SupplyView) bool {
	return !s.State.Failing() && s.State.Mains == power.MainsOnline && s.State.SilentFor == 0
}

// suppliesInWords names each supply, or where there are many the first of those that are not well.
func suppliesInWords(all []engine.SupplyView) []string {
	const many, named = 8, 4
	var parts []string
	well, others := 0, 0
	for i := range all {
		switch s := &all[i]; {
		case len(all) > many && Well(s):
			well++
		case len(all) > many && len(parts) == named:
			others++
		default:
			parts = append(parts, s.ID+" "+s.Text)
		}
	}
	if others > 0 {
		parts = append(parts, english.Count(others, "more supply", "more supplies")+" not on line")
	}
	if well > 0 {
		parts = append(parts, english.Count(well, "supply", "supplies")+" on line")
	}
	return parts
}
