package daemon

import (
	"errors"
	"fmt"

	"ebbtide/internal/adapter"
	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/english"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/timeline"
)

// conduct is what a daemon that acts asks and sends, and what one that only observes: whether it is armed. How the two word what they
// do is Would in the engine, and the timeline's and the report's own.
type conduct interface {
	// mode is that of the outages that it begins.
	mode() ledger.Mode
	// takesUp reports whether it goes on with an open outage that began in a mode.
	takesUp(began ledger.Mode) bool
	// over gives what is asked and commanded in the place of a node, or of a supply's output.
	over(id string, n adapter.Node, isOutput bool, rs *rehearsals) adapter.Node
	// resumed follows the records of an open outage that is taken up.
	resumed(s *site, past []ledger.Record)
	// recorded follows a record that was just made, in the runner's loop.
	recorded(r *ledger.Record)
	// drills says why it can't drill; nil: it can.
	drills() error
	// said says where an outage is.
	said(outage, going string, s *timeline.Summary) string
	// observing begins each sentence about what is not done, and what a command would have been.
	observing() string
}

// newConduct gives the one that a daemon is configured for.
func (d *Daemon) newConduct() conduct {
	if d.options.Config.Armed {
		return acts{}
	}
	return observes{d}
}

// isArmed reports whether it acts.
func (d *Daemon) isArmed() bool { return d.conduct.mode() == ledger.ModeRun }

// acts sends what the engine commands.
type acts struct{}

func (acts) mode() ledger.Mode { return ledger.ModeRun }

func (acts) takesUp(began ledger.Mode) bool {
	return began == ledger.ModeRun || began == ledger.ModeDrill
}

func (acts) over(_ string, n adapter.Node, _ bool, _ *rehearsals) adapter.Node { return n }

func (acts) resumed(*site, []ledger.Record) {}

func (acts) recorded(*ledger.Record) {}

func (acts) drills() error { return nil }

func (acts) said(outage, going string, s *timeline.Summary) string {
	return fmt.Sprintf("%s, %s: %d of %d nodes down, %s running, %d failed", outage, going, s.Down, s.WasOn,
		english.Count(s.Running, "step"), s.Failed)
}

func (acts) observing() string { return "" }

// observes sends nothing: what the engine commands is rehearsed.
type observes struct{ d *Daemon }

func (observes) mode() ledger.Mode { return ledger.ModeObserve }

func (observes) takesUp(began ledger.Mode) bool { return began == ledger.ModeObserve }

func (o observes) over(id string, n adapter.Node, isOutput bool, rs *rehearsals) adapter.Node {
	if isOutput {
		return rs.ofOutput(id, n, func() bool { return o.d.heard.onLine(id) }, func() error { return o.d.cantCut(id) })
	}
	return rs.of(id, n)
}

func (o observes) resumed(s *site, past []ledger.Record) {
	for i := range past {
		if err := s.rehearsals.again(s.compiled.Estate, &past[i]); err != nil {
			o.d.log.Error("a rehearsal failed", keyNode, past[i].Node, keyError, err)
		}
	}
}

// recorded does for a rehearsal what power itself does in a real outage: this machine goes down and comes up, and nodes that start with
// their power start when the direction turns.
func (o observes) recorded(r *ledger.Record) {
	s := o.d.site.Load()
	estate := s.compiled.Estate
	switch {
	case r.Kind == ledger.Intent && *r.Verb == plan.Stop:
		if i, ok := estate.Index(r.Node); ok && estate.Node(i).Kind == plan.Self {
			o.rehearsed(r.Node, plan.Off)
		}
	case r.Kind == ledger.Closed:
		s.rehearsals.forget()
	case r.Kind == ledger.Turned && r.Goal == plan.Up:
		for i := range estate.Len() {
			if n := estate.Node(i); n.Kind == plan.Self {
				o.rehearsed(n.ID, plan.On)
			}
		}
		if err := s.rehearsals.again(estate, r); err != nil {
			o.d.log.Error("a rehearsal failed", keyError, err)
		}
	}
}

// rehearsed lets Ebbtide's own machine be seen as it would be. It does not wait for the loop that it is called by.
func (o observes) rehearsed(self string, state plan.State) {
	go o.d.runner.Post(engine.Observed{Node: self, Seen: plan.Observation{State: state, Detail: "rehearsed"}})
}

var errNotArmed = errors.New("cannot drill: the daemon is not armed, so it sends no commands; set armed: true, or rehearse the drill of nodes " +
	"(--only … --rehearse): a battery can't be discharged as a rehearsal")

func (observes) drills() error { return errNotArmed }

func (observes) said(outage, going string, s *timeline.Summary) string {
	if going != begunNot {
		going = "would be " + going
	}
	return fmt.Sprintf("%s, %s: %d of %d nodes would be down, %s would be running, %d would have failed", outage, going, s.Down, s.WasOn,
		english.Count(s.Running, "step"), s.Failed)
}

func (observes) observing() string { return effect.Observing }
