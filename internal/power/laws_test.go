package power

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var epoch = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// poll is one reading and the time since the one before.
type poll struct {
	after   time.Duration
	reading Reading
}

var words = rapid.SampledFrom([]string{
	"OL", "OL CHRG", "OB", "OB DISCHRG", "OB LB", "OB LB RB", "OL CAL DISCHRG", "OB CAL LB", "OL OB", "OL LB", "OL FSD",
	"OB FSD", "OFF", "OL OFF", "", "WAIT", "TRIM", "BYPASS", "ALARM", "DISCHRG", "BOOST",
})

func figure(low, high float64) *rapid.Generator[Figure] {
	return rapid.Custom(func(t *rapid.T) Figure {
		if !rapid.Bool().Draw(t, "known") {
			return Figure{}
		}
		return Known(rapid.Float64Range(low, high).Draw(t, "value"))
	})
}

var polls = rapid.Custom(func(t *rapid.T) poll {
	return poll{
		after: time.Duration(rapid.IntRange(0, 60_000).Draw(t, "after ms")) * time.Millisecond,
		reading: Reading{
			Supply: "ups-a",
			Link:   rapid.SampledFrom([]Link{Fresh, Fresh, Fresh, Fresh, Stale, Lost}).Draw(t, "link"),
			Status: ParseStatus(words.Draw(t, "words")),
			Charge: figure(0, 100).Draw(t, "charge"), Runtime: figure(0, 7200).Draw(t, "runtime"),
			Load: figure(0, 120).Draw(t, "load"), Voltage: figure(100, 260).Draw(t, "voltage"),
			TransferLow: figure(160, 200).Draw(t, "transfer"), Nominal: figure(220, 240).Draw(t, "nominal"),
			Temperature: figure(0, 60).Draw(t, "temperature"), RuntimeLow: figure(60, 600).Draw(t, "runtime low"),
		},
	}
})

var supplies = rapid.SampledFrom([]Supply{
	{ID: "ups-a"},
	{ID: "ups-a", Curve: []Point{{Load: 100, Time: 9 * time.Minute}}},
	{ID: "ups-a", Curve: []Point{{Load: 10, Time: 105 * time.Minute}, {Load: 50, Time: 21 * time.Minute}, {Load: 100, Time: 9 * time.Minute}}},
})

// observe feeds the polls and gives the time of the last.
func observe(t *Tracker, from time.Time, history []poll) time.Time {
	for _, p := range history {
		from = from.Add(p.after)
		t.Observe(from, p.reading)
	}
	return from
}

var downConditions = rapid.Custom(func(t *rapid.T) Condition {
	leaf := rapid.Custom(func(t *rapid.T) Condition {
		return Condition{
			Kind: rapid.SampledFrom([]Kind{
				OnBattery, SlackBelow, RuntimeBelow, ChargeBelow, LowBattery, SilentOnBattery, Brownout, TemperatureAbove,
			}).Draw(t, "kind"),
			For:  time.Duration(rapid.IntRange(0, 1200).Draw(t, "for")) * time.Second,
			Than: rapid.Float64Range(0, 100).Draw(t, "than"),
		}
	})
	if rapid.Bool().Draw(t, "leaf") {
		return leaf.Draw(t, "leaf")
	}
	return Condition{Kind: rapid.SampledFrom([]Kind{Any, All}).Draw(t, "kind"), Of: rapid.SliceOfN(leaf, 1, 4).Draw(t, "of")}
})

func facts(s State, plan float64) Facts {
	f := Facts{State: s}
	if s.Left.Known {
		f.Slack = Known(s.Left.Value - plan)
	}
	return f
}

// docs/ARCHITECTURE.md, rule 14: more battery never triggers earlier.
func TestMoreBatteryNeverTriggersEarlier(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		supply := supplies.Draw(t, "supply")
		less, more := NewTracker(supply), NewTracker(supply)
		history := rapid.SliceOfN(polls, 0, 12).Draw(t, "history")
		now := observe(less, epoch, history)
		observe(more, epoch, history)

		last := polls.Draw(t, "last")
		better := last
		if last.reading.Charge.Known {
			better.reading.Charge = Known(min(100, last.reading.Charge.Value+rapid.Float64Range(0, 50).Draw(t, "more charge")))
		}
		if last.reading.Runtime.Known {
			better.reading.Runtime = Known(last.reading.Runtime.Value + rapid.Float64Range(0, 5000).Draw(t, "more runtime"))
		}
		observe(less, now, []poll{last})
		now = observe(more, now, []poll{better})
		now = now.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "later")) * time.Second)

		condition := downConditions.Draw(t, "condition")
		plan := rapid.Float64Range(0, 1000).Draw(t, "plan")
		if condition.Holds(facts(more.State(now), plan)) {
			require.True(t, condition.Holds(facts(less.State(now), plan)), "%s: %s, with more battery %s", condition, less.State(now),
				more.State(now))
		}
	})
}

