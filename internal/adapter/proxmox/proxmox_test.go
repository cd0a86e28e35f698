package proxmox

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/proxmox/proxmoxtest"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// secrets are literal here: a reference's Env is the secret itself.
type secrets struct{}

func (secrets) Secret(r schema.SecretRef) (string, error) { return r.Env, nil }

func spec(c *proxmoxtest.Cluster) *ConnSpec {
	return &ConnSpec{URL: c.URL(), Token: proxmoxtest.Token, Secret: schema.SecretRef{Env: proxmoxtest.Secret}, Thumbprint: c.Thumbprint()}
}

// opened is one node with its connection, made as the daemon makes them.
func opened(t *testing.T, conn *ConnSpec, kind string, spec any) (adapter.Node, *registry.Registry) {
	t.Helper()
	set, err := registry.Open([]adapter.Family{Family()},
		[]schema.Connection{{Name: "pve", Type: "proxmox", Spec: conn}},
		[]schema.Node{{ID: "node", Type: kind, Via: "pve", Spec: spec}}, secrets{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	n, ok := set.Node("node")
	require.True(t, ok)
	return n, set
}

func guestTruth(c *proxmoxtest.Cluster, kind string, vmid int) func() plan.State {
	return func() plan.State {
		if c.Status(kind, vmid) == "running" {
			return plan.On
		}
		return plan.Off
	}
}

func TestContract(t *testing.T) {
	for name, c := range map[string]struct{ kind, of string }{
		"of a VM":        {"", "qemu"},
		"of a container": {"lxc", "lxc"},
	} {
		t.Run(name, func(t *testing.T) {
			var guests []proxmoxtest.Guest
			for i := range 14 { // one for each part of the suite
				guests = append(guests, proxmoxtest.Guest{
					VMID: 100 + i, Name: fmt.Sprintf("web%d", i), Type: c.kind,
					Status: "running", Takes: 2,
				})
			}
			all, next := proxmoxtest.New(t, guests...), 0
			contracttest.Run(t, contracttest.Subject{
				Secrets: []string{proxmoxtest.Secret},
				Make: func(t *testing.T) *contracttest.Thing {
					pve, guest := all.Again(t), guests[next]
					next++
					n, set := opened(t, spec(pve), "proxmox.guest", &GuestSpec{Guest: guest.Name})
					thing := &contracttest.Thing{
						Node: n, Can: guestVerbs, Close: set.Close, Truth: guestTruth(pve, c.of, guest.VMID),
						Silence: pve.Close, Freeze: pve.Freeze, Revoke: pve.Revoke,
					}
					if c.of == "qemu" {
						thing.Vanish = func() { pve.Delete(guest.VMID) }
					}
					return thing
				},
			})
		})
	}
}

func TestContractOfANode(t *testing.T) {
	all := proxmoxtest.New(t, proxmoxtest.Guest{VMID: 100, Name: "web", Status: "stopped"})
	contracttest.Run(t, contracttest.Subject{
		Secrets: []string{proxmoxtest.Secret},
		Make: func(t *testing.T) *contracttest.Thing {
			pve := all.Again(t)
			n, set := opened(t, spec(pve), "proxmox.node", &NodeSpec{Node: "pve1"})
			return &contracttest.Thing{
				Node: n, Can: nodeVerbs, Close: set.Close, Mute: true, Silence: pve.Close, Freeze: pve.Freeze,
				Truth: func() plan.State {
					if pve.Down() {
						return plan.Off
					}
					return plan.On
				},
			}
		},
	})
}

func TestContractOfTheCluster(t *testing.T) {
	all := proxmoxtest.New(t)
	contracttest.Run(t, contracttest.Subject{
		Secrets: []string{proxmoxtest.Secret},
		Make: func(t *testing.T) *contracttest.Thing {
			pve := all.Again(t)
			pve.SetHA("vm:100", "started")
			pve.SetHA("ct:200", "stopped")
			pve.SetHA("vm:101", "ignored")
			pve.SetFlag("noout")
			n, set := opened(t, spec(pve), "proxmox.cluster", &ClusterSpec{Ceph: true})
			return &contracttest.Thing{
				Node: n, Can: clusterVerbs, Close: set.Close, Silence: pve.Close, Freeze: pve.Freeze,
				Truth: func() plan.State { return plan.On },
			}
		},
	})
}

func off(o plan.Observation) bool { return o.State == plan.Off }

// A disk that never starts again keeps HA and Ceph's recovery suspended for a while, and not for ever.
func TestAnOSDThatStaysAwayIsNotWaitedForForEver(t *testing.T) {
	n, now := &cluster{}, time.Now()
	require.Zero(t, n.waitsFor(false, now, lackAtMost))
	require.Equal(t, lackAtMost, n.waitsFor(true, now, lackAtMost))
	require.Equal(t, lackWhileActive-time.Minute, n.waitsFor(true, now.Add(time.Minute), lackWhileActive), "all data can be read by now")
	require.Zero(t, n.waitsFor(true, now.Add(lackWhileActive), lackWhileActive))
	require.Zero(t, n.waitsFor(true, now.Add(lackAtMost), lackAtMost))
	require.Zero(t, n.waitsFor(false, now.Add(lackAtMost), lackAtMost))
	require.Equal(t, lackAtMost, n.waitsFor(true, now.Add(time.Hour), lackAtMost), "another outage")
}

// TestTheClusterIsSetAsideAndPutBack: what was set by a person before stays as it was.
func TestTheClusterIsSetAsideAndPutBack(t *testing.T) {
	pve := proxmoxtest.New(t)
	pve.SetHA("vm:100", "started")
	pve.SetHA("ct:200", "stopped")
	pve.SetHA("vm:101", "ignored")
	pve.SetFlag("noout")
	n, _ := opened(t, spec(pve), "proxmox.cluster", &ClusterSpec{Ceph: true})
	was := contracttest.Probe(t, n)
	require.Equal(t, plan.No, was.Protected)
	require.Equal(t, "started=vm:100 stopped=ct:200 unset=nobackfill,norebalance,norecover", was.Settings)
	require.NoError(t, contracttest.Do(t, n, plan.Protect))
	require.Equal(t, plan.Yes, contracttest.Probe(t, n).Protected)
	for _, sid := range []string{"vm:100", "ct:200", "vm:101"} {
		require.Equal(t, "ignored", pve.HA(sid))
	}
	require.True(t, pve.Flag("norecover"))
	require.False(t, pve.Flag("pause"), "guests could not shut down")

	pve.SetOSDsDown(1)
	err := n.Do(contracttest.Within(t, 10*time.Second), adapter.Command{Verb: plan.Unprotect, Settings: was.Settings})
	require.ErrorIs(t, err, adapter.ErrBusy)
	require.ErrorContains(t, err, "2 of Ceph's 3 OSDs are up")
	require.Equal(t, "ignored", pve.HA("vm:100"))
	require.True(t, pve.Flag("norecover"))
	pve.SetOSDsDown(2)
	err = n.Do(contracttest.Within(t, 10*time.Second), adapter.Command{Verb: plan.Unprotect, Settings: was.Settings})
	require.ErrorContains(t, err, "1 of Ceph's 3 OSDs are up, 32 of 33 placement groups are active")
	pve.SetOSDsDown(0)
	require.NoError(t, n.Do(contracttest.Within(t, 10*time.Second), adapter.Command{Verb: plan.Unprotect, Settings: was.Settings}))
	require.Equal(t, was, contracttest.Probe(t, n))
	require.Equal(t, "started", pve.HA("vm:100"))
	require.Equal(t, "ignored", pve.HA("vm:101"))
	require.True(t, pve.Flag("noout"))
	require.False(t, pve.Flag("norecover"))

	require.NoError(t, contracttest.Do(t, n, plan.Protect))
	require.NoError(t, contracttest.Do(t, n, plan.Unprotect), "nothing is known of what was before")
	require.Equal(t, "started", pve.HA("vm:100"))
	require.False(t, pve.Flag("norecover"))
	require.Equal(t, plan.No, contracttest.Probe(t, n).Protected)
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	pve := proxmoxtest.New(t, proxmoxtest.Guest{VMID: 100, Name: "web", Status: "running"})
	pve.Deny("POST /nodes/pve1/qemu/100/status/shutdown", "/vms/100", "VM.PowerMgmt")
	n, _ := opened(t, spec(pve), "proxmox.guest", &GuestSpec{Guest: "web"})
	err := contracttest.Do(t, n, plan.Stop)
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "lacks the privilege VM.PowerMgmt on /vms/100")
	require.ErrorContains(t, err, "pveum acl modify /vms/100 --tokens 'ebbtide@pve!ups'")

	wrong := spec(pve)
	wrong.Secret.Env = "mistyped"
	n, _ = opened(t, wrong, "proxmox.guest", &GuestSpec{Guest: "web"})
	_, err = n.Probe(contracttest.Within(t, 10*time.Second))
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "does not accept the token")

	other := spec(pve)
	other.Thumbprint = "00" + other.Thumbprint[2:]
	n, _ = opened(t, other, "proxmox.guest", &GuestSpec{Guest: "web"})
	_, err = n.Probe(contracttest.Within(t, 10*time.Second))
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "thumbprint")
}

