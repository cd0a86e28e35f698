package outside

import (
	"context"
	"net/url"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// vmsOn counts the VMs that are on, as vCenter itself says; -1: it does not answer.
func (s *site) vmsOn() int {
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
	defer cancel()
	at := &url.URL{Scheme: "https", Host: s.vcenterAt, Path: "/sdk", User: url.UserPassword("user", "pass")}
	c, err := govmomi.NewClient(ctx, at, true)
	if err != nil {
		return -1
	}
	defer func() { _ = c.Logout(context.WithoutCancel(ctx)) }()
	v, err := view.NewManager(c.Client).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		return -1
	}
	var vms []mo.VirtualMachine
	if err := v.Retrieve(ctx, []string{"VirtualMachine"}, []string{"runtime.powerState"}, &vms); err != nil {
		return -1
	}
	on := 0
	for i := range vms {
		if vms[i].Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
			on++
		}
	}
	return on
}
