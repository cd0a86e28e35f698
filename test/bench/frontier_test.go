package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/power"
)

// wilson gives a share in percent with its 95% interval.
func wilson(count, of int) (percent, low, high float64) {
	if of == 0 {
		return 0, 0, 100
	}
	const z = 1.96
	p, m := float64(count)/float64(of), float64(of)
	centre, half := p+z*z/(2*m), z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return 100 * p, max(0, 100*(centre-half)/(1+z*z/m)), 100 * (centre + half) / (1 + z*z/m)
}

// row is a rule and what came of it. All but Unnecessary are shares of the outages that outlast the battery and whose
// plan is short enough for it.
type row struct {
	Figure       string     `json:"figure"`
	Family       string     `json:"family"`
	Rule         string     `json:"rule"`
	InRunbook    bool       `json:"in_runbook"`          // a runbook can ask for it: odds above 90% it cannot
	Unnecessary  float64    `json:"unnecessary_percent"` // of all outages: the battery would have lasted
	Crash        float64    `json:"crash_percent"`       // the plan carried out to the letter, by the model
	CrashSure    [2]float64 `json:"crash_95_percent_interval"`
	Degraded     float64    `json:"crash_degraded_percent"` // by the whole engine, which shortens waits as the battery runs down
	DegradedSure [2]float64 `json:"crash_degraded_95_percent_interval"`
	Forced       float64    `json:"forced_percent"` // of the same runs: something was powered off without asking
	Runs         int        `json:"engine_runs"`
}

// spread does so many things with two workers.
func spread[T any](count int, worker func() T, do func(w T, i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			w := worker()
			for i := int(next.Add(1) - 1); i < count; i = int(next.Add(1) - 1) {
				do(w, i)
			}
		})
	}
	group.Wait()
}

const (
	frontierNights = 10_000
	frontierSeed   = 31_000_000 // the first; neither the product nor this measurement was looked at with these before
	engineNights   = 300        // of the hard ones, that the whole engine plays by each rule
)

func smallRooms(t *testing.T) (rooms []*room) {
	t.Helper()
	for scale := 0.4; scale < 1.5; scale *= 1.2 {
		rooms = append(rooms, newRoom(t, scale))
	}
	return rooms
}

// TestPolicyFrontier puts Ebbtide's rule for beginning a shutdown beside those of others, on the same synthetic
// outages. The peers' shutdown is the same plan with the same luck, without its detours: as their products do, it is
// carried out to the letter, and whatever still runs when the battery is empty crashes.
func TestPolicyFrontier(t *testing.T) {
	wanted(t)
	rooms, all := smallRooms(t), rules()
	drawn, at := make([]*night, frontierNights), make([][]float64, frontierNights)
	begun := time.Now()
	spread(frontierNights, func() any { return nil }, func(_ any, i int) {
		drawn[i] = drawNight(rooms, frontierSeed+uint64(i))
		at[i] = drawn[i].starts(all)
	})
	var hard []int // outages that a clairvoyant begins a shutdown in, and comes through
	long := 0
	for i, n := range drawn {
		if n.long() {
			if long++; !n.crashes(1) {
				hard = append(hard, i)
			}
		}
	}
	modelled := time.Since(begun)
	rows := make([]row, len(all))
	for k := range all {
		rows[k] = tally(&all[k], k, drawn, at, hard)
	}
	begun = time.Now()
	runs := degrade(all, rows, drawn, at, hard[:min(engineNights, len(hard))])
	for _, r := range rows {
		line, err := json.Marshal(r)
		require.NoError(t, err)
		fmt.Println(string(line))
	}
	w := tabwriter.NewWriter(os.Stderr, 2, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(os.Stderr, "%d rooms, plan p50 %s to %s. %d outages (%.0f s): %d outlast the battery, in %d of them the plan is short "+
		"enough.\nDegraded: %d runs of the whole engine (%.0f s).\n",
		len(rooms), rooms[0].odds.At(0.5).Round(time.Second), rooms[len(rooms)-1].odds.At(0.5).Round(time.Second), len(drawn),
		modelled.Seconds(), long, len(hard), runs, time.Since(begun).Seconds())
	fmt.Fprintln(w, "unnecessary\tcrash\t95% sure\tdegraded: crash\t95% sure\tforced\t  begins by\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%.1f%%\t%.1f%%\t%.1f to %.1f\t%.1f%%\t%.1f to %.1f\t%.0f%%\t  %s: %s\t\n", r.Unnecessary, r.Crash, r.CrashSure[0],
			r.CrashSure[1], r.Degraded, r.DegradedSure[0], r.DegradedSure[1], r.Forced, r.Family, r.Rule)
	}
	_ = w.Flush()
	compare(t, rows)
	agree(t, all, drawn, at, append(hard[:50:50], sequence(100)...))
}

func sequence(n int) (s []int) {
	for i := range n {
		s = append(s, i)
	}
	return s
}

