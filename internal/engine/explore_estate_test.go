package engine_test

import (
	"slices"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/referee"
)

// runtimes are what a UPS says that it lasts at each level of its battery: enough, less than the plan, the reserve, the end. At
// the next the output is lost.
var runtimes = [...]float64{3600, 70, 50, 20}

// charges are what is left at each of them.
var charges = [...]float64{1, 0.5, 0.3, 0.05}

// passPower moves the mains, the battery and the output of a supply on by a moment.
func (w *world) passPower(k int, c *choices, flip bool) {
	o := &w.outputs[k]
	switch {
	case flip:
		o.mains, o.online = !o.mains, 0
		w.say("  mains of %s on: %t", w.id(w.supplies[k]), o.mains)
	case !o.mains && o.on && w.left.drains > 0 && c.pick(2) == 1:
		w.left.drains--
		o.level++
		w.say("  the battery of %s falls to level %d", w.id(w.supplies[k]), o.level)
	}
	if o.mains {
		o.online = min(3, o.online+1)
		if o.online == 3 {
			o.level = 0
		}
		if !o.on && o.online >= 2 {
			w.giveOutput(k)
		}
	}
	if o.cutIn > 0 {
		if o.cutIn--; o.cutIn == 0 {
			w.cutIsDue(k, c)
		}
	}
	if int(o.level) == len(runtimes) && o.on {
		w.loseOutput(k)
	}
}

func (w *world) cutIsDue(k int, c *choices) {
	if w.outputs[k].mains {
		if _, deaf := w.fault(c, w.id(w.supplies[k]), uncut); deaf {
			w.outputs[k].uncut = true
			w.referee.Uncut(w.now, w.supplies[k])
			return
		}
	}
	w.loseOutput(k)
}

// powered reports whether any feed of a node has its output on, and so of what it runs on.
func (w *world) powered(i int) bool {
	if host, onHost := w.estate.Index(w.estate.Node(i).Host); onHost {
		return w.powered(host)
	}
	feeds := w.estate.Feeds(i)
	return len(feeds) == 0 || slices.ContainsFunc(w.supplies, func(s int) bool {
		return slices.Contains(feeds, s) && w.outputs[slices.Index(w.supplies, s)].on
	})
}

// loseOutput takes the power from everything that nothing else feeds, cleanly off or not.
func (w *world) loseOutput(k int) {
	w.say("  the output of %s goes off", w.id(w.supplies[k]))
	o := &w.outputs[k]
	o.on, o.cutIn, o.uncut = false, 0, false
	w.referee.OutputLost(w.now, w.supplies[k])
	for i := range w.things {
		if t := &w.things[i]; !slices.Contains(w.supplies, i) && t.state != plan.Off && !w.powered(i) {
			t.state, t.left, t.dark = plan.Off, 0, true
			w.say("  %s loses its power", w.id(i))
			w.show(i)
		}
	}
}

// giveOutput brings the power back: what nothing else starts begins to start.
func (w *world) giveOutput(k int) {
	w.say("  the output of %s comes back", w.id(w.supplies[k]))
	dead := make([]bool, len(w.things))
	for i := range dead {
		dead[i] = !w.powered(i)
	}
	w.outputs[k].on = true
	w.referee.OutputBack(w.now, w.supplies[k])
	for i := range w.things {
		if w.estate.Node(i).ByPower && dead[i] {
			w.become(i, plan.Starting)
		}
	}
}

// show tells the referee how a node is now. Of an output it hears otherwise.
func (w *world) show(i int) {
	t, decl := &w.things[i], w.estate.Node(i)
	if decl.Kind == plan.Supply {
		return
	}
	now := referee.Condition{State: t.state, Dark: t.dark, Protected: t.protected, Dirty: t.dirty}
	if decl.Can.Has(plan.Protect) {
		now.Set = set(t)
	}
	w.referee.Changed(w.now, i, now)
}

// set is what a cache is set to.
func set(t *thing) string {
	if t.protected {
		return "write-through"
	}
	return asUsual
}

func (w *world) become(i int, state plan.State) {
	t := &w.things[i]
	t.state, t.left = state, 0
	if state == plan.Starting || state == plan.Stopping {
		t.left = slowest
	}
	t.dark = t.dark && state != plan.On
	w.say("  %s is %s", w.id(i), state)
	w.show(i)
}

// changed ends a node's change of state. What runs on a host goes off with it.
func (w *world) changed(i int) {
	if w.things[i].state == plan.Starting {
		w.become(i, plan.On)
		return
	}
	w.become(i, plan.Off)
	for u := range w.things {
		if w.estate.Node(u).Host == w.id(i) && w.things[u].state != plan.Off {
			w.referee.Followed(w.now, u, i)
			w.become(u, plan.Off)
		}
	}
}

