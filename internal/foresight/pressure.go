package foresight

import (
	"slices"
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/want"
)

const (
	leastForCut = 30 * time.Second // the least that a cut and its delay need
	// doubted is what no way of telling may give beyond the reserve when an output is cut with what is on, or storage stopped below it:
	// that harms for certain, and what one way fears another may know better, as a gauge does that was recharged sooner than was reckoned.
	doubted = 3 * time.Minute
	// pressing is the chance of the battery giving out from which waits are shortened: what is powered off is harmed for
	// certain, so that it takes more than for a start in time.
	pressing = 0.2
)

// Shortness is how short the time of a supply's battery is.
func (e *Foresight) Shortness(k int) want.Pressure {
	s := &e.Supplies[k]
	left, _ := s.State.Outlook.At(pressing)
	reserve := e.Policy.Reserve.Seconds()
	isEnd := left.Known && s.State.Likely.Value <= max(leastForCut.Seconds(), reserve/4)
	isNear := func(within float64) bool {
		return !s.Anew && (s.IsDying() || s.State.Outlook.Most().Value <= within+doubted.Seconds())
	}
	last := max(reserve, e.lastTakes(k).Seconds())
	switch {
	case isEnd && isNear(reserve):
		return want.CutNow
	case left.Known && left.Value <= last && isNear(last):
		return want.LastCall
	}
	return e.pressedBy(left)
}

// lastTakes is how long it takes, as it usually does, to flush and stop what is on of the storage that hangs on a supply, the one after the
// other, and to cut its output.
func (e *Foresight) lastTakes(k int) time.Duration {
	return e.longest(k, func(l *last) time.Duration { return l.takes })
}

// IsLate reports whether the battery of a supply, whose time is so short, leaves no more than the time of those stops, without a flush.
func (e *Foresight) IsLate(k int, battery want.Pressure) bool {
	left := e.Supplies[k].State.Likely // by which the output is cut as well
	return battery >= want.LastCall && left.Known && left.Value <= e.longest(k, func(l *last) time.Duration { return l.stops }).Seconds()
}

func (e *Foresight) longest(k int, takes func(*last) time.Duration) time.Duration {
	var longest time.Duration
	for at := range e.last[k] {
		if l := &e.last[k][at]; e.GoesDown(l.node) && !e.IsOff(l.node) && !e.HasNoPower(l.node) {
			longest = max(longest, takes(l))
		}
	}
	return longest + leastForCut
}

// last is storage, or the like, and how long it takes to flush and stop it and what it stands on, as far as that hangs on the same supply.
type last struct {
	node         int
	takes, stops time.Duration // with the flushes, and without
}

// lastOf lists what is stopped last of what hangs on a supply: guests and hosts are powered off before, but for those that hold a cache,
// which are asked first.
func lastOf(graph *plan.Estate, supply int) []last {
	var list []last
	all := make([]last, graph.Len())
	for _, i := range graph.Dependents(supply) {
		own := &all[i]
		own.node = i
		for _, d := range graph.Needs(i) {
			own.takes, own.stops = max(own.takes, all[d].takes), max(own.stops, all[d].stops)
		}
		n := graph.Node(i)
		holdsCache := (n.Kind == plan.VM || n.Kind == plan.Host) &&
			slices.ContainsFunc(graph.Users(i), func(u int) bool { return graph.Node(u).Can.Has(plan.Flush) })
		if (n.Kind != plan.Other || n.Switches) && !holdsCache {
			continue
		}
		if n.Can.Has(plan.Flush) {
			own.takes += n.Time(plan.Flush).Nominal
		}
		if n.Can.Has(plan.Stop) {
			own.takes, own.stops = own.takes+n.Time(plan.Stop).Nominal, own.stops+n.Time(plan.Stop).Nominal
		}
		list = append(list, *own)
	}
	return list
}

// pressedBy is what is done for want of time where so many seconds are left, but for a cut.
func (e *Foresight) pressedBy(left power.Figure) want.Pressure {
	reserve := e.Policy.Reserve.Seconds()
	switch {
	case !left.Known:
		return want.NoPressure
	case left.Value <= reserve:
		return want.ReserveReached
	case e.Known && left.Value <= reserve+e.Estimate.Hosts.Seconds():
		return want.ForceVMs
	}
	return want.NoPressure
}

