package sim

import (
	"fmt"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// Dice is where a drawn scenario takes its chances from: a number from 0 to n-1.
type Dice func(n int) int

// Draw makes a random estate, outage and faults: what the laws of the engine are tried on.
func Draw(d Dice) Scenario {
	sc := Scenario{Batteries: map[string]Battery{}, Faults: map[string]Fault{}, For: 12 * time.Hour}
	nodes := drawNodes(d)
	for i := range nodes {
		n := &nodes[i]
		if n.Kind == plan.Supply {
			sc.Settings.Supplies = append(sc.Settings.Supplies, power.Supply{ID: n.ID})
			sc.Batteries[n.ID] = Battery{Charge: 0.5 + float64(d(6))/10, Runtime: time.Duration(3+d(40)) * time.Minute}
			continue
		}
		if n.Can != 0 && n.Kind != plan.Self && n.Kind != plan.Person {
			if d(12) == 0 {
				sc.Faults[n.ID] = []Fault{Hang, Refuse, Mute, Vanish, Stuck}[d(5)]
			}
			if n.Kind == plan.VM && d(6) == 0 {
				sc.Off = append(sc.Off, n.ID)
			}
		}
	}
	var limits []plan.Limit
	if d(2) == 0 {
		limits = append(limits, plan.Limit{Class: "vm", Total: 1 + d(4), PerHost: d(3)}, plan.Limit{Class: "host", Total: d(3)})
	}
	estate, err := plan.NewEstate(nodes, limits)
	if err != nil {
		panic("a drawn estate is wrong: " + err.Error())
	}
	sc.Settings.Estate, sc.Settings.Mode, sc.Settings.Policy = estate, "simulate", drawPolicy(d)
	drawEvents(d, &sc)
	return sc
}

func drawNodes(d Dice) []plan.Node {
	supplies := 1 + d(2)
	var nodes []plan.Node
	add := func(n plan.Node) string {
		n.Attempts = 2
		secs := time.Duration(5 + d(40))
		for v := range n.Times {
			n.Times[v] = plan.Times{Nominal: secs * time.Second, Within: secs * time.Second * time.Duration(2+d(4))}
		}
		if n.Stage == "" {
			n.Stage = power.ShutdownStage
		}
		nodes = append(nodes, n)
		return n.ID
	}
	var feeds []string
	for i := range supplies {
		feeds = append(feeds, add(plan.Node{ID: fmt.Sprint("ups", i), Type: "supply", Kind: plan.Supply, Can: plan.VerbSet(plan.Cut, plan.Start)}))
	}
	feed := func() []string {
		if d(2) == 0 {
			return feeds
		}
		return []string{feeds[d(len(feeds))]}
	}
	base := []string{}
	if d(2) == 0 {
		base = append(base, add(plan.Node{ID: "switch", Type: "passive", Kind: plan.Passive, FedBy: feed()}))
	}
	var stores []string
	for i := range 1 + d(2) {
		n := plan.Node{ID: fmt.Sprint("nas", i), Type: "nas", FedBy: feed(), DependsOn: base, Can: plan.VerbSet(plan.Stop, plan.Start), Risk: plan.Storage}
		if d(2) == 0 {
			n.Can |= plan.VerbSet(plan.Protect, plan.Flush, plan.Unprotect)
		}
		if d(3) == 0 {
			n.ByPower, n.Can = true, n.Can&^plan.VerbSet(plan.Start)
		}
		stores = append(stores, add(n))
	}
	var hosts []string
	for i := range 1 + d(3) {
		n := plan.Node{ID: fmt.Sprint("esx", i), Type: "host", Kind: plan.Host, FedBy: feed(), DependsOn: append([]string{stores[d(len(stores))]}, base...), Can: plan.VerbSet(plan.Stop, plan.Force, plan.Start)}
		if d(2) == 0 {
			n.ByPower, n.Can = true, n.Can&^plan.VerbSet(plan.Start)
		}
		if d(2) == 0 {
			n.OffAfter = 20 * time.Second
		}
		hosts = append(hosts, add(n))
	}
	var vms []string
	for i := range 1 + d(12) {
		host := hosts[d(len(hosts))]
		n := plan.Node{ID: fmt.Sprint("vm", i), Type: "vm", Kind: plan.VM, Host: host, DependsOn: []string{host}, Can: plan.VerbSet(plan.Stop, plan.Force, plan.Start), Risk: plan.Risk(d(5))}
		if len(vms) > 0 && d(3) == 0 {
			n.DependsOn = append(n.DependsOn, vms[d(len(vms))])
		}
		if len(n.DependsOn) == 1 && d(5) == 0 {
			n.Stage = "lab" // nothing that is not shed itself may need it: it stays out of vms
			add(n)
			continue
		}
		vms = append(vms, add(n))
	}
	if d(4) == 0 {
		add(plan.Node{ID: "walk", Type: "manual", Kind: plan.Person, FedBy: feed(), Can: plan.VerbSet(plan.Stop, plan.Start)})
	}
	return nodes
}

func drawPolicy(d Dice) power.Policy {
	p := power.Policy{
		Protect:  power.Condition{Kind: power.OnBattery, For: time.Duration(5+d(20)) * time.Second},
		Shed:     []power.Stage{{Name: "lab", When: power.Condition{Kind: power.OnBattery, For: time.Duration(20+d(60)) * time.Second}}},
		Shutdown: power.Condition{Kind: power.Any, Of: []power.Condition{{Kind: power.LowBattery}, {Kind: power.SilentOnBattery, For: time.Minute}}},
		Restore:  power.Condition{Kind: power.Online, For: time.Duration(30+d(300)) * time.Second},
		Reserve:  time.Duration(20+d(120)) * time.Second,
	}
	switch d(3) {
	case 0:
		p.Shutdown.Of = append(p.Shutdown.Of, power.Condition{Kind: power.OnBattery, For: time.Duration(30+d(300)) * time.Second})
	case 1:
		p.Shutdown.Of = append(p.Shutdown.Of, power.Condition{Kind: power.SlackBelow, For: time.Duration(d(300)) * time.Second})
	default:
		p.Shutdown.Of = append(p.Shutdown.Of, power.Condition{Kind: power.ChargeBelow, Than: float64(20 + d(60))})
	}
	return p
}

func drawEvents(d Dice, sc *Scenario) {
	at := time.Minute
	for range 1 + d(3) {
		for _, s := range sc.Settings.Supplies {
			if d(4) == 0 {
				continue
			}
			out := at + time.Duration(d(120))*time.Second
			back := out + time.Duration(1+d(1500))*time.Second
			sc.Changes = append(sc.Changes, Change{At: out, Supply: s.ID}, Change{At: back, Supply: s.ID, Mains: true})
			if d(6) == 0 {
				yes, no := true, false
				sc.Changes = append(sc.Changes, Change{At: out + 20*time.Second, Supply: s.ID, Silent: &yes}, Change{At: back + time.Minute, Supply: s.ID, Silent: &no})
			}
		}
		at += time.Duration(600+d(3000)) * time.Second
	}
	for range d(3) {
		verb := []engine.OrderVerb{engine.Hold, engine.Resume, engine.Abort, engine.Go}[d(4)]
		on := time.Duration(60+d(1500)) * time.Second
		sc.Changes = append(sc.Changes, Change{At: on, Order: &engine.Order{Verb: verb, By: "dice"}})
		if verb == engine.Hold {
			sc.Changes = append(sc.Changes, Change{At: on + time.Duration(d(300))*time.Second, Order: &engine.Order{Verb: engine.Resume, By: "dice"}})
		}
	}
	for range d(3) {
		sc.CrashAt = append(sc.CrashAt, uint64(1+d(80)))
	}
}
