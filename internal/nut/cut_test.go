package nut_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/nut"
	"ebbtide/internal/nut/nutsim"
	"ebbtide/internal/nut/nuttest"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// bench is a UPS that obeys, behind the real upsd, and its output as a node.
func bench(t *testing.T, traits nuttest.Traits, how nut.Cutting) (*nuttest.Server, *nuttest.Machine, adapter.Node) {
	t.Helper()
	upsd := nuttest.Start(t, nuttest.Config{})
	machine := upsd.Driver("ups1").Machine(traits)
	upsd.Driver("ups1").Set("ready", "1")
	upsd.Await("ups1", "ready", "1")
	return upsd, machine, nut.NewOutput(admin(upsd.Addr), "ups1", how)
}

func untilState(t *testing.T, node adapter.Node, want plan.State) plan.Observation {
	t.Helper()
	var seen plan.Observation
	peertest.Until(t, "the output to be "+want.String(), func() bool {
		seen = contracttest.Probe(t, node)
		return seen.State == want
	})
	return seen
}

// Each way to cut darkens the output after its delay; all but one of them give it back with the mains.
func TestWaysToCut(t *testing.T) {
	t.Parallel()
	for way, c := range map[schema.Cut]struct {
		sent    []string
		returns bool
	}{
		schema.CutShutdownReturn: {[]string{"INSTCMD shutdown.return"}, true},
		schema.CutLoadOff:        {[]string{"INSTCMD load.on.delay 1", "INSTCMD load.off.delay 1"}, true},
		schema.CutStayOff:        {[]string{"INSTCMD shutdown.stayoff"}, false},
	} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			upsd, ups, node := bench(t, nuttest.Traits{
				Commands: []string{"shutdown.return", "shutdown.stayoff", "load.off.delay", "load.on.delay", "load.on"},
				OffDelay: 1, OnDelay: 1,
			}, nut.Cutting{Way: way})
			ups.Mains(false)
			upsd.Await("ups1", "ups.status", "OB DISCHRG")
			require.Equal(t, plan.On, contracttest.Probe(t, node).State)
			require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Cut}))
			require.Equal(t, c.sent, upsd.Driver("ups1").Sent())
			untilState(t, node, plan.Off)
			ups.Mains(true)
			if !c.returns {
				upsd.Await("ups1", "ups.status", "OL OFF")
				require.Equal(t, plan.Off, contracttest.Probe(t, node).State)
				require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Start}))
			}
			seen := untilState(t, node, plan.On)
			require.False(t, seen.Uncut)
			require.Equal(t, []string{"mains off", "cut armed, 1s", "output off", "mains on", "output on"}, ups.Story())
		})
	}
}

// A cut whose answer was lost may count down: another would begin that anew. One that shows its timer is asked.
func TestACutWhoseAnswerWasLostIsNotSentAgainAtOnce(t *testing.T) {
	t.Parallel()
	for timer, again := range map[string]int{"": 1, "-1": 2} {
		t.Run("timer "+timer, func(t *testing.T) {
			t.Parallel()
			s := simulate(t)
			u := s.Add("a", "")
			u.Set("ups.status", "OB", "ups.delay.shutdown", "20")
			if timer != "" {
				u.Set("ups.timer.shutdown", timer)
			}
			u.OnCommand(func(string, string) error { return nil }, "shutdown.return")
			var sent atomic.Int32
			s.SetFault(func(request string) nutsim.Fault {
				if strings.HasPrefix(request, "INSTCMD") {
					sent.Add(1)
					return nutsim.Fault{Delay: time.Hour}
				}
				return nutsim.Fault{}
			})
			node := nut.NewOutput(nut.Options{
				Address: s.Addr(), Username: "admin", Password: secret("pass"), Timeout: 200 * time.Millisecond,
			}, "a", nut.Cutting{})
			cut := func() error { return node.Do(t.Context(), adapter.Command{Verb: plan.Cut}) }
			require.ErrorIs(t, cut(), context.DeadlineExceeded)
			err := cut()
			require.EqualValues(t, again, sent.Load())
			if again == 1 {
				require.ErrorIs(t, err, adapter.ErrBusy)
				require.ErrorContains(t, err, "the reply to the previous cut was lost")
			}
		})
	}
}

