package demo

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
)

// The recharge gate and the reserve of the demo's runbook. The referee holds Ebbtide to them.
const (
	gateOnline = 3 * time.Second
	gateCharge = 60.0 // percent
	reserve    = 60 * time.Second
)

// referee watches the estate itself, not Ebbtide's journal, and holds what it sees against the rules of DESIGN §5. The
// journal is asked for one thing only: whether what was done by force has its reason on record.
type referee struct {
	mu     sync.Mutex
	things map[string]*thing
	ups    truth

	phase       phase
	order       int      // violations of the order
	violations  []string // of every rule
	leftOn      []string // at the cut, with the output cut by command
	isCut       bool
	provenOff   int
	slack       float64 // seconds of battery beyond the reserve, at the end of the way down
	dirty       int64   // blocks that were dirty when the NAS went off
	cacheJudged bool
}

type phase uint8

const (
	before phase = iota // all is well
	outage
	over
)

// thing is a node as it really is.
type thing struct {
	needs   []string
	on      bool
	wasOn   bool // before the outage
	excused bool // went down by a failure that the demo was asked for
}

func newReferee() *referee {
	r := &referee{things: map[string]*thing{nasName: {on: true}}}
	for _, h := range hostNames {
		r.things[h] = &thing{on: true, needs: []string{nasName}}
	}
	for _, m := range machines {
		r.things[m.Name] = &thing{on: !m.Off, needs: append([]string{hostNames[m.Host]}, m.needs...)}
	}
	return r
}

// load is what everything that is on draws, in percent of what the UPS can give.
func (r *referee) load() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	load := 55.0 // switches, fans and what else has no name
	for name, t := range r.things {
		switch {
		case !t.on:
		case name == nasName, slices.Contains(hostNames, name):
			load += 1.5
		default:
			load += 0.4
		}
	}
	return load
}

// power notes how the UPS is.
func (r *referee) power(t truth) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase == outage && t.mains && !r.ups.mains && !r.isCut { // it ends without a cut
		r.count(t)
	}
	r.ups = t
}

// begin starts the outage: what is on now is what must be on afterwards.
func (r *referee) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase = outage
	for _, t := range r.things {
		t.wasOn = t.on
	}
}

// excuse takes a node out of the judgement on the way down: the demo itself takes it down, with all that runs on it.
func (r *referee) excuse(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.things[name].excused = true
	for _, t := range r.things {
		if slices.Contains(t.needs, name) && slices.Contains(hostNames, name) {
			t.excused = true
		}
	}
}

// violate notes that a rule was broken. The lock is held.
func (r *referee) violate(format string, args ...any) {
	r.violations = append(r.violations, fmt.Sprintf(format, args...))
}

func (r *referee) disorder(format string, args ...any) {
	r.order++
	r.violate(format, args...)
}

// changed judges a change of power.
func (r *referee) changed(name string, on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.things[name]
	t.on = on
	switch {
	case r.phase != outage:
	case on:
		r.cameUp(name, t)
	case r.ups.output && !r.isCut && !t.excused:
		r.wentDown(name)
	}
}

// wentDown holds that nothing goes before what uses it (rules 1, 2 and 10).
func (r *referee) wentDown(name string) {
	for user, u := range r.things {
		if u.on && slices.Contains(u.needs, name) {
			r.disorder("%s went off while %s, which needs it, was on", name, user)
		}
	}
}

// cameUp holds that nothing comes before what it needs (rule 10), on battery or before the gate (rule 5), or at all if it
// was off before (rule 4).
func (r *referee) cameUp(name string, t *thing) {
	for _, need := range t.needs {
		if !r.things[need].on {
			r.disorder("%s started before %s, which it needs", name, need)
		}
	}
	boot := time.Duration(0)
	switch {
	case name == nasName:
		boot = nasBoot
	case slices.Contains(hostNames, name):
		boot = hostBoot
	}
	switch {
	case !t.wasOn:
		r.violate("%s was started, and was off before the outage", name)
	case !r.ups.mains:
		r.violate("%s started on battery", name)
	case time.Since(r.ups.since)-boot < gateOnline || r.ups.charge < gateCharge:
		r.violate("%s started before the recharge gate, at a charge of %.0f %%", name, r.ups.charge)
	}
}

// cacheAt holds that the cache is in write-through mode when the first VM goes down (rule 12).
func (r *referee) cacheAt(name string, protected bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase != outage || r.cacheJudged || r.things[name].excused || r.isCut {
		return
	}
	r.cacheJudged = true
	if !protected && !r.things[nasName].excused {
		r.violate("%s was stopped before the cache of %s was in write-through mode", name, nasName)
	}
}

