package bench

import (
	"fmt"
	"time"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/forecast"
	"ebbtide/internal/foresight"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/sim"
)

// player plays nights with the whole engine.
type player struct {
	answers map[string]foresight.Estimate
	makers  map[*room]*forecast.Forecaster
}

func newPlayer() *player {
	return &player{answers: map[string]foresight.Estimate{}, makers: map[*room]*forecast.Forecaster{}}
}

// play plays a night with a rule for the shutdown. It tells when the shutdown began, negative if it did not, whether
// something lost its power while on, and how many were powered off without asking.
func (p *player) play(n *night, shutdown power.Condition, drilled bool) (begins float64, crashed bool, forced int) {
	const fails = 11 * time.Second
	supply := n.box.supply("ups", drilled, sim.Epoch)
	supply.Watts = n.room.watts / n.box.load
	maker := p.makers[n.room]
	if maker == nil {
		maker = forecast.New(nil, 100)
		p.makers[n.room] = maker
	}
	until := min(n.lasts, n.box.life()+30*60)
	sc := sim.Scenario{
		Settings: engine.Settings{Estate: n.room.estate, Supplies: []power.Supply{supply}, Mode: "simulate", Policy: power.Policy{
			Protect: power.Condition{Kind: power.OnBattery, For: 10 * time.Second}, Shutdown: shutdown,
			Restore: power.Condition{Kind: power.Online, For: 5 * time.Minute}, Reserve: reserve,
		}},
		Changes: []sim.Change{{At: fails, Supply: "ups"}}, For: fails + time.Duration(until*float64(time.Second)), Took: n.took,
		Batteries: map[string]sim.Battery{"ups": {
			Charge: 1, Runtime: time.Duration(n.box.sheet(n.box.load) * float64(time.Second)), Health: n.box.health, Bias: n.box.bias,
			DiesAt: n.box.diesAt, Steps: 0.01,
		}},
	}
	sc.Forecast = func(estate *plan.Estate, ask effect.Estimate) foresight.Estimate {
		key := fmt.Sprintf("%p%q%q%v", estate, ask.Down, ask.Scope, ask.Running)
		answer, known := p.answers[key]
		if !known {
			if len(p.answers) > 5000 {
				clear(p.answers)
			}
			answer = maker.Answer(estate, ask)
			if len(ask.Running) == 0 && len(ask.Down) == estate.Len() {
				answer.Need = n.room.need // of as many trials as the daemon plays
			}
			p.answers[key] = answer
		}
		answer.Serial = ask.Serial
		return answer
	}
	result := sim.Run(sc)
	begins = -1
	for i := range result.Records {
		switch rec := &result.Records[i]; {
		case rec.Kind == ledger.Triggered && rec.Stage == plan.ShutdownStage:
			begins = rec.At.Sub(sim.Epoch.Add(fails)).Seconds()
		case rec.Kind == ledger.Intent && *rec.Verb == plan.Force:
			forced++
		}
	}
	return begins, len(result.Crashed) > 0, forced
}
