package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// TestAUPSThatDiesWithoutAWordBesideAnother: the mains fail, and the battery of one of two UPSes is dead: its load drops before anybody has
// heard that it fails. What it carried is brought back as well.
func TestAUPSThatDiesWithoutAWordBesideAnother(t *testing.T) {
	p := play(t, uncuttable("a"), uncuttable("b"), aHost("host-a", "", "a"), aVM("vm-a", "host-a"), aHost("host-b", "", "b"), aVM("vm-b", "host-b"))
	states := obeys(p)
	say := supplies{"a": {onLine, 900, false}, "b": {onLine, 900, false}}
	p.begin(say)
	p.goOn(6*time.Minute, say)
	say["a"].deaf, say["b"].status = true, onBattery
	states["host-a"], states["vm-a"] = plan.Unreachable, plan.Off
	p.goOn(2*time.Minute, say)
	say["a"].deaf, say["b"].status = false, onLine
	states["host-a"] = plan.Off
	p.goOn(30*time.Minute, say)
	require.Equal(t, plan.On, states["host-a"])
	require.Equal(t, plan.On, states["vm-a"])
}

// TestAVMGoneWithItsHostAsTheOutageOpens: a worn battery drops a host as the UPS switches over, and who manages its VM calls that off.
// It was on, as its host was, and comes back with it.
func TestAVMGoneWithItsHostAsTheOutageOpens(t *testing.T) {
	p := play(t, uncuttable("a"), aHost("host", "", "a"), aVM("vm", "host"))
	states := obeys(p)
	say := supplies{"a": {onLine, 3600, false}}
	p.begin(say)
	p.goOn(7*time.Minute, say)
	states["vm"], states["host"] = plan.Off, plan.Unreachable
	p.goOn(2*time.Second, say)
	say["a"].status = onBattery
	p.goOn(10*time.Second, say)
	say["a"].status = onLine
	p.goOn(time.Minute, say)
	states["host"] = plan.On
	p.goOn(30*time.Minute, say)
	require.Equal(t, plan.On, states["vm"])
}

// TestALookThatLearnedNothingIsNoSilence: a host took its stop, does not answer once, its manager has no answer for most of a minute,
// and once more it does not: that is no silence of a minute.
func TestALookThatLearnedNothingIsNoSilence(t *testing.T) {
	host := aHost("host", "nas", "a")
	host.OffAfter, host.Can = 30*time.Second, plan.VerbSet(plan.Stop, plan.Start)
	host.Times[plan.Stop] = plan.Times{Nominal: host.Times[plan.Stop].Nominal, Within: 4 * time.Minute}
	p := play(t, aSupply("a"), aNAS("a"), host)
	now := plan.On
	p.answersAs("host", &now)
	p.did = func(verb plan.Verb, node string) {
		if verb == plan.Stop && node == "host" {
			now = plan.On
		}
	}
	say := supplies{"a": {onLine, 3600, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool { return p.recorded(ledger.Accepted) })
	p.goOn(5*time.Second, say)
	asked := p.probes["host"]
	now = plan.Unreachable
	p.until(say, func() bool { return p.probes["host"] > asked })
	now = plan.Unknown
	p.goOn(35*time.Second, say)
	asked = p.probes["host"]
	now = plan.Unreachable
	p.until(say, func() bool { return p.probes["host"] > asked })
	now = plan.Unknown
	p.goOn(10*time.Second, say)
	require.NotContains(t, p.commands, "stop nas")
}

// TestAGuestThatIsSlowToGoIsStartedAgain: a guest that installs updates goes seconds after the mains were back for long enough. The
// outage is open still, and it is started again.
func TestAGuestThatIsSlowToGoIsStartedAgain(t *testing.T) {
	p := play(t, uncuttable("a"), aHost("host", "", "a"), aVM("vm", "host"))
	now := plan.On
	p.answersAs("vm", &now)
	say := supplies{"a": {onLine, 3600, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.until(say, func() bool { return slices.Contains(p.commands, "stop vm") })
	p.goOn(5*time.Second, say)
	say["a"].status = onLine
	p.goOn(65*time.Second, say)
	now = plan.Off
	p.until(say, func() bool { return slices.Contains(p.commands, "start vm") })
}
