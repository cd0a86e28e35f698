package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

// perConnection is how many calls one connection takes at a time.
const perConnection = 16

// decorate lays over every node what all of them have: a limit for each connection, a log, and while the daemon is not
// armed a rehearsal that sends nothing.
func (d *Daemon) decorate(s *site) {
	slots := map[string]chan struct{}{}
	for i := range s.rb.Connections {
		slots[s.rb.Connections[i].Name] = make(chan struct{}, perConnection)
	}
	s.set.Decorate(func(decl runbook.NodeDecl, n adapter.Node) adapter.Node {
		if shared, ok := slots[decl.Via]; ok {
			n = adapter.Limit(n, shared)
		}
		n = adapter.Log(n, d.options.Log.With(keyComponent, "adapter", keyNode, decl.ID))
		if d.options.Config.Armed {
			return n
		}
		return d.saying(decl.ID, adapter.Rehearse(n))
	})
}

// saying tells of each command that is only rehearsed.
func (d *Daemon) saying(id string, rehearsed adapter.Node) adapter.Node {
	says := says{rehearsed, id, d.log}
	if w, ok := rehearsed.(adapter.Watcher); ok {
		return struct {
			adapter.Node
			adapter.Watcher
		}{says, w}
	}
	return says
}

type says struct {
	adapter.Node
	id  string
	log *slog.Logger
}

func (s says) Do(ctx context.Context, v plan.Verb) error {
	s.log.InfoContext(ctx, fmt.Sprintf("(observing) would %s %s", v, s.id), keyNode, s.id)
	return s.Node.Do(ctx, v)
}

// rehearsedOutput is a supply's output whose cut is only said. It tells Off from then on, until the mains are back: a
// real output comes back by itself then.
type rehearsedOutput struct {
	inner  adapter.Node
	onLine func() bool

	mu    sync.Mutex
	cutAt time.Time // zero: no cut was rehearsed since the output came back
}

// cutShows is how long a rehearsed cut lasts at least, so that it is seen.
const cutShows = 5 * time.Second

// Do notes a cut and sends nothing.
func (o *rehearsedOutput) Do(_ context.Context, v plan.Verb) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v == plan.Cut && o.cutAt.IsZero() {
		o.cutAt = time.Now()
	}
	return nil
}

// Probe asks the real output.
func (o *rehearsedOutput) Probe(ctx context.Context) (plan.Observation, error) {
	seen, err := o.inner.Probe(ctx)
	if err != nil {
		return seen, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.cutAt.IsZero() && time.Since(o.cutAt) >= cutShows && o.onLine() {
		o.cutAt = time.Time{}
	}
	if !o.cutAt.IsZero() && seen.State == plan.On {
		seen.State, seen.Detail = plan.Off, "rehearsed; really on: "+seen.Detail
	}
	return seen, nil
}

// rehearseAlong does for a rehearsal what power itself does in a real outage: this machine goes down and comes up, and
// nodes that start with their power start when the direction turns. It is called by the runner's loop.
func (d *Daemon) rehearseAlong(r engine.Record) {
	estate := d.site.Load().compiled.Estate
	switch {
	case r.Kind == engine.Intent && *r.Verb == plan.Stop:
		if i, ok := estate.Index(r.Node); ok && estate.Node(i).Kind == plan.Self {
			go d.runner.Post(engine.Observed{Node: r.Node, Seen: plan.Observation{State: plan.Off, Detail: "rehearsed"}})
		}
	case r.Kind == engine.Turned && r.Goal == plan.Up:
		for i := range estate.Len() {
			n := estate.Node(i)
			if n.Kind == plan.Self {
				go d.runner.Post(engine.Observed{Node: n.ID, Seen: plan.Observation{State: plan.On, Detail: "rehearsed"}})
			}
			if !n.ByPower || !n.Can.Has(plan.Stop) {
				continue
			}
			if node, ok := d.site.Load().node(n.ID); ok {
				if err := node.Do(context.Background(), plan.Start); err != nil {
					d.log.Error("a rehearsal broke", keyNode, n.ID, keyError, err)
				}
			}
		}
	}
}
