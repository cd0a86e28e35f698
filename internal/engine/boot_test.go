package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// TestWhatWeStartedBootsAgainBeforeACrash: a VM was started in this outage, the mains fail once more, its host's power blinks, and it boots
// with that. Ebbtide is killed, and the VM does not answer when that is back: it may be booting still, and is not told to stop before its
// time for that is over.
func TestWhatWeStartedBootsAgainBeforeACrash(t *testing.T) {
	slow := aNode("slow", plan.Other, plan.VerbSet(plan.Stop, plan.Start), []string{"a"}, nil)
	slow.Times[plan.Start] = plan.Times{Nominal: 20 * time.Minute, Within: 40 * time.Minute}
	vm := aVM("vm", "host")
	vm.Times[plan.Start] = plan.Times{Nominal: time.Minute, Within: 5 * time.Minute}
	p := play(t, uncuttable("a"), aHost("host", "", "a"), vm, slow)
	states := obeys(p)
	did := p.did
	p.did = func(verb plan.Verb, node string) {
		if did(verb, node); verb == plan.Start && node == "slow" {
			states["slow"] = plan.Starting
		}
	}
	say := supplies{"a": {onLine, 1800, false}}
	p.begin(say)
	say["a"].status = onBattery
	p.goOn(90*time.Second, say)
	say["a"].status = onLine
	p.until(say, func() bool { return slices.Contains(p.commands, "start vm") })
	p.goOn(20*time.Second, say)
	told := len(p.commands)
	say["a"].status = onBattery
	p.goOn(6*time.Second, say)
	say["a"].status = isOff
	states["host"], states["vm"], states["slow"] = plan.Unreachable, plan.Unreachable, plan.Unreachable
	p.goOn(10*time.Second, say)
	say["a"].status = onBattery
	p.goOn(4*time.Second, say)
	states["host"], states["vm"] = plan.On, plan.Starting
	p.goOn(25*time.Second, say)

	p.now = p.now.Add(10 * time.Second)
	states["vm"] = plan.Unreachable
	p.crash()
	p.goOn(4*time.Minute, say)
	require.NotContains(t, p.commands[told:], "stop vm", "it may be booting")
}

// TestWhatHasBootedIsOffAtOnceAfterACrash: a VM boots as the mains fail, is up soon, and somebody shuts it down. That it booted does not
// keep its host waiting when Ebbtide restarts minutes later.
func TestWhatHasBootedIsOffAtOnceAfterACrash(t *testing.T) {
	vm := aVM("vm", "host")
	vm.Times[plan.Start] = plan.Times{Nominal: time.Minute, Within: 20 * time.Minute}
	p := play(t, uncuttable("a"), aHost("host", "", "a"), vm)
	p.settings.Policy.Shutdown = power.Condition{Kind: power.OnBattery, For: 10 * time.Minute}
	p.settings.Policy.Protect = power.Condition{Kind: power.OnBattery, For: 9 * time.Minute}
	p.e = engine.New(p.settings)
	states := obeys(p)
	say := supplies{"a": {onLine, 7200, false}}
	p.begin(say)
	states["vm"] = plan.Starting
	say["a"].status = onBattery
	p.goOn(40*time.Second, say)
	states["vm"] = plan.On
	p.goOn(4*time.Minute, say)
	states["vm"] = plan.Off
	p.goOn(4*time.Minute, say)
	p.now = p.now.Add(10 * time.Second)
	p.crash()
	p.goOn(3*time.Minute, say)
	require.Contains(t, p.commands, "stop host", "a minute after its stage was due")
}