// Alarmed is how short that time is by the alarm of its UPS alone, which has stood for long enough.
func (e *Foresight) Alarmed(k int) want.Pressure {
	st := &e.Supplies[k].State
	alarm := &st.Outlook.Views[power.FromAlarm]
	switch {
	case !st.LowBattery || st.IsRash():
	case alarm.Known && st.Outlook.Rate > 0:
		return e.pressedBy(power.Known(alarm.Burn / st.Outlook.Rate))
	case !st.Left.Known:
		return e.pressedBy(power.Known(power.LowBatteryLeft.Seconds()))
	}
	return want.NoPressure
}

// Presses reports whether anything is on that the pressure of a supply concerns.
func (e *Foresight) Presses(k int, p want.Pressure) bool {
	concerns := func(n *plan.Node) bool {
		switch p {
		case want.ForceVMs:
			return n.Kind == plan.VM
		case want.ReserveReached, want.LastCall:
			return n.Kind == plan.VM || n.Kind == plan.Host || n.Can.Has(plan.Flush)
		default:
			return n.Can.Has(plan.Stop)
		}
	}
	return slices.ContainsFunc(e.Graph.Dependents(e.Supplies[k].Node), func(i int) bool {
		return concerns(e.Graph.Node(i)) && e.Press[i] >= p && e.GoesDown(i) && !e.IsOff(i) && !e.IsCutOff(i)
	})
}

// PressNodes finds the pressure of each node. Where one has changed, all wants are judged anew.
func (e *Foresight) PressNodes() {
	changed := false
	e.Pressed = false
	for i := range e.Beliefs {
		was := e.Press[i]
		e.Press[i] = e.pressureAt(i)
		changed = changed || e.Press[i] != was
		e.Pressed = e.Pressed || e.Press[i] != want.NoPressure
	}
	if changed {
		e.TouchAll()
	}
}

// pressureAt is the pressure of one node, when those of all that it needs are known.
func (e *Foresight) pressureAt(i int) want.Pressure {
	if k := e.Ledger.SupplyOf[i]; k >= 0 {
		return e.Times[k].Battery
	}
	most := e.feedPressure(i)
	for _, d := range e.Graph.Needs(i) {
		if e.Graph.Node(d).Kind != plan.Supply {
			most = max(most, e.Press[d])
		}
	}
	if most == want.GoesDark || most < want.LastCall {
		return most
	}
	if e.isEnding(i) {
		return want.LastCall
	}
	return want.ReserveReached
}

// isEnding reports whether a node is about to lose its power, by each of the supplies that it draws it from: what only hangs on a switch
// whose supply gives out stays on, and so does what another feeds that is not heard for a moment.
func (e *Foresight) isEnding(i int) bool {
	return e.isNoneLeft(i, func(t *Time) bool { return t.Load >= want.LastCall })
}

// IsTooLate reports whether each of those leaves no more than the time in which what hangs on it is stopped: there is none for a flush any
// more.
func (e *Foresight) IsTooLate(i int) bool {
	return e.isNoneLeft(i, func(t *Time) bool { return t.Late })
}

// isNoneLeft reports whether each supply that a node draws its power from is off, or may be, or is so near its end as the caller asks.
func (e *Foresight) isNoneLeft(i int, isNear func(*Time) bool) bool {
	sources := e.Graph.AllSources(i)
	lives := func(f int) bool {
		k := e.Ledger.SupplyOf[f]
		return k >= 0 && !e.Times[k].Gone && !isNear(&e.Times[k]) && !e.MayBeOver(k)
	}
	return len(sources) > 0 && !slices.ContainsFunc(sources, lives)
}

// feedPressure is the pressure of the last of a node's feeds to give out. One that fails and is silent, or off, is not counted on,
// unless there is no other. Where all have gone dark there is no hurry any more.
func (e *Foresight) feedPressure(i int) want.Pressure {
	heard, least, gone := false, want.GoesDark, true
	for _, f := range e.Graph.Feeds(i) {
		k := e.Ledger.SupplyOf[f]
		if k < 0 || e.Times[k].Gone {
			continue
		}
		s := &e.Times[k]
		gone = false
		if s.Trusted && !heard {
			heard, least = true, want.GoesDark
		}
		if s.Trusted || !heard {
			least = min(least, s.Load)
		}
	}
	if gone {
		return want.NoPressure
	}
	return least
}
