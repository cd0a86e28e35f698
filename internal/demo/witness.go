package demo

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/referee"
)

// The recharge gate and the reserve of the demo's runbook.
const (
	gateOnline = 3 * time.Second
	gateCharge = 60.0             // percent
	reserve    = 47 * time.Second // four of which go by in one, and Ebbtide is sure of a word on it after five
)

// watched is what the referee sees here: no machine tells that it is on its way up or down, and the battery is sped up.
const watched = referee.Records

// witness watches the estate itself and tells the referee what it sees: what is on, the UPS, each command as it leaves and
// each record as it becomes durable. For the result it counts what is off, lost and back.
type witness struct {
	mu     sync.Mutex
	things map[string]*thing
	ups    truth
	ask    func() cache // of the NAS; to be called without the lock
	cache  cache        // as it last was

	judge  *referee.Referee // nil: Ebbtide has not read its runbook yet
	estate *plan.Estate
	places map[string]int // of the nodes in it, by their names in their systems

	phase     phase
	broken    []string // what the referee has no rule for
	isCut     bool
	provenOff int
	slack     float64 // seconds of battery beyond the reserve, at the end of the way down
	dirty     int64   // blocks that were dirty when the NAS went off
}

// cache is how the cache of the NAS is.
type cache struct{ protected, dirty bool }

type phase uint8

const (
	before phase = iota // all is well
	outage
	over
)

// thing is a node as it really is.
type thing struct {
	on      bool
	wasOn   bool // before the outage
	excused bool // went down by a failure that the demo was asked for
}

func newWitness() *witness {
	w := &witness{things: map[string]*thing{nasName: {on: true}}, ask: func() cache { return cache{} }}
	for _, h := range hostNames {
		w.things[h] = &thing{on: true}
	}
	for _, m := range machines {
		w.things[m.Name] = &thing{on: !m.Off}
	}
	return w
}

// know begins the judging: Ebbtide has read its runbook. After a crash it reads the same again.
func (w *witness) know(estate *plan.Estate, policy power.Policy) {
	now := w.ask()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cache = now; w.judge != nil {
		w.judge.Resumed(time.Now())
		return
	}
	w.judge = referee.New(referee.Options{Estate: estate, Policy: policy, Sight: watched, Began: time.Now()})
	w.estate, w.places = estate, map[string]int{}
	for i := range estate.Len() {
		w.places[short(estate.Node(i).ID)] = i
	}
	for name := range w.things {
		w.show(name)
	}
	w.poll()
}

// show tells the referee how a node is. The lock is held.
func (w *witness) show(name string) {
	i, known := w.places[name]
	if !known {
		return
	}
	now := referee.Condition{State: plan.Off}
	if w.things[name].on {
		now.State = plan.On
	}
	if w.estate.Node(i).Can.Has(plan.Protect) {
		now.Protected, now.Dirty = w.cache.protected, w.cache.dirty
		if w.cache.protected {
			now.Set = "write-through" // else as it was: there is nothing to remember of it
		}
	}
	w.judge.Changed(time.Now(), i, now)
}

// tell gives the referee something to judge, with the cache as it is now.
func (w *witness) tell(what func(at time.Time)) {
	now := w.ask()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cache = now
	w.show(nasName)
	what(time.Now())
}

// recorded takes records that are durable.
func (w *witness) recorded(records []ledger.Record) {
	w.tell(func(at time.Time) {
		for i := range records {
			w.judge.Recorded(at, &records[i])
		}
	})
}

// watch lets the referee see the commands to a node and its answers.
func (w *witness) watch(id string, n adapter.Node) adapter.Node {
	i, known := w.estate.Index(id)
	if !known {
		return n
	}
	outer := seen{n, w, i}
	if own, ok := n.(adapter.Watcher); ok {
		return struct {
			adapter.Node
			adapter.Watcher
		}{outer, own}
	}
	return outer
}

// seen is a node that the referee sees.
type seen struct {
	adapter.Node
	witness *witness
	at      int
}

func (s seen) Do(ctx context.Context, do adapter.Command) error {
	s.witness.tell(func(at time.Time) {
		s.witness.judge.Commanded(at, referee.Command{Node: s.at, Verb: do.Verb, Settings: do.Settings})
	})
	return s.Node.Do(ctx, do)
}

func (s seen) Probe(ctx context.Context) (plan.Observation, error) {
	o, err := s.Node.Probe(ctx)
	if err == nil && o.State != plan.Unknown && o.State != plan.Unreachable {
		s.witness.tell(func(at time.Time) {
			s.witness.judge.Answered(at, s.at)
			s.witness.judge.Told(at, s.at, false)
		})
	}
	return o, err
}

// load is what everything that is on draws, in percent of what the UPS can give.
func (w *witness) load() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	load := 55.0 // switches, fans and what else has no name
	for name, t := range w.things {
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
func (w *witness) power(t truth) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.phase == outage && t.mains && !w.ups.mains && !w.isCut { // it ends without a cut
		w.count(t)
	}
	was := w.ups
	if w.ups = t; w.judge == nil {
		return
	}
	if i := w.places[upsName]; was.output && !t.output {
		w.judge.OutputLost(time.Now(), i)
	} else if !was.output && t.output {
		w.judge.OutputBack(time.Now(), i)
	}
	w.poll()
}

