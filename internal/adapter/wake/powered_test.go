package wake_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/fake"
	"ebbtide/internal/adapter/wake"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// controller is a BMC of a machine of the fake estate. It says what the machine's power is, unless it is made to lie or
// is silent.
type controller struct {
	machine *fake.Node

	mu   sync.Mutex
	says plan.State // Unknown: the truth
	dead error
	log  []string
}

func (c *controller) Close() error { return nil }

func (c *controller) Power(context.Context) (plan.Observation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, "power")
	state := c.says
	if state == plan.Unknown {
		if state = c.machine.State(); state != plan.Off {
			state = plan.On
		}
	}
	return plan.Observation{State: state}, c.dead
}

func (c *controller) PowerOn(context.Context) error  { return c.command("on", plan.On) }
func (c *controller) PowerOff(context.Context) error { return c.command("off", plan.Off) }

func (c *controller) command(name string, state plan.State) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, name)
	if c.dead == nil {
		c.machine.Set(state)
	}
	return c.dead
}

func (c *controller) set(says plan.State, dead error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.says, c.dead = says, dead
}

// commands lists what was asked of it since the last time.
func (c *controller) commands() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	log := c.log
	c.log = nil
	return log
}

// withBMC makes a host whose up.wake names a BMC.
func withBMC(t *testing.T, spec fake.Spec) (adapter.Node, *fake.Node, *controller) {
	t.Helper()
	host := fake.New(time.Now).Add("host", spec)
	bmc := &controller{machine: host}
	n, err := wake.With(host, schema.Node{ID: "host", Wake: &schema.Wake{Redfish: "bmc"}}, func(name string) (adapter.Conn, error) {
		require.Equal(t, "bmc", name)
		return bmc, nil
	})
	require.NoError(t, err)
	return n, host, bmc
}

func TestContractOfANodeWithABMC(t *testing.T) {
	contracttest.Run(t, contracttest.Subject{Make: func(t *testing.T) *contracttest.Thing {
		n, host, bmc := withBMC(t, fake.Spec{
			Latency: time.Millisecond,
			Takes:   map[plan.Verb]time.Duration{plan.Stop: 20 * time.Millisecond},
		})
		return &contracttest.Thing{
			Node: n, Can: plan.VerbSet(plan.Stop, plan.Force, plan.Start), Truth: host.State,
			Elsewhere:        plan.VerbSet(plan.Start),
			Vanish:           func() { host.Break(fake.Vanished) },
			RefusalIsSilence: true,
			Silence: func() {
				host.Break(fake.Silent)
				bmc.set(plan.Unknown, adapter.ErrUnreachable)
			},
			Freeze: func() {
				host.Break(fake.Frozen)
				bmc.set(plan.Unknown, adapter.ErrUnreachable)
			},
		}
	}})
}

func TestTwoProofs(t *testing.T) {
	var (
		dead   = fmt.Errorf("cannot reach 10.0.0.111: %w", adapter.ErrUnreachable)
		silent = fake.Silent
	)
	for _, tt := range []struct {
		name   string
		own    plan.State
		breaks fake.Breakage
		after  plan.Verb // what was told to do before; Cut: nothing
		bmc    plan.State
		bmcErr error
		want   plan.State
		detail string
	}{
		{name: "both off", own: plan.Off, after: plan.Cut, bmc: plan.Off, want: plan.Off, detail: "its BMC reports it off, too"},
		{
			name: "silent, and off by its BMC", own: plan.Off, breaks: silent, after: plan.Cut, bmc: plan.Off, want: plan.Off,
			detail: "its BMC reports it off",
		},
		{name: "they disagree", own: plan.Off, after: plan.Cut, bmc: plan.On, want: plan.Stopping, detail: "its BMC reports it on"},
		{
			name: "they disagree after a stop", own: plan.Off, after: plan.Stop, bmc: plan.On, want: plan.Stopping,
			detail: "its BMC reports it on",
		},
		{
			name: "they disagree after a start", own: plan.Off, after: plan.Start, bmc: plan.On, want: plan.Starting,
			detail: "its BMC reports it on",
		},
		{
			name: "silent, and on", own: plan.On, breaks: silent, after: plan.Cut, bmc: plan.On, want: plan.Unknown,
			detail: "its BMC reports it on",
		},
		{
			name: "silent after a stop, and on", own: plan.On, breaks: silent, after: plan.Stop, bmc: plan.On, want: plan.Stopping,
			detail: "its BMC reports it on",
		},
		{
			name: "silent after a start, and on", own: plan.On, breaks: silent, after: plan.Start, bmc: plan.On, want: plan.Starting,
			detail: "its BMC reports it on",
		},
		{
			name: "silent, on its way down", own: plan.On, breaks: silent, after: plan.Cut, bmc: plan.Stopping, want: plan.Stopping,
			detail: "its BMC reports that it is stopping",
		},
		{
			name: "off, and no BMC", own: plan.Off, after: plan.Cut, bmcErr: dead, want: plan.Off,
			detail: "one proof only: its BMC does not answer: cannot reach 10.0.0.111",
		},
		{
			name: "silent, and no BMC", own: plan.Off, breaks: silent, after: plan.Cut, bmcErr: dead, want: plan.Unreachable,
			detail: "one proof only",
		},
		{
			name: "a BMC that can't tell", own: plan.Off, after: plan.Cut, bmc: plan.Unreachable, want: plan.Off,
			detail: "one proof only: its BMC can't tell",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, host, bmc := withBMC(t, fake.Spec{})
			if tt.after != plan.Cut {
				require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: tt.after}))
			}
			host.Set(tt.own)
			host.Break(tt.breaks)
			bmc.set(tt.bmc, tt.bmcErr)
			seen, err := n.Probe(t.Context())
			require.NoError(t, err)
			require.Equal(t, tt.want, seen.State, "%+v", seen)
			require.Contains(t, seen.Detail, tt.detail)
		})
	}
}

