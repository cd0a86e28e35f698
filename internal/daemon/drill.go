package daemon

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"ebbtide/internal/engine"
	"ebbtide/internal/forecast"
	"ebbtide/internal/nut"
	"ebbtide/internal/plan"
	"ebbtide/internal/runner"
)

// DrillOrder asks for a drill. Exactly one of Nodes, Stage and Battery is given.
type DrillOrder struct {
	Nodes   []string `json:"nodes,omitempty"`   // names of nodes and selectors, and labels: "tier=lab"
	Stage   string   `json:"stage,omitempty"`   // a shed stage
	Battery string   `json:"battery,omitempty"` // a supply
	Floor   float64  `json:"floor,omitempty"`   // of a battery, in percent
	By      string   `json:"by,omitempty"`      // who asks for it, for the record
}

// Scope is what a drill is about, in words: what a person types to confirm it.
func (o *DrillOrder) Scope() string {
	return strings.Join(slices.DeleteFunc(append(slices.Clone(o.Nodes), o.Stage, o.Battery), func(s string) bool { return s == "" }), " ")
}

func (o *DrillOrder) event() engine.Drill {
	return engine.Drill{Nodes: o.Nodes, Stage: plan.Stage(o.Stage), Supply: o.Battery, Floor: o.Floor, By: o.By}
}

// DrillPlan is what a drill would do.
type DrillPlan struct {
	Scope   string        `json:"scope"`
	Nodes   []string      `json:"nodes,omitempty"` // that are on: what goes down and comes back
	Off     []string      `json:"off,omitempty"`   // in its scope and not on: they are left as they are
	Down    []DrillStep   `json:"down,omitempty"`  // in order
	Up      []DrillStep   `json:"up,omitempty"`
	Takes   time.Duration `json:"takes,omitempty"`   // if each step takes its median time
	AtMost  time.Duration `json:"at_most,omitempty"` // if each takes its p95
	Battery *BatteryPlan  `json:"battery,omitempty"`
	Refused string        `json:"refused,omitempty"` // why it would not begin now
	Hint    string        `json:"hint,omitempty"`    // what to do instead
}

// DrillStep is one step of a drill.
type DrillStep struct {
	Node   string        `json:"node"`
	Verb   plan.Verb     `json:"verb"`
	At     time.Duration `json:"at"`    // after the direction's start, if all takes its median time
	Takes  time.Duration `json:"takes"` // median
	P95    time.Duration `json:"p95"`
	Forced time.Duration `json:"forced,omitempty"` // it is powered off if it has not stopped by itself within so long; 0: never
}

// BatteryPlan is how a battery would be drilled.
type BatteryPlan struct {
	Supply  string   `json:"supply"`
	Charge  *float64 `json:"charge,omitempty"` // percent, now
	Floor   float64  `json:"floor"`
	Left    *float64 `json:"left,omitempty"`    // seconds, now
	Command string   `json:"command,omitempty"` // the UPS's own test; empty: it offers none
	Problem string   `json:"problem,omitempty"` // why there is none
}

// DrillBegun is the answer to a drill that has begun.
type DrillBegun struct {
	Outage string `json:"outage"` // its id, under which its records are
}

// postDrill takes an order for a drill. With preview=1 it says what would be done, with rehearse=1 it goes through it and
// commands nothing.
func (d *Daemon) postDrill(w http.ResponseWriter, r *http.Request) {
	who, ok := d.admitOrder(w, r)
	if !ok {
		return
	}
	preview, rehearse, err := drillMode(r)
	var o DrillOrder
	if err == nil {
		o, err = readDrill(http.MaxBytesReader(w, r.Body, maxCommand))
	}
	if err != nil {
		d.unreadable(w, err)
		return
	}
	o.By = claimed(o.By, who)
	switch {
	case rehearse:
		d.streamRehearsal(w, r, &o)
	case preview:
		p, err := d.planDrill(r, &o)
		if err != nil {
			d.fail(w, http.StatusServiceUnavailable, err)
			return
		}
		d.answer(w, http.StatusOK, p)
	default:
		d.beginDrill(w, r, &o)
	}
}

func (d *Daemon) beginDrill(w http.ResponseWriter, r *http.Request, o *DrillOrder) {
	d.log.Info("drill", "scope", o.Scope(), "by", o.By)
	if err := d.conduct.drills(); err != nil {
		d.refuse(w, err)
		return
	}
	id, err := d.runner.Drill(r.Context(), o.event())
	var refused *runner.RefusedError
	switch {
	case errors.As(err, &refused):
		d.refuse(w, refused)
	case err != nil:
		d.fail(w, http.StatusServiceUnavailable, err)
	default:
		d.answer(w, http.StatusOK, DrillBegun{Outage: id})
	}
}

// refuse answers what is not done for safety: why, and after a semicolon what to do instead.
func (d *Daemon) refuse(w http.ResponseWriter, err error) {
	d.answer(w, http.StatusConflict, faultOf(err))
}

func drillMode(r *http.Request) (preview, rehearse bool, err error) {
	for key, to := range map[string]*bool{"preview": &preview, "rehearse": &rehearse} {
		if text := r.URL.Query().Get(key); text != "" {
			if *to, err = strconv.ParseBool(text); err != nil {
				return false, false, fmt.Errorf("%s is 1 or 0", key)
			}
		}
	}
	if preview && rehearse {
		err = errors.New("either preview or rehearse, not both")
	}
	return preview, rehearse, err
}

