package decorate

import (
	"context"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/plan"
)

// maxSettings bounds what an adapter may write down of what it is about to change.
const maxSettings = 4000

type clean struct{ inner adapter.Node }

// Clean makes everything plain that a node says of itself. It belongs below all other decorators: whatever a system
// answers passes it before anything else sees it.
func Clean(n adapter.Node) adapter.Node {
	c := &clean{n}
	if w, ok := n.(adapter.Watcher); ok {
		return struct {
			adapter.Node
			adapter.Watcher
		}{c, &cleanWatch{w}}
	}
	return c
}

func (c *clean) Probe(ctx context.Context) (plan.Observation, error) {
	seen, err := c.inner.Probe(ctx)
	return tidy(seen), printable.Error(err)
}

// tidy leaves out settings that are not plain: half of them would put back something else.
func tidy(seen plan.Observation) plan.Observation {
	seen.Detail, seen.Caution = printable.Text(seen.Detail, printable.Most), printable.Text(seen.Caution, printable.Most)
	if printable.Text(seen.Settings, maxSettings) != seen.Settings {
		seen.Settings = ""
	}
	return seen
}

func (c *clean) Do(ctx context.Context, do adapter.Command) error {
	return printable.Error(c.inner.Do(ctx, do))
}

type cleanWatch struct{ inner adapter.Watcher }

func (c *cleanWatch) Watch(ctx context.Context, seen func(plan.Observation)) error {
	return printable.Error(c.inner.Watch(ctx, func(o plan.Observation) {
		seen(tidy(o))
	}))
}
