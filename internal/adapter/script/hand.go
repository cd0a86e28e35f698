package script

import (
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

// ByHand tells how a person gives the commands of a spec: say tells where, and typed makes a line to type there.
func (s *Spec) ByHand(say string, typed func(runbook.Command) string) runbook.ManualProcedure {
	h := runbook.ManualProcedure{Do: map[plan.Verb][]runbook.Instruction{}}
	for v := plan.Protect; v <= plan.Unprotect; v++ {
		if c := s.Command(v); !c.IsZero() {
			h.Do[v] = []runbook.Instruction{{Say: say, Type: typed(c)}}
		}
	}
	if !s.Probe.IsZero() {
		line := typed(s.Probe)
		h.Off = []runbook.Instruction{{Say: "It says off, or ends with exit status 3 (echo $?):", Type: line}}
		h.On = []runbook.Instruction{{Say: "It says on, or ends with exit status 0 (echo $?):", Type: line}}
		h.Clean = []runbook.Instruction{{Say: "It says protected=yes once in write-through mode, and dirty=0 or clean=yes once nothing " +
			"is left in it:", Type: line}}
		h.Back = []runbook.Instruction{{Say: "It says protected=no, as before:", Type: line}}
	}
	return h
}
