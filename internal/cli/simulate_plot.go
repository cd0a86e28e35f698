package cli

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/report/chart"
	"ebbtide/internal/sim"
	"ebbtide/internal/timeline"
)

// readings keeps what the supplies tell in a run.
type readings map[string][]chart.Sample

func (r *readings) witness(at time.Time, ev engine.Event) {
	read, ok := ev.(engine.Read)
	if !ok {
		return
	}
	if *r == nil {
		*r = readings{}
	}
	share := func(f power.Figure) float64 {
		if !f.Known {
			return math.NaN()
		}
		return f.Value
	}
	(*r)[read.Reading.Supply] = append((*r)[read.Reading.Supply], chart.Sample{
		At: at.Sub(sim.Epoch), Charge: share(read.Reading.Charge), Load: share(read.Reading.Load),
	})
}

// drawRun draws a run to the file that a command names.
func drawRun(s *simulation, sc *sim.Scenario, r *sim.Result, seen *readings) error {
	course := courseOf(sc, r, *seen)
	course.Title = filepath.Base(s.name())
	if s.drawn {
		course.Title += fmt.Sprintf(", seed %d", s.seed)
	}
	var picture bytes.Buffer
	if err := chart.Plot(&picture, course, filepath.Ext(s.plot)); err != nil {
		return err
	}
	if err := os.WriteFile(s.plot, picture.Bytes(), 0o644); err != nil { //nolint:gosec // a picture for everybody
		return fail(exitFailed, "name a file in a folder that can be written to", "cannot write the plot: %w", err)
	}
	return nil
}

// courseOf gathers what is drawn of a run. Nodes are drawn in the order in which they go down, supplies last.
func courseOf(sc *sim.Scenario, r *sim.Result, seen readings) *chart.Course {
	c := &chart.Course{Start: sim.Epoch, Away: awayOf(sc, r)}
	for _, s := range sc.Settings.Supplies {
		c.Supplies = append(c.Supplies, chart.Supply{ID: s.ID, Samples: seen[s.ID]})
	}
	for i := range sc.Settings.Estate.Len() {
		n := sc.Settings.Estate.Node(i)
		group := n.Group
		if group == "" && n.Kind != plan.Supply {
			group = string(n.Stage) + " " + n.Type
		}
		c.Nodes = append(c.Nodes, chart.Node{ID: n.ID, Group: group})
	}
	slices.Reverse(c.Nodes)
	for _, l := range r.Lines {
		appended, ok := l.Effect.(effect.Append)
		if !ok {
			continue
		}
		rec := appended.Record
		rec.At = sim.Epoch.Add(l.At) // whatever the wall's clock was set to
		if rec.Kind == ledger.Opened {
			c.Outages = append(c.Outages, timeline.Timeline{})
		}
		if n := len(c.Outages); n > 0 {
			c.Outages[n-1].Add(rec)
		}
	}
	return c
}

// awayOf tells when the mains of any supply were away.
func awayOf(sc *sim.Scenario, r *sim.Result) []chart.Interval {
	changes := slices.Clone(sc.Changes)
	slices.SortStableFunc(changes, func(a, b sim.Change) int { return int(a.At - b.At) })
	var away []chart.Interval
	off := map[string]bool{}
	for i := range changes {
		c := &changes[i]
		if !c.OfMains() {
			continue
		}
		before := len(off)
		if off[c.Supply] = true; c.Mains {
			delete(off, c.Supply)
		}
		switch {
		case before == 0 && len(off) > 0:
			away = append(away, chart.Interval{From: c.At, To: max(overAt(r), sc.For)})
		case before > 0 && len(off) == 0:
			away[len(away)-1].To = c.At
		}
	}
	return away
}
