package power

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// cell is a battery that gives so much burn at full load, with a gauge in whole percents and no runtime.
type cell struct {
	t       *Tracker
	now     time.Time
	left    float64 // seconds at full load
	holds   float64
	drops   float64 // of the gauge, all at once
	mains   bool
	step    float64 // its gauge knows no finer ones
	replace Status
	failed  bool
}

func newCell(s Supply, holds float64) *cell {
	return &cell{t: NewTracker(s), now: epoch, left: holds, holds: holds, mains: true}
}

// run polls it for some seconds at full load.
func (c *cell) run(seconds int) State {
	for range seconds {
		c.now = c.now.Add(time.Second)
		status := OL
		if !c.mains {
			status, c.left = OB, c.left-1
		}
		charge := math.Round(100*c.left/c.holds) - c.drops
		if c.step > 0 {
			charge = c.step * math.Ceil(charge/c.step)
		}
		c.t.Observe(c.now, Reading{Supply: "ups", Status: status | c.replace, Charge: Known(max(0, charge)), Load: Known(100), TestFailed: c.failed})
	}
	return c.t.State(c.now)
}

var proven = Supply{ID: "ups", Capacity: Capacity{Burn: 600, Sigma: 0.12}, Recharge: 10 * time.Hour}

func TestAProvenCapacityIsWhatIsLeft(t *testing.T) {
	c := newCell(proven, 600)
	s := c.run(60)
	require.True(t, s.Proven)
	require.Equal(t, FromCapacity, s.By)
	require.InDelta(t, 600, s.Likely.Value, 1)
	require.InDelta(t, 600*math.Exp(-1.645*0.12), s.Left.Value, 1, "of the batteries like this one, 5%% give less")
	c.mains = false
	require.InDelta(t, 480, c.run(120).Likely.Value, 10, "less what was burnt")
}

// Of a battery: nothing refills faster than the battery charges, whatever its gauge says.
func TestNothingRefillsFasterThanItCharges(t *testing.T) {
	c := newCell(proven, 600)
	c.run(60)
	c.mains = false
	c.run(300)
	c.mains, c.left = true, 600 // the gauge jumps to 100%
	s := c.run(3600)
	require.InDelta(t, 100, s.Charge.Value, 0)
	require.InDelta(t, 300+60, s.Likely.Value, 3, "an hour of ten")
	require.InDelta(t, 300+600, c.run(9*3600).Likely.Value, 301, "and at last it is full")
	require.InDelta(t, 600, c.run(1).Likely.Value, 3)
}

// A cell that gives out shows as a drop that no load explains. It counts for the rest of the stretch.
func TestASuddenDropIsNotBelieved(t *testing.T) {
	c := newCell(proven, 600)
	c.run(60)
	c.mains = false
	before := c.run(120)
	c.drops = 30
	require.NotEqual(t, FromDrop, c.run(1).By, "one word may be wrong")
	after := c.run(6)
	require.Equal(t, FromDrop, after.By)
	require.Less(t, after.Left.Value, before.Left.Value/2)
	require.Equal(t, FromDrop, c.run(30).By)
	// A gauge that knows only a few steps does the same all the time, and means nothing by it.
	coarse := newCell(proven, 600)
	coarse.step = 25
	coarse.run(60)
	coarse.mains = false
	for range 9 {
		s := coarse.run(60)
		require.False(t, s.Outlook.Views[FromDrop].Known)
	}
}

// One wrong word of a driver, on line or on battery, is over with the next ones: neither is the battery empty by what was reckoned of it,
// nor does its runtime count for less until the mains are back.
func TestASlipLeavesNothingBehind(t *testing.T) {
	for _, slips := range []struct{ charge, runtime float64 }{{0, 0}, {1, 3}, {0.98, 0}, {0, 1}} { // shares of what is so
		for _, at := range []int{59, 60, 90, 140} { // the mains fail at 60
			tr := NewTracker(Supply{ID: "ups", Curve: []Point{{Load: 100, Time: 10 * time.Minute}}})
			now, left := time.Unix(0, 0), Figure{}
			for i := range 150 {
				r := Reading{Supply: "ups", Status: OL, Charge: Known(100), Runtime: Known(600), Load: Known(100)}
				if i >= 60 {
					out := float64(i - 60)
					r.Status, r.Charge, r.Runtime = OB, Known(100-out/6), Known(600-out)
				}
				if i == at {
					r.Charge.Value *= slips.charge
					r.Runtime.Value *= slips.runtime
				}
				tr.Observe(now, r)
				left, now = tr.State(now).Likely, now.Add(time.Second)
			}
			require.InDelta(t, 510, left.Value, 25, "%v at %d", slips, at)
		}
	}
}

