package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"ebbtide/internal/families"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
	"ebbtide/internal/sim"
	"ebbtide/test/dst"
)

// night is what came of a drawn night: a JSON line.
type night struct {
	Seed     uint64        `json:"seed"`
	Unjudged string        `json:"unjudged,omitempty"` // why nobody could judge it; nothing else is known then
	Broken   []string      `json:"broken,omitempty"`   // the rules that were broken, by the referee of today
	On       int           `json:"on"`                 // nodes that were on at the start
	Crashed  []string      `json:"crashed,omitempty"`  // those that lost their power while on, not by plan and not by hand
	Forced   []string      `json:"forced,omitempty"`   // those that were powered off without asking
	Missing  []string      `json:"missing,omitempty"`  // those that were on at the start and are not in the end
	Untold   []string      `json:"untold,omitempty"`   // those of Missing that no report names, though no outage is open any more
	Commands int           `json:"commands"`
	Kills    int           `json:"kills,omitempty"` // of the controller: after so many records, so that they hit each engine elsewhere
	Down     time.Duration `json:"down,omitempty"`  // how long anything that was on at the start was not
	// from a supply's trigger of the shutdown to its cut, of the first that is cut; 0: none, or the clock was set
	ToCut time.Duration `json:"to_cut,omitempty"`
}

// play plays the nights and writes a line for each, in no order.
func play(ctx context.Context) error {
	debug.SetGCPercent(1000) // see TestMain of test/dst
	debug.SetMemoryLimit(1 << 30)
	types := families.Schema()
	out := json.NewEncoder(os.Stdout)
	var mu sync.Mutex
	next, done, failed := *from, 0, error(nil)
	take := func() (seed uint64, more bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1, next-1 < *from+uint64(*nights) && failed == nil && ctx.Err() == nil
	}
	put := func(n *night) {
		mu.Lock()
		defer mu.Unlock()
		failed = errors.Join(failed, out.Encode(n))
		if done++; done%1000 == 0 {
			fmt.Fprintf(os.Stderr, "peer: %d of %d nights\n", done, *nights)
		}
	}
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for seed, more := take(); more; seed, more = take() {
				put(playOne(types, seed))
			}
		})
	}
	all.Wait()
	return errors.Join(failed, ctx.Err())
}

// playOne plays the night of a seed. An engine that panics in it is not judged.
func playOne(types schema.Types, seed uint64) (n *night) {
	defer func() {
		if p := recover(); p != nil {
			n = &night{Seed: seed, Unjudged: fmt.Sprint("panic: ", p)}
		}
	}()
	sc, problems, err := sim.Load("drawn", []byte(dst.DrawWith(dst.Seeded(seed), *faults)), nil, types)
	if err != nil {
		return &night{Seed: seed, Unjudged: fmt.Sprintf("%v: %s", err, problems.Text())}
	}
	r := sim.Check(sc)
	n = &night{
		Seed: seed, Broken: r.Violations, On: sc.Settings.Estate.Len() - len(sc.Off), Crashed: crashed(&sc, r),
		Missing: r.Missing, Kills: r.Kills, Down: r.Down,
	}
	n.follow(&sc, r.Records)
	if r.View.Outage == "" {
		n.Untold = slices.DeleteFunc(slices.Clone(n.Missing), func(id string) bool { return reported(r.Records, id) })
	}
	return n
}

// crashed lists what lost its power while on, and not by plan. What hangs on an outlet that a person switches off is left out: that
// hits whatever is on then, and so an engine that brings it back sooner.
func crashed(sc *sim.Scenario, r *sim.Result) []string {
	estate := sc.Settings.Estate
	byHand := make([]bool, estate.Len())
	for _, c := range sc.Changes {
		if at, ok := estate.Index(c.Node); ok && c.Becomes != nil && *c.Becomes == plan.Off && estate.Node(at).Kind == plan.Outlet {
			for _, i := range estate.Dependents(at) {
				byHand[i] = true
			}
		}
	}
	return slices.DeleteFunc(sim.Unplanned(estate, r), func(id string) bool {
		i, _ := estate.Index(id)
		return byHand[i]
	})
}

// follow takes from the records of a night what its end does not tell.
func (n *night) follow(sc *sim.Scenario, records []ledger.Record) {
	triggered := map[string]time.Time{} // by supply, last
	steady := !slices.ContainsFunc(sc.Changes, func(c sim.Change) bool { return c.Clock != nil })
	for i := range records {
		rec := &records[i]
		switch {
		case rec.Kind == ledger.Triggered && rec.Stage == plan.ShutdownStage:
			for _, id := range rec.Supplies {
				triggered[id] = rec.At
			}
		case rec.Kind == ledger.Intent:
			n.Commands++
			if *rec.Verb == plan.Force && !slices.Contains(n.Forced, rec.Node) {
				n.Forced = append(n.Forced, rec.Node)
			}
			if since, due := triggered[rec.Node]; *rec.Verb == plan.Cut && due && n.ToCut == 0 && steady {
				n.ToCut = rec.At.Sub(since)
			}
		}
	}
}

// reported reports whether the end of any outage names a node as not back.
func reported(records []ledger.Record, id string) bool {
	return slices.ContainsFunc(records, func(rec ledger.Record) bool {
		return rec.Kind == ledger.Closed && slices.ContainsFunc(rec.Nodes, func(s ledger.NodeState) bool { return s.Node == id })
	})
}

// read reads the nights of a file.
func read(file string) ([]night, error) {
	f, err := os.Open(filepath.Clean(file))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var all []night
	for dec := json.NewDecoder(bufio.NewReader(f)); ; {
		var n night
		switch err := dec.Decode(&n); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("cannot read %s: %w", file, err)
		}
		all = append(all, n)
	}
}
