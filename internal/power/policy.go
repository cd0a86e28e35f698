package power

import "time"

// Policy is the rules of a runbook: when each stage starts, and when things may come back.
type Policy struct {
	Protect  Condition     `json:"protect"`        // caches to write-through: at once and reversibly
	Shed     []Stage       `json:"shed,omitempty"` // in the order of the runbook
	Shutdown Condition     `json:"shutdown"`       // everything else that would go dark
	Restore  Condition     `json:"restore"`        // the recharge gate
	Reserve  time.Duration `json:"reserve"`        // battery time that only flush, halt and cut may spend
	// Odds is the chance, above 0, of the battery giving out before the plan and the reserve have ended, at which slack is
	// 0; 0: Pessimistic. More of it starts later: fewer shutdowns for nothing, more that come too late.
	Odds float64 `json:"odds,omitempty"`
}

// Stage is a part of the down plan that the policy names (plan.Stage), with its own trigger.
type Stage struct {
	Name string    `json:"name"`
	When Condition `json:"when"`
}

// Point is one point of a supply's runtime curve: at this load (percent of nominal) a full battery lasts so long.
type Point struct {
	Load float64       `json:"load"`
	Time time.Duration `json:"time"`
}

// Supply is what a runbook says of one UPS.
type Supply struct {
	ID    string  `json:"id"`
	Curve []Point `json:"curve,omitempty"` // by ascending load; empty: the default offset power law
	Watts float64 `json:"watts,omitempty"` // nominal output power; 0: not said
	// Recharge is how long the battery takes from empty to full; 0: DefaultRecharge.
	Recharge time.Duration `json:"recharge,omitempty"`
	OffDelay time.Duration `json:"offdelay,omitempty"`  // from the command to the cut of its output; 0: as the UPS is set
	OnDelay  time.Duration `json:"ondelay,omitempty"`   // from the mains' return to its output's; 0: as the UPS is set
	StaysOff bool          `json:"stays_off,omitempty"` // its output, after a cut, until a person switches it on
	// Capacity is what discharges have proven of it. It is no part of the runbook.
	Capacity Capacity `json:"capacity,omitzero"`
}

// ShortestOff is for how long an output must be off between its cut and its return, so that it is seen to be: it is looked at each few
// seconds.
const ShortestOff = 10 * time.Second

// Conditions lists when its stages begin, in the order in which they do.
func (p *Policy) Conditions() []Condition {
	all := []Condition{p.Protect}
	for _, stage := range p.Shed {
		all = append(all, stage.When)
	}
	return append(all, p.Shutdown)
}
