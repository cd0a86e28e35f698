package power

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/test/golden"
)

// TestADischargeWithoutInputIsOnBattery: where the words speak of a discharge, and no voltage is at the input, the mains are gone whatever
// else they say.
func TestADischargeWithoutInputIsOnBattery(t *testing.T) {
	for _, tt := range []struct {
		status  Status
		voltage Figure
		nominal Figure
		want    Mains
	}{
		{OL | DISCHRG, Known(0), Figure{}, MainsOnBattery},
		{OB | CAL | DISCHRG, Known(3), Known(230), MainsOnBattery},
		{OL | LB, Known(40), Known(120), MainsOnBattery},
		{OL | DISCHRG, Known(228), Figure{}, MainsOnline},
		{OL | DISCHRG, Known(110), Known(120), MainsOnline},
		{OL | DISCHRG, Figure{}, Known(230), MainsOnline}, // the words alone prove nothing
		{OL, Known(0), Figure{}, MainsOnline},             // nor does a gauge that tells nothing
	} {
		tr, now := NewTracker(Supply{ID: "ups"}), time.Unix(0, 0)
		tr.Observe(now, Reading{Link: Fresh, Status: OL, Voltage: Known(120)}) // the sensor works
		now = now.Add(time.Second)
		tr.Observe(now, Reading{Link: Fresh, Status: tt.status, Voltage: tt.voltage, Nominal: tt.nominal})
		st := tr.State(now)
		require.Equal(t, tt.want, st.Mains, "%s at %v V", tt.status, tt.voltage)
		require.Equal(t, tt.want == MainsOnBattery, st.Failing(), "%s at %v V", tt.status, tt.voltage)
	}
}

// TestScripts runs the stories in testdata. A line is a time from the start, then either a reading ("OB LB charge=50
// runtime=600 load=30", "stale", "lost") or nothing; "= …" after it is the state at that time, as written by shown.
// "supply CURVE…" at the start sets the curve.
func TestScripts(t *testing.T) {
	golden.Each(t, "testdata/*.txt", func(t *testing.T, file string) {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		golden.Equal(t, file, play(t, string(data)))
	})
}

func play(t *testing.T, script string) string {
	t.Helper()
	start := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	tracker := NewTracker(Supply{ID: "ups-a"})
	var out strings.Builder
	lines := bufio.NewScanner(strings.NewReader(script))
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), " = ")
		line = strings.TrimRight(line, " ")
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
			fmt.Fprintln(&out, line)
			continue
		case words[0] == "supply":
			tracker = NewTracker(Supply{ID: "ups-a", Curve: parseCurve(t, words[1:])})
			fmt.Fprintln(&out, line)
			continue
		}
		after, err := time.ParseDuration(words[0])
		require.NoError(t, err, line)
		now := start.Add(after)
		if len(words) > 1 {
			tracker.Observe(now, parseReading(t, words[1:]))
		}
		fmt.Fprintf(&out, "%-48s = %s\n", line, shown(tracker.State(now)))
	}
	return out.String()
}

func parseCurve(t *testing.T, words []string) []Point {
	t.Helper()
	var points []Point
	for _, word := range words {
		load, lasts, ok := strings.Cut(word, "%:")
		require.True(t, ok, word)
		x, err := strconv.ParseFloat(load, 64)
		require.NoError(t, err)
		d, err := time.ParseDuration(lasts)
		require.NoError(t, err)
		points = append(points, Point{Load: x, Time: d})
	}
	return points
}

