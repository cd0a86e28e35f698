package e2e_test

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/test/site"
)

// allUp gives the mains back and does what the book says of the power-up.
func (w *walk) allUp(managerDown bool) {
	w.t.Helper()
	w.s.SetMains(true)
	w.awaitGate()
	for _, step := range w.steps("Power up") {
		w.up(step, managerDown)
	}
	w.s.Until("all that was on", 30*time.Second, func() bool {
		return !slices.ContainsFunc(site.VMs, func(vm string) bool { return !w.s.VSphere.VMOn(vm) })
	})
	require.False(w.t, w.s.VSphere.VMOn(site.Spare), "what was off stays off")
	require.Equal(w.t, "no", w.s.NASFile("protected"))
	w.s.requireOrderUp()
}

var (
	gateAsks = regexp.MustCompile("in what this shows: `([^`]+)`")
	wasOn    = regexp.MustCompile(`step (\d+)(?:\]\(#down-\d+\))? is ticked`)
)

// awaitGate waits as the book says: until the UPS has been on line for as long as the runbook wants.
func (w *walk) awaitGate() {
	w.t.Helper()
	asks := gateAsks.FindStringSubmatch(w.md)
	require.NotNil(w.t, asks)
	w.printed("on line for " + site.Gate.String())
	var since time.Time
	w.s.Until("gate", 60*time.Second, func() bool {
		shown, _ := w.types(w.printed(asks[1]), nil)
		if !strings.Contains(shown, "ups.status: OL") || !strings.Contains(shown, "battery.charge: ") {
			since = time.Time{}
		} else if since.IsZero() {
			since = time.Now()
		}
		return !since.IsZero() && time.Since(since) >= site.Gate
	})
}

// up carries out a step of the power-up and sees that it is done.
func (w *walk) up(step printedStep, managerDown bool) {
	w.t.Helper()
	if m := wasOn.FindStringSubmatch(strings.Join(step.fields["needs first"], " ")); m != nil {
		w.printed("step " + m[1] + " is ticked")
		if w.off[m[1]] {
			return
		}
	} else {
		require.NotContains(w.t, step.title, "start "+site.Spare, "nothing says that it was off")
	}
	env, hosts := w.whereTo(step, managerDown)
	env = w.byHand(step, managerDown, env, hosts, func(line, shown string, code int) {
		require.Zero(w.t, code, "%s\n%s\n%s", step.title, line, shown)
	})
	for _, line := range lines(step.fields["verify"], false) {
		if w.onPaper(step, line); strings.HasPrefix(line, "export GOVC_URL=") {
			env = w.at(line)
			continue
		}
		w.s.Until(step.title+" as seen by "+line, 30*time.Second, func() bool { return w.isWell(step, line, env, hosts) })
	}
}

// isWell types the question that a line is: is the step done?
func (w *walk) isWell(step printedStep, line string, env, hosts []string) bool {
	w.t.Helper()
	if strings.Contains(line, "NAME") {
		return !slices.ContainsFunc(written, func(name string) bool {
			return !slices.ContainsFunc(hosts, func(host string) bool {
				shown, _ := w.types(strings.ReplaceAll(line, "NAME", name), w.at(host))
				return strings.Contains(shown, "poweredOn")
			})
		})
	}
	shown, code := w.types(line, env)
	switch {
	case strings.HasPrefix(line, "upsc "):
		return strings.Contains(shown, "OL") && !strings.Contains(shown, "OFF")
	case strings.HasPrefix(line, "govc vm.info "):
		return strings.Contains(shown, "poweredOn")
	case strings.HasPrefix(line, "govc find / -type h "):
		if code == 0 && shown != "" { // it says what is done then
			w.leaveMaintenance(step, env)
		}
		return code == 0 && shown == ""
	case strings.HasPrefix(line, "ssh ") && strings.Contains(step.title, "write-back"):
		return strings.Contains(shown, "protected=no")
	case strings.HasPrefix(line, "ssh "), line == "govc about":
		return code == 0
	}
	require.Fail(w.t, "nobody knows what this shows", line)
	return false
}

// leaveMaintenance types what a step has for a host that is in maintenance mode.
func (w *walk) leaveMaintenance(step printedStep, env []string) {
	w.t.Helper()
	said := step.fields["verify"]
	at := slices.IndexFunc(said, func(l string) bool { return strings.HasPrefix(l, "If it prints it") })
	require.Positive(w.t, at, step.title)
	line := w.onPaper(step, strings.TrimPrefix(said[at+1], "$"))
	shown, code := w.types(line, env)
	require.Zero(w.t, code, "%s\n%s\n%s", step.title, line, shown)
}