func TestAGuestThatTakesTooLongIsForcedOverItsShutdown(t *testing.T) {
	pve := proxmoxtest.New(t, proxmoxtest.Guest{VMID: 100, Name: "slow", Status: "running", Takes: 100_000})
	n, _ := opened(t, spec(pve), "proxmox.guest", &GuestSpec{Guest: "slow", Grace: 40})
	require.NoError(t, contracttest.Do(t, n, plan.Stop))
	require.NoError(t, contracttest.Do(t, n, plan.Stop), "no second task is made")
	require.Contains(t, contracttest.Until(t, n, "the task gives up",
		func(o plan.Observation) bool { return o.Detail != "running on pve1" }).Detail,
		"stop failed: VM quit/powerdown failed - got timeout")
	require.NoError(t, contracttest.Do(t, n, plan.Force))
	contracttest.Until(t, n, "off", off)
	require.Equal(t, []string{
		"POST /nodes/pve1/qemu/100/status/shutdown timeout=40",
		"POST /nodes/pve1/qemu/100/status/stop overrule-shutdown=1",
	}, pve.Calls())
}

func TestAGuestThatCannotStartSaysWhy(t *testing.T) {
	pve := proxmoxtest.New(t,
		proxmoxtest.Guest{VMID: 100, Name: "web", Status: "stopped", Fails: "no space left on storage"},
		proxmoxtest.Guest{VMID: 101, Name: "tmpl", Status: "stopped", Template: true},
		proxmoxtest.Guest{VMID: 102, Name: "held", Status: "running", Lock: "backup"})
	n, _ := opened(t, spec(pve), "proxmox.guest", &GuestSpec{Guest: "web"})
	require.NoError(t, contracttest.Do(t, n, plan.Start), "accepted")
	contracttest.Until(t, n, "the reason", func(o plan.Observation) bool {
		return o.Detail == "stopped on pve1; start failed: no space left on storage"
	})
	n, _ = opened(t, spec(pve), "proxmox.guest", &GuestSpec{Guest: "tmpl"})
	require.ErrorIs(t, contracttest.Do(t, n, plan.Start), adapter.ErrRefused)
	n, _ = opened(t, spec(pve), "proxmox.guest", &GuestSpec{Guest: "held"})
	require.Contains(t, contracttest.Probe(t, n).Detail, "locked (backup)")
	require.ErrorIs(t, contracttest.Do(t, n, plan.Stop), adapter.ErrBusy)
}

