// Package forecast tells how long what is left of a plan takes, and how sure that is: durations as they were learned,
// and many trials of the plan under its limits, by the rule that the engine works by. It is pure: its randomness comes
// from seeds, so that the same question has the same answer.
package forecast

import (
	"cmp"
	"math"
	"slices"
	"time"

	"ebbtide/internal/effect"
	"ebbtide/internal/foresight"
	"ebbtide/internal/plan"
)

// Forecaster answers the engine's Estimate effects. It is not safe for concurrent use.
type Forecaster struct {
	known  *Knowledge
	trials int

	estate   *plan.Estate // that of the last question; what follows is made from it
	down, up *course
	stages   []plan.Stage // of the down plan, in order
	seed     uint64
	scope    []string      // of the last question
	whole    time.Duration // of that scope

	hostRoles []role // what was left of all but VMs at the last question
	hostsTake time.Duration
}

// DefaultTrials give the 95th percentile of a plan within about one percent (docs/FIGURES.md).
const DefaultTrials = 500

// New makes a forecaster from what is known of durations (nil: nothing but what the runbook says) that plays so many
// trials for each answer.
func New(known *Knowledge, trials int) *Forecaster {
	return &Forecaster{known: known, trials: max(1, trials)}
}

// What an answer is made of.
const (
	shares     = 32   // of Need
	likely     = 0.95 // the share of trials that a time is to cover
	surely     = 0.99 // the share of trials to cover where nothing may be spent on anything else
	margin     = 1.2  // on a power-up and a whole further shutdown
	mostChains = 8
	fewest     = 100 // trials are played of a stage; half of an answer's otherwise
)

// Answer tells how long the rest of a down plan takes. The same question has the same answer, whatever was asked
// before; and as the same trials meet the same luck, answers differ by what was done between the questions alone.
func (f *Forecaster) Answer(estate *plan.Estate, ask effect.Estimate) foresight.Estimate {
	f.know(estate)
	rest := f.left(ask)
	n := rest.network(nil)
	all := n.try(f.trials, f.seed, rest.under)
	answer := f.brief(ask, rest, all.spans)
	answer.Critical = n.critical(&all, f.trials)
	answer.Tail = f.part(rest, f.trials, surely, func(s *plan.Step, n *plan.Node) bool {
		return s.Verb == plan.Flush || s.Verb == plan.Cut || s.Verb == plan.Stop && n.Kind == plan.Other
	})
	need := all.at(likely)
	for i, stage := range f.stages {
		if i > 0 && rest.has(f.stages[i-1]) {
			later := f.stages[i:]
			need = f.part(rest, max(f.trials/2, min(f.trials, fewest)), likely,
				func(s *plan.Step, _ *plan.Node) bool { return slices.Contains(later, s.Stage) })
		}
		answer.Stages = append(answer.Stages, foresight.StageNeed{Stage: stage, Need: need})
	}
	return answer
}

// Brief is Answer with what the engine decides by alone: Need, Hosts and Whole. Critical, Tail and Stages, which people
// read, are left out: they take most of the time.
func (f *Forecaster) Brief(estate *plan.Estate, ask effect.Estimate) foresight.Estimate {
	f.know(estate)
	rest := f.left(ask)
	return f.brief(ask, rest, rest.network(nil).spans(f.trials, f.seed, rest.under))
}

func (f *Forecaster) brief(ask effect.Estimate, rest *remaining, spans []int64) foresight.Estimate {
	return foresight.Estimate{Serial: ask.Serial, Need: middles(spans), Whole: f.wholeOf(ask.Scope), Hosts: f.hosts(rest)}
}

// Parts are what is left out of Brief unless it is asked for.
type Parts struct {
	Need  bool // what slack is judged by, until the shutdown begins
	Whole bool // what a recharge is judged by
}