func readDrill(body io.Reader) (DrillOrder, error) {
	var o DrillOrder
	if err := readOne(body, &o, "drill", `{"nodes": ["web"], "by": "your name"}`); err != nil {
		return o, err
	}
	given := 0
	for _, is := range []bool{len(o.Nodes) > 0, o.Stage != "", o.Battery != ""} {
		if is {
			given++
		}
	}
	texts := append(slices.Clone(o.Nodes), o.Stage, o.Battery, o.By)
	switch {
	case given != 1:
		return o, errors.New("a drill needs nodes, a stage or a battery: give exactly one of them")
	case o.Battery == "" && o.Floor != 0:
		return o, errors.New("floor needs a battery")
	case len(o.By) > 100 || slices.ContainsFunc(texts, unprintable):
		return o, errors.New("by and all names must be short and printable")
	}
	return o, nil
}

func unprintable(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// planDrill says what a drill would do, by the engine's own judgement of what it would take.
func (d *Daemon) planDrill(r *http.Request, o *DrillOrder) (*DrillPlan, error) {
	look, err := d.runner.PreviewDrill(r.Context(), o.event())
	if err != nil {
		return nil, err
	}
	p := &DrillPlan{Scope: o.Scope(), Nodes: look.On}
	p.Refused, p.Hint, _ = strings.Cut(look.Refusal, "; ")
	for _, id := range look.Scope {
		if !slices.Contains(look.On, id) {
			p.Off = append(p.Off, id)
		}
	}
	if err := d.conduct.drills(); err != nil && p.Refused == "" {
		text, hint, _ := strings.Cut(err.Error(), "; ")
		p.Refused, p.Hint = strings.TrimPrefix(text, "cannot drill: "), hint
	}
	if o.Battery != "" {
		return p, d.planBattery(r, o, p)
	}
	estate := d.site.Load().compiled.Estate
	median := func(q forecast.Duration) time.Duration { return q.Median }
	p95 := func(q forecast.Duration) time.Duration { return q.Quantile(0.95) }
	for _, goal := range []plan.Goal{plan.Down, plan.Up} {
		steps, takes := d.drillSteps(estate, goal, look.On, median)
		_, most := d.drillSteps(estate, goal, look.On, p95)
		p.Takes, p.AtMost = p.Takes+takes, p.AtMost+most
		if goal == plan.Down {
			p.Down = steps
		} else {
			p.Up = steps
		}
	}
	return p, nil
}

// drillSteps lists the steps of a direction on some nodes, and how long they take under the limits if each takes as long
// as pick says.
func (d *Daemon) drillSteps(estate *plan.Estate, goal plan.Goal, on []string,
	pick func(forecast.Duration) time.Duration,
) ([]DrillStep, time.Duration) {
	takes := make([]bool, estate.Len())
	for _, id := range on {
		if i, ok := estate.Index(id); ok {
			takes[i] = true
		}
	}
	known := d.durations()
	down := estate.Plan(goal, func(i int) bool { // order goes through nodes without an action of their own
		return takes[i] || estate.Node(i).Kind == plan.Passive
	})
	for i := range down.Steps {
		s := &down.Steps[i]
		if s.Node >= 0 && takes[s.Node] {
			s.Times.Nominal = pick(known.Of(estate.Node(s.Node), s.Verb))
		} else {
			s.Times.Nominal = 0
		}
	}
	schedule := down.Schedule()
	var steps []DrillStep
	for i := range down.Steps {
		s := &down.Steps[i]
		if s.Milestone || !takes[s.Node] {
			continue
		}
		n := estate.Node(s.Node)
		q := known.Of(n, s.Verb)
		step := DrillStep{Node: n.ID, Verb: s.Verb, At: schedule.Start[i], Takes: q.Median, P95: q.Quantile(0.95)}
		if s.Verb == plan.Stop && n.Can.Has(plan.Force) {
			step.Forced = n.Time(plan.Stop).Within
		}
		steps = append(steps, step)
	}
	slices.SortStableFunc(steps, func(a, b DrillStep) int { return int(a.At - b.At) })
	return steps, schedule.Total
}

// durations is what is known of how long steps take.
func (d *Daemon) durations() *forecast.Knowledge { return d.learned.known.Load() }

// planBattery adds what the UPS says of itself, and by which command it would be tested.
func (d *Daemon) planBattery(r *http.Request, o *DrillOrder, p *DrillPlan) error {
	view, err := d.view(r.Context())
	if err != nil {
		return err
	}
	p.Battery = &BatteryPlan{Supply: o.Battery, Floor: o.Floor}
	for i := range view.Supplies {
		if s := &view.Supplies[i]; s.ID == o.Battery {
			if s.State.Charge.Known {
				p.Battery.Charge = &s.State.Charge.Value
			}
			if s.State.Left.Known {
				p.Battery.Left = &s.State.Left.Value
			}
		}
	}
	site := d.site.Load()
	for i := range site.Runbook.Supplies {
		s := &site.Runbook.Supplies[i]
		if s.ID != o.Battery {
			continue
		}
		options, err := site.Server(s, true)
		if err == nil {
			p.Battery.Command, err = nut.BatteryTest(r.Context(), options, s.UPS)
		}
		if err == nil && options.Username == "" {
			err = errors.New("the runbook names no NUT user that may run instant commands")
		}
		if err != nil {
			p.Battery.Problem = err.Error()
			if p.Refused == "" {
				p.Refused, p.Hint = err.Error(), "see `upscmd -l` for what the UPS offers, and give the supply a username and password "+
					"that may run it"
			}
		}
	}
	return nil
}
