package cache

import (
	"cmp"

	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// typed are the command lines that a person types for a cache, as root on its host.
type typed struct {
	do    map[plan.Verb][]string
	look  string // shows its state
	set   string // shows how it is set, which Protect changes; "": look does
	isSet string // what set shows once it is protected, if look does not show that
	plain bool   // look and set need no root
	clean string // what look shows once it is protected and clean
	on    string // what look shows when it is there; "": look ends without an error
}

// hand puts the lines behind the login at a place.
func (t typed) hand(at manual.Endpoint) manual.Procedure {
	const say = "From any machine that may log in there, or without the ssh part as root at its own console:"
	line := func(command string) string { return ssh.Login(at) + " " + schema.Quote(command) }
	root := line
	if at.User != "root" {
		root = func(command string) string { return line("sudo " + command) }
	}
	asks := root
	if t.plain {
		asks = line
	}
	look, set := asks(t.look), asks(cmp.Or(t.set, t.look))
	h := manual.Procedure{Do: map[plan.Verb][]manual.Instruction{}}
	for v := plan.Protect; v <= plan.Unprotect; v++ {
		for _, command := range t.do[v] {
			h.Do[v] = append(h.Do[v], manual.Instruction{Say: say, Type: root(command)})
		}
	}
	if at := h.Do[plan.Protect]; len(at) > 0 { // what it is put back to
		h.Do[plan.Protect] = append([]manual.Instruction{{Say: "First write down what this says now:", Type: set}}, at...)
		h.Back = []manual.Instruction{{Say: "It says what was written down before it was changed:", Type: set}}
	}
	if t.isSet != "" {
		h.Clean = append(h.Clean, manual.Instruction{Say: t.isSet + ":", Type: set})
	}
	h.Clean = append(h.Clean, manual.Instruction{Say: t.clean + ":", Type: look})
	on := t.on
	if on == "" {
		on = "This ends without an error"
	}
	h.On = []manual.Instruction{{Say: on + ":", Type: look}}
	return h
}
