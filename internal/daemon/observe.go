package daemon

import (
	"context"
	"fmt"
	"log/slog"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/decorate"
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
		return d.saying(id, d.conduct.over(id, n, supplies[id], rs))
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
	if observing := d.conduct.observing(); observing != "" {
		s.prefix = observing + "would "
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
