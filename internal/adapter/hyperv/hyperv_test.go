package hyperv

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/hyperv/hypervsim"
	"ebbtide/internal/adapter/powershell"
	"ebbtide/internal/adapter/powershell/windowssim"
	"ebbtide/internal/adapter/process"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// secrets are literal here: a reference's Env is the secret itself.
type secrets struct{}

func (secrets) Secret(r schema.SecretRef) (string, error) { return r.Env, nil }

func machine(t *testing.T, vms ...*hypervsim.VM) *hypervsim.Windows {
	t.Helper()
	w := hypervsim.New(vms...)
	t.Cleanup(w.Close)
	return w
}

func winrmSpec(w *hypervsim.Windows) *powershell.ConnSpec {
	return &powershell.ConnSpec{
		URL: w.URL(), Username: windowssim.User, Password: schema.SecretRef{Env: windowssim.Password},
		Thumbprint: w.Thumbprint(),
	}
}

// byShell is a connection that runs commands as one of type ssh does.
type byShell struct {
	w      *hypervsim.Windows
	closed bool
}

func (c *byShell) Close() error { c.closed = true; return nil }

func (c *byShell) Run(ctx context.Context, command schema.Command, stdin string) (process.Result, error) {
	if c.closed {
		return process.Result{}, adapter.ErrUnreachable
	}
	return process.Result{Stdout: c.w.PowerShell(command.Shell(), stdin)}, ctx.Err()
}