// What the UPS shows after a delay was set is what counts, whether it takes it, rounds it, keeps its own, or refuses.
func TestDelaysAreReadBack(t *testing.T) {
	t.Parallel()
	commands := []string{"shutdown.return"}
	for what, c := range map[string]struct {
		traits nuttest.Traits
		refuse bool
		delay  time.Duration
		told   string
	}{
		"taken": {nuttest.Traits{Commands: commands, OffDelay: 20}, false, 45 * time.Second, ""},
		"rounded": {
			nuttest.Traits{Commands: commands, OffDelay: 20, DelayStep: 60},
			false, time.Minute,
			"it was told ups.delay.shutdown=45 and shows 60",
		},
		"kept": {
			nuttest.Traits{Commands: commands, OffDelay: 20, KeepsDelays: true},
			false, 20 * time.Second,
			"it was told ups.delay.shutdown=45 and shows 20",
		},
		"not had": {
			nuttest.Traits{Commands: commands},
			false, 20 * time.Second,
			"it refused ups.delay.shutdown=45 (VAR-NOT-SUPPORTED) and keeps its own",
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, ups, node := bench(t, c.traits, nut.Cutting{Off: 45 * time.Second})
			ups.Mains(false)
			require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Cut}))
			seen := contracttest.Probe(t, node)
			require.Equal(t, plan.Stopping, seen.State)
			require.LessOrEqual(t, seen.RemainFor, c.delay)
			require.Greater(t, seen.RemainFor, c.delay-15*time.Second)
			require.Contains(t, seen.Detail, c.told)
		})
	}
}

// A delay that stands as it is wanted is not written again: some UPSes keep it in a memory that wears out.
func TestAStandingDelayIsNotSet(t *testing.T) {
	t.Parallel()
	upsd, _, node := bench(t, nuttest.Traits{Commands: []string{"shutdown.return"}, OffDelay: 45}, nut.Cutting{Off: 45 * time.Second})
	require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Cut}))
	require.Equal(t, []string{"INSTCMD shutdown.return"}, upsd.Driver("ups1").Sent())
}

// The UPS's own timer is the proof that the cut is armed, and tells what is left.
func TestTheTimerProvesTheCutArmed(t *testing.T) {
	t.Parallel()
	upsd, ups, node := bench(t, nuttest.Traits{Commands: []string{"shutdown.return"}, OffDelay: 30, HasTimer: true}, nut.Cutting{})
	ups.Mains(false)
	require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Cut}))
	peertest.Until(t, "the timer to be seen", func() bool {
		seen := contracttest.Probe(t, node)
		require.Equal(t, plan.Stopping, seen.State)
		return seen.RemainFor > 0 && seen.RemainFor <= 30*time.Second && seen.Detail != "has accepted the cut"
	})
	// Who comes after a restart and knows of no cut sees it by the timer that falls, and gives no second one.
	other := nut.NewOutput(admin(upsd.Addr), "ups1", nut.Cutting{})
	contracttest.Probe(t, other)
	untilState(t, other, plan.Stopping)
	require.NoError(t, other.Do(t.Context(), adapter.Command{Verb: plan.Cut}))
	require.Equal(t, []string{"INSTCMD shutdown.return"}, upsd.Driver("ups1").Sent())
}

// A driver that goes stale, hangs or dies while the cut is armed does not take the cut back: it counts on, and when its
// delay is over silence is the cut.
func TestSilenceWhileTheCutIsArmed(t *testing.T) {
	t.Parallel()
	for what, fall := range map[string]func(*nuttest.Driver){
		"stale": (*nuttest.Driver).Stale,
		"dead":  (*nuttest.Driver).Kill,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			upsd, ups, node := bench(t, nuttest.Traits{Commands: []string{"shutdown.return"}, OffDelay: 2}, nut.Cutting{})
			ups.Mains(false)
			upsd.Await("ups1", "ups.status", "OB DISCHRG")
			require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Cut}))
			fall(upsd.Driver("ups1"))
			seen := untilState(t, node, plan.Off)
			require.Contains(t, seen.Detail, "silent since it accepted the cut")
		})
	}
}

// An upsd that ends while the cut is armed is not silence of the UPS: the machine that it ran on answers, and refuses.
func TestARefusalIsNoCut(t *testing.T) {
	t.Parallel()
	upsd, ups, node := bench(t, nuttest.Traits{Commands: []string{"shutdown.return"}, OffDelay: 2}, nut.Cutting{})
	ups.Mains(false)
	upsd.Await("ups1", "ups.status", "OB DISCHRG")
	require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Cut}))
	upsd.Stop()
	seen := untilState(t, node, plan.Unreachable)
	require.Contains(t, seen.Detail, "its cut is due, but its state can't be read")
}

// A driver that hangs leaves upsd with its last values for a while: the cut stays armed by what the UPS accepted, and a
// second one is not given.
func TestAHungDriverWhileTheCutIsArmed(t *testing.T) {
	t.Parallel()
	upsd, ups, node := bench(t, nuttest.Traits{Commands: []string{"shutdown.return"}, OffDelay: 3}, nut.Cutting{})
	ups.Mains(false)
	upsd.Await("ups1", "ups.status", "OB DISCHRG")
	require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Cut}))
	upsd.Driver("ups1").Mute(true)
	require.Equal(t, plan.Stopping, contracttest.Probe(t, node).State)
	require.NoError(t, node.Do(t.Context(), adapter.Command{Verb: plan.Cut}))
	require.Equal(t, []string{"INSTCMD shutdown.return"}, upsd.Driver("ups1").Sent())
}
