package daemon

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/english"
	"ebbtide/internal/want"
)

const (
	waitsRest  = 500 * time.Millisecond // at least, between two looks at what nodes wait for
	waitsEvery = time.Second            // without anything on record
	waitsCost  = 20                     // a look's rest is at least so many times what it cost
	longWait   = time.Minute            // what waits for so long is told to all who read the log
	waitsBurst = 40                     // lines that may be told at once
	waitsPace  = time.Second            // of the lines after that
)

// waits tells the log what each node waits for, in the engine's words, when that changes: nodes that begin to wait for the
// same in one line, a wait for a person and a long one to all, the others to who wants to know everything. However many
// nodes there are, the lines are bounded: what is not told is counted.
type waits struct {
	log    *slog.Logger
	prefix string
	told   map[string]waiting
	loud   budget // of what is told to all
	quiet  budget
}

// waiting is what a node waits for, as it was told.
type waiting struct {
	key   string // without a time that passes
	since time.Time
	loud  bool // it was told to all
}

// line is what nodes wait for that begin to wait for the same.
type line struct {
	why   string
	nodes []string
}

// budget bounds the lines of a level.
type budget struct {
	room   int       // lines that may be told now
	filled time.Time // until when room was reckoned
}

func newWaits(log *slog.Logger, prefix string) *waits {
	return &waits{log: log, prefix: prefix, told: map[string]waiting{}, loud: budget{room: waitsBurst}, quiet: budget{room: waitsBurst}}
}

// tell tells what has changed since the last view.
func (w *waits) tell(now time.Time, nodes []engine.NodeView) {
	type kind struct {
		why  string
		loud bool
	}
	var loud, quiet []line
	at := map[kind]int{}
	add := func(id, why string, toAll bool) {
		lines, k := &quiet, kind{why, toAll}
		if toAll {
			lines = &loud
		}
		i, ok := at[k]
		if !ok {
			i = len(*lines)
			at[k], *lines = i, append(*lines, line{why: why})
		}
		(*lines)[i].nodes = append((*lines)[i].nodes, id)
	}
	for i := range nodes {
		n := &nodes[i]
		was, key := w.told[n.ID], n.Why
		switch n.Waits { // without the numbers that change all the while
		case want.Pausing:
			key = "a pause"
		case want.MaybeRising:
			key = "its start"
		case want.PersonAsked:
			key = "a person"
		case want.GateShut:
			key, _, _ = strings.Cut(n.Why, ": ")
		default:
		}
		long := now.Sub(was.since)
		switch {
		case key == was.key && (key == "" || was.loud || long < longWait):
		case key == was.key:
			was.loud = true
			w.told[n.ID] = was
			add(n.ID, n.Why+" (for "+english.Span(long.Truncate(longWait))+")", true)
		case key == "":
			delete(w.told, n.ID)
			add(n.ID, "no longer waiting", was.loud)
		default:
			is := waiting{key: key, since: now, loud: was.loud || n.Waits.Person()} // what was told to all is not left as it was
			w.told[n.ID] = is
			add(n.ID, n.Why, is.loud)
		}
	}
	w.write(now, slog.LevelInfo, &w.loud, loud)
	w.write(now, slog.LevelDebug, &w.quiet, quiet)
}

// forget begins anew, when an outage is over.
func (w *waits) forget() { clear(w.told) }

// write writes lines as far as there is room. What is not told is counted.
func (w *waits) write(now time.Time, level slog.Level, b *budget, lines []line) {
	ctx := context.Background()
	if !w.log.Enabled(ctx, level) {
		return
	}
	if more := int(now.Sub(b.filled) / waitsPace); more > 0 {
		b.room, b.filled = min(waitsBurst, b.room+more), now
	}
	untold := 0
	for at, l := range lines {
		if b.room == 0 || b.room == 1 && (untold > 0 || at < len(lines)-1) { // the last is for the count
			untold += len(l.nodes)
			continue
		}
		b.room--
		who := english.List(l.nodes, 6)
		w.log.Log(ctx, level, w.prefix+who+": "+l.why, "nodes", len(l.nodes)) //nolint:sloglint // a sentence for people
	}
	if untold > 0 && b.room > 0 {
		b.room--
		rest := english.Count(untold, "more node is", "more nodes are") + " now waiting for something else: see `ebbtide status`"
		w.log.Log(ctx, level, w.prefix+rest, "nodes", untold) //nolint:sloglint // a sentence for people
	}
}

// tellWaits follows what nodes wait for while an outage is open: after each record, and from time to time.
func (d *Daemon) tellWaits(ctx context.Context) {
	w := newWaits(d.log, d.conduct.observing())
	due := time.NewTimer(waitsEvery)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.moved:
		case <-due.C:
		}
		began := time.Now()
		if d.history.isOpen() {
			if view, err := d.view(ctx); err == nil && view.Outage != "" {
				w.tell(time.Now(), view.Nodes)
			}
		} else {
			w.forget()
		}
		rest := time.NewTimer(max(waitsRest, waitsCost*time.Since(began)))
		select {
		case <-ctx.Done():
			rest.Stop()
			return
		case <-rest.C:
		}
		due.Reset(waitsEvery)
	}
}
