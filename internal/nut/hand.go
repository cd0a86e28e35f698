package nut

import (
	"fmt"
	"time"

	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// OutletByHand tells how a person switches an outlet of a supply, which NUT knows by this name ("2").
func OutletByHand(s *schema.Supply, outlet string) manual.Procedure {
	user := s.Username
	if user == "" {
		user = "USER"
	}
	ups := schema.Quote(s.NUT())
	do := func(on string) []manual.Instruction {
		return []manual.Instruction{
			{
				Say:  "On a machine with NUT's client (it asks for the password of the NUT user" + kept(s.Password) + "):",
				Type: fmt.Sprintf("upscmd -u %s %s outlet.%s.load.%s", schema.Quote(user), ups, outlet, on),
			},
		}
	}
	look := []manual.Instruction{{Say: "What the UPS says of it:", Type: fmt.Sprintf("upsc %s outlet.%s.status", ups, outlet)}}
	return manual.Procedure{Do: map[plan.Verb][]manual.Instruction{plan.Stop: do("off"), plan.Start: do("on")}, Off: look, On: look}
}

// kept says where the password is.
func kept(password schema.SecretRef) string {
	if password.IsZero() {
		return ""
	}
	return ", which is kept as " + password.Location()
}

// ByHand tells how a person cuts and returns the output of a supply.
func ByHand(s *schema.Supply) manual.Procedure {
	user := s.Username
	if user == "" {
		user = "USER"
	}
	as := "-u " + schema.Quote(user) + " "
	ups := schema.Quote(s.NUT())
	var cut []manual.Instruction
	ask := "On a machine with NUT's client (it asks for the password of the NUT user" + kept(s.Password) +
		"; type a backslash before each space, quote, # and backslash in it):"
	if s.OffDelay > 0 {
		cut = append(cut, manual.Instruction{
			Say:  ask,
			Type: fmt.Sprintf("upsrw -s %s=%d %s%s", varDelay, int(s.OffDelay/time.Second), as, ups),
		})
		ask = "Then:"
	}
	if s.OnDelay > 0 {
		cut = append(cut, manual.Instruction{
			Say:  ask,
			Type: fmt.Sprintf("upsrw -s %s=%d %s%s", varStartDelay, int(s.OnDelay/time.Second), as, ups),
		})
		ask = "Then:"
	}
	way := s.Cut
	if way == "" || way == schema.CutNone {
		way = schema.CutShutdownReturn
	}
	if way == schema.CutLoadOff {
		cut = append(cut, manual.Instruction{Say: ask, Type: "upscmd " + as + ups + " " + onDelayCommand})
		ask = "Then:"
	}
	cut = append(cut,
		manual.Instruction{Say: ask, Type: "upscmd " + as + ups + " " + string(way)},
		manual.Instruction{Say: "Or hold the off button on its front until it beeps. Then nothing comes back by itself with the mains: " +
			"it must be switched on by hand."},
	)
	back := "It returns by itself with mains power if it was cut with return. Otherwise press its on button, or:"
	if way == schema.CutStayOff {
		back = "It stays off until someone switches it on once mains power is back: press its on button, or:"
	}
	status := manual.Instruction{
		Say:  "Everything that it feeds is off. What the UPS says (OFF in its status):",
		Type: "upsc " + ups + " ups.status",
	}
	return manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{
			plan.Cut: cut,
			plan.Start: {
				{Say: back, Type: "upscmd " + as + ups + " " + startCommand},
			},
		},
		Off: []manual.Instruction{status},
		On:  []manual.Instruction{{Say: "What it feeds has power, and this says OL, and not OFF:", Type: "upsc " + ups + " ups.status"}},
	}
}
