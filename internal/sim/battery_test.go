package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/engine"
	"ebbtide/internal/families"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/sim"
)

// room is a runbook whose loads are easily reckoned: 1,000 W on two supplies of 1,000 W, 200 W on the left one alone.
// It waits for three hours of darkness before it does anything.
const room = `
  version: 1
  runbook: room
  supplies:
    left: {nut: "left@127.0.0.1", cut: none, watts: 1000, curve: {100%: 10m, 50%: 25m, 25%: 60m}, recharge: 5h}
    right: {nut: "right@127.0.0.1", cut: none, watts: 1000, curve: {100%: 10m, 50%: 25m, 25%: 60m}}
  connections:
    vc: {type: vsphere, url: "https://127.0.0.1/sdk", username: root, password: {credential: vc}, thumbprint: "D1:07:5A:EE:42:39:C8:90:1B:6F:24:83:F5:0A:BE:77:61:9D:D8:32:4C:A5:13:E0:8F:56:C1:2A:94:7B:EF:08"}
  nodes:
    lamp: {type: passive, fed_by: [left], watts: 200}
    esx: {type: vsphere.host, via: vc, fed_by: [left, right], watts: 400, up: {wake: {power: true}}}
    app: {type: vsphere.vm, via: vc, depends_on: [esx], watts: 100}
    web: {type: vsphere.vm, via: vc, depends_on: [app], watts: 100}
    lab: {type: vsphere.vms, via: vc, select: {name: "lab*"}, depends_on: [esx], expect: 4, watts: 100}
  policy:
    shutdown: {when: {on_battery: 3h}}
    restore: {when: {online: 1m}}
`

// told plays a scenario in the room, and gives what a supply's UPS said by the second.
func told(t *testing.T, supply, scenario string) (func(at time.Duration) power.Reading, *sim.Result) {
	t.Helper()
	text := "version: 1\nscenario: test\nfor: 2h\n" + scenario + "\nrunbook: |" + room
	sc, problems, err := sim.Load("test", []byte(text), nil, families.Schema())
	require.NoError(t, err, problems.Text())
	readings := map[int]power.Reading{}
	sc.Witness = func(at time.Time, ev engine.Event) {
		if r, ok := ev.(engine.Read); ok && r.Reading.Supply == supply {
			readings[int(at.Sub(sim.Epoch).Seconds())] = r.Reading
		}
	}
	result := sim.Run(sc)
	return func(at time.Duration) power.Reading {
		r, ok := readings[int(at.Seconds())]
		require.True(t, ok, "no reading at %s", at)
		return r
	}, result
}

// lost is when an output was lost: a UPS whose battery gave out says nothing more.
func lost(t *testing.T, reading func(time.Duration) power.Reading, before time.Duration) time.Duration {
	t.Helper()
	for at := time.Second; at < before; at += time.Second {
		if reading(at).Link == power.Lost {
			return at
		}
	}
	require.FailNow(t, "the output was never lost")
	return 0
}

func TestLoadFollowsWhatIsOn(t *testing.T) {
	t.Parallel()
	events := func(lines ...string) string { return "events:\n  - " + strings.Join(lines, "\n  - ") }
	off := events("{at: 1m, supply: left, mains: off}", "{at: 2m, node: web, becomes: off}", "{at: 3m, node: lab/2, becomes: off}",
		"{at: 4m, node: esx, becomes: off}", "{at: 5m, supply: left, extra_load: 12%}", "{at: 10m, supply: left, extra_load: 0%}", "{at: 100m, supply: left, mains: on}")
	left, _ := told(t, "left", off)
	right, _ := told(t, "right", off)
	for _, want := range []struct {
		at          time.Duration
		left, right float64
	}{
		{30 * time.Second, 70, 50},
		{150 * time.Second, 65, 45},
		{210 * time.Second, 60, 40},
		{270 * time.Second, 20, 0},
		{330 * time.Second, 32, 0},
		{630 * time.Second, 20, 0},
	} {
		require.InDelta(t, want.left, left(want.at).Load.Value, 1e-9, "left at %s", want.at)
		require.InDelta(t, want.right, right(want.at).Load.Value, 1e-9, "right at %s", want.at)
	}
}