func parseReading(t *testing.T, words []string) Reading {
	t.Helper()
	r := Reading{Supply: "ups-a"}
	var status []string
	for _, word := range words {
		key, value, isFigure := strings.Cut(word, "=")
		if !isFigure {
			switch word {
			case "stale":
				r.Link = Stale
			case "lost":
				r.Link = Lost
			case "-":
			default:
				status = append(status, word)
			}
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		require.NoError(t, err, word)
		figures := map[string]*Figure{
			"charge": &r.Charge, "runtime": &r.Runtime, "load": &r.Load, "voltage": &r.Voltage, "transfer": &r.TransferLow,
			"nominal": &r.Nominal, "temperature": &r.Temperature, "runtime_low": &r.RuntimeLow,
		}
		require.Contains(t, figures, key)
		*figures[key] = Known(v)
	}
	r.Status = ParseStatus(strings.Join(status, " "))
	return r
}

// shown writes what a script is about: the plain words, then what they leave out.
func shown(s State) string {
	text := s.String()
	if s.Failing() {
		text += "; failing"
	}
	if s.OnlineFor > 0 {
		text += "; on line for " + s.OnlineFor.String()
	}
	if s.SilentFor > 0 && s.OnBatteryFor > 0 {
		text += "; on battery for " + s.OnBatteryFor.String()
	}
	if s.Mains != MainsOnBattery && s.Charge.Known {
		text += fmt.Sprintf("; charge %v", s.Charge.Value)
	}
	if s.Left.Known {
		text += fmt.Sprintf("; left %.0fs", s.Left.Value)
	}
	return text
}

// TestAFallBehindAnOutputThatIsOffIsNoAccount: a UPS that says OFF and goes on carrying its load empties its battery, and what that was
// for nobody knows: it is not learned as the capacity of the few seconds before.
func TestAFallBehindAnOutputThatIsOffIsNoAccount(t *testing.T) {
	now := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	tracker := NewTracker(Supply{ID: "ups-a"})
	say := func(status Status, charge float64) {
		now = now.Add(time.Second)
		tracker.Observe(now, Reading{Supply: "ups-a", Status: status, Charge: Known(charge), Load: Known(50)})
	}
	for range 10 {
		say(OL, 100)
	}
	for range 5 {
		say(OB, 99)
	}
	for charge := 98.0; charge >= 0; charge-- {
		say(OB|OFF, charge)
	}
	gave, known := tracker.Discharge(now)
	require.True(t, known)
	require.InDelta(t, 99, gave.To, 0.1)
}

// TestAGaugeThatSaysFullAtOnce: it goes by the voltage, and nothing draws on the battery any more.
func TestAGaugeThatSaysFullAtOnce(t *testing.T) {
	tr, now := NewTracker(Supply{ID: "ups"}), time.Unix(0, 0)
	read := func(at time.Duration, status Status, charge float64) State {
		tr.Observe(now.Add(at), Reading{Supply: "ups", Status: status, Charge: Known(charge), Load: Known(50)})
		return tr.State(now.Add(at))
	}
	read(0, OL, 100)
	read(time.Minute, OB, 90)
	read(10*time.Minute, OB, 40)
	full := Condition{Kind: RechargedFor}
	st := read(11*time.Minute, OL, 100)
	require.InDelta(t, 40, st.Refilled.Value, 6)
	require.False(t, full.Holds(Facts{State: st}))
	for at := 12; at < 20; at++ {
		require.False(t, full.Holds(Facts{State: read(time.Duration(at)*time.Minute, OL, 100)}))
	}
	for at := 20; at < 24; at++ {
		st = read(time.Duration(at)*time.Minute, OL, 100)
	}
	require.True(t, full.Holds(Facts{State: st}))
}

// TestAStretchThatIsTakenUp: what was on record of a time on battery goes on after a restart, unless that took long, or the clock was wrong
// meanwhile, or the mains are there.
func TestAStretchThatIsTakenUp(t *testing.T) {
	now := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	told := func(status Status, charge float64) Reading {
		return Reading{Supply: "ups", Status: status, Charge: Known(charge), Load: Known(50)}
	}
	before := NewTracker(Supply{ID: "ups"})
	before.Observe(now, told(OL, 100))
	for at := range 240 {
		before.Observe(now.Add(time.Duration(1+at)*time.Second), told(OB, 100-float64(at)/4))
	}
	carried, is := before.Carry()
	require.True(t, is)
	require.Equal(t, 239*time.Second, carried.On)
	now = now.Add(4 * time.Minute)
	begun := func(ago time.Duration, r Reading) (*Tracker, State) {
		tr := NewTracker(Supply{ID: "ups"})
		tr.AssumeCharge(carried.Left, 0)
		tr.TakeUp(now, carried, ago)
		tr.Observe(now, r)
		tr.AssumeOnBattery()
		return tr, tr.State(now)
	}
	silent := Reading{Supply: "ups", Link: Stale}
	for _, c := range []struct {
		name string
		ago  time.Duration
		told Reading
		want time.Duration
	}{
		{"half a minute ago", 30 * time.Second, told(OB, 38), 269 * time.Second},
		{"and not heard yet", 30 * time.Second, silent, 269 * time.Second},
		{"an hour ago: its mains may have been there", time.Hour, told(OB, 38), 0},
		{"ahead of now: a clock was wrong", -time.Hour, told(OB, 38), 0},
		{"on line", 30 * time.Second, told(OL, 38), 0},
	} {
		_, st := begun(c.ago, c.told)
		require.Equal(t, c.want, st.OnBatteryFor, c.name)
	}
	_, st := begun(30*time.Second, told(OL, 100))
	require.Less(t, st.Refilled.Value, 50.0, "no gauge is full in a moment, of before a restart either")
	_, st = begun(time.Hour, told(OL, 100))
	require.Less(t, st.Refilled.Value, 50.0, "nor is it known that the mains were there for an hour")
	tr, _ := begun(30*time.Second, told(OB, 38))
	gave, known := tr.Discharge(now.Add(time.Second))
	require.True(t, known)
	require.InDelta(t, 270, gave.Took.Seconds(), 2)
	require.InDelta(t, 100, gave.From, 1)
}

// TestACurveAloneAfterARestart: what the battery has given since the mains failed is not forgotten.
func TestACurveAloneAfterARestart(t *testing.T) {
	now := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	sheet := Supply{ID: "ups", Curve: []Point{{Load: 50, Time: 30 * time.Minute}, {Load: 100, Time: 12 * time.Minute}}}
	say := Reading{Supply: "ups", Status: OB, Load: Known(50)}
	before := NewTracker(sheet)
	before.Observe(now, Reading{Supply: "ups", Status: OL, Load: Known(50)})
	for range 600 {
		now = now.Add(time.Second)
		before.Observe(now, say)
	}
	carried, _ := before.Carry()
	after := NewTracker(sheet)
	after.TakeUp(now.Add(10*time.Second), carried, 10*time.Second)
	after.Observe(now.Add(10*time.Second), say)
	was, is := before.State(now.Add(10*time.Second)), after.State(now.Add(10*time.Second))
	require.True(t, is.Left.Known)
	require.InDelta(t, was.Left.Value, is.Left.Value, 5)
}

// TestALoadOfNothingAfterARestart: a UPS whose load has gone off says 0, as one that measures none does. What it had counts, and not a full
// one.
func TestALoadOfNothingAfterARestart(t *testing.T) {
	now := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	sheet := Supply{ID: "ups", Curve: []Point{{Load: 20, Time: 40 * time.Minute}, {Load: 100, Time: 5 * time.Minute}}}
	before := NewTracker(sheet)
	before.Observe(now, Reading{Supply: "ups", Status: OL, Load: Known(20), Charge: Known(100)})
	before.Observe(now.Add(time.Second), Reading{Supply: "ups", Status: OB, Load: Known(20), Charge: Known(100)})
	carried, _ := before.Carry()
	require.InDelta(t, 20, carried.Load, 0.1)
	lasts := map[float64]float64{}
	for _, load := range []float64{20, 0} { // 0: it was never measured
		carried.Load = load
		now := now.Add(5 * time.Minute)
		after := NewTracker(sheet)
		after.TakeUp(now, carried, 5*time.Minute)
		after.Observe(now, Reading{Supply: "ups", Status: OB, Load: Known(0), Charge: Known(90)})
		lasts[load] = after.State(now).Left.Value
	}
	require.InDelta(t, 8, lasts[20]/lasts[0], 0.5) // as the curve has it
}

// TestTheLoadOfAnotherUPS is told in percent of its own watts.
func TestTheLoadOfAnotherUPS(t *testing.T) {
	small, large := NewTracker(Supply{ID: "a", Watts: 1500}), NewTracker(Supply{ID: "b", Watts: 3000})
	require.InDelta(t, 66, small.Share(large, 33), 0.1)
	require.InDelta(t, 33, NewTracker(Supply{ID: "c"}).Share(large, 33), 0.1)
}

// TestSilenceGivesNothing: a UPS that runs empty falls silent, and is heard when its mains are back. What nobody heard is none of what its
// battery has given.
func TestSilenceGivesNothing(t *testing.T) {
	now := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	tracker := NewTracker(Supply{ID: "ups-a"})
	say := func(link Link, status Status, charge float64) {
		now = now.Add(time.Second)
		tracker.Observe(now, Reading{Supply: "ups-a", Link: link, Status: status, Charge: Known(charge), Load: Known(50)})
	}
	say(Fresh, OL, 100)
	for n := range 300 {
		say(Fresh, OB, 100-float64(n)/3)
	}
	for range 7200 {
		say(Lost, 0, 0)
	}
	given, is := tracker.Discharge(now)
	require.True(t, is)
	require.InDelta(t, 300, given.Took.Seconds(), 2)
	say(Fresh, OB, 0) // on battery all the while, as far as anybody can tell
	given, _ = tracker.Discharge(now)
	require.InDelta(t, 7500, given.Took.Seconds(), 2)
}
