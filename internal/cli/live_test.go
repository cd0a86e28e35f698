package cli

import (
	"bytes"
	"testing"

	"ebbtide/internal/estate"
	"ebbtide/internal/nut"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/schema"
	"ebbtide/test/golden"
)

// TestWhatAnEstateSaysAsText: each thing that a survey can say has its place in the tables (testdata/live.txt).
func TestWhatAnEstateSaysAsText(t *testing.T) {
	t.Parallel()
	reading := power.Reading{
		Status: power.OL | power.CHRG, Charge: power.Known(97), Load: power.Known(31), Runtime: power.Known(2520),
	}
	s := survey{"runbook.yaml", &estate.Survey{
		Seconds: 3.2,
		Supplies: []estate.Supply{
			{Supply: "ups-a", Is: estate.InTrouble, Cut: schema.CutShutdownReturn, User: "ebbtide", Error: "no answer"},
			{
				Supply: "ups-b", Is: estate.InTrouble, Cut: schema.CutStayOff, User: "ebbtide", UserMay: "no",
				Reading: &power.Reading{Status: power.OB},
			},
			{
				Supply: "ups-c", Is: estate.Well, Cut: schema.CutShutdownReturn, User: "ebbtide", UserMay: "yes", Reading: &reading,
				Ways:   []string{"shutdown.return", "load.on.delay + load.off.delay"},
				Delays: []nut.Delay{{Name: "ups.delay.shutdown", Value: "90", Settable: true}, {Name: "ups.delay.start", Value: "0"}},
			},
			{Supply: "ups-d", Is: estate.Well, Cut: schema.CutNone, Reading: &power.Reading{Status: power.OL}},
		},
		Selectors: []estate.Selector{
			{Node: "lab", Is: estate.InTrouble, Error: "refused"},
			{Node: "apps", Is: estate.Well, Members: 12, On: 11, Hosts: []string{"esx01", "esx02"}, Storage: []string{"vmfs01"}},
		},
		Nodes: []estate.Node{
			{Node: "esx02", Is: estate.InTrouble, Error: "no answer within 20s", Wake: &estate.Wake{By: "bmc2", Error: "no answer"}},
			{Node: "web", Is: estate.Doubtful, State: plan.On, Healthy: "no"},
			{Node: "esx01", Is: estate.Well, State: plan.On, Detail: "answers", Wake: &estate.Wake{By: "bmc1", State: plan.On}},
			{
				Node: "nas", Is: estate.Well, State: plan.On, Protected: "no", Clean: "no", Dirty: 4096, Settings: "cache_mode=writeback",
				Wake: &estate.Wake{By: "outlet 3 of pdu", State: plan.On},
			},
			{
				Node: "disks", Is: estate.Well, State: plan.On, Protected: "yes", Clean: "yes",
				Wake: &estate.Wake{By: "the return of its power"},
			},
			{Node: "apps/a", Selector: "apps", Is: estate.Well, State: plan.On, Detail: "powered on"},
			{Node: "apps/b", Selector: "apps", Is: estate.Well, State: plan.Off, Detail: "powered off"},
			{Node: "apps/c", Selector: "apps", Is: estate.Well, State: plan.On, Detail: "powered on"},
			{
				Node: "box", Is: estate.Well, State: plan.On,
				Wake: &estate.Wake{By: "Wake-on-LAN", Detail: "no way to check whether a packet would wake it"},
			},
		},
		Unasked:   []string{"switch", "me"},
		Uncovered: []estate.Stray{{Name: "forgotten", Host: "esx01"}, {Name: "homeless"}},
	}}
	var text bytes.Buffer
	s.write(&text)
	golden.Equal(t, "testdata/live.txt", text.String())
}
