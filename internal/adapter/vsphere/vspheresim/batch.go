package vspheresim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// datacenterMethods go before the simulator's own methods of a datacenter.
type datacenterMethods struct {
	*simulator.Datacenter
	server *Server
}

// PowerOnMultiVMTask is PowerOnMultiVM_Task. As with the real one, DRS that is manual only recommends, unless the call
// says otherwise, and each VM has a task of its own, which tells what was wrong with it.
func (d *datacenterMethods) PowerOnMultiVMTask(ctx *simulator.Context, r *types.PowerOnMultiVM_Task) soap.HasFault {
	body := new(methods.PowerOnMultiVM_TaskBody)
	known := make([]*vmMethods, len(r.Vm))
	for i, ref := range r.Vm {
		d.server.mu.Lock()
		truth := d.server.vms[ref]
		d.server.mu.Unlock()
		o, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
		if !ok || truth == nil {
			body.Fault_ = simulator.Fault("", &types.ManagedObjectNotFound{Obj: ref})
			return body
		}
		known[i] = &vmMethods{o, d.server, truth}
	}
	manual := d.recommends(r.Option)
	task := d.server.taskOf(d.Self, "powerOnMultiVM", func() (any, types.BaseMethodFault, string) {
		var result types.ClusterPowerOnVmResult
		for i, m := range known {
			d.server.tellCommand("PowerOnVM_Task", m.truth, nil)
			started := m.PowerOnVMTask(ctx, &types.PowerOnVM_Task{This: r.Vm[i]}).(*methods.PowerOnVM_TaskBody)
			switch {
			case manual:
				result.Recommendations = append(result.Recommendations, types.ClusterRecommendation{Reason: "powerOnVm", Target: &r.Vm[i]})
			case started.Fault_ != nil:
				fault, _ := started.Fault_.VimFault().(types.BaseMethodFault)
				result.NotAttempted = append(result.NotAttempted, types.ClusterNotAttemptedVmInfo{
					Vm: r.Vm[i], Fault: types.LocalizedMethodFault{Fault: fault, LocalizedMessage: started.Fault_.String},
				})
			default:
				result.Attempted = append(result.Attempted, types.ClusterAttemptedVmInfo{Vm: r.Vm[i], Task: &started.Res.Returnval})
			}
		}
		return result, nil, ""
	})
	body.Res = &types.PowerOnMultiVM_TaskResponse{Returnval: task}
	return body
}

// recommends reports whether DRS would only recommend.
func (d *datacenterMethods) recommends(options []types.BaseOptionValue) bool {
	for _, o := range options {
		if v := o.GetOptionValue(); v.Key == string(types.ClusterPowerOnVmOptionOverrideAutomationLevel) {
			return v.Value == string(types.DrsBehaviorManual)
		}
	}
	for _, e := range d.server.model.Map().All("ClusterComputeResource") {
		if d.server.sim.Features(e.(*simulator.ClusterComputeResource).Name).DRS == types.DrsBehaviorManual {
			return true
		}
	}
	return false
}
