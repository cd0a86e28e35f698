package forecast

import (
	"fmt"
	"testing"
	"time"

	"ebbtide/internal/effect"
	"ebbtide/internal/plan"
)

// question asks for the whole of an estate, with some VMs under way.
func question(e *plan.Estate, running int) effect.Estimate {
	ask := effect.Estimate{Serial: 1}
	for i := e.Len() - 1; i >= 0; i-- {
		ask.Down, ask.Scope = append(ask.Down, e.Node(i).ID), append(ask.Scope, e.Node(i).ID)
		if e.Node(i).Kind == plan.VM && len(e.Users(i)) == 0 && len(ask.Running) < running {
			ask.Running = append(ask.Running, effect.Underway{Node: e.Node(i).ID, Verb: plan.Stop, For: 20 * time.Second})
		}
	}
	return ask
}

func BenchmarkAnswer(b *testing.B) {
	for _, c := range []struct{ nodes, trials, running int }{
		{20, 100, 0},
		{20, 100, 4},
		{1000, DefaultTrials, 0},
		{1000, DefaultTrials, 32},
	} {
		b.Run(fmt.Sprint(c), func(b *testing.B) {
			e := sampleEstate(b, c.nodes)
			f, ask := New(nil, c.trials), question(e, c.running)
			f.Answer(e, ask)
			b.ReportAllocs()
			begun := processor()
			for b.Loop() {
				f.Answer(e, ask)
			}
			b.ReportMetric(float64((processor()-begun).Microseconds())/float64(b.N)/1000, "cpu-ms/op")
		})
	}
}

func BenchmarkBrief(b *testing.B) {
	e := sampleEstate(b, 20)
	f, ask := New(nil, 100), question(e, 4)
	f.Brief(e, ask)
	b.ReportAllocs()
	begun := processor()
	for b.Loop() {
		f.Brief(e, ask)
	}
	b.ReportMetric(float64((processor()-begun).Microseconds())/float64(b.N)/1000, "cpu-ms/op")
}