// A battery lasts as its curve says, times its health, and its UPS knows nothing of that.
func TestBatteryLastsByItsCurve(t *testing.T) {
	t.Parallel()
	const outage = "\nevents: [{at: 1m, supply: right, mains: off}, {at: 119m, supply: right, mains: on}]"
	for name, want := range map[string]struct {
		battery string
		told    time.Duration
		lasts   time.Duration
	}{
		"by the sheet":        {"{}", 25 * time.Minute, 25 * time.Minute},
		"as the scenario has": {"{runtime: 40m}", 40 * time.Minute, 40 * time.Minute},
		"half full":           {"{charge: 50%, recharge: 200h}", 750 * time.Second, 750 * time.Second},
		"worn":                {"{health: 40%}", 25 * time.Minute, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			right, result := told(t, "right", "supplies: {right: "+want.battery+"}"+outage)
			require.InDelta(t, want.told.Seconds(), right(59*time.Second).Runtime.Value, 3)
			require.InDelta(t, want.lasts.Seconds(), (lost(t, right, 100*time.Minute) - time.Minute).Seconds(), 3)
			require.Empty(t, result.Violations)
			require.Empty(t, result.Crashed, "all that it feeds has another feed")
		})
	}
}

// When one of two feeds dies the other carries all, and its battery burns faster: of 25 minutes at half load
// half are spent, and of 10 minutes at full load half are left.
func TestLoadMovesToTheSurvivor(t *testing.T) {
	t.Parallel()
	right, _ := told(t, "right", `
supplies: {left: {dies_at: 50%}}
nodes: {lamp: {off: true}}
events: [{at: 1m, supply: left, mains: off}, {at: 1m, supply: right, mains: off},
  {at: 100m, supply: left, mains: on}, {at: 100m, supply: right, mains: on}]`)
	const moved = time.Minute + 750*time.Second
	require.InDelta(t, 50, right(moved-5*time.Second).Load.Value, 1e-9)
	require.InDelta(t, 100, right(moved+5*time.Second).Load.Value, 1e-9)
	require.InDelta(t, (moved + 5*time.Minute).Seconds(), lost(t, right, 90*time.Minute).Seconds(), 6)
}

// What is far too much for the survivor is dropped at once.
func TestOverloadTrips(t *testing.T) {
	t.Parallel()
	right, result := told(t, "right", `
supplies: {left: {dies_at: 90%}}
events: [{at: 1m, supply: right, extra_load: 30%}, {at: 1m, supply: left, mains: off}, {at: 1m, supply: right, mains: off},
  {at: 100m, supply: left, mains: on}, {at: 100m, supply: right, mains: on}]`)
	require.Less(t, lost(t, right, 90*time.Minute), 5*time.Minute)
	require.Contains(t, result.Crashed, "esx")
}

func TestUPSTellsOfItsSurroundings(t *testing.T) {
	t.Parallel()
	left, _ := told(t, "left", `
supplies: {left: {charge: 88%, steps: 5%}}
events: [{at: 1m, supply: left, temperature: 45.5}, {at: 2m, supply: left, voltage: 180}, {at: 3m, supply: left, extra_load: 31%}]`)
	at := left(59 * time.Second)
	require.Zero(t, at.Temperature)
	require.Zero(t, at.Voltage)
	require.InDelta(t, 90, at.Charge.Value, 1e-9)
	require.Equal(t, power.Known(45.5), left(61*time.Second).Temperature)
	require.Equal(t, [2]power.Figure{power.Known(180), power.Known(230)},
		[2]power.Figure{left(121 * time.Second).Voltage, left(121 * time.Second).Nominal})
	require.False(t, left(179*time.Second).Status.Has(power.OVER))
	require.True(t, left(181*time.Second).Status.Has(power.OVER))
}