// Some is Brief with so much of it: Hosts, which waits are judged by once the shutdown has begun, and the parts that are
// asked for.
func (f *Forecaster) Some(estate *plan.Estate, ask effect.Estimate, parts Parts) foresight.Estimate {
	f.know(estate)
	rest := f.left(ask)
	answer := foresight.Estimate{Serial: ask.Serial, Hosts: f.hosts(rest)}
	if parts.Need {
		answer.Need = middles(rest.network(nil).spans(f.trials, f.seed, rest.under))
	}
	if parts.Whole {
		answer.Whole = f.wholeOf(ask.Scope)
	}
	return answer
}

// hosts is the time that all but VMs take. While only those go down, that stays as it is.
func (f *Forecaster) hosts(rest *remaining) time.Duration {
	roles := rest.roles(func(s *plan.Step, n *plan.Node) bool { return n.Kind != plan.VM && s.Verb != plan.Protect })
	rest.course.reduce(roles)
	if !slices.Equal(roles, f.hostRoles) || slices.Contains(roles, underway) {
		f.hostRoles, f.hostsTake = roles, rest.course.network(roles).within(likely, f.trials, f.seed, rest.under)
	}
	return f.hostsTake
}

// know makes ready what depends on the estate alone.
func (f *Forecaster) know(estate *plan.Estate) {
	if f.estate == estate {
		return
	}
	down := estate.Plan(plan.Down, nil)
	f.estate, f.scope, f.hostRoles, f.hostsTake = estate, nil, nil, 0
	f.down, f.up = newCourse(down, f.known), nil
	f.seed, f.stages = seedOf(down.Digest()), stagesOf(down)
	f.down.keep(f.trials, f.seed)
}

// knowUp makes ready what only a power-up asks for.
func (f *Forecaster) knowUp() {
	if f.up == nil {
		f.up = newCourse(f.estate.Plan(plan.Up, nil), f.known)
		f.up.keep(f.trials, f.seed)
	}
}

// seedOf makes a number of a digest.
func seedOf(digest string) uint64 {
	seed := uint64(0)
	for _, c := range []byte(digest) {
		seed = mix(seed ^ uint64(c))
	}
	return seed
}

// stagesOf lists a plan's stages: protect first, shutdown last, and between them as their steps come.
func stagesOf(p *plan.Plan) []plan.Stage {
	var stages []plan.Stage
	for _, s := range p.Steps {
		if !s.Milestone && !slices.Contains(stages, s.Stage) {
			stages = append(stages, s.Stage)
		}
	}
	place := map[plan.Stage]int{plan.ProtectStage: -1, plan.ShutdownStage: 1}
	slices.SortStableFunc(stages, func(a, b plan.Stage) int { return cmp.Compare(place[a], place[b]) })
	return stages
}

// remaining is what is left of the down plan.
type remaining struct {
	course *course
	node   []bool       // nodes that are still to be taken down
	begun  []bool       // steps under way
	over   []bool       // steps of such nodes that are behind them
	under  map[int]odds // of the steps under way
}

func (f *Forecaster) left(ask effect.Estimate) *remaining {
	p := f.down.plan
	r := &remaining{
		course: f.down, node: members(f.estate, ask.Down), begun: make([]bool, len(p.Steps)), over: make([]bool, len(p.Steps)),
		under: map[int]odds{},
	}
	protected := false
	for _, u := range ask.Running {
		node, known := f.estate.Index(u.Node)
		if !known || !r.node[node] {
			continue
		}
		verb := u.Verb
		if verb == plan.Force {
			verb = plan.Stop
		}
		step, known := p.Find(node, verb)
		if !known || p.Steps[step].Milestone {
			continue
		}
		r.begun[step], r.under[step] = true, f.down.since(step, u.Verb, u.For, f.known)
		protected = protected || verb != plan.Protect
		if flush, has := p.Find(node, plan.Flush); has && verb == plan.Stop {
			r.over[flush] = true
		}
	}
	for i := range p.Steps {
		if protected && p.Steps[i].Verb == plan.Protect { // nothing else begins before caches are protected
			r.over[i] = !r.begun[i]
		}
	}
	return r
}

