package array

import (
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// pages tells what a person does in an appliance's own pages, and how to see that it is off and on.
func pages(at manual.Endpoint, menu, off, on string) manual.Procedure {
	where := "In its web interface at " + at.Address + " (user " + at.User + "): "
	return manual.Procedure{
		Do:  map[plan.Verb][]manual.Instruction{plan.Stop: {{Say: where + menu}}},
		Off: []manual.Instruction{{Say: off}},
		On:  []manual.Instruction{{Say: where + on}},
	}
}

// typed is a command line that a person types over SSH.
func typed(at manual.Endpoint, say, command string) manual.Instruction {
	return manual.Instruction{Say: say, Type: ssh.Login(at) + " " + schema.Quote(command)}
}
