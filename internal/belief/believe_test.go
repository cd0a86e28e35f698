package belief_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// seen is an estate of one supply and one host, with a guest that is bound to it, in an outage, whose host has given some answers, a
// second apart.
func seen(t *testing.T, answers ...plan.State) (e *belief.Estate, host int) {
	t.Helper()
	times := plan.Times{Nominal: 10 * time.Second, Within: time.Minute}
	node := plan.Node{ID: "host", Kind: plan.Host, FedBy: []string{"ups"}, Can: plan.VerbSet(plan.Stop, plan.Force)}
	node.Times[plan.Stop], node.Times[plan.Force] = times, times
	vm := plan.Node{ID: "guest", Kind: plan.VM, Host: "host", Bound: true, DependsOn: []string{"host"}, Can: plan.VerbSet(plan.Stop)}
	e = outage(t, node, vm)
	host, _ = e.Graph.Index("host")
	says(e, host, 0, answers...)
	return e, host
}

// outage is an estate of one supply and some nodes, as the supply has just failed.
func outage(t *testing.T, nodes ...plan.Node) *belief.Estate {
	t.Helper()
	estate, err := plan.NewEstate(append([]plan.Node{{ID: "ups", Kind: plan.Supply, Can: plan.VerbSet(plan.Cut)}}, nodes...), nil)
	require.NoError(t, err)
	e := belief.New(estate, &power.Policy{}, []power.Supply{{ID: "ups"}}, "")
	e.Now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	opened := ledger.Record{Seq: 1, At: e.Now, Kind: ledger.Opened, Outage: "o", Power: ledger.Power{Supplies: []string{"ups"}}}
	opened.Format = ledger.FormatNow
	require.NoError(t, e.Ledger.Apply(&opened))
	return &e
}

// says has a node give some answers, a second apart, to questions numbered from one after last.
func says(e *belief.Estate, node int, last ledger.Op, answers ...plan.State) {
	for k, state := range answers {
		e.Now = e.Now.Add(time.Second)
		e.Believe(node, plan.Observation{State: state}, last+ledger.Op(k+1), e.Now)
	}
}

// TestAGuestThatIsUpEndsTheSilenceOfItsHost: a host that has not answered for a while is up if its guest is, by two looks, and its silence
// will not have shown it off.
func TestAGuestThatIsUpEndsTheSilenceOfItsHost(t *testing.T) {
	for what, c := range map[string]struct {
		silentFor time.Duration
		answers   []plan.State
		disproves bool
	}{
		"seen twice":                  {time.Minute, []plan.State{plan.On, plan.On}, true},
		"seen once":                   {time.Minute, []plan.State{plan.On}, false},
		"its host has just gone mute": {time.Second, []plan.State{plan.On, plan.On}, false},
		"off":                         {time.Minute, []plan.State{plan.Off, plan.Off}, false},
	} {
		e, host := seen(t, plan.On, plan.On)
		guest, _ := e.Graph.Index("guest")
		e.Beliefs[host].Silent = e.Now
		e.Now = e.Now.Add(c.silentFor)
		says(e, guest, 10, c.answers...)
		if c.disproves {
			require.Equal(t, []int{host}, e.DisproveHosts(guest), what)
		} else {
			require.Empty(t, e.DisproveHosts(guest), what)
		}
		require.Equal(t, c.disproves, e.Beliefs[host].Silent.IsZero(), what)
	}
}

// TestAGuestThatWasUpAfterItsHostDidNotGoWithIt: what does not answer has gone with the host that is proven off, except one that was seen
// up since.
func TestAGuestThatWasUpAfterItsHostDidNotGoWithIt(t *testing.T) {
	for _, isUp := range []bool{false, true} {
		e, host := seen(t)
		guest, _ := e.Graph.Index("guest")
		if !isUp {
			says(e, guest, 10, plan.On, plan.On)
		}
		says(e, host, 20, plan.Off, plan.Off)
		e.Beliefs[host].Settled = plan.Off
		if isUp {
			says(e, guest, 30, plan.On, plan.On)
		}
		says(e, guest, 40, plan.Unreachable, plan.Unreachable)
		require.Equal(t, !isUp, e.IsOff(guest), "seen up since: %v", isUp)
	}
}