// lost notes blocks that were dirty when the NAS went off (rule 12).
func (r *referee) lost(blocks int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.things[nasName].excused && !r.isCut {
		return
	}
	if r.dirty += blocks; blocks > 0 {
		r.violate("%d dirty blocks were lost with %s", blocks, nasName)
	}
}

// cut notes what is on when the output goes off (rule 3). A battery that has run empty is no command, but nothing was
// proven either.
func (r *referee) cut(now truth, commanded bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isCut {
		return
	}
	r.isCut = true
	r.count(now)
	for name, t := range r.things {
		if t.on {
			r.leftOn = append(r.leftOn, name)
		}
	}
	slices.Sort(r.leftOn)
	if !commanded && len(r.leftOn) > 0 {
		r.violate("the battery ran empty with %s still on", strings.Join(r.leftOn, ", "))
	}
}

// count notes what is off at the end of the way down, and what is left of the battery. The lock is held.
func (r *referee) count(now truth) {
	r.slack, r.provenOff = now.left-reserve.Seconds(), 0
	for _, t := range r.things {
		if t.wasOn && !t.on && !t.excused {
			r.provenOff++
		}
	}
}

// Result is what came of a demo, as the estate has it.
type Result struct {
	ProvenOff        int      `json:"proven_off"` // of what was on, off when the output was cut; what the demo itself took down does not count
	Restored         int      `json:"restored"`   // of what was on, on again
	OrderViolations  int      `json:"order_violations"`
	DirtyBlocksAtCut int64    `json:"dirty_blocks_at_cut"`
	Forced           int      `json:"forced"` // commands that did not wait for consent, each with its reason on record
	SlackSeconds     float64  `json:"slack_seconds"`
	WasOn            int      `json:"was_on"`
	NotRestored      []string `json:"not_restored,omitempty"`
	Crashes          int      `json:"crashes,omitempty"`
	Seconds          float64  `json:"seconds"`
	Violations       []string `json:"violations,omitempty"` // of every rule
}

// judge ends the outage and gives the result. records are its journal; powerOffs counts the VMs that were powered off
// without asking.
func (r *referee) judge(records []engine.Record, powerOffs int, protected bool) Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase = over
	forcedCut, forcedVMs := r.reasons(records)
	if len(r.leftOn) > 0 && !forcedCut {
		r.disorder("the output was cut with %s still on, and no reason is on record", strings.Join(r.leftOn, ", "))
	}
	if powerOffs > forcedVMs {
		r.violate("%d VMs were powered off, and only %d reasons are on record", powerOffs, forcedVMs)
	}
	res := Result{ProvenOff: r.provenOff, DirtyBlocksAtCut: r.dirty, SlackSeconds: math.Round(10*r.slack) / 10}
	for i := range records {
		if isForced(&records[i]) {
			res.Forced++
		}
	}
	reported := reportedAsFailed(records)
	for name, t := range r.things {
		switch {
		case !t.wasOn:
		case t.on:
			res.WasOn++
			res.Restored++
		default:
			res.WasOn++
			res.NotRestored = append(res.NotRestored, name)
			if !slices.Contains(reported, name) {
				r.violate("%s was on, is off, and is not reported as failed", name)
			}
		}
	}
	if protected && r.things[nasName].on {
		r.violate("the cache of %s was left in write-through mode", nasName)
	}
	slices.Sort(res.NotRestored)
	res.OrderViolations, res.Violations = r.order, r.violations
	return res
}

// reasons reads from the journal whether the cut has a reason for being forced, and how many forced power-offs have one.
func (r *referee) reasons(records []engine.Record) (cut bool, vms int) {
	for i := range records {
		rec := &records[i]
		if !isForced(rec) || rec.Reason == "" {
			continue
		}
		if *rec.Verb == plan.Cut {
			cut = true
		}
		if _, isVM := r.things[short(rec.Node)]; isVM && !slices.Contains(hostNames, rec.Node) && rec.Node != nasName {
			vms++
		}
	}
	return cut, vms
}

// isForced tells whether a record is of a command that did not wait for consent or proof.
func isForced(rec *engine.Record) bool {
	return rec.Kind == engine.Intent && (*rec.Verb == plan.Force || *rec.Verb == plan.Cut && rec.Reason != "")
}

// reportedAsFailed lists what the end of the outage says was not brought back.
func reportedAsFailed(records []engine.Record) []string {
	var names []string
	for i := range records {
		if records[i].Kind == engine.Closed {
			for _, n := range records[i].Nodes {
				names = append(names, short(n.Node))
			}
		}
	}
	return names
}

// short is a node's name in its system.
func short(node string) string { return node[strings.LastIndexByte(node, '/')+1:] }