// poll tells the referee how the UPS is. The lock is held.
func (w *witness) poll() {
	t := w.ups
	w.judge.Polled(time.Now(), referee.Poll{
		Supply: w.places[upsName], Mains: t.mains, On: t.mains && t.output, Heard: t.heard,
		Charge: math.Round(t.charge) / 100, // as it is told
	})
}

// uncut notes that the UPS does not make the cut that it took.
func (w *witness) uncut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.judge != nil {
		w.judge.Uncut(time.Now(), w.places[upsName])
	}
}

// begin starts the outage: what is on now is what must be on afterwards.
func (w *witness) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.phase = outage
	for _, t := range w.things {
		t.wasOn = t.on
	}
}

// pardon notes that the demo itself takes a node down, with all that runs on it. Nobody can know that before it is looked at.
func (w *witness) pardon(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := time.Now()
	gone := []string{name}
	for _, m := range machines {
		if hostNames[m.Host] == name {
			gone = append(gone, m.Name)
		}
	}
	for _, name := range gone {
		w.things[name].excused = true
		if i, known := w.places[name]; known {
			w.judge.Meddled(at, i)
		}
	}
}

// changed notes a change of power.
func (w *witness) changed(name string, on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.things[name].on = on
	if w.judge != nil {
		w.show(name)
	}
}

// lost notes blocks that were dirty when the NAS went off (rule 12).
func (w *witness) lost(blocks int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.things[nasName].excused && !w.isCut {
		return
	}
	if w.dirty += blocks; blocks > 0 {
		w.broken = append(w.broken, fmt.Sprintf("12: %d dirty blocks were lost with %s", blocks, nasName))
	}
}

// cut notes what is on when the output goes off. A battery that has run empty is no command that the referee could judge.
func (w *witness) cut(now truth, commanded bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isCut {
		return
	}
	w.isCut = true
	w.count(now)
	var left []string
	for name, t := range w.things {
		if t.on {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	if !commanded && len(left) > 0 {
		w.broken = append(w.broken, fmt.Sprintf("11: the battery ran empty with %s still on", strings.Join(left, ", ")))
	}
}

// count notes what is off at the end of the way down, and what is left of the battery. The lock is held.
func (w *witness) count(now truth) {
	w.slack, w.provenOff = now.left-reserve.Seconds(), 0
	for _, t := range w.things {
		if t.wasOn && !t.on && !t.excused {
			w.provenOff++
		}
	}
}

// Result is what came of a demo, as the estate has it.
type Result struct {
	// of what was on, off when the output was cut; what the demo itself took down does not count
	ProvenOff        int      `json:"proven_off"`
	Restored         int      `json:"restored"` // of what was on, on again
	OrderViolations  int      `json:"order_violations"`
	DirtyBlocksAtCut int64    `json:"dirty_blocks_at_cut"`
	Forced           int      `json:"forced"` // commands that did not wait for consent, each with its reason on record
	SlackSeconds     float64  `json:"slack_seconds"`
	WasOn            int      `json:"was_on"`
	NotRestored      []string `json:"not_restored,omitempty"`
	Crashes          int      `json:"crashes,omitempty"`
	Seconds          float64  `json:"seconds"`
	Violations       []string `json:"violations,omitempty"` // each with the number of its rule
}

// result ends the outage and tells what came of it. records are its journal; powerOffs counts the VMs that were powered off
// without asking.
func (w *witness) result(records []ledger.Record, powerOffs int) Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.phase = over
	res := Result{ProvenOff: w.provenOff, DirtyBlocksAtCut: w.dirty, SlackSeconds: math.Round(10*w.slack) / 10}
	vms := 0
	for i := range records {
		if isForced(&records[i]) {
			res.Forced++
			vms += w.isForcedVM(&records[i])
		}
	}
	if powerOffs > vms {
		w.broken = append(w.broken, fmt.Sprintf("18: %d VMs were powered off, and only %d reasons are on record", powerOffs, vms))
	}
	for name, t := range w.things {
		switch {
		case !t.wasOn:
		case t.on:
			res.WasOn++
			res.Restored++
		default:
			res.WasOn++
			res.NotRestored = append(res.NotRestored, name)
		}
	}
	slices.Sort(res.NotRestored)
	res.Violations = slices.Concat(w.judge.Violations, w.broken)
	for _, v := range res.Violations {
		rule, _, _ := strings.Cut(v, ":")
		if slices.Contains([]string{"1", "2", "3", "10"}, rule) {
			res.OrderViolations++
		}
	}
	return res
}

// isForcedVM gives 1 for a forced power-off of a VM that has its reason on record, else 0.
func (w *witness) isForcedVM(rec *ledger.Record) int {
	if i, known := w.estate.Index(rec.Node); known && w.estate.Node(i).Kind == plan.VM && rec.Reason != "" {
		return 1
	}
	return 0
}

// isForced reports whether a record is of a command that did not wait for consent or proof.
func isForced(rec *ledger.Record) bool {
	return rec.Kind == ledger.Intent && (*rec.Verb == plan.Force || *rec.Verb == plan.Cut && rec.Reason != "")
}

// short is a node's name in its system.
func short(node string) string { return node[strings.LastIndexByte(node, '/')+1:] }