// agree measures how often the engine, with its own slack, begins the shutdown when the model says so.
func agree(t *testing.T, all []rule, drawn []*night, at [][]float64, some []int) {
	t.Helper()
	k := slices.IndexFunc(all, func(x rule) bool { return x.drilled && x.slack == 0 && x.odds == power.Pessimistic })
	begins := make([]float64, len(some))
	when := power.Condition{Kind: power.Any, Of: []power.Condition{{Kind: power.SlackBelow}, {Kind: power.LowBattery}}}
	spread(len(some), newPlayer, func(p *player, j int) { begins[j], _, _ = p.play(drawn[some[j]], when, true) })
	same := 0
	for j, i := range some {
		if model := at[i][k]; (model < 0) == (begins[j] < 0) && math.Abs(model-begins[j]) <= 2 {
			same++
		}
	}
	percent, _, _ := wilson(same, len(some))
	figure{
		Figure: "frontier_model_agrees", Value: percent, Unit: "%", Target: "-", OK: true, Runs: len(some),
		Note: "of outages in which the engine, by its own slack below 0 s (drilled), begins within 2 s of when the model says, or " +
			"neither begins",
	}.print(t)
}

// tally counts what comes of a rule whose plans are carried out to the letter.
func tally(x *rule, k int, drawn []*night, at [][]float64, hard []int) row {
	unnecessary, crash := 0, 0
	for i, n := range drawn {
		if at[i][k] >= 0 && !n.long() {
			unnecessary++
		}
	}
	for _, i := range hard {
		if drawn[i].crashes(at[i][k]) {
			crash++
		}
	}
	r := row{Figure: "frontier", Family: x.family, Rule: x.text, InRunbook: x.peer != nil || x.odds <= 0.9}
	r.Unnecessary, _, _ = wilson(unnecessary, len(drawn))
	r.Crash, r.CrashSure[0], r.CrashSure[1] = wilson(crash, len(hard))
	return r
}

// degrade plays nights with the whole engine, the shutdown beginning when each rule says so, and gives how many runs
// that took: rules that begin in the same second share them.
func degrade(all []rule, rows []row, drawn []*night, at [][]float64, some []int) (runs int) {
	type ending struct{ crashed, forced bool }
	played, counts := make([][]ending, len(some)), make([]int, len(some))
	spread(len(some), newPlayer, func(p *player, j int) {
		i := some[j]
		known := map[string]ending{}
		for k := range all {
			key := fmt.Sprint(all[k].drilled, at[i][k])
			e, was := known[key]
			if !was {
				counts[j]++
				when := power.Condition{}
				if at[i][k] >= 0 {
					when = power.Condition{Kind: power.OnBattery, For: time.Duration(at[i][k] * float64(time.Second))}
				}
				_, crashed, forced := p.play(drawn[i], when, all[k].drilled)
				e = ending{crashed, forced > 0}
				known[key] = e
			}
			played[j] = append(played[j], e)
		}
	})
	for k := range rows {
		crashed, forced := 0, 0
		for j := range played {
			if played[j][k].crashed {
				crashed++
			}
			if played[j][k].forced {
				forced++
			}
		}
		r := &rows[k]
		r.Degraded, r.DegradedSure[0], r.DegradedSure[1] = wilson(crashed, len(some))
		r.Forced, _, _ = wilson(forced, len(some))
		r.Runs = len(some)
	}
	for _, n := range counts {
		runs += n
	}
	return runs
}

// compare holds each peer's rule against Ebbtide's at the same rate of unnecessary shutdowns.
func compare(t *testing.T, rows []row) {
	t.Helper()
	letter, degraded := func(r *row) float64 { return r.Crash }, func(r *row) float64 { return r.Degraded }
	for i := range rows {
		r := &rows[i]
		if r.Family == "slack, undrilled" || r.Family == "slack, drilled" {
			continue
		}
		own := func(family string, crash func(*row) float64) float64 {
			return crashAt(rows, family, r.Unnecessary, crash)
		}
		ratio := r.Crash / own("slack, drilled", degraded)
		figure{
			Figure: "frontier_fewer_crashes", Value: ratio, Unit: "times", Target: ">= 3", OK: ratio >= 3, Runs: r.Runs,
			Note: fmt.Sprintf("%s: %s: %.1f%% of crashes at %.1f%% unnecessary; undrilled %.1f times; with our waits shortened for both "+
				"%.1f, for neither %.1f", r.Family, r.Rule, r.Crash, r.Unnecessary,
				r.Crash/own("slack, undrilled", degraded), r.Degraded/own("slack, drilled", degraded),
				r.Crash/own("slack, drilled", letter)),
		}.print(t)
	}
}

// crashAt gives the crashes of a family at a rate of unnecessary shutdowns, between its two rows about that rate: linear in the
// logarithm. Beyond its rows it is the last row's.
func crashAt(rows []row, family string, unnecessary float64, crash func(*row) float64) float64 {
	var own []*row
	for i := range rows {
		if rows[i].Family == family {
			own = append(own, &rows[i])
		}
	}
	slices.SortStableFunc(own, func(a, b *row) int { return cmp.Compare(a.Unnecessary, b.Unnecessary) })
	least := 0.1 // percent: none in 1,000 is no chance of 0
	after := slices.IndexFunc(own, func(r *row) bool { return r.Unnecessary >= unnecessary })
	switch {
	case after < 0:
		return max(least, crash(own[len(own)-1]))
	case after == 0:
		return max(least, crash(own[0]))
	}
	a, b := own[after-1], own[after]
	part := (unnecessary - a.Unnecessary) / (b.Unnecessary - a.Unnecessary)
	return math.Exp((1-part)*math.Log(max(least, crash(a))) + part*math.Log(max(least, crash(b))))
}
