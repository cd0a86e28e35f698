package power

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestConditions(t *testing.T) {
	onBattery := State{Mains: MainsOnBattery, OnBatteryFor: 30 * time.Second, OutFor: 30 * time.Second, Left: Known(300), Charge: Known(40)}
	silent := State{Mains: MainsOnBattery, OnBatteryFor: 90 * time.Second, OutFor: 90 * time.Second, SilentFor: 60 * time.Second}
	onLine := State{
		Mains: MainsOnline, OnlineFor: 10 * time.Minute, Left: Known(900), Charge: Known(60), Refilled: Known(60),
		Temperature: Known(35),
	}
	with := func(s State, change func(*State)) State { change(&s); return s }
	for _, c := range []struct {
		condition Condition
		text      string
		holds     []Facts
		fails     []Facts
	}{
		{
			Condition{Kind: OnBattery, For: 10 * time.Second},
			"on battery for 10s",
			[]Facts{{State: onBattery}, {State: silent}, {State: with(onBattery, func(s *State) { s.OnBatteryFor = 10 * time.Second })}},
			[]Facts{{State: onLine}, {}, {State: with(onBattery, func(s *State) { s.OnBatteryFor = 9 * time.Second })}},
		},
		{
			Condition{Kind: OnBattery},
			"on battery",
			[]Facts{{State: State{Mains: MainsOnBattery}}},
			[]Facts{{State: onLine}, {}},
		},
		{
			Condition{Kind: SlackBelow, For: 2 * time.Minute},
			"slack is below 2m",
			[]Facts{{State: onBattery, Slack: Known(119)}, {State: onBattery, Slack: Known(-50)}},
			[]Facts{{State: onBattery, Slack: Known(120)}, {State: onBattery}, {State: onLine, Slack: Known(5)}},
		},
		{
			Condition{Kind: RuntimeBelow, For: 6 * time.Minute},
			"battery time left is below 6m",
			[]Facts{{State: onBattery}},
			[]Facts{{State: silent}, {State: with(onLine, func(s *State) { s.Left = Known(5) })}},
		},
		{
			Condition{Kind: ChargeBelow, Than: 40.5},
			"charge is below 40.5%",
			[]Facts{{State: onBattery}},
			[]Facts{{State: silent}, {State: with(onLine, func(s *State) { s.Charge = Known(5) })}},
		},
		{
			Condition{Kind: LowBattery},
			"the battery is low",
			[]Facts{{State: with(onBattery, func(s *State) { s.LowBattery = true })}},
			[]Facts{{State: onBattery}},
		},
		{
			Condition{Kind: SilentOnBattery, For: 60 * time.Second},
			"silent on battery for 1m",
			[]Facts{{State: silent}},
			[]Facts{{State: onBattery}, {State: with(onLine, func(s *State) { s.SilentFor = time.Hour })}},
		},
		{
			Condition{Kind: Brownout, For: 90 * time.Minute},
			"browned out for 1h 30m",
			[]Facts{{State: with(onLine, func(s *State) { s.BrownoutFor = 2 * time.Hour })}},
			[]Facts{{State: onLine}},
		},
		{
			Condition{Kind: TemperatureAbove, Than: 34},
			"temperature is above 34 °C",
			[]Facts{{State: onLine}},
			[]Facts{{State: onBattery}, {State: with(onLine, func(s *State) { s.Temperature = Known(34) })}},
		},
		{
			Condition{Kind: Online, For: 10 * time.Minute},
			"on line for 10m",
			[]Facts{{State: onLine}},
			[]Facts{{State: onBattery}, {}, {State: with(onLine, func(s *State) { s.OnlineFor-- })}},
		},
		{
			Condition{Kind: ChargeAbove, Than: 60},
			"charge is at least 60%",
			[]Facts{{State: onLine}},
			[]Facts{{State: onBattery}, {State: silent}},
		},
		{
			Condition{Kind: RechargedFor},
			"the battery is recharged enough for another shutdown",
			[]Facts{{State: onLine, AnotherShutdown: Known(900)}},
			[]Facts{{State: onLine, AnotherShutdown: Known(901)}, {State: onLine}, {State: silent, AnotherShutdown: Known(1)}},
		},
		{Condition{}, "never", nil, []Facts{{State: onBattery}}},
		{Condition{Kind: Any}, "never", nil, []Facts{{State: onBattery}}},
		{Condition{Kind: All}, "never", nil, []Facts{{State: onBattery}}},
		{
			Condition{Kind: Any, Of: []Condition{
				{Kind: OnBattery, For: 500 * time.Millisecond},
				{Kind: All, Of: []Condition{{Kind: ChargeAbove, Than: 50}, {Kind: TemperatureAbove, Than: 30}}},
			}},
			"on battery for 0.5s or (charge is at least 50% and temperature is above 30 °C)",
			[]Facts{{State: onBattery}, {State: onLine}},
			[]Facts{{State: with(onLine, func(s *State) { s.Charge, s.Refilled = Known(10), Known(10) })}},
		},
	} {
		t.Run(c.text, func(t *testing.T) {
			require.Equal(t, c.text, c.condition.String())
			for _, f := range c.holds {
				require.True(t, c.condition.Holds(f), "%+v", f)
			}
			for _, f := range c.fails {
				require.False(t, c.condition.Holds(f), "%+v", f)
			}
		})
	}
}

