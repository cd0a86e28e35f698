package script

import (
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// ByHand tells how a person gives the commands of a spec: say tells where, and typed makes a line to type there.
func (s *Spec) ByHand(say string, typed func(schema.Command) string) manual.Procedure {
	h := manual.Procedure{Do: map[plan.Verb][]manual.Instruction{}}
	for v := plan.Protect; v <= plan.Unprotect; v++ {
		if c := s.Command(v); !c.IsZero() {
			h.Do[v] = []manual.Instruction{{Say: say, Type: typed(c)}}
		}
	}
	if !s.Probe.IsZero() {
		line := typed(s.Probe)
		h.Off = []manual.Instruction{{Say: "It says off, or ends with exit status 3 (echo $?):", Type: line}}
		h.On = []manual.Instruction{{Say: "It says on, or ends with exit status 0 (echo $?):", Type: line}}
		h.Clean = []manual.Instruction{{Say: "It says protected=yes once in write-through mode, and dirty=0 or clean=yes once nothing " +
			"is left in it:", Type: line}}
		h.Back = []manual.Instruction{{Say: "It says protected=no, as before:", Type: line}}
	}
	return h
}
