package nut

import (
	"fmt"
	"time"

	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

// OutletByHand tells how a person switches an outlet of a supply.
func OutletByHand(o runbook.Outlet) runbook.ManualProcedure {
	user := o.Supply.Username
	if user == "" {
		user = "USER"
	}
	ups := runbook.Quote(o.Supply.NUT())
	do := func(on string) []runbook.Instruction {
		return []runbook.Instruction{
			{
				Say:  "On a machine with NUT's client (it asks for the password of the NUT user" + kept(o.Supply.Password) + "):",
				Type: fmt.Sprintf("upscmd -u %s %s outlet.%s.load.%s", runbook.Quote(user), ups, o.Name, on),
			},
		}
	}
	look := []runbook.Instruction{{Say: "What the UPS says of it:", Type: fmt.Sprintf("upsc %s outlet.%s.status", ups, o.Name)}}
	return runbook.ManualProcedure{Do: map[plan.Verb][]runbook.Instruction{plan.Stop: do("off"), plan.Start: do("on")}, Off: look, On: look}
}

// kept says where the password is.
func kept(password runbook.SecretRef) string {
	if password.IsZero() {
		return ""
	}
	return ", which is kept as " + password.Location()
}

// ByHand tells how a person cuts and returns the output of a supply.
func ByHand(s *runbook.SupplyDecl) runbook.ManualProcedure {
	user := s.Username
	if user == "" {
		user = "USER"
	}
	as := "-u " + runbook.Quote(user) + " "
	ups := runbook.Quote(s.NUT())
	var cut []runbook.Instruction
	ask := "On a machine with NUT's client (it asks for the password of the NUT user" + kept(s.Password) +
		"; a backslash goes before each blank, quote, # and backslash in it):"
	if s.OffDelay > 0 {
		cut = append(cut, runbook.Instruction{
			Say:  ask,
			Type: fmt.Sprintf("upsrw -s %s=%d %s%s", varDelay, int(s.OffDelay/time.Second), as, ups),
		})
		ask = "Then:"
	}
	if s.OnDelay > 0 {
		cut = append(cut, runbook.Instruction{
			Say:  ask,
			Type: fmt.Sprintf("upsrw -s %s=%d %s%s", varStartDelay, int(s.OnDelay/time.Second), as, ups),
		})
		ask = "Then:"
	}
	way := s.Cut
	if way == "" || way == runbook.CutNone {
		way = runbook.CutShutdownReturn
	}
	if way == runbook.CutLoadOff {
		cut = append(cut, runbook.Instruction{Say: ask, Type: "upscmd " + as + ups + " " + onDelayCommand})
		ask = "Then:"
	}
	cut = append(cut,
		runbook.Instruction{Say: ask, Type: "upscmd " + as + ups + " " + string(way)},
		runbook.Instruction{Say: "Or hold the off button on its front until it beeps. Then nothing comes back by itself with the mains: " +
			"it must be switched on by hand."},
	)
	back := "It returns by itself with mains power if it was cut with return. Otherwise press its on button, or:"
	if way == runbook.CutStayOff {
		back = "It stays off until someone switches it on once mains power is back: press its on button, or:"
	}
	status := runbook.Instruction{
		Say:  "Everything that it feeds is off. What the UPS says (OFF in its status):",
		Type: "upsc " + ups + " ups.status",
	}
	return runbook.ManualProcedure{
		Do: map[plan.Verb][]runbook.Instruction{
			plan.Cut: cut,
			plan.Start: {
				{Say: back, Type: "upscmd " + as + ups + " " + startCommand},
			},
		},
		Off: []runbook.Instruction{status},
		On:  []runbook.Instruction{{Say: "What it feeds has power, and this says OL, and not OFF:", Type: "upsc " + ups + " ups.status"}},
	}
}