func TestEventsThatCannotBe(t *testing.T) {
	t.Parallel()
	for event, message := range map[string]string{
		"{at: 1m, voltage: 180}":                                 "need the supply that they are about",
		"{at: 1m, supply: left, voltage: 0}":                     "write mains: off",
		"{at: 1m, supply: left, voltage: 180, temperature: 20}":  "it has 2 of them",
		"{at: 1m, supply: left, extra_load: 20%, silent: false}": "it has 2 of them",
	} {
		_, _, err := sim.Load("test", fmt.Appendf(nil, "version: 1\nscenario: test\nevents: [%s]\nrunbook: |%s", event, room), nil, families.Schema())
		require.ErrorContains(t, err, message, event)
	}
	_, _, err := sim.Load("test", []byte("version: 1\nscenario: test\nsupplies: {left: {health: 0%}}\nrunbook: |"+room), nil, families.Schema())
	require.ErrorContains(t, err, "write health: 10%")
}

func TestConditionsThatCannotBe(t *testing.T) {
	t.Parallel()
	for condition, message := range map[string]string{
		"esx: {self_test: -1s}":   "can't be negative",
		"esx: {network: true}":    "network is for nodes of type passive",
		"app: {boots_after: 1m}":  "write boots: true",
		"esx: {lags: 0s}":         "lags",
		"esx: {slow: 0s}":         "slow",
		"esx: {bmc: drunk}":       "contrary, stale, fitful",
		"nosuch: {self_test: 1s}": "the runbook has no node",
	} {
		_, problems, err := sim.Load("test", fmt.Appendf(nil, "version: 1\nscenario: test\nnodes: {%s}\nrunbook: |%s", condition, room), nil, families.Schema())
		require.Error(t, err, condition)
		require.Contains(t, err.Error()+problems.Text(), message, condition)
	}
	sc, problems, err := sim.Load("test", []byte("version: 1\nscenario: test\nnodes: {esx: {self_test: 0s, refuses: true, way: 2s, lags: 3s, boots_after: 4s, fails: true}, lamp: {network: true}}\nrunbook: |"+room), nil, families.Schema())
	require.NoError(t, err, problems.Text())
	require.Equal(t, map[string]sim.Habit{
		"esx":  {SelfTest: -1, Refuses: true, Way: 2 * time.Second, Lags: 3 * time.Second, BootsAfter: 4 * time.Second, Fails: true},
		"lamp": {Network: true},
	}, sc.Habits)
}

// A room that is too hot with its mains on goes down as well. Its outputs stay on: cut, they would be back at once.
func TestHeatTakesTheRoomDownOnLine(t *testing.T) {
	t.Parallel()
	hot := strings.Replace(room, "{on_battery: 3h}", "{any: [{on_battery: 3h}, {temperature_above: 40}, {brownout: 5m}]}", 1)
	hot = strings.Replace(hot, "{power: true}", `{mac: "00:25:90:aa:bb:11"}`, 1)
	for name, events := range map[string][2]string{
		"heat":      {"temperature: 48", "temperature: 25"},
		"brown-out": {"voltage: 170", "voltage: 230"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := "version: 1\nscenario: test\nfor: 4h\nevents:\n"
			for _, supply := range []string{"left", "right"} {
				text += fmt.Sprintf("  - {at: 2m, supply: %s, %s}\n  - {at: 1h, supply: %s, %s}\n", supply, events[0], supply, events[1])
			}
			sc, problems, err := sim.Load("test", []byte(text+"runbook: |"+hot), nil, families.Schema())
			require.NoError(t, err, problems.Text())
			r := sim.Run(sc)
			require.Empty(t, r.Violations)
			var stopped, started []string
			for _, rec := range r.Records {
				switch {
				case rec.Kind != ledger.Intent:
				case *rec.Verb == plan.Stop:
					stopped = append(stopped, rec.Node)
				case *rec.Verb == plan.Start:
					require.GreaterOrEqual(t, rec.At.Sub(sim.Epoch), time.Hour)
					started = append(started, rec.Node)
				default:
					require.Fail(t, "nothing else is done", "%s %s", rec.Verb, rec.Node)
				}
			}
			require.Len(t, stopped, 7, "the host and its six VMs")
			require.ElementsMatch(t, stopped, started)
			require.Equal(t, "everything that was on is on again", r.Records[len(r.Records)-1].Reason)
		})
	}
}
