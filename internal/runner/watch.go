package runner

import (
	"context"
	"fmt"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
)

const (
	firstRewatch   = time.Second // after a watch broke; doubling to
	slowestRewatch = time.Minute
)

// watch follows every node of the present estate that can tell of changes by itself.
func (r *Runner) watch(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	r.unwatch = cancel
	estate := r.engine.Settings().Estate
	for i := range estate.Len() {
		id := estate.Node(i).ID
		node, ok := r.options.Nodes(id)
		if !ok {
			continue
		}
		if w, ok := node.(adapter.Watcher); ok {
			r.all.Go(func() { r.follow(ctx, id, w) })
		}
	}
}

// follow keeps one watch up. While it is broken the engine's own probes are all there is.
func (r *Runner) follow(ctx context.Context, id string, w adapter.Watcher) {
	pause := firstRewatch
	for {
		began := time.Now()
		err := r.watchOnce(ctx, id, w)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > slowestRewatch {
			pause = firstRewatch
		}
		r.log.Debug("a watch failed", keyNode, id, keyError, err, "again_in", pause)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		pause = min(2*pause, slowestRewatch)
	}
}

func (r *Runner) watchOnce(ctx context.Context, id string, w adapter.Watcher) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the adapter crashed: %v", p)
		}
	}()
	return w.Watch(ctx, func(seen plan.Observation) {
		if ctx.Err() == nil {
			r.Post(engine.Observed{Node: id, Seen: seen})
		}
	})
}