func TestANodeIsNotStoppedUnderItsGuests(t *testing.T) {
	pve := proxmoxtest.New(t, proxmoxtest.Guest{VMID: 100, Name: "web", Status: "running"})
	n, _ := opened(t, spec(pve), "proxmox.node", &NodeSpec{Node: "pve1"})
	err := contracttest.Do(t, n, plan.Stop)
	require.ErrorIs(t, err, adapter.ErrBusy)
	require.ErrorContains(t, err, "web (100)")
	require.False(t, pve.Down())
	require.NoError(t, contracttest.Do(t, n, plan.Force))
	require.True(t, pve.Down())
	require.Equal(t, plan.Unreachable, contracttest.Probe(t, n).State, "the others cannot reach it")
}

// TestAnotherNodeAnswers: the node of the first URL is down.
func TestAnotherNodeAnswers(t *testing.T) {
	gone := proxmoxtest.New(t)
	pve := proxmoxtest.New(t, proxmoxtest.Guest{VMID: 100, Name: "web", Status: "running"})
	conn := spec(pve)
	c, err := connect("pve", conn, secrets{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	dead, err := parseURL(gone.URL())
	require.NoError(t, err)
	gone.Close()
	c.urls = append(c.urls, c.urls[0])
	c.urls[0] = dead
	n := &guest{conn: c, name: "web", grace: 60}
	require.Equal(t, plan.On, contracttest.Probe(t, n).State)
	require.Equal(t, int32(1), c.best.Load(), "it is asked first from now on")
}

func TestSelections(t *testing.T) {
	pve := proxmoxtest.New(t,
		proxmoxtest.Guest{VMID: 100, Name: "web1", Status: "running", Config: map[string]string{"tags": "front;shop"}},
		proxmoxtest.Guest{VMID: 101, Name: "web2", Status: "stopped", Config: map[string]string{"tags": "front"}},
		proxmoxtest.Guest{VMID: 102, Name: "tmpl", Status: "stopped", Template: true},
		proxmoxtest.Guest{VMID: 200, Name: "dns", Type: "lxc", Status: "running", Config: map[string]string{"tags": "shop"}})
	for name, c := range map[string]struct {
		spec GuestsSpec
		want []plan.Member
	}{
		"tag": {
			GuestsSpec{Select: Selection{Tag: "shop"}},
			[]plan.Member{{ID: "200", Name: "dns", Host: "pve1", On: true}, {ID: "100", Name: "web1", Host: "pve1", On: true}},
		},
		"name": {
			GuestsSpec{Select: Selection{Name: "web*"}, Exclude: []string{"*1"}},
			[]plan.Member{{ID: "101", Name: "web2", Host: "pve1"}},
		},
		"node": {GuestsSpec{Select: Selection{Node: "pve2"}}, nil},
		"pool": {GuestsSpec{Select: Selection{Pool: "none"}}, nil},
	} {
		_, set := opened(t, spec(pve), "proxmox.guests", &c.spec)
		sel, ok := set.Selector("node")
		require.True(t, ok, name)
		members, err := sel.Members(contracttest.Within(t, 10*time.Second))
		require.NoError(t, err, name)
		require.Equal(t, c.want, members, name)
	}
}

// TestEverythingThatRuns: VMs and containers alike; a template and what is stopped are none.
func TestEverythingThatRuns(t *testing.T) {
	pve := proxmoxtest.New(t,
		proxmoxtest.Guest{VMID: 100, Name: "web", Status: "running"},
		proxmoxtest.Guest{VMID: 101, Name: "spare", Status: "stopped"},
		proxmoxtest.Guest{VMID: 102, Name: "tmpl", Status: "stopped", Template: true},
		proxmoxtest.Guest{VMID: 200, Name: "dns", Type: "lxc", Status: "running"})
	_, set := opened(t, spec(pve), "proxmox.node", &NodeSpec{Node: "pve1"})
	lister, ok := set.Lister("pve")
	require.True(t, ok)
	running, err := lister.Everything(contracttest.Within(t, 10*time.Second))
	require.NoError(t, err)
	require.Equal(t, []schema.Running{
		{Member: plan.Member{ID: "200", Name: "dns", Host: "pve1", On: true}, Under: "proxmox.cluster"},
		{Member: plan.Member{ID: "100", Name: "web", Host: "pve1", On: true}, Under: "proxmox.cluster"},
	}, running)
	pve.Close()
	_, err = lister.Everything(contracttest.Within(t, 10*time.Second))
	require.ErrorIs(t, err, adapter.ErrUnreachable)
}

func TestChecks(t *testing.T) {
	for want, errs := range map[string][]error{
		"is not of the form https": checkConn(&ConnSpec{URL: "http://pve1:8006"}),
		"user@realm!name":          checkConn(&ConnSpec{URL: "https://pve1:8006", Token: "root@pam"}),
		"certificate of its own": checkConn(&ConnSpec{
			URL: "https://pve1:8006", Others: []string{"https://pve2:8006"}, Token: "a@b!c",
			Thumbprint: "00",
		}),
		"select is empty":            checkGuests(&GuestsSpec{}),
		"is malformed":               checkGuests(&GuestsSpec{Select: Selection{Name: "[a"}}),
		"nothing is suspended":       checkCluster(&ClusterSpec{HA: new(bool)}),
		"flags are Ceph's":           checkCluster(&ClusterSpec{Flags: []string{"noout"}}),
		"stops the guests' own writ": checkCluster(&ClusterSpec{Ceph: true, Flags: []string{"pause"}}),
		`flag "nothing" is none of`:  checkCluster(&ClusterSpec{Ceph: true, Flags: []string{"nothing"}}),
	} {
		require.ErrorContains(t, errors.Join(errs...), want)
	}
}