// meddle asks whether somebody else starts a VM.
func (w *world) meddle(c *choices) {
	if !w.mayFail(othersStart) {
		return
	}
	var off []int
	for i, t := range w.things {
		if w.estate.Node(i).Kind == plan.VM && t.state == plan.Off && w.runs(i) {
			off = append(off, i)
		}
	}
	if k := c.pick(1 + len(off)); k > 0 {
		w.left.faults--
		w.used |= 1 << othersStart
		w.say("  somebody starts %s", w.id(off[k-1]))
		w.referee.Meddled(w.now, off[k-1])
		w.become(off[k-1], plan.Starting)
	}
}

// isUp reports whether a node answers and works.
func (w *world) isUp(i int) bool {
	return w.things[i].state == plan.On || w.things[i].state == plan.Stopping
}

// runs reports whether what a node physically stands on is there. A cache is asked through what it needs.
func (w *world) runs(i int) bool {
	if host, onHost := w.estate.Index(w.estate.Node(i).Host); onHost && !w.isUp(host) {
		return false
	}
	if w.estate.Node(i).Can.Has(plan.Protect) {
		return slices.ContainsFunc(w.estate.Needs(i), w.isUp)
	}
	return w.powered(i)
}

// command is what a system does when it is told something, and its answer.
func (w *world) command(i int, verb plan.Verb) ledger.Outcome {
	t := &w.things[i]
	switch {
	case verb == plan.Cut:
		if o := &w.outputs[slices.Index(w.supplies, i)]; o.on && o.cutIn == 0 {
			o.cutIn, o.uncut = slowest, false
		}
		return ledger.Done
	case !w.runs(i):
		return ledger.Unreached
	case verb == plan.Stop && t.state == plan.On, verb == plan.Force && t.state == plan.On:
		w.become(i, plan.Stopping)
	case verb == plan.Force && t.state != plan.Off:
		w.become(i, plan.Stopping)
		t.left = 1
	case verb == plan.Start && t.state == plan.Off:
		w.become(i, plan.Starting)
	case verb == plan.Protect, verb == plan.Unprotect, verb == plan.Flush:
		t.protected = verb == plan.Protect || verb == plan.Flush && t.protected
		t.dirty = verb == plan.Unprotect || verb == plan.Protect && t.dirty
		w.show(i)
	}
	return ledger.Done
}

// observe is what a probe shows.
func (w *world) observe(i int) plan.Observation {
	t, decl := &w.things[i], w.estate.Node(i)
	if decl.Kind == plan.Supply {
		switch o := &w.outputs[slices.Index(w.supplies, i)]; {
		case !o.on:
			return plan.Observation{State: plan.Off}
		case o.cutIn > 0:
			return plan.Observation{State: plan.Stopping}
		default:
			return plan.Observation{State: plan.On, Uncut: o.uncut}
		}
	}
	switch {
	case decl.Kind == plan.VM: // somebody else answers for it
	case !w.runs(i), decl.OffAfter > 0 && !w.isUp(i): // it is off, or in its self-test
		return plan.Observation{State: plan.Unreachable}
	case decl.Can.Has(plan.Protect):
		seen := plan.Observation{State: t.state, Protected: plan.FactOf(t.protected), Clean: plan.FactOf(!t.dirty)}
		if !t.protected {
			seen.Settings = asUsual
		}
		return seen
	}
	return plan.Observation{State: t.state}
}

// polled tells the referee of a poll, and whether it is heard.
func (w *world) polled(k int, heard bool) {
	o := &w.outputs[k]
	level := min(int(o.level), len(runtimes)-1)
	w.referee.Polled(w.now, referee.Poll{
		Supply: w.supplies[k], Mains: o.mains, On: o.mains && o.on, Heard: heard, Honest: true,
		Charge: charges[level], Left: time.Duration(runtimes[level]) * time.Second,
	})
	w.heed()
}

// reading is what a UPS says when it is polled.
func (w *world) reading(k int, c *choices) power.Reading {
	id, o, lost := w.id(w.supplies[k]), &w.outputs[k], false
	if w.engine != nil {
		_, lost = w.fault(c, "the poll of "+id, pollLost)
	}
	w.polled(k, w.engine != nil && !lost)
	if lost {
		return power.Reading{Supply: id, Link: power.Lost}
	}
	left := runtimes[min(int(o.level), len(runtimes)-1)]
	if o.odd = !o.odd; o.odd { // what stands still counts as frozen, and would burn without an end
		left += 1e-6
	}
	r := power.Reading{Supply: id, Status: power.OB, Load: power.Known(50), Runtime: power.Known(left)}
	if o.mains {
		r.Status = power.OL
	}
	if !o.on {
		r.Status = r.Status&^power.OL | power.OFF
	}
	return r
}
