package engine_test

import (
	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// passPower moves the mains, the battery and the output on by a moment.
func (w *world) passPower(c *choices, flip bool) {
	switch {
	case flip:
		w.left.flips--
		w.mains, w.online = !w.mains, 0
		w.say("  mains on: %t", w.mains)
	case !w.mains && w.output && w.left.drains > 0 && c.pick(2) == 1:
		w.left.drains--
		w.level++
		w.say("  the battery falls to level %d", w.level)
	}
	if w.mains {
		w.online = min(3, w.online+1)
		if w.online == 3 {
			w.level = 0
		}
		if !w.output && w.online >= 2 {
			w.giveOutput()
		}
	}
	if w.cutIn > 0 {
		if w.cutIn--; w.cutIn == 0 {
			w.loseOutput()
		}
	}
	if int(w.level) == len(runtimes) && w.output {
		w.loseOutput()
	}
}

// loseOutput takes the power from everything, cleanly off or not.
func (w *world) loseOutput() {
	w.say("  the output goes off")
	w.output, w.cutIn, w.judge.lost = false, 0, true
	for i := range w.things {
		if t := &w.things[i]; i != w.supply && t.state != plan.Off {
			*t = thing{state: plan.Off, dark: true}
		}
	}
}

// giveOutput brings the power back: what nothing else starts begins to start.
func (w *world) giveOutput() {
	w.say("  the output comes back")
	w.output = true
	for i := range w.things {
		if w.estate.Node(i).ByPower {
			w.become(i, plan.Starting)
		}
	}
}

func (w *world) become(i int, state plan.State) {
	t := &w.things[i]
	t.state, t.left = state, 0
	if state == plan.Starting || state == plan.Stopping {
		t.left = slowest
	}
	t.dark = t.dark && state != plan.On
	w.say("  %s is %s", w.id(i), state)
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
			w.become(u, plan.Off)
		}
	}
}

// meddle asks whether somebody else starts a VM.
func (w *world) meddle(c *choices) {
	if w.left.faults == 0 {
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
		w.say("  somebody starts %s", w.id(off[k-1]))
		w.judge.verdicts[off[k-1]].others = true
		w.become(off[k-1], plan.Starting)
	}
}

// runs tells whether what a node physically stands on is there.
func (w *world) runs(i int) bool {
	host, onHost := w.estate.Index(w.estate.Node(i).Host)
	return w.output && (!onHost || w.things[host].state == plan.On || w.things[host].state == plan.Stopping)
}

// command is what a system does when it is told something, and its answer.
func (w *world) command(i int, verb plan.Verb) engine.Outcome {
	t := &w.things[i]
	switch {
	case verb == plan.Cut:
		if w.output && w.cutIn == 0 {
			w.cutIn = slowest
		}
	case !w.runs(i):
		return engine.Unreached
	case verb == plan.Stop && t.state == plan.On, verb == plan.Force && t.state == plan.On:
		w.become(i, plan.Stopping)
	case verb == plan.Force && t.state != plan.Off:
		t.state, t.left = plan.Stopping, 1
	case verb == plan.Start && t.state == plan.Off:
		w.become(i, plan.Starting)
	}
	return engine.Done
}

// observe is what a probe shows.
func (w *world) observe(i int) plan.Observation {
	switch {
	case i == w.supply && !w.output:
		return plan.Observation{State: plan.Off}
	case i == w.supply && w.cutIn > 0:
		return plan.Observation{State: plan.Stopping}
	case i == w.supply:
		return plan.Observation{State: plan.On}
	case !w.output && w.estate.Node(i).Kind != plan.VM:
		return plan.Observation{State: plan.Unreachable}
	}
	return plan.Observation{State: w.things[i].state}
}

// reading is what the UPS says.
func (w *world) reading(c *choices) power.Reading {
	if w.fault(c, 2, "the poll", "is not answered") == 1 {
		w.judge.heard(false)
		return power.Reading{Supply: "ups", Link: power.Lost}
	}
	w.judge.heard(w.mains && w.output)
	r := power.Reading{Supply: "ups", Status: power.OB, Load: power.Known(50), Runtime: power.Known(runtimes[min(int(w.level), len(runtimes)-1)])}
	if w.mains {
		r.Status = power.OL
	}
	if !w.output {
		r.Status = r.Status&^power.OL | power.OFF
	}
	return r
}