// The first word of all is held against the second, and one after a silence against the one before.
func TestAFirstWordIsForgottenWhereTheSecondSaysFarMore(t *testing.T) {
	for _, silent := range []int{0, 20, 100} {
		for _, mains := range []bool{true, false} {
			tr := NewTracker(Supply{ID: "ups", Curve: []Point{{Load: 100, Time: 10 * time.Minute}}})
			now, left := time.Unix(0, 0), Figure{}
			tell := func(share float64, out int) {
				r := Reading{Supply: "ups", Status: OL, Charge: Known(100 * share), Load: Known(100)}
				if !mains {
					r.Status, r.Charge = OB, Known(share*(100-float64(out)/6))
				}
				tr.Observe(now, r)
				left, now = tr.State(now).Likely, now.Add(time.Second)
			}
			out := 0
			for ; silent > 0 && out < 30; out++ {
				tell(1, out)
			}
			for range silent {
				tr.Observe(now, Reading{Supply: "ups", Link: Lost})
				now = now.Add(time.Second)
				out++
			}
			for k := range 30 {
				tell(min(1, float64(k)), out)
				out++
			}
			wants := 600.0
			if !mains {
				wants -= float64(out)
			}
			require.InDelta(t, wants, left.Value, 30, "silent for %d s, mains %v", silent, mains)
		}
	}
}

// An output that was off and is on again, on battery: what the charge did meanwhile, unheard, was no load's doing, and no cell gave out.
func TestAFallBehindAnOutputThatWasOffIsNone(t *testing.T) {
	c := newCell(proven, 600)
	c.run(60)
	c.mains = false
	c.run(120)
	c.t.Observe(c.now.Add(time.Second), Reading{Supply: "ups", Status: OB | OFF, Charge: Known(80), Load: Known(0)})
	c.now = c.now.Add(15 * time.Minute) // it is silent, has its mains for a while, and loses them again
	c.drops = 5
	s := c.run(120)
	require.False(t, s.Outlook.Views[FromDrop].Known)
	c.drops = 40
	require.Equal(t, FromDrop, c.run(7).By, "and one that gives out from then on shows")
}

// What its UPS says of its time was little when the output was cut, and is more when that is on again: it was charged meanwhile.
func TestARuntimeBehindAnOutputThatWasOffIsOfBefore(t *testing.T) {
	tracker, now := NewTracker(Supply{ID: "ups"}), epoch
	say := func(after time.Duration, status Status, runtime float64) State {
		now = now.Add(after)
		tracker.Observe(now, Reading{Supply: "ups", Status: status, Runtime: Known(runtime), Load: Known(50)})
		return tracker.State(now)
	}
	say(time.Second, OL, 600)
	say(time.Second, OB, 60)
	say(30*time.Second, OB, 30)
	say(time.Second, OB|OFF, 30)
	say(15*time.Minute, OB, 430)
	again := say(time.Second, OB, 430)
	require.InDelta(t, 430, again.Outlook.Most().Value, 1)
}

// What a long enough stretch shows counts at once when it is less than what was known.
func TestAStretchTeachesAtOnce(t *testing.T) {
	c := newCell(proven, 300) // it is half as good as it was proven to be
	c.run(60)
	c.mains = false
	s := c.run(150)
	require.Equal(t, FromSlope, s.By)
	require.InDelta(t, 150, s.Likely.Value, 5)
	d, told := c.t.Discharge(c.now)
	require.True(t, told)
	require.InDelta(t, 150, d.Burn, 1)
	require.InDelta(t, 100, d.Load, 0.1)
	require.Equal(t, [2]float64{100, 50}, [2]float64{math.Round(d.From), math.Round(d.To)})
	c.mains, c.left = true, 300
	require.InDelta(t, 150, c.run(60).Likely.Value, 5, "its gauge says full")
	c.t.Told()
	_, again := c.t.Discharge(c.now)
	require.False(t, again)
}

// A UPS that calls its battery low early, as it may be told to, and goes on for as long again: what it gave until then is what counts, and
// so little of it says nothing.
func TestAnEarlyLowBatteryTeachesNothing(t *testing.T) {
	c := newCell(proven, 600)
	c.run(60)
	c.mains = false
	c.run(28)
	c.replace = LB
	c.run(90)
	d, told := c.t.Discharge(c.now)
	require.True(t, told)
	require.True(t, d.Empty)
	require.InDelta(t, 28, d.Took.Seconds(), 1, "until the UPS called it low")
	require.InDelta(t, 28, d.Burn, 1)
	require.InDelta(t, 95, d.To, 1)
	require.False(t, d.Tells())
}