func TestAMachineIsNotOffWhileItsBMCSaysOn(t *testing.T) {
	n, host, bmc := withBMC(t, fake.Spec{})
	probe := func() plan.State {
		t.Helper()
		seen, err := n.Probe(t.Context())
		require.NoError(t, err)
		return seen.State
	}
	require.Equal(t, plan.On, probe())
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}))
	host.Break(fake.Silent)
	require.Equal(t, plan.Off, probe())
	bmc.set(plan.On, nil) // somebody has pressed its button
	require.Equal(t, plan.Starting, probe())
	host.Break(fake.Whole)
	host.Set(plan.On)
	require.Equal(t, plan.On, probe())
	host.Break(fake.Silent)
	require.Equal(t, plan.Unknown, probe(), "it hangs, or its network is gone")
}

func TestABMCIsAskedWhileTheMachineIsOnUntilTheyAgree(t *testing.T) {
	n, host, bmc := withBMC(t, fake.Spec{})
	probe := func() plan.Observation {
		t.Helper()
		seen, err := n.Probe(t.Context())
		require.NoError(t, err)
		return seen
	}
	bmc.set(plan.Off, nil)
	seen := probe()
	require.Equal(t, plan.On, seen.State, "it answers")
	require.Contains(t, seen.Detail, `check that "bmc" belongs to this machine`)
	host.Break(fake.Silent)
	seen = probe()
	require.Equal(t, plan.Unreachable, seen.State, "the off of a BMC that was wrong proves nothing")
	require.Contains(t, seen.Detail, "one proof only")

	host.Break(fake.Whole)
	bmc.set(plan.Unknown, nil)
	require.Equal(t, "fake on", probe().Detail)
	bmc.commands()
	probe()
	require.Empty(t, bmc.commands(), "once is enough")
	host.Break(fake.Silent)
	bmc.set(plan.Off, nil)
	require.Equal(t, plan.Off, probe().State)
}

func TestWhatItsOwnSystemCannotBeAskedItsBMCMayKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, host, bmc := withBMC(t, fake.Spec{})
		host.Break(fake.Frozen)
		probe := func() (plan.Observation, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			return n.Probe(ctx)
		}
		bmc.set(plan.On, nil)
		_, err := probe()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "its BMC reports it on")
		bmc.set(plan.Off, nil)
		seen, err := probe()
		require.NoError(t, err)
		require.Equal(t, plan.Observation{
			State: plan.Off, ByBMC: true,
			Detail: "its BMC reports it off; its own system could not be queried",
		}, seen)
		host.Break(fake.Vanished)
		seen, err = n.Probe(t.Context())
		require.NoError(t, err)
		require.Equal(t, plan.Gone, seen.State)
	})
}

// TestWhatNobodyTookIsAskedOfTheMachineAgain: it was silent, and its BMC was not held against it yet; now it answers.
func TestWhatNobodyTookIsAskedOfTheMachineAgain(t *testing.T) {
	n, host, bmc := withBMC(t, fake.Spec{})
	host.Break(fake.Silent)
	bmc.set(plan.Off, nil)
	require.ErrorIs(t, n.Do(t.Context(), adapter.Command{Verb: plan.Force}), adapter.ErrUnreachable)
	host.Break(fake.Whole)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Force}))
	require.NotContains(t, bmc.commands(), "off")
	require.Equal(t, plan.Off, host.State())
}

