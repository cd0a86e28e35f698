package array

import (
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

// pages tells what a person does in an appliance's own pages, and how to see that it is off and on.
func pages(at runbook.Endpoint, menu, off, on string) runbook.ManualProcedure {
	where := "In its pages at " + at.Address + " (user " + at.User + "): "
	return runbook.ManualProcedure{
		Do:  map[plan.Verb][]runbook.Instruction{plan.Stop: {{Say: where + menu}}},
		Off: []runbook.Instruction{{Say: off}},
		On:  []runbook.Instruction{{Say: where + on}},
	}
}

// typed is a command line that a person types over SSH.
func typed(at runbook.Endpoint, say, command string) runbook.Instruction {
	return runbook.Instruction{Say: say, Type: ssh.Login(at) + " " + runbook.Quote(command)}
}
