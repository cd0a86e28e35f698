package vsphere

import (
	"testing"
	"time"

	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/vsphere/vspheresim"

	"github.com/stretchr/testify/require"
)

// A vCenter's own VM is known by an address of its guest, first or not, and by its name; others by nothing.
func TestOwnVM(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about   string
		vm      vspheresim.VM
		manages string // the address that hosts say they are managed from
		own     bool
	}{
		{"the connection's address", vspheresim.VM{Addresses: []string{"127.0.0.1"}}, "", true},
		{"another card", vspheresim.VM{Addresses: []string{"10.9.9.9", "127.0.0.1"}}, "", true},
		{"in the other notation", vspheresim.VM{Addresses: []string{"::ffff:127.0.0.1"}}, "", true},
		{"its name", vspheresim.VM{GuestName: "127.0.0.1"}, "", true},
		{"as its hosts know it", vspheresim.VM{Addresses: []string{"10.0.0.10"}}, "10.0.0.10", true},
		{"another one", vspheresim.VM{Addresses: []string{"10.0.0.11"}, GuestName: "web01"}, "10.0.0.10", false},
		{"no address", vspheresim.VM{Addresses: []string{"0.0.0.0"}}, "0.0.0.0", false},
		{"one that is off", vspheresim.VM{Addresses: []string{"127.0.0.1"}, Off: true}, "", false},
	} {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			c.vm.Name = "VCSA"
			e := start(t, vspheresim.Options{VMs: append(vms("web01"), c.vm)})
			if c.manages != "" {
				e.SetManagement(c.manages)
			}
			own, err := e.vcenter.Own(contracttest.Within(t, 10*time.Second))
			require.NoError(t, err)
			if !c.own {
				require.Empty(t, own)
				return
			}
			require.Equal(t, []string{e.InstanceUUID("VCSA")}, own)
			e.direct(t, "esx01")
			own, err = e.hosts["esx01"].Own(contracttest.Within(t, 10*time.Second))
			require.NoError(t, err)
			require.Empty(t, own, "a host is no VM of its own")
		})
	}
}

// A machine is found by what its firmware says, in either order of its bytes, through vCenter and through its host.
func TestFindByFirmware(t *testing.T) {
	t.Parallel()
	const firmware = "421f245c-7fa8-60fa-6af6-a46351ced0eb"
	e := start(t, vspheresim.Options{VMs: append(vms("web01"), vspheresim.VM{Name: "ebbtide", Firmware: firmware})})
	e.direct(t, "esx01")
	for _, c := range []*Conn{e.vcenter, e.hosts["esx01"]} {
		for _, says := range []string{firmware, "5C241F42-A87F-FA60-6AF6-A46351CED0EB"} {
			id, err := c.Find(contracttest.Within(t, 10*time.Second), says)
			require.NoError(t, err)
			require.Equal(t, e.InstanceUUID("ebbtide"), id)
		}
		id, err := c.Find(contracttest.Within(t, 10*time.Second), "421f245c-7fa8-60fa-6af6-000000000000")
		require.NoError(t, err)
		require.Empty(t, id)
	}
	e.VCenter().Stop()
	waitBroken(t, e.vcenter)
	_, err := e.vcenter.Find(contracttest.Within(t, 5*time.Second), firmware)
	require.Error(t, err)
}