// has reports whether something of a stage remains.
func (r *remaining) has(stage plan.Stage) bool {
	p := r.course.plan
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Stage == stage && !s.Milestone && r.node[s.Node] && !r.over[i] {
			return true
		}
	}
	return false
}

// roles gives what each step is in a network of what remains (counts: of those steps; nil: of all).
func (r *remaining) roles(counts func(*plan.Step, *plan.Node) bool) []role {
	p := r.course.plan
	roles := make([]role, len(p.Steps))
	for i := range p.Steps {
		s := &p.Steps[i]
		switch {
		case r.over[i] || s.Node >= 0 && !r.node[s.Node]:
			roles[i] = settled
		case s.Milestone || counts != nil && !counts(s, p.Estate().Node(s.Node)):
			roles[i] = instant
		case r.begun[i]:
			roles[i] = underway
		default:
			roles[i] = timed
		}
	}
	return roles
}

// network is what remains as trials are played on it (counts: of those steps; nil: of all).
func (r *remaining) network(counts func(*plan.Step, *plan.Node) bool) *network {
	return r.course.network(r.roles(counts))
}

// part tells how long a part of what remains takes in a share of the trials.
func (f *Forecaster) part(r *remaining, trials int, share float64, counts func(*plan.Step, *plan.Node) bool) time.Duration {
	return r.network(counts).within(share, trials, f.seed, r.under)
}

// wholeOf is what an interrupted power-up of a scope and a whole further shutdown of it take.
func (f *Forecaster) wholeOf(scope []string) time.Duration {
	if f.scope != nil && slices.Equal(f.scope, scope) {
		return f.whole
	}
	f.knowUp()
	in := members(f.estate, scope)
	total := time.Duration(0)
	for _, c := range []*course{f.up, f.down} {
		r := &remaining{course: c, node: in, begun: make([]bool, len(c.plan.Steps)), over: make([]bool, len(c.plan.Steps))}
		if c == f.up {
			r.node = without(f.estate, in, plan.Supply) // they return by themselves
		}
		total += f.part(r, f.trials, likely, nil)
	}
	f.scope, f.whole = slices.Clone(scope), time.Duration(math.Round(margin*float64(total)))
	return f.whole
}

// middles gives the middles of equal shares of what is sorted.
func middles(spans []int64) []time.Duration {
	m := make([]time.Duration, min(shares, len(spans)))
	for i := range m {
		m[i] = time.Duration(spans[(2*i+1)*len(spans)/(2*len(m))]) * time.Microsecond
	}
	return m
}

// critical lists the steps that were most often on the critical chain.
func (n *network) critical(o *outcome, trials int) []foresight.Critical {
	var often []int
	for i, count := range o.chains {
		if count > 0 && n.cells[i].lane != pause {
			often = append(often, i)
		}
	}
	slices.SortStableFunc(often, func(a, b int) int { return cmp.Compare(o.chains[b], o.chains[a]) })
	var all []foresight.Critical
	for _, i := range often[:min(mostChains, len(often))] {
		s := &n.course.plan.Steps[n.steps[i]]
		all = append(all, foresight.Critical{Node: s.Name, Verb: s.Verb, Share: float64(o.chains[i]) / float64(trials)})
	}
	return all
}

func members(estate *plan.Estate, ids []string) []bool {
	in := make([]bool, estate.Len())
	for _, id := range ids {
		if i, ok := estate.Index(id); ok {
			in[i] = true
		}
	}
	return in
}

// without leaves out the nodes of a kind.
func without(estate *plan.Estate, in []bool, kind plan.Kind) []bool {
	some := slices.Clone(in)
	for i := range some {
		some[i] = some[i] && estate.Node(i).Kind != kind
	}
	return some
}
