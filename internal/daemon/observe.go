package daemon

import (
	"context"
	"fmt"
	"log/slog"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/decorate"
	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

// over lays over every node what believes nothing gone that was never seen, a log, and while the daemon is not armed a rehearsal that sends
// nothing.
func (d *Daemon) over(rb *runbook.Runbook, rs *rehearsals) func(id string, n adapter.Node) adapter.Node {
	supplies := map[string]bool{}
	for i := range rb.Supplies {
		supplies[rb.Supplies[i].ID] = true
	}
	return func(id string, n adapter.Node) adapter.Node {
		n = decorate.Log(decorate.OnceSeen(n, d.met[id]), d.options.Log.With(keyComponent, "adapter", keyNode, id))
		switch {
		case d.options.Config.Armed:
		case supplies[id]:
			n = rs.ofOutput(id, n, func() bool { return d.heard.onLine(id) })
		default:
			n = rs.of(id, n)
		}
		return d.saying(id, n)
	}
}

// metIn tells which nodes are shown by the records of an outage to have been there: they were seen, or took a command. A VM that exists
// only while it runs is gone once it is off.
func metIn(past []ledger.Record) map[string]bool {
	met := map[string]bool{}
	see := func(node string, state plan.State) {
		switch state {
		case plan.Unknown, plan.Unreachable:
		default:
			met[node] = true
		}
	}
	for i := range past {
		r := &past[i]
		for _, n := range r.Nodes {
			see(n.Node, n.State)
		}
		if r.State != nil {
			see(r.Node, *r.State)
		}
		if r.Kind == ledger.Proven || r.Kind == ledger.Accepted && r.Outcome == ledger.Done {
			met[r.Node] = true
		}
	}
	return met
}

// saying tells of each command, or that it would be given.
func (d *Daemon) saying(id string, n adapter.Node) adapter.Node {
	s := says{Node: n, id: id, log: d.log}
	if !d.options.Config.Armed {
		s.prefix = effect.Observing + "would "
	}
	return decorate.WithWatch(s, n)
}

type says struct {
	adapter.Node
	id, prefix string
	log        *slog.Logger
}

func (s says) Do(ctx context.Context, do adapter.Command) error {
	s.log.InfoContext(ctx, fmt.Sprintf("%s%s %s", s.prefix, do.Verb, s.id), keyNode, s.id) //nolint:sloglint // a sentence for people
	return s.Node.Do(ctx, do)
}

// rehearseAlong does for a rehearsal what power itself does in a real outage: this machine goes down and comes up, and
// nodes that start with their power start when the direction turns. It is called by the runner's loop.
func (d *Daemon) rehearseAlong(r ledger.Record) {
	estate := d.site.Load().compiled.Estate
	switch {
	case r.Kind == ledger.Intent && *r.Verb == plan.Stop:
		if i, ok := estate.Index(r.Node); ok && estate.Node(i).Kind == plan.Self {
			go d.runner.Post(engine.Observed{Node: r.Node, Seen: plan.Observation{State: plan.Off, Detail: "rehearsed"}})
		}
	case r.Kind == ledger.Closed:
		d.site.Load().rehearsals.forget()
	case r.Kind == ledger.Turned && r.Goal == plan.Up:
		for i := range estate.Len() {
			n := estate.Node(i)
			if n.Kind == plan.Self {
				go d.runner.Post(engine.Observed{Node: n.ID, Seen: plan.Observation{State: plan.On, Detail: "rehearsed"}})
			}
		}
		if err := d.site.Load().rehearsals.again(estate, &r); err != nil {
			d.log.Error("a rehearsal failed", keyError, err)
		}
	}
}
