package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// alone is the model without a controller: what is asked and told here reaches nobody else.
type alone struct {
	*simulation
	t *testing.T
}

// estateOfOne has one of each: a UPS that feeds a switch and a machine, what runs on that, and a second UPS.
func estateOfOne(t *testing.T, change func(*Scenario)) alone {
	t.Helper()
	node := func(id string, kind plan.Kind, can ...plan.Verb) plan.Node {
		n := plan.Node{ID: id, Type: kind.String(), Kind: kind, Can: plan.VerbSet(can...), Attempts: 1}
		for v := range n.Times {
			n.Times[v] = plan.Times{Nominal: time.Minute, Within: 5 * time.Minute}
		}
		return n
	}
	ups, other := node("ups", plan.Supply, plan.Cut, plan.Start), node("other", plan.Supply, plan.Cut, plan.Start)
	net := node("switch", plan.Passive)
	net.FedBy, net.ByPower = []string{"other"}, true
	host := node("host", plan.Host, plan.Stop, plan.Start)
	host.FedBy, host.DependsOn, host.OffAfter = []string{"ups"}, []string{"switch"}, 30*time.Second
	vm := node("vm", plan.VM, plan.Stop, plan.Start)
	vm.Host, vm.DependsOn = "host", []string{"host"}
	estate, err := plan.NewEstate([]plan.Node{ups, other, net, host, vm}, nil)
	require.NoError(t, err)
	sc := Scenario{
		Settings: engine.Settings{Estate: estate}, Habits: map[string]Habit{}, BMCs: map[string]BMC{},
		Faults: map[string]Fault{},
	}
	change(&sc)
	s := modelled(sc, true)
	s.stopped = true
	return alone{s, t}
}

func (a alone) node(id string) int {
	i, known := a.estate.Index(id)
	require.True(a.t, known, id)
	return i
}

func (a alone) supply(id string) int {
	for k := range a.supplies {
		if a.supplies[k].node == a.node(id) {
			return k
		}
	}
	require.FailNow(a.t, "no such supply", id)
	return 0
}

// pass lets time go by.
func (a alone) pass(d time.Duration) {
	until := a.now.Add(d)
	for a.agenda.len() > 0 {
		at, do := a.agenda.next()
		if Epoch.Add(at).After(until) {
			a.agenda.put(at, do)
			break
		}
		a.setNow(at)
		do()
	}
	a.setNow(until.Sub(Epoch))
}

// seen is what a look at a node tells: its state, or how the look failed.
func (a alone) seen(id string) string {
	outcome, o := a.look(a.node(id))
	if outcome != ledger.Done {
		return string(outcome)
	}
	return o.State.String()
}

func (a alone) told(id string, verb plan.Verb) ledger.Outcome {
	outcome, _ := a.give(a.node(id), effect.Do{Node: id, Verb: verb})
	return outcome
}

func (a alone) truth(id string) plan.State { return a.nodes[a.node(id)].state }

func plain(*Scenario) {}

func TestASilentNodeIsUnreachable(t *testing.T) {
	t.Parallel()
	a := estateOfOne(t, func(sc *Scenario) { sc.Habits["vm"] = Habit{Fails: true} })
	a.nodes[a.node("host")].silent, a.nodes[a.node("vm")].silent = true, true
	require.Equal(t, "unreachable", a.seen("host"), "and nobody has ever told it to stop")
	require.Equal(t, 1, a.result.Met[MetUnreachable])
	require.Equal(t, ledger.Unreached, a.told("host", plan.Stop))
	outcome, _ := a.look(a.node("vm"))
	require.Equal(t, ledger.Unreached, outcome, "its adapter can't tell silence from trouble of its own")
	outcome, _ = a.look(a.node("host"))
	require.Equal(t, ledger.Done, outcome)

	// After a stop that the controller knows to be accepted silence would prove it off: the runbook's word.
	a.nodes[a.node("host")].counts = true
	outcome, _ = a.look(a.node("host"))
	require.Equal(t, ledger.Unreached, outcome)
}

func TestAMachineIsSilentInItsSelfTest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		habit             Habit
		early, late, told string
	}{
		"usual":                  {Habit{}, "unreachable", "starting", "done"},
		"longer than its start":  {Habit{SelfTest: time.Hour}, "unreachable", "unreachable", "unreachable"},
		"none":                   {Habit{SelfTest: -1}, "starting", "starting", "done"},
		"refuses after it":       {Habit{Refuses: true}, "unreachable", "unknown", "unreachable"},
		"a scenario without any": {Habit{SelfTest: 20 * time.Second}, "unreachable", "starting", "done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := estateOfOne(t, func(sc *Scenario) {
				sc.Habits["host"], sc.Off, sc.Awake = test.habit, []string{"host", "vm"}, test.habit.SelfTest > 0
			})
			require.Equal(t, ledger.Done, a.told("host", plan.Start))
			a.pass(10 * time.Second)
			require.Equal(t, test.early, a.seen("host"))
			if test.early == "unreachable" {
				require.Equal(t, ledger.Unreached, a.told("host", plan.Stop))
				require.Equal(t, plan.Starting, a.truth("host"), "the stop has not reached it")
			}
			a.pass(40 * time.Second)
			require.Equal(t, test.late, a.seen("host"))
			require.Equal(t, test.told, string(a.told("host", plan.Stop)))
			a.pass(11 * time.Second)
			require.Equal(t, "on", a.seen("host"))
		})
	}
}

