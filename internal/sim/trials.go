package sim

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"ebbtide/internal/effect"
	"ebbtide/internal/forecast"
	"ebbtide/internal/foresight"
	"ebbtide/internal/plan"
)

// Trials are many drawn runs of one scenario.
type Trials struct {
	Scenario Scenario
	Odds     Odds
	Runs     int
	Seed     uint64 // of the first; each has the next
	Workers  int    // that share them; the summary is the same whatever their number
	// Progress is told how many runs are done, by one worker at a time (nil: nobody).
	Progress func(done int)
}

// Play plays the trials and sums them up, unless ctx ends before. Of each run no more is kept than its Outcome.
func (t Trials) Play(ctx context.Context) (*Summary, error) {
	outcomes := make([]Outcome, t.Runs)
	var next atomic.Int64
	var done int
	var told sync.Mutex
	tell := func() {
		told.Lock()
		defer told.Unlock()
		if done++; t.Progress != nil {
			t.Progress(done)
		}
	}
	var workers sync.WaitGroup
	for range max(1, t.Workers) {
		workers.Go(func() {
			sc := t.Scenario
			if sc.Forecast == nil {
				sc.Forecast = remembering(forecast.New(t.Odds.Known, estimateTrials(&sc)).Brief)
			}
			for i := next.Add(1) - 1; i < int64(t.Runs) && ctx.Err() == nil; i = next.Add(1) - 1 {
				drawn := Draw(sc, t.Seed+uint64(i), t.Odds)
				outcomes[i] = Judge(drawn, play(drawn, true))
				tell()
			}
		})
	}
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cannot finish the trials: %d of %d are done: %w", done, t.Runs, err)
	}
	return Summarise(t.Scenario.Settings.Policy, outcomes, t.Seed), nil
}

// rememberedAnswers bounds what is remembered.
const rememberedAnswers = 1000

// remembering answers a question as it was answered before: all runs begin alike, and an outage that is played again
// without its shutdown goes the same way up to there.
func remembering(answer func(*plan.Estate, effect.Estimate) foresight.Estimate) func(*plan.Estate, effect.Estimate) foresight.Estimate {
	known := map[string]foresight.Estimate{}
	return func(estate *plan.Estate, ask effect.Estimate) foresight.Estimate {
		key := fmt.Sprintf("%q%q%v", ask.Down, ask.Scope, ask.Running)
		before, ok := known[key]
		if !ok {
			if len(known) == rememberedAnswers {
				clear(known)
			}
			before = answer(estate, ask)
			known[key] = before
		}
		before.Serial = ask.Serial
		return before
	}
}