// TestAStopThatReachedNobodySendsNowhere: the machine is not on its way down by that, whatever its BMC says of its power.
func TestAStopThatReachedNobodySendsNowhere(t *testing.T) {
	n, host, bmc := withBMC(t, fake.Spec{})
	says := func() plan.State {
		seen, err := n.Probe(t.Context())
		require.NoError(t, err)
		require.Contains(t, seen.Detail, "its BMC reports it on")
		return seen.State
	}
	host.Break(fake.Silent)
	require.Equal(t, plan.Unknown, says())
	for _, verb := range []plan.Verb{plan.Stop, plan.Start} {
		bmc.set(plan.On, adapter.ErrUnreachable)
		require.ErrorIs(t, n.Do(t.Context(), adapter.Command{Verb: verb}), adapter.ErrUnreachable)
		bmc.set(plan.On, nil)
		require.Equal(t, plan.Unknown, says(), verb.String())
	}
	host.Break(fake.Whole)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}))
	host.Break(fake.Silent)
	require.Equal(t, plan.Stopping, says())
}

func TestForceByBMC(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spec  fake.Spec
		spoil func(*fake.Node)
		times int
		want  []string // of the BMC
		err   error
	}{
		{name: "its own does it", times: 1},
		{name: "its own did not help", spoil: func(n *fake.Node) { n.Fail(plan.Force, fake.Ignore) }, times: 2, want: []string{"off"}},
		{name: "its own refuses", spoil: func(n *fake.Node) { n.Fail(plan.Force, fake.Refuse) }, times: 1, want: []string{"off"}},
		{name: "it has none", spec: fake.Spec{Can: plan.VerbSet(plan.Stop)}, times: 1, want: []string{"off"}},
		{name: "it is silent", spoil: func(n *fake.Node) { n.Break(fake.Silent) }, times: 1, want: []string{"off"}},
		{name: "not now", spoil: func(n *fake.Node) { n.Fail(plan.Force, fake.Busy) }, times: 1, err: adapter.ErrBusy},
		{name: "nobody knows", spoil: func(n *fake.Node) { n.Fail(plan.Force, fake.Hang) }, times: 1, err: context.DeadlineExceeded},
		{name: "nobody knows, and again", spoil: func(n *fake.Node) { n.Fail(plan.Force, fake.Hang) }, times: 2, want: []string{"off"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, host, bmc := withBMC(t, tt.spec)
				_, err := n.Probe(t.Context()) // the two agree
				require.NoError(t, err)
				bmc.commands()
				if tt.spoil != nil {
					tt.spoil(host)
				}
				for range tt.times {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					err = n.Do(ctx, adapter.Command{Verb: plan.Force})
					cancel()
				}
				require.ErrorIs(t, err, tt.err)
				require.Equal(t, tt.want, bmc.commands())
				if tt.err == nil {
					require.Equal(t, plan.Off, host.State())
				}
			})
		})
	}
	t.Run("it has agreed with nobody, and says that it is off already", func(t *testing.T) {
		n, host, bmc := withBMC(t, fake.Spec{})
		host.Break(fake.Silent)
		bmc.set(plan.Off, nil)
		for range 3 { // nobody has powered it off by that
			require.ErrorIs(t, n.Do(t.Context(), adapter.Command{Verb: plan.Force}), adapter.ErrUnreachable)
		}
		require.NotContains(t, bmc.commands(), "off")
		bmc.set(plan.On, nil)
		require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Force}))
		require.Contains(t, bmc.commands(), "off")
	})
	t.Run("it is another machine's", func(t *testing.T) {
		n, host, bmc := withBMC(t, fake.Spec{})
		bmc.set(plan.Off, nil)
		_, err := n.Probe(t.Context())
		require.NoError(t, err)
		host.Fail(plan.Force, fake.Refuse)
		err = n.Do(t.Context(), adapter.Command{Verb: plan.Force})
		require.ErrorIs(t, err, adapter.ErrRefused)
		require.ErrorContains(t, err, "may belong to another machine")
		require.Equal(t, []string{"power"}, bmc.commands(), "it was asked, and told nothing")
	})
	n, host, bmc := withBMC(t, fake.Spec{})
	host.Fail(plan.Force, fake.Refuse)
	bmc.set(plan.Unknown, adapter.ErrUnreachable)
	err := n.Do(t.Context(), adapter.Command{Verb: plan.Force})
	require.ErrorIs(t, err, adapter.ErrUnreachable)
	require.NotErrorIs(t, err, adapter.ErrRefused, "the last rung is what counts")
	require.ErrorContains(t, err, "before that: ")
	require.ErrorIs(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}), adapter.ErrUnreachable)
}

func TestAWatchIsHeldAgainstTheBMC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, host, bmc := withBMC(t, fake.Spec{})
		bmc.set(plan.On, nil)
		ctx, cancel := context.WithCancel(t.Context())
		seen, ended := make(chan plan.State, 10), make(chan error, 1)
		go func() {
			ended <- n.(adapter.Watcher).Watch(ctx, func(o plan.Observation) { seen <- o.State })
		}()
		require.Equal(t, plan.On, <-seen)
		host.Set(plan.Off)
		require.Equal(t, plan.Stopping, <-seen)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}
