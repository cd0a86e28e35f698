package bench

import (
	"fmt"
	"time"

	"ebbtide/internal/power"
)

// rule is what a shutdown is started by. The UPS's low-battery flag starts it in any case.
type rule struct {
	family, text string
	peer         func(n *night, seconds float64, r *power.Reading) bool // of a peer's rule, nil: Ebbtide's slack
	drilled      bool
	slack, odds  float64 // the chance of failing is above odds, if the shutdown begins so many seconds later
}

// reserve is what every room keeps for the end.
const reserve = 30 * time.Second

// rules lists the peers' rules, and Ebbtide's with its two thresholds from early to late: the margin, which a runbook
// sets, and the odds, which are power.Pessimistic unless it sets them.
func rules() []rule {
	list := []rule{{family: "low-battery flag", text: "low battery", peer: func(*night, float64, *power.Reading) bool { return false }}}
	for _, after := range []float64{120, 300, 480} {
		list = append(list, rule{
			family: "timer", text: fmt.Sprintf("%.0f s on battery", after),
			peer: func(_ *night, s float64, _ *power.Reading) bool { return s >= after },
		})
	}
	for _, below := range []float64{75, 50, 30} {
		list = append(list, rule{
			family: "charge", text: fmt.Sprintf("charge below %.0f%%", below),
			peer: func(_ *night, _ float64, r *power.Reading) bool { return r.Charge.Value < below },
		})
	}
	for _, times := range []float64{1, 1.5, 2} {
		list = append(list, rule{
			family: "runtime", text: fmt.Sprintf("UPS's runtime below %.1f × the plan's p95", times),
			peer: func(n *night, _ float64, r *power.Reading) bool {
				return r.Runtime.Value < times*n.room.p95
			},
		})
	}
	for _, drilled := range []bool{false, true} {
		family := map[bool]string{false: "slack, undrilled", true: "slack, drilled"}[drilled]
		for _, margin := range []float64{60, 0} {
			list = append(list, rule{
				family: family, text: fmt.Sprintf("slack below %.0f s", margin), drilled: drilled, slack: margin,
				odds: power.Pessimistic,
			})
		}
		for _, odds := range []float64{0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1} {
			list = append(list, rule{
				family: family, text: fmt.Sprintf("slack below 0 s at odds of %.0f%%", 100*odds),
				drilled: drilled, odds: odds,
			})
		}
	}
	return list
}

const (
	settledFor = 10.0 // seconds on battery from which slack counts
	pollAhead  = 1.0  // seconds to the next poll
)

// starts tells by each rule when the shutdown begins, in seconds on battery; negative: it does not.
func (n *night) starts(all []rule) []float64 {
	at := make([]float64, len(all))
	for i := range at {
		at[i] = -1
	}
	var trackers [2]*power.Tracker
	for k := range trackers {
		trackers[k] = power.NewTracker(n.box.supply("ups", k == 1, epoch))
		trackers[k].Observe(epoch, n.box.says("ups", 0, false))
		trackers[k].Observe(epoch.Add(time.Second), n.box.says("ups", 0, false))
	}
	life := min(n.box.life(), n.lasts)
	for s := 1.0; s < life; s++ {
		now := epoch.Add(time.Duration(1+s) * time.Second)
		r := n.box.says("ups", s, false)
		var outlooks [2]power.Outlook
		for k, tracker := range trackers {
			tracker.Observe(now, r)
			outlooks[k] = tracker.State(now).Outlook
		}
		low := trackers[0].State(now).LowBattery
		open, waits := false, [2]bool{} // of Ebbtide's rules, whether an earlier one of the same family does not hold yet
		for i := range all {
			if at[i] >= 0 {
				continue
			}
			x, k, holds := &all[i], 0, low
			if x.drilled {
				k = 1
			}
			switch {
			case low:
			case x.peer != nil:
				holds = x.peer(n, s, &r)
			case s >= settledFor && !waits[k]:
				holds = n.fails(&outlooks[k], x.slack+pollAhead, x.odds)
				waits[k] = !holds
			}
			if holds {
				at[i] = s
			}
			open = open || !holds
		}
		if !open {
			break
		}
	}
	return at
}

// fails reports whether the chance that the battery gives out before a plan that begins after so many seconds and its
// reserve have ended is above odds. Slack below some time is the same with that time and power.Pessimistic.
func (n *night) fails(o *power.Outlook, after, odds float64) bool {
	after += reserve.Seconds()
	if o.GivesOut(after+n.room.need[len(n.room.need)-1].Seconds()) <= odds {
		return false // the longest is short enough
	}
	sum := 0.0
	for _, need := range n.room.need {
		sum += o.GivesOut(after + need.Seconds())
	}
	return sum > odds*float64(len(n.room.need))
}