func TestAVMHasNoSelfTest(t *testing.T) {
	t.Parallel()
	a := estateOfOne(t, func(sc *Scenario) { sc.Off = []string{"vm"} })
	require.Equal(t, ledger.Done, a.told("vm", plan.Start))
	a.pass(time.Second)
	require.Equal(t, "starting", a.seen("vm"))
}

func TestBehindADarkSwitchAllGoesOnUnseen(t *testing.T) {
	t.Parallel()
	a := estateOfOne(t, func(sc *Scenario) { sc.Habits["switch"] = Habit{Network: true} })
	require.Equal(t, "on", a.seen("host"))
	a.setMains(a.supply("other"), false)
	a.loseOutput(a.supply("other"))
	require.Equal(t, plan.On, a.truth("host"))
	require.Equal(t, "unreachable", a.seen("host"))
	require.Equal(t, "unreachable", a.seen("vm"), "its host can't be asked either")
	require.Equal(t, ledger.Unreached, a.told("vm", plan.Stop))
	require.Equal(t, 2, a.result.Met[MetDarkLook])

	a.setMains(a.supply("other"), true)
	a.pass(returnDelay + 2*time.Minute)
	require.Equal(t, "on", a.seen("host"))
	require.Equal(t, "on", a.seen("vm"))
}

func TestAWeakBatteryEndsItsTestOnTheMains(t *testing.T) {
	t.Parallel()
	a := estateOfOne(t, func(sc *Scenario) {
		sc.Batteries = map[string]Battery{"ups": {Charge: 0.5, DiesAt: 0.45, Runtime: 10 * time.Minute}}
	})
	k := a.supply("ups")
	require.Equal(t, ledger.Done, a.told("ups", plan.Discharge))
	require.True(t, a.supplies[k].tests)
	a.discharge(k, time.Minute)
	require.False(t, a.supplies[k].tests, "it is at its end")
	require.True(t, a.supplies[k].output, "and the mains carry the load")
	require.False(t, a.supplies[k].dead)

	a.setMains(k, false)
	a.discharge(k, time.Minute)
	require.False(t, a.supplies[k].output, "without them it dies")
	require.True(t, a.supplies[k].dead)
}

func TestANewFailureStopsTheReturnTimer(t *testing.T) {
	t.Parallel()
	a := estateOfOne(t, plain)
	k := a.supply("ups")
	a.setMains(k, false)
	a.loseOutput(k)
	a.setMains(k, true)
	a.pass(returnDelay - 5*time.Second)
	a.setMains(k, false)
	a.pass(time.Second)
	a.setMains(k, true)
	a.pass(returnDelay - time.Second)
	require.False(t, a.supplies[k].output, "it counts from the second return")
	a.pass(time.Second)
	require.True(t, a.supplies[k].output)
	require.Equal(t, 1, a.result.Met[MetTimerAnew])
}

func TestTheOutputOfASilentSupply(t *testing.T) {
	t.Parallel()
	a := estateOfOne(t, plain)
	k := a.supply("ups")
	a.supplies[k].silent = true
	require.Equal(t, "unreachable", a.seen("ups"))
	require.Equal(t, ledger.Unreached, a.told("ups", plan.Cut))
	require.True(t, a.supplies[k].cutAt.IsZero())

	a.supplies[k].silent = false
	require.Equal(t, ledger.Done, a.told("ups", plan.Cut))
	a.supplies[k].silent = true
	a.pass(cutDelay / 2)
	require.Equal(t, "stopping", a.seen("ups"), "it has accepted the cut")
	a.pass(cutDelay)
	require.Equal(t, "off", a.seen("ups"), "and its delay is over")
}

func TestALookMayBeFromBeforeTheCommand(t *testing.T) {
	t.Parallel()
	a := estateOfOne(t, func(sc *Scenario) { sc.Habits["vm"] = Habit{Lags: 5 * time.Second} })
	require.Equal(t, ledger.Done, a.told("vm", plan.Stop))
	a.pass(4 * time.Second)
	require.Equal(t, plan.Stopping, a.truth("vm"))
	require.Equal(t, "on", a.seen("vm"))
	a.pass(time.Second)
	require.Equal(t, "stopping", a.seen("vm"))
	require.Equal(t, 1, a.result.Met[MetOldLook])
}