// docs/ARCHITECTURE.md, rule 15: missing data never raises an estimate.
func TestMissingDataNeverRaisesLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tracker := NewTracker(supplies.Draw(t, "supply"))
		now := observe(tracker, epoch, rapid.SliceOfN(polls, 1, 12).Draw(t, "history"))
		// Two readings without LB or RB: that they are gone is data, not missing data.
		now = observe(tracker, now, []poll{{time.Second, Reading{Status: OB}}, {time.Second, Reading{Status: OB}}})
		for range rapid.IntRange(1, 5).Draw(t, "polls") {
			last := polls.Draw(t, "last")
			now = now.Add(last.after)
			before := tracker.State(now)
			reading := Reading{Link: last.reading.Link, Status: OB, Voltage: last.reading.Voltage}
			tracker.Observe(now, reading)
			after := tracker.State(now)
			require.Equal(t, before.Left.Known, after.Left.Known)
			require.LessOrEqual(t, after.Left.Value, before.Left.Value)
			require.LessOrEqual(t, after.Charge.Value, before.Charge.Value)
		}
	})
}

// docs/ARCHITECTURE.md, rule 15: a supply that falls silent on battery counts as worse than its last reading.
func TestSilentOnBatteryIsNeverBetter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tracker := NewTracker(supplies.Draw(t, "supply"))
		now := observe(tracker, epoch, rapid.SliceOfN(polls, 0, 12).Draw(t, "history"))
		last := polls.Draw(t, "last")
		last.reading.Link, last.reading.Status = Fresh, last.reading.Status&^(OL|CAL|WAIT)|OB
		now = observe(tracker, now, []poll{last})
		was := tracker.State(now)
		condition, plan := downConditions.Draw(t, "condition"), rapid.Float64Range(0, 1000).Draw(t, "plan")
		for range rapid.IntRange(1, 8).Draw(t, "polls") {
			held := condition.Holds(facts(was, plan))
			silent := polls.Draw(t, "silent")
			if silent.reading.Link == Fresh {
				silent.reading.Status = rapid.SampledFrom([]Status{0, WAIT}).Draw(t, "says nothing")
			}
			now = observe(tracker, now, []poll{silent})
			is := tracker.State(now)
			require.Equal(t, MainsOnBattery, is.Mains)
			require.True(t, is.Failing())
			require.Equal(t, was.Left.Known, is.Left.Known)
			require.LessOrEqual(t, is.Left.Value, was.Left.Value)
			require.Equal(t, was.Charge, is.Charge)
			require.GreaterOrEqual(t, is.OnBatteryFor, was.OnBatteryFor)
			require.GreaterOrEqual(t, is.SilentFor, was.SilentFor)
			require.True(t, is.LowBattery || !was.LowBattery)
			require.True(t, !held || condition.Holds(facts(is, plan)), "%s: %s, then %s", condition, was, is)
			was = is
		}
	})
}

// Nothing of the past, a calibration least of all, keeps a low battery from counting (upsmon 2.8.0's latch).
func TestNothingLatchesAgainstLowBattery(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tracker := NewTracker(supplies.Draw(t, "supply"))
		now := observe(tracker, epoch, rapid.SliceOfN(polls, 0, 12).Draw(t, "history"))
		low := Reading{Status: OB | LB}
		for range 6 {
			now = observe(tracker, now, []poll{{time.Second, low}})
		}
		require.True(t, tracker.State(now).LowBattery)
		require.True(t, tracker.State(now).Failing())
	})
}

// Whatever a supply says for less than five seconds between two readings on line, its battery does not count as low.
func TestShortFlapIsNeverLow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tracker := NewTracker(supplies.Draw(t, "supply"))
		online := poll{time.Second, Reading{Status: OL}}
		now := observe(tracker, epoch, append(rapid.SliceOfN(polls, 0, 8).Draw(t, "history"), online))
		end := now.Add(5 * time.Second)
		for {
			p := polls.Draw(t, "poll")
			p.after /= 20
			if now.Add(p.after).Compare(end) >= 0 {
				break
			}
			now = observe(tracker, now, []poll{p})
			require.False(t, tracker.State(now).LowBattery)
		}
		require.False(t, tracker.State(end.Add(-time.Nanosecond)).LowBattery)
		now = observe(tracker, end, []poll{{0, Reading{Status: OL}}})
		require.False(t, tracker.State(now).LowBattery)
		require.False(t, tracker.State(now).Failing())
	})
}

// docs/ARCHITECTURE.md, rule 16: only differences of time count.
func TestClockStepsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		supply := supplies.Draw(t, "supply")
		here, there := NewTracker(supply), NewTracker(supply)
		history := rapid.SliceOfN(polls, 0, 12).Draw(t, "history")
		step := time.Duration(rapid.Int64Range(-1e6, 1e6).Draw(t, "step")) * time.Second
		now := observe(here, epoch, history)
		observe(there, epoch.Add(step), history)
		require.Equal(t, here.State(now), there.State(now.Add(step)))
	})
}

// Asking changes nothing, and the durations agree with the mains.
func TestStateIsAPureQuestion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tracker := NewTracker(supplies.Draw(t, "supply"))
		now := observe(tracker, epoch, rapid.SliceOfN(polls, 0, 12).Draw(t, "history"))
		before := *tracker
		later := now.Add(time.Duration(rapid.IntRange(0, 6000).Draw(t, "later")) * time.Second)
		s := tracker.State(later)
		require.Equal(t, before, *tracker)
		require.Equal(t, s, tracker.State(later))
		require.True(t, s.OnBatteryFor == 0 || s.Mains == MainsOnBattery)
		require.True(t, s.OnlineFor == 0 || s.Mains == MainsOnline)
		require.True(t, !s.LowBattery || s.Mains == MainsOnBattery && !s.Calibrating)
		require.GreaterOrEqual(t, s.Left.Value, 0.0)
	})
}