// One wrong alarm says nothing, and a restart forgets none.
func TestALowBatteryCountsFromWhenItLasts(t *testing.T) {
	gave := func(do func(c *cell)) Discharge {
		c := newCell(proven, 600)
		c.run(60)
		c.mains = false
		do(c)
		d, told := c.t.Discharge(c.now)
		require.True(t, told)
		return d
	}
	blip := gave(func(c *cell) { c.run(65); c.replace = LB; c.run(1); c.replace = 0; c.run(434) })
	require.False(t, blip.Empty)
	require.InDelta(t, 500, blip.Burn, 1)

	first := gave(func(c *cell) { c.replace = LB; c.run(500) })
	require.True(t, first.Empty)
	require.False(t, first.Tells(), "it says so whatever it holds")

	lasting := func(restart bool) Discharge {
		return gave(func(c *cell) {
			c.run(65)
			c.replace = LB
			c.run(135)
			if restart {
				carried, ok := c.t.Carry()
				require.True(t, ok)
				c.t = NewTracker(proven)
				c.t.TakeUp(c.now.Add(2*time.Second), carried, 2*time.Second)
				c.now, c.left = c.now.Add(time.Second), c.left-1
			}
			c.run(299)
		})
	}
	for _, d := range []Discharge{lasting(false), lasting(true)} {
		require.True(t, d.Empty)
		require.InDelta(t, 65, d.Burn, 1)
		require.InDelta(t, 65, d.Took.Seconds(), 1)
		require.InDelta(t, 89, d.To, 1)
	}
}

func TestABatteryThatFailedCountsForHalf(t *testing.T) {
	healthy := newCell(proven, 600)
	whole := healthy.run(60).Left.Value
	worn := newCell(proven, 600)
	worn.replace = RB
	require.InDelta(t, whole/2, worn.run(60).Left.Value, 0.1)
	tested := newCell(proven, 600)
	tested.failed = true
	require.InDelta(t, whole/2, tested.run(60).Left.Value, 0.1)
}

func TestTheOddsAndTheirQuantilesAgree(t *testing.T) {
	o := Outlook{Rate: 0.5, After: 300, More: 1}
	o.Views[FromRuntime] = View{Known: true, Burn: 500, Sigma: 0.3}
	o.Views[FromNameplate] = View{Known: true, Burn: 450, Sigma: 0.1}
	for _, p := range []float64{0.01, 0.05, 0.2, 0.5, 0.9} {
		at, _ := o.At(p)
		require.InDelta(t, p, o.GivesOut(at.Value), 1e-9)
	}
	_, cautious := o.At(0.05)
	require.Equal(t, FromRuntime, cautious, "the wide view fears more for early ends")
	_, likely := o.At(0.5)
	require.Equal(t, FromNameplate, likely)
	o.Views[FromAlarm] = View{Known: true, Burn: 60}
	least, by := o.At(0.05)
	require.Equal(t, FromAlarm, by)
	require.InDelta(t, 120, least.Value, 1e-9)
}

// A drop that the next word takes back was a wrong word, and leaves nothing behind; a cell that has given out does not recover.
func TestADropIsTakenBack(t *testing.T) {
	tell := func(charges ...float64) (Outlook, float64) {
		tracker := NewTracker(Supply{ID: "ups"})
		at := 0
		say := func(status Status, charge float64) {
			at += 5
			tracker.Observe(time.Unix(int64(at), 0), Reading{Link: Fresh, Status: status, Charge: Known(charge), Load: Known(50)})
		}
		say(OL, 30)
		for k := range 24 {
			say(OB, 30-float64(k)*0.8)
		}
		for _, charge := range charges {
			say(OB, charge)
		}
		st := tracker.State(time.Unix(int64(at), 0))
		return st.Outlook, st.Left.Value
	}
	plain, left := tell(10.8, 10, 9.2, 8.4)
	require.False(t, plain.Views[FromDrop].Known)
	slipped, again := tell(10.8, 1, 9.2, 8.4)
	require.False(t, slipped.Views[FromDrop].Known)
	require.InEpsilon(t, left, again, 0.02)
	gone, _ := tell(10.8, 1, 0.9, 0.8)
	require.True(t, gone.Views[FromDrop].Known)
}
