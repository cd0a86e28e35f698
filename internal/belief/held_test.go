package belief_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// TestOneLookThatShowsOffEndsThatItWasOn: of what the newest look, not yet confirmed, shows off nobody says that it was on.
func TestOneLookThatShowsOffEndsThatItWasOn(t *testing.T) {
	e, host := seen(t, plan.On, plan.On)
	e.Beliefs[host].OnAt = e.Now
	listed := func() (is bool) {
		for _, ns := range e.LastSeen() {
			is = is || ns.Node == "host" && ns.State == plan.On
		}
		return is
	}
	require.True(t, listed())
	e.Beliefs[host].Doubt = plan.Off
	require.False(t, listed())
}

// TestWhatIsOffShowsNoModeOfBefore: a host that went down in another mode than it showed before is not in that.
func TestWhatIsOffShowsNoModeOfBefore(t *testing.T) {
	e, host := seen(t)
	e.Graph.Node(host).Can |= plan.VerbSet(plan.Unprotect)
	e.Believe(host, plan.Observation{State: plan.On, Protected: plan.No}, 1, e.Now)
	e.Believe(host, plan.Observation{State: plan.Off}, 2, e.Now.Add(time.Second))
	require.Equal(t, plan.NotKnown, e.Beliefs[host].Seen.Protected)
}

// TestAGuestThatBeganToStartIsNotOnAHostThatGoes: of two hosts one is silent for long, after its stop, and the other took its stop
// before a VM began to start: nothing does on one that goes. So the VM is on the one that is silent, which is up.
func TestAGuestThatBeganToStartIsNotOnAHostThatGoes(t *testing.T) {
	host := func(id string) plan.Node {
		return plan.Node{ID: id, Kind: plan.Host, FedBy: []string{"ups"}, Can: plan.VerbSet(plan.Stop), OffAfter: time.Minute}
	}
	vm := plan.Node{ID: "vm", Kind: plan.VM, Host: "mute", DependsOn: []string{"mute"}, Can: plan.VerbSet(plan.Stop)}
	e := outage(t, host("mute"), host("goes"), vm)
	at := func(id string) int {
		i, known := e.Graph.Index(id)
		require.True(t, known)
		return i
	}
	for _, id := range []string{"mute", "goes"} {
		says(e, at(id), 0, plan.On, plan.On)
		e.Entry(at(id)).Last = ledger.Command{Verb: plan.Stop, Rung: plan.Stop, Taken: true, Op: 5, At: e.Now}
	}
	e.Beliefs[at("mute")].Silent = e.Now
	e.Now = e.Now.Add(time.Minute)
	says(e, at("vm"), 10, plan.Starting, plan.Starting)
	require.Equal(t, []int{at("mute")}, e.DisproveHosts(at("vm")))
}

// TestABMCThatIsAlwaysOffVouchesForNothingUnheard: after a restart, the word of a BMC that its machine is off counts for nothing while
// nobody hears what feeds that, also where the machine was shown off before: its power may be back.
func TestABMCThatIsAlwaysOffVouchesForNothingUnheard(t *testing.T) {
	e, host := seen(t)
	e.ResumedAt = e.Now
	e.Entry(host).Shown, e.Entry(host).Last = ledger.ShownOff, ledger.Command{Verb: plan.Stop, Rung: plan.Stop, Taken: true, Op: 1}
	e.Supplies[0].Mute = true
	e.Believe(host, plan.Observation{State: plan.Off, ByBMC: true}, 2, e.Now.Add(time.Second))
	require.Equal(t, plan.Unreachable, e.Beliefs[host].Answer)
}

// TestAGuestThatWentWithItsHostMayComeWithIt: what was told to go, and runs on a host that has been off since, may come up with that
// while Ebbtide is away.
func TestAGuestThatWentWithItsHostMayComeWithIt(t *testing.T) {
	e, host := seen(t)
	guest, _ := e.Graph.Index("guest")
	e.ForgetPower()
	require.True(t, e.Beliefs[guest].Hosted.IsZero())
	e.Entry(guest).Shown, e.Entry(guest).Last = ledger.WasTold, ledger.Command{Verb: plan.Stop, Rung: plan.Stop, Taken: true, Op: 1}
	e.Entry(host).Shown = ledger.ShownOn
	require.True(t, e.WentWithHost(guest))
	e.ForgetPower()
	require.False(t, e.Beliefs[guest].Hosted.IsZero())
}

// TestWhatIsOnAsItsPowerMayBeBackHasReturned: a host took its stop, and is on, by one look, while its power may have come back. It may
// go yet while it is to go down; where its power is there nothing rests on its silence.
func TestWhatIsOnAsItsPowerMayBeBackHasReturned(t *testing.T) {
	e, host := seen(t)
	e.Graph.Node(host).OffAfter = 30 * time.Second
	e.Entry(host).Lit = ledger.PoweredAgain
	e.Beliefs[host].Obeying = e.Now.Add(time.Minute)
	e.Ledger.Outage.Lost[host] = true
	e.FollowDeparture(host, plan.On, 1)
	require.Equal(t, belief.Relit, e.Beliefs[host].Departure)
	require.False(t, e.HasReturned(host))
	e.Ledger.Outage.Lost[host] = false
	require.True(t, e.HasReturned(host))
}