// The host has been off for a while, is then started and is on after a minute. What its BMC says is asked at four times.
func TestHowABMCAnswers(t *testing.T) {
	t.Parallel()
	for how, says := range map[BMC][4]string{
		Well:      {"off", "on", "on", "on"},
		NoAnswer:  {"", "", "", ""},
		AlwaysOn:  {"on", "on", "on", "on"},
		AlwaysOff: {"off", "off", "off", "off"},
		Contrary:  {"on", "off", "off", "off"},
		OutOfDate: {"off", "off", "on", "on"},
		Fitful:    {"", "", "on", ""},
	} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			a := estateOfOne(t, func(sc *Scenario) { sc.Off, sc.BMCs["host"] = []string{"host", "vm"}, how })
			bmc := controller{a.simulation, a.node("host"), how}
			var got [4]string
			ask := func(n int) {
				if seen, err := bmc.Power(t.Context()); err == nil {
					got[n] = seen.State.String()
				}
			}
			a.pass(time.Minute)
			ask(0)
			a.boot(a.node("host"), time.Minute)
			a.pass(9 * time.Second)
			ask(1)
			a.pass(2 * time.Second)
			ask(2)
			a.pass(time.Minute)
			ask(3)
			require.Equal(t, says, got)
		})
	}
}

// A BMC needs nothing of the machine's own system: it powers it off in its self-test. One that takes it for off does not.
func TestABMCPowersOffInTheSelfTest(t *testing.T) {
	t.Parallel()
	for how, want := range map[BMC]plan.State{Well: plan.Off, Contrary: plan.On} {
		a := estateOfOne(t, func(sc *Scenario) { sc.Off, sc.BMCs["host"] = []string{"host", "vm"}, how })
		a.boot(a.node("host"), time.Minute)
		a.pass(5 * time.Second)
		require.NoError(t, controller{a.simulation, a.node("host"), how}.PowerOff(t.Context()))
		a.pass(2 * time.Minute)
		require.Equal(t, want, a.truth("host"), how)
	}
}

func TestACommandMayTakeLong(t *testing.T) {
	t.Parallel()
	a := estateOfOne(t, func(sc *Scenario) { sc.Habits["vm"] = Habit{Way: 8 * time.Second} })
	a.do(effect.Do{Op: 1, Node: "vm", Verb: plan.Stop, Within: time.Minute})
	a.pass(7 * time.Second)
	require.Equal(t, plan.On, a.truth("vm"), "it is on its way")
	require.True(t, a.pending[1])
	a.pass(2 * time.Second)
	require.Equal(t, plan.Stopping, a.truth("vm"))
	require.False(t, a.pending[1])

	b := estateOfOne(t, func(sc *Scenario) { sc.Habits["vm"] = Habit{Way: 8 * time.Second} })
	b.do(effect.Do{Op: 1, Node: "vm", Verb: plan.Stop, Within: 5 * time.Second})
	b.pass(6 * time.Second)
	require.False(t, b.pending[1], "it was given up")
	require.Equal(t, plan.On, b.truth("vm"))
	b.pass(3 * time.Second)
	require.Equal(t, plan.Stopping, b.truth("vm"), "and arrives all the same")
}

func TestWhatComesUpByItself(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		boots []string
		after time.Duration
		vm    plan.State
		late  int
	}{
		"a host alone":             {[]string{"host"}, 0, plan.Off, 0},
		"with its VM":              {[]string{"host", "vm"}, 0, plan.On, 0},
		"long after its power was": {[]string{"vm"}, 3 * time.Minute, plan.On, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := estateOfOne(t, func(sc *Scenario) { sc.Boots, sc.Habits["host"] = test.boots, Habit{BootsAfter: test.after} })
			k := a.supply("ups")
			a.setMains(k, false)
			a.loseOutput(k)
			require.Equal(t, plan.Off, a.truth("vm"), "it fell with its host")
			a.setMains(k, true)
			a.pass(returnDelay + test.after - time.Second)
			require.Equal(t, plan.Off, a.truth("host"))
			a.pass(2 * time.Second)
			require.Equal(t, plan.Starting, a.truth("host"))
			require.Equal(t, plan.Off, a.truth("vm"), "its host is not up yet")
			a.pass(2 * time.Minute)
			require.Equal(t, plan.On, a.truth("host"))
			require.Equal(t, test.vm, a.truth("vm"))
			require.Equal(t, test.late, a.result.Met[MetBootedLate])
		})
	}
}

// One whose power goes again before its time is up does not start without it.
func TestALateMachineNeedsItsPower(t *testing.T) {
	t.Parallel()
	a := estateOfOne(t, func(sc *Scenario) { sc.Habits["host"] = Habit{BootsAfter: time.Minute} })
	k := a.supply("ups")
	for range 2 {
		a.setMains(k, false)
		a.loseOutput(k)
		a.setMains(k, true)
		a.pass(returnDelay + 40*time.Second)
	}
	require.Equal(t, plan.Off, a.truth("host"), "it counts from the second return")
	a.pass(21 * time.Second)
	require.Equal(t, plan.Starting, a.truth("host"))
}
