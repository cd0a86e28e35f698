package vsphere

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmware/govmomi/vim25/types"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// opened is one node with its connection, made as the daemon makes them.
func opened(t *testing.T, server *vspheresim.Server, kind string, nodeSpec any) (adapter.Node, func() error) {
	t.Helper()
	set, err := registry.Open([]adapter.Family{Family()},
		[]schema.Connection{{Name: "vc", Type: "vsphere", Spec: spec(server)}},
		[]schema.Node{{ID: "node", Type: kind, Via: "vc", Spec: nodeSpec}}, secrets{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	n, ok := set.Node("node")
	require.True(t, ok)
	return n, set.Close
}

func TestContractOfVM(t *testing.T) {
	contracttest.Run(t, contracttest.Subject{
		Secrets: []string{vspheresim.Password},
		Make: func(t *testing.T) *contracttest.Thing {
			s := simulate(t, vspheresim.Options{VMs: vms("web01", "web02"), Guest: func(string) vspheresim.GuestBehaviour {
				return vspheresim.GuestBehaviour{Delay: 50 * time.Millisecond}
			}})
			n, end := opened(t, s.VCenter(), "vsphere.vm", &VMSpec{VM: "web01"})
			return &contracttest.Thing{
				Node: n, Can: vmVerbs, Close: end,
				Truth: func() plan.State {
					if s.VMOn("web01") {
						return plan.On
					}
					return plan.Off
				},
				Vanish:  func() { require.NoError(t, s.DeleteVM("web01")) },
				Silence: s.VCenter().Stop,
				Freeze:  s.VCenter().Freeze,
				Revoke: func() {
					s.VCenter().Fail("Login", &types.InvalidLogin{})
					s.VCenter().ExpireSessions()
				},
			}
		},
	})
}

func TestContractOfHost(t *testing.T) {
	for name, direct := range map[string]bool{"through vCenter": false, "directly": true} {
		t.Run(name, func(t *testing.T) {
			contracttest.Run(t, contracttest.Subject{
				Secrets: []string{vspheresim.Password},
				Make: func(t *testing.T) *contracttest.Thing {
					s := simulate(t, vspheresim.Options{
						HostsPerCluster: 2, VMs: []vspheresim.VM{{Name: "elsewhere", Host: 1}},
						HostOff: 50 * time.Millisecond,
					})
					server := s.VCenter()
					if direct {
						var err error
						server, err = s.Direct("esx01")
						require.NoError(t, err)
					}
					n, end := opened(t, server, "vsphere.host", &HostSpec{Host: "esx01"})
					return &contracttest.Thing{
						Node: n, Can: plan.VerbSet(plan.Stop, plan.Force), Close: end, Mute: true,
						Truth: func() plan.State {
							if s.HostOn("esx01") {
								return plan.On
							}
							return plan.Off
						},
						Silence: server.Stop,
						Freeze:  server.Freeze,
					}
				},
			})
		})
	}
}