// opened is one node with its connection, made as the daemon makes them.
func opened(t *testing.T, conn *powershell.ConnSpec, kind string, spec any) (adapter.Node, *registry.Registry) {
	t.Helper()
	set, err := registry.Open([]adapter.Family{powershell.Family(), Family()},
		[]schema.Connection{{Name: "hv1", Type: "winrm", Spec: conn}},
		[]schema.Node{{ID: "node", Type: kind, Via: "hv1", Spec: spec}}, secrets{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	n, ok := set.Node("node")
	require.True(t, ok)
	return n, set
}

func truth(w *hypervsim.Windows, name string) func() plan.State {
	return func() plan.State {
		return map[string]plan.State{
			"Running": plan.On, "Off": plan.Off, "Starting": plan.Starting,
			"Stopping": plan.Stopping,
		}[w.State(name)]
	}
}

func TestContract(t *testing.T) {
	for name, clustered := range map[string]bool{"of a VM": false, "of a clustered VM": true} {
		for way, shell := range map[string]bool{" over WinRM": false, " over a shell": true} {
			t.Run(name+way, func(t *testing.T) {
				contracttest.Run(t, contracttest.Subject{
					Secrets: []string{windowssim.Password},
					Make: func(t *testing.T) *contracttest.Thing {
						w := machine(t, &hypervsim.VM{ID: "1", Name: "it's $(web)`1", State: "Running", Clustered: clustered, Offline: 2})
						spec := &VMSpec{VM: "it's $(web)`1", Clustered: clustered}
						thing := &contracttest.Thing{
							Can: vmVerbs, Truth: truth(w, spec.VM), Vanish: func() { w.Remove(spec.VM) },
						}
						if shell {
							c := &byShell{w: w}
							n, err := open(schema.Node{ID: "node", Spec: spec}, c, nil)
							require.NoError(t, err)
							thing.Node, thing.Close = n, c.Close
							return thing
						}
						n, set := opened(t, winrmSpec(w), "hyperv.vm", spec)
						thing.Node, thing.Close, thing.Silence, thing.Freeze, thing.Revoke = n, set.Close, w.Close, w.Freeze, w.Revoke
						return thing
					},
				})
			})
		}
	}
}

func TestContractOfHostAndCluster(t *testing.T) {
	for _, kind := range []string{"hyperv.host", "hyperv.cluster"} {
		t.Run(kind, func(t *testing.T) {
			contracttest.Run(t, contracttest.Subject{
				Secrets: []string{windowssim.Password},
				Make: func(t *testing.T) *contracttest.Thing {
					w := machine(t, &hypervsim.VM{ID: "1", Name: "web", State: "Off", Clustered: true})
					thing := &contracttest.Thing{Silence: w.Close, Freeze: w.Freeze}
					var set *registry.Registry
					if kind == "hyperv.host" {
						thing.Node, set = opened(t, winrmSpec(w), kind, &HostSpec{})
						thing.Can, thing.Mute = hostVerbs, true
						// What has gone down breaks connections off; its network then falls silent.
						thing.Truth = func() plan.State {
							if w.Down() {
								return plan.Off
							}
							return plan.On
						}
						thing.Node = falling{thing.Node, w}
					} else {
						thing.Node, set = opened(t, winrmSpec(w), kind, &ClusterSpec{})
						thing.Can = clusterVerbs
						thing.Truth = func() plan.State {
							return map[string]plan.State{
								"Running": plan.On, "Stopped": plan.Off, "StartPending": plan.Starting,
								"StopPending": plan.Stopping,
							}[w.Service()]
						}
					}
					thing.Close = set.Close
					return thing
				},
			})
		})
	}
}

// falling stands for the network of a host that is down: nobody answers for its address any more, which loopback can't
// play.
type falling struct {
	adapter.Node
	w *hypervsim.Windows
}

func (f falling) Probe(ctx context.Context) (plan.Observation, error) {
	if f.w.Down() {
		return plan.Observation{State: plan.Unreachable}, nil
	}
	return f.Node.Probe(ctx)
}

func TestNothingIsStoppedUnderItsVMs(t *testing.T) {
	w := machine(t, &hypervsim.VM{ID: "1", Name: "sql01", State: "Running", Clustered: true, Offline: 1})
	host, _ := opened(t, winrmSpec(w), "hyperv.host", &HostSpec{})
	cluster, _ := opened(t, winrmSpec(w), "hyperv.cluster", &ClusterSpec{})
	for _, n := range []adapter.Node{host, cluster} {
		err := contracttest.Do(t, n, plan.Stop)
		require.ErrorIs(t, err, adapter.ErrBusy)
		require.ErrorContains(t, err, "sql01")
	}
	require.False(t, w.Down())
	require.Equal(t, "Running", w.Service())
	sql, _ := opened(t, winrmSpec(w), "hyperv.vm", &VMSpec{VM: "sql01", Clustered: true})
	for action, says := range map[int]string{-1: "can't be read", 0: "as if its plug were pulled", 1: "it will be saved", 2: "", 3: ""} {
		w.SetOffline("sql01", action)
		require.Contains(t, contracttest.Probe(t, sql).Caution, says)
		require.Equal(t, says == "", contracttest.Probe(t, sql).Caution == "", action)
	}
	w.Deny("Get-VM|") // VMMS hangs
	require.Error(t, contracttest.Do(t, host, plan.Stop))
	require.NoError(t, contracttest.Do(t, host, plan.Force))
	require.True(t, w.Down())
	o, err := host.Probe(contracttest.Within(t, 5*time.Second))
	require.True(t, err != nil || o.State != plan.Unreachable, "a connection that breaks off is no silence: %+v", o)
}

// TestSharedVolumesGoLast: the cluster, and its volumes with it, goes when nothing stands on it any more, in whatever state
// that is; and comes back with them, but for what a person has suspended.
func TestSharedVolumesGoLast(t *testing.T) {
	w := machine(t, &hypervsim.VM{ID: "1", Name: "sql01", Clustered: true, Offline: 1}, &hypervsim.VM{ID: "2", Name: "print", Shared: true},
		&hypervsim.VM{ID: "3", Name: "dc1", State: "Running"})
	for _, v := range []hypervsim.Volume{{Name: "vol1"}, {Name: "vol2", Redirected: true}, {Name: "vol3", Maintenance: true}} {
		w.Share(v)
	}
	n, _ := opened(t, winrmSpec(w), "hyperv.cluster", &ClusterSpec{})
	for _, one := range []struct{ sql, print string }{
		{"Running", "Off"},
		{"Starting", "Off"},
		{"Stopping", "Off"},
		{"Failed", "Off"},
		{"PartialOnline", "Off"},
		{"Off", "Running"},
		{"Off", "Saving"},
	} {
		w.SetState("sql01", one.sql)
		w.SetState("print", one.print)
		require.ErrorIs(t, contracttest.Do(t, n, plan.Stop), adapter.ErrBusy, "%+v", one)
		require.ErrorContains(t, contracttest.Do(t, n, plan.Stop), "1 VM is still running in it: ")
		require.ErrorIs(t, stopCluster.run(t.Context(), n.(*cluster).on, wanted{}, nil), adapter.ErrBusy,
			"nor if it came on after it was asked")
		require.Equal(t, "Running", w.Service())
		require.Equal(t, "Online", w.Volume("vol1"))
	}
	w.SetState("print", "Off")
	o := contracttest.Probe(t, n)
	require.Equal(t, "its service is running, 0 VMs are not off; volumes: vol3 online on HV1, in maintenance until someone resumes it: "+
		"Resume-ClusterResource; vol1 online on HV1; vol2 online on HV1, redirected", o.Detail)
	require.Equal(t, "vol3 online on HV1, in maintenance until someone resumes it: Resume-ClusterResource", o.Caution)

	require.NoError(t, contracttest.Do(t, n, plan.Stop), "dc1 stands on no volume of it")
	contracttest.UntilState(t, n, plan.Off)
	for _, name := range []string{"vol1", "vol2", "vol3"} {
		contracttest.Until(t, n, "its volumes are gone", func(plan.Observation) bool { return w.Volume(name) == "Offline" })
	}
	require.Empty(t, w.Lost(), "nothing ran on a volume that went")

	require.NoError(t, contracttest.Do(t, n, plan.Start))
	contracttest.UntilState(t, n, plan.On)
	contracttest.Until(t, n, "its volumes are back",
		func(o plan.Observation) bool {
			return strings.Contains(o.Detail, "vol1 online on HV1; vol2") && !strings.Contains(o.Detail, "onlinepending")
		})
	require.Contains(t, contracttest.Probe(t, n).Detail, "vol3 online on HV1, in maintenance", "it was so before")
	w.Share(hypervsim.Volume{Name: "vol3"})
	o = contracttest.Probe(t, n)
	require.Empty(t, o.Caution)
	for _, state := range []string{"Offline", "Failed", "OnlinePending"} {
		w.Share(hypervsim.Volume{Name: "vol2", State: state})
		o = contracttest.Probe(t, n)
		require.Equal(t, "vol2 "+strings.ToLower(state)+" on HV1: nothing on it starts before it is online", o.Caution)
		require.Contains(t, o.Detail, "volumes: "+o.Caution+"; vol1")
		require.Equal(t, plan.On, o.State, "it is up: VMs on the others start")
		require.Equal(t, plan.NotKnown, o.Healthy, "and nothing waits for it")
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	w := machine(t,
		&hypervsim.VM{ID: "1", Name: "bare", State: "Running", NoGuest: true},
		&hypervsim.VM{ID: "2", Name: "twin", State: "Running"}, &hypervsim.VM{ID: "3", Name: "twin", State: "Off"},
		&hypervsim.VM{ID: "4", Name: "held", State: "Paused"}, &hypervsim.VM{ID: "5", Name: "lost", State: "RunningCritical"})
	for name, want := range map[string]string{"bare": "integration services are not running", "twin": "give the uuid", "held": "Resume-VM"} {
		n, _ := opened(t, winrmSpec(w), "hyperv.vm", &VMSpec{VM: name})
		err := contracttest.Do(t, n, plan.Stop)
		require.ErrorIs(t, err, adapter.ErrRefused, name)
		require.ErrorContains(t, err, want)
	}
	n, _ := opened(t, winrmSpec(w), "hyperv.vm", &VMSpec{VM: "lost"})
	require.Equal(t, plan.On, contracttest.Probe(t, n).State)
	n, _ = opened(t, winrmSpec(w), "hyperv.vm", &VMSpec{UUID: "3"})
	require.Equal(t, plan.Off, contracttest.Probe(t, n).State)
	w.Deny("-TurnOff")
	n, _ = opened(t, winrmSpec(w), "hyperv.vm", &VMSpec{VM: "bare"})
	require.ErrorContains(t, contracttest.Do(t, n, plan.Force), "Hyper-V Administrators")

	wrong := winrmSpec(w)
	wrong.Password.Env = "mistyped"
	n, _ = opened(t, wrong, "hyperv.vm", &VMSpec{VM: "bare"})
	_, err := n.Probe(contracttest.Within(t, 5*time.Second))
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "Remote Management Users")
}

// TestScriptsAreFitForAnyShell: cmd.exe, PowerShell and a POSIX shell pass the command on as it is, and it is not too long.
func TestScriptsAreFitForAnyShell(t *testing.T) {
	for _, s := range []script{
		lookVM, listVMs, listAll, listFirmware, stopVM, forceVM, startVM, lookRole, listRoles, stopRole, forceRole, startRole,
		lookHost, stopHost, lookCluster, stopCluster, startCluster,
	} {
		for _, name := range []string{"", "a", "ab", `'; Remove-VM * #`, strings.Repeat("ü", 100)} {
			argv, err := powershell.Script(s).Argv(powershell.Call{Args: wanted{Name: name}})
			require.NoError(t, err)
			line := strings.Join(argv, " ")
			require.Equal(t, line, schema.Command{Argv: argv}.Shell(), "no word needs quotes")
			require.NotContains(t, line, "=")
			require.Less(t, len(line), 8000)
			require.NotContains(t, string(s), "%s")
		}
	}
}

func TestSelections(t *testing.T) {
	w := machine(t,
		&hypervsim.VM{ID: "1", Name: "web1", State: "Running", Clustered: true},
		&hypervsim.VM{ID: "2", Name: "web2", State: "Off", Clustered: true},
		&hypervsim.VM{ID: "3", Name: "dc1", State: "Running"})
	for name, c := range map[string]struct {
		spec VMsSpec
		want []string
	}{
		"a host's":    {VMsSpec{Select: Selection{All: true}}, []string{"dc1"}},
		"a cluster's": {VMsSpec{Select: Selection{All: true}, Clustered: true}, []string{"web1", "web2"}},
		"by name":     {VMsSpec{Select: Selection{Name: "web*"}, Exclude: []string{"*2"}, Clustered: true}, []string{"web1"}},
	} {
		_, set := opened(t, winrmSpec(w), "hyperv.vms", &c.spec)
		sel, ok := set.Selector("node")
		require.True(t, ok, name)
		members, err := sel.Members(contracttest.Within(t, 10*time.Second))
		require.NoError(t, err, name)
		var got []string
		for _, m := range members {
			got = append(got, m.Name)
			require.Equal(t, "HV1", m.Host)
		}
		require.Equal(t, c.want, got, name)
	}
}

// TestEverythingThatRuns: a machine's own VMs and the roles of its cluster, and how the node of each has to be written.
func TestEverythingThatRuns(t *testing.T) {
	w := machine(t,
		&hypervsim.VM{ID: "1", Name: "dc1", State: "Paused"}, &hypervsim.VM{ID: "2", Name: "spare", State: "Off"},
		&hypervsim.VM{ID: "3", Name: "lost", State: "OffCritical"}, &hypervsim.VM{ID: "4", Name: "ill", State: "RunningCritical"},
		&hypervsim.VM{ID: "5", Name: "sql", State: "Running", Clustered: true},
		&hypervsim.VM{ID: "6", Name: "old", State: "Off", Clustered: true},
		&hypervsim.VM{ID: "7", Name: "odd", State: "Failed", Clustered: true})
	n, set := opened(t, winrmSpec(w), "hyperv.vm", &VMSpec{VM: "sql"})
	lister, ok := set.Lister("hv1")
	require.True(t, ok)
	all := func() []string {
		running, err := lister.Everything(contracttest.Within(t, 10*time.Second))
		require.NoError(t, err)
		var got []string
		for _, r := range running {
			require.True(t, r.On)
			got = append(got, strings.Join([]string{r.Name, r.ID, r.Host, r.Keys, r.Under}, "|"))
		}
		return got
	}
	require.Equal(t, []string{
		"dc1|1|HV1||", "ill|4|HV1||", "odd|7|HV1|clustered: true|hyperv.cluster",
		"sql|5|HV1|clustered: true|hyperv.cluster",
	}, all())
	require.Contains(t, contracttest.Probe(t, n).Caution, "write clustered: true", "it is driven as if the cluster did not know it")

	cluster, _ := opened(t, winrmSpec(w), "hyperv.cluster", &ClusterSpec{})
	w.Remove("sql")
	w.Remove("odd")
	require.NoError(t, contracttest.Do(t, cluster, plan.Stop))
	contracttest.UntilState(t, cluster, plan.Off)
	require.Equal(t, []string{"dc1|1|HV1||", "ill|4|HV1||"}, all(), "a cluster that does not run has no roles to ask for")
	w.Deny("Get-VM")
	_, err := lister.Everything(contracttest.Within(t, 10*time.Second))
	require.ErrorIs(t, err, adapter.ErrRefused)
}

func TestChecks(t *testing.T) {
	for want, errs := range map[string][]error{
		"can't be combined": checkVM(&VMSpec{VM: "a", UUID: "b"}),
		"select is empty":   checkVMs(&VMsSpec{}),
		"is malformed":      checkVMs(&VMsSpec{Select: Selection{Name: "[a"}}),
	} {
		require.ErrorContains(t, errors.Join(errs...), want)
	}
}