// TestWhatAnswersAndSaysNothingAfterASilence: it was on before it fell silent, and then refuses the connection: it may boot.
func TestWhatAnswersAndSaysNothingAfterASilence(t *testing.T) {
	e, host := seen(t, plan.On, plan.On, plan.Unknown)
	require.True(t, e.IsUp(host), "one look that failed is none")
	e, host = seen(t, plan.On, plan.On, plan.Unreachable, plan.Unknown)
	require.False(t, e.IsUp(host))
}

// TestWhatShutsDownGoesOnAfterItsPowerOff: for as long as its stop may take, what says that it stops is on its way, whatever it was told
// last.
func TestWhatShutsDownGoesOnAfterItsPowerOff(t *testing.T) {
	for _, rung := range []plan.Verb{plan.Stop, plan.Force} {
		e, host := seen(t, plan.On, plan.On, plan.Stopping)
		e.Entry(host).Last = ledger.Command{Verb: plan.Stop, Rung: rung, Taken: true}
		require.True(t, e.GoesSoon(host), rung)
		e.Now = e.Now.Add(2 * time.Minute)
		require.False(t, e.GoesSoon(host), rung)
	}
}

// TestWhatHangsAsItStartsDoesNotStartForEver: one that says for ever that it starts is not believed for ever, also where it misses an
// answer now and then.
func TestWhatHangsAsItStartsDoesNotStartForEver(t *testing.T) {
	e, host := seen(t, plan.Off, plan.Off)
	e.Graph.Node(host).Times[plan.Start] = plan.Times{Nominal: 10 * time.Second, Within: time.Minute}
	op := ledger.Op(10)
	says := func(state plan.State) {
		op++
		e.Now = e.Now.Add(20 * time.Second)
		e.Believe(host, plan.Observation{State: state}, op, e.Now)
	}
	for range 5 {
		says(plan.Starting)
		says(plan.Unreachable)
	}
	require.True(t, e.Now.Before(e.Beliefs[host].Since.Add(4*time.Minute)), "it has said the same since it began to start")
	require.False(t, e.Rises(host))
}

// TestAFlushIsNotProvenByWhatWasSaidBefore: an adapter that can't tell says nothing of it.
func TestAFlushIsNotProvenByWhatWasSaidBefore(t *testing.T) {
	e, host := seen(t)
	look := func(op ledger.Op, clean plan.Fact) {
		e.Now = e.Now.Add(time.Second)
		e.Believe(host, plan.Observation{State: plan.On, Protected: plan.Yes, Clean: clean}, op, e.Now)
	}
	look(1, plan.Yes)
	e.Beliefs[host].Commanded(e.Graph.Node(host), plan.Flush, 2, e.Now)
	look(3, plan.NotKnown)
	require.False(t, e.Holds(host, plan.Flush, 2))
	look(4, plan.Yes)
	require.True(t, e.Holds(host, plan.Flush, 2))
}

// TestAStopMakesTheModeOfAHostUnknown: it may be in another one from then on, also if nobody hears of it before the next outage.
func TestAStopMakesTheModeOfAHostUnknown(t *testing.T) {
	e, host := seen(t)
	node := *e.Graph.Node(host)
	e.Believe(host, plan.Observation{State: plan.On, Protected: plan.No}, 1, e.Now)
	e.Beliefs[host].Commanded(&node, plan.Stop, 2, e.Now)
	require.Equal(t, plan.No, e.SnapshotOf(host, false).Protected, "a stop that changes nothing else")
	node.Can |= plan.VerbSet(plan.Unprotect)
	e.Beliefs[host].Commanded(&node, plan.Stop, 3, e.Now)
	require.Equal(t, plan.NotKnown, e.SnapshotOf(host, false).Protected)
}
