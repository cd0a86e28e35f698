package daemon

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ebbtide/internal/effect"
	"ebbtide/internal/evidence"
	"ebbtide/internal/forecast"
	"ebbtide/internal/foresight"
	"ebbtide/internal/journal"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/timeline"
)

const (
	learnWithin = 2 * time.Second // how long a start may wait for what older outages teach
	weighEvery  = 24 * time.Hour
	newsSigma   = 0.01 // a capacity that has become less sure by so much, or been proven anew, is told the engine
)

// ProofGood is how long a proof counts: what was proven longer ago is due for a drill.
const ProofGood = 120 * 24 * time.Hour

// learning is what the daemon has learned from the outages on its journal. Old evidence weighs less each day, so that
// it is weighed anew from time to time.
type learning struct {
	closed     chan timeline.Timeline // outages that have ended, to be learned from
	known      atomic.Pointer[forecast.Knowledge]
	forecaster atomic.Pointer[forecast.Forecaster] // each is asked by the runner alone, one question at a time

	mu       sync.Mutex
	evidence *evidence.Evidence
	weighed  time.Time
}

// recollect gathers what the journal has shown. A journal that can't be read teaches nothing, and keeps nobody from
// watching.
func (d *Daemon) recollect(ctx context.Context) *learning {
	ctx, cancel := context.WithTimeoutCause(ctx, learnWithin, errors.New("startup does not wait any longer"))
	defer cancel()
	seen, err := d.journal.evidence(ctx)
	if err != nil {
		d.log.Warn("nothing could be learned from some recorded outages", keyError, err)
	}
	return &learning{evidence: seen, closed: make(chan timeline.Timeline, 16)}
}

// evidence reads what all outages have shown, from a journal that can't be written too. It is never nil.
func (l *lazyJournal) evidence(ctx context.Context) (*evidence.Evidence, error) {
	j, err := l.open()
	if err != nil {
		if j, err = journal.Open(l.path, journal.Options{ReadOnly: true}); err != nil {
			return &evidence.Evidence{}, err
		}
		defer j.Close() //nolint:errcheck // nothing was written
	}
	return evidence.Read(ctx, j)
}

// weigh makes knowledge of what was seen, as it counts now.
func (l *learning) weigh(estate *plan.Estate, now time.Time) {
	l.mu.Lock()
	samples := l.evidence.Samples(evidence.Finder(estate))
	l.weighed = now
	l.mu.Unlock()
	known := forecast.Learn(samples, now)
	l.known.Store(known)
	l.forecaster.Store(forecast.New(known, forecast.DefaultTrials))
}

// aged reports whether what was seen is to be weighed anew.
func (l *learning) aged(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Sub(l.weighed) >= weighEvery
}

// estimate answers the runner's question how long the rest of a plan takes.
func (d *Daemon) estimate(estate *plan.Estate, ask effect.Estimate) foresight.Estimate {
	return d.learned.forecaster.Load().Answer(estate, ask)
}

// ended takes an outage that was closed. It is called by the runner's loop: what is to be learned is learned aside.
func (d *Daemon) ended(tl timeline.Timeline) {
	select {
	case d.learned.closed <- tl:
	default:
		d.log.Warn("nothing was learned from an outage: too many ended at once", "outage", tl.Outage)
	}
}

// learn takes what a closed outage teaches.
func (l *learning) learn(tl *timeline.Timeline) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.evidence.Add(tl)
	l.weighed = time.Time{}
}

// supplies gives the declared supplies with what has been proven of their batteries.
func (l *learning) supplies(declared []power.Supply, now time.Time) []power.Supply {
	l.mu.Lock()
	defer l.mu.Unlock()
	with := slices.Clone(declared)
	for i := range with {
		with[i].Capacity = l.evidence.Capacity(with[i].ID, now)
	}
	return with
}

// news reports whether the batteries' capacities are others than a site was made with: proven since, or less sure by age.
func (l *learning) news(was []power.Supply, now time.Time) bool {
	for i, s := range l.supplies(was, now) {
		is, was := s.Capacity, was[i].Capacity
		if is.Discharges != was.Discharges || !is.At.Equal(was.At) || is.Sigma-was.Sigma > newsSigma {
			return true
		}
	}
	return false
}

// Proof is when something was last shown to work.
type Proof struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

// Proofs tell of what nobody has seen to work for long: the battery of a supply by what it gave, and a node that is to be
// stopped by having been stopped, without force, and started again, in an outage or a drill.
type Proofs struct {
	Never   []string `json:"never,omitempty"`
	Overdue []Proof  `json:"overdue,omitempty"` // more than Days ago, the longest first
	Days    int      `json:"days"`
}

// proofs tells, of each thing of a site that can be proven, when it last was. The zero time: never.
func (l *learning) proofs(s *site) (supplies, nodes []Proof) {
	l.mu.Lock()
	defer l.mu.Unlock()
	estate := s.compiled.Estate
	for i := range estate.Len() {
		switch n := estate.Node(i); {
		case n.Kind == plan.Supply:
			at := slices.IndexFunc(s.compiled.Supplies, func(p power.Supply) bool { return p.ID == n.ID })
			if at >= 0 {
				supplies = append(supplies, Proof{n.ID, s.compiled.Supplies[at].Capacity.At})
			}
		case n.Can.Has(plan.Stop) && n.Kind != plan.Self && n.Kind != plan.Manual:
			nodes = append(nodes, Proof{n.ID, l.evidence.Returned(n.ID)})
		}
	}
	return supplies, nodes
}

// unproven sums the proofs up for people.
func (d *Daemon) unproven(now time.Time) Proofs {
	supplies, nodes := d.learned.proofs(d.site.Load())
	p := Proofs{Days: int(ProofGood / (24 * time.Hour))}
	for _, one := range append(supplies, nodes...) {
		switch {
		case one.At.IsZero():
			p.Never = append(p.Never, one.ID)
		case now.Sub(one.At) > ProofGood:
			p.Overdue = append(p.Overdue, one)
		}
	}
	slices.SortStableFunc(p.Overdue, func(a, b Proof) int { return a.At.Compare(b.At) })
	return p
}

// tellUnproven warns of batteries of which nobody knows what they give.
func (d *Daemon) tellUnproven() {
	supplies, _ := d.learned.proofs(d.site.Load())
	for _, one := range supplies {
		if one.At.IsZero() {
			d.log.Warn("the battery of a supply has never been tested: its runtime is a guess until an outage or a drill proves it",
				"supply", one.ID)
		}
	}
}