func TestConditionNeeds(t *testing.T) {
	require.Empty(t, Condition{}.Needs())
	require.True(t, Condition{}.IsZero())
	c := Condition{Kind: Any, Of: []Condition{
		{Kind: SlackBelow},
		{Kind: All, Of: []Condition{{Kind: ChargeBelow}, {Kind: SlackBelow}}},
		{Kind: LowBattery},
	}}
	require.Equal(t, []Kind{SlackBelow, ChargeBelow, LowBattery}, c.Needs())
	require.False(t, c.IsZero())
}

func TestWhatMayHoldOnTheMains(t *testing.T) {
	hot, low := Condition{Kind: TemperatureAbove, Than: 40}, Condition{Kind: Brownout, For: time.Minute}
	battery := Condition{Kind: OnBattery, For: time.Minute}
	for _, c := range []struct {
		of   Condition
		want Kind
	}{
		{Condition{}, ""},
		{battery, ""},
		{hot, TemperatureAbove},
		{Condition{Kind: Any, Of: []Condition{battery, low, hot}}, Brownout},
		{Condition{Kind: All, Of: []Condition{hot, battery}}, ""},
		{Condition{Kind: All, Of: []Condition{hot, low}}, TemperatureAbove},
		{Condition{Kind: Any, Of: []Condition{battery, {Kind: All, Of: []Condition{battery, hot}}}}, ""},
	} {
		require.Equal(t, c.want, c.of.OnMains(), "%s", c.of)
	}
}

func TestBriefDurations(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "10s": 10 * time.Second, "1m": time.Minute, "10m": 10 * time.Minute, "1m 30s": 90 * time.Second, "1h": time.Hour,
		"10h": 10 * time.Hour, "1h 30m": 90 * time.Minute, "9s": 9900 * time.Millisecond, "1h 10m": 70*time.Minute + 5900*time.Millisecond,
	} {
		require.Equal(t, want, brief(d))
	}
	require.Equal(t, "59s", Roughly(59.9))
	require.Equal(t, "1m 50s", Roughly(119))
	require.Equal(t, "9m", Roughly(599))
}

// What is judged part by part is judged as the whole is, and each part is asked.
func TestHoldsBy(t *testing.T) {
	leaf := func(than float64) Condition { return Condition{Kind: ChargeBelow, Than: than} }
	f := Facts{State: State{Mains: MainsOnBattery, Charge: Known(50)}}
	for _, c := range []Condition{
		{},
		leaf(40), leaf(60),
		{Kind: Any},
		{Kind: All},
		{Kind: Any, Of: []Condition{leaf(60), leaf(40)}},
		{Kind: All, Of: []Condition{leaf(40), leaf(60)}},
		{Kind: All, Of: []Condition{leaf(60), {Kind: Any, Of: []Condition{leaf(40), leaf(70)}}}},
	} {
		asked := 0
		require.Equal(t, c.Holds(f), c.HoldsBy(func(part Condition) bool { asked++; return part.Holds(f) }), "%v", c)
		require.Equal(t, asked, c.Parts(), "%v", c)
	}
}
