package vspheresim

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Features are what vCenter does by itself in a cluster.
type Features struct {
	HA        bool
	DRS       types.DrsBehavior // "": off
	Overrides bool              // VMs may have DRS levels of their own
	DPM       bool
	Retreat   bool // the vCLS VMs are sent away
	VSAN      bool
}

// agents is the extension that owns vCLS VMs.
const agents = "com.vmware.vim.eam"

// Features tells what a cluster does now; the zero value if there is no such cluster.
func (s *Sim) Features(cluster string) Features {
	o := s.cluster(cluster)
	if o == nil {
		return Features{}
	}
	var f Features
	ctx := *s.vcenter.model.Service.Context
	ctx.WithLock(o, func() { f = featuresOf(o) })
	f.Retreat = f.Retreat || s.retreatOption(o)
	return f
}

// SetFeatures changes what a cluster does, as a person does in vCenter's client.
func (s *Sim) SetFeatures(cluster string, f Features) error {
	o := s.cluster(cluster)
	if o == nil {
		return fmt.Errorf("cannot set the features of cluster %q: no such cluster", cluster)
	}
	drs := types.ClusterDrsConfigInfo{Enabled: new(f.DRS != ""), EnableVmBehaviorOverrides: new(f.Overrides), DefaultVmBehavior: f.DRS}
	mode := types.ClusterSystemVMsConfigInfoDeploymentModeSYSTEM_MANAGED
	if f.Retreat {
		mode = types.ClusterSystemVMsConfigInfoDeploymentModeABSENT
	}
	info := types.ClusterConfigInfoEx{
		DasConfig: types.ClusterDasConfigInfo{Enabled: new(f.HA)}, DrsConfig: drs,
		DpmConfigInfo:   &types.ClusterDpmConfigInfo{Enabled: new(f.DPM)},
		VsanConfigInfo:  &types.VsanClusterConfigInfo{Enabled: new(f.VSAN)},
		SystemVMsConfig: &types.ClusterSystemVMsConfigInfo{DeploymentMode: string(mode)},
	}
	s.vcenter.update(o, "configurationEx", &info)
	s.forgive()
	for _, h := range s.hosts {
		s.vcenter.update(h.object, "config.vsanHostConfig", &types.VsanHostConfigInfo{Enabled: new(f.VSAN)})
	}
	return nil
}

func (s *Sim) cluster(name string) *simulator.ClusterComputeResource {
	for _, e := range s.vcenter.model.Map().All("ClusterComputeResource") {
		if o := e.(*simulator.ClusterComputeResource); o.Name == name {
			return o
		}
	}
	return nil
}

// featuresOf reads a cluster. Its lock is held.
func featuresOf(o *simulator.ClusterComputeResource) Features {
	info := o.ConfigurationEx.(*types.ClusterConfigInfoEx)
	yes := func(b *bool) bool { return b != nil && *b }
	f := Features{HA: yes(info.DasConfig.Enabled), Overrides: yes(info.DrsConfig.EnableVmBehaviorOverrides)}
	if yes(info.DrsConfig.Enabled) {
		f.DRS = info.DrsConfig.DefaultVmBehavior
	}
	f.DPM = info.DpmConfigInfo != nil && yes(info.DpmConfigInfo.Enabled)
	f.VSAN = info.VsanConfigInfo != nil && yes(info.VsanConfigInfo.Enabled)
	const absent = string(types.ClusterSystemVMsConfigInfoDeploymentModeABSENT)
	f.Retreat = info.SystemVMsConfig != nil && info.SystemVMsConfig.DeploymentMode == absent
	return f
}

// retreatOption reports whether vCenter's advanced setting sends the cluster's vCLS VMs away.
func (s *Sim) retreatOption(o *simulator.ClusterComputeResource) bool {
	options := s.vcenter.model.Map().OptionManager()
	res, ok := options.QueryOptions(&types.QueryOptions{Name: "config.vcls.clusters." + o.Self.Value +
		".enabled"}).(*methods.QueryOptionsBody)
	return ok && res.Res != nil && strings.EqualFold(fmt.Sprint(res.Res.Returnval[0].GetOptionValue().Value), "false")
}

// clusterMethods go before the simulator's own methods of a cluster, which knows nothing of DPM and vCLS.
type clusterMethods struct {
	*simulator.ClusterComputeResource
	server *Server
}

// ReconfigureComputeResourceTask is ReconfigureComputeResource_Task: what is not given stays as it is.
func (c *clusterMethods) ReconfigureComputeResourceTask(_ *simulator.Context, r *types.ReconfigureComputeResource_Task) soap.HasFault {
	body := new(methods.ReconfigureComputeResource_TaskBody)
	spec, ok := r.Spec.(*types.ClusterConfigSpecEx)
	if !ok || !r.Modify {
		body.Fault_ = simulator.Fault("", new(types.InvalidArgument))
		return body
	}
	task := c.server.task(c.Self, "reconfigureCluster", func() (types.BaseMethodFault, string) {
		if broken := c.server.broken("reconfigureCluster"); broken != "" {
			return new(types.DasConfigFault), broken
		}
		var info types.ClusterConfigInfoEx
		ctx := *c.server.model.Service.Context
		ctx.WithLock(c.ClusterComputeResource, func() { info = *c.ConfigurationEx.(*types.ClusterConfigInfoEx) })
		change(&info, spec)
		c.server.update(c.ClusterComputeResource, "configurationEx", &info)
		c.server.sim.forgive()
		c.server.sim.moveAgents()
		return nil, ""
	})
	body.Res = &types.ReconfigureComputeResource_TaskResponse{Returnval: task}
	return body
}

func change(info *types.ClusterConfigInfoEx, spec *types.ClusterConfigSpecEx) {
	if spec.DasConfig != nil && spec.DasConfig.Enabled != nil {
		info.DasConfig.Enabled = spec.DasConfig.Enabled
	}
	if drs := spec.DrsConfig; drs != nil {
		if drs.Enabled != nil {
			info.DrsConfig.Enabled = drs.Enabled
		}
		if drs.EnableVmBehaviorOverrides != nil {
			info.DrsConfig.EnableVmBehaviorOverrides = drs.EnableVmBehaviorOverrides
		}
		if drs.DefaultVmBehavior != "" {
			info.DrsConfig.DefaultVmBehavior = drs.DefaultVmBehavior
		}
	}
	if spec.DpmConfig != nil && spec.DpmConfig.Enabled != nil {
		info.DpmConfigInfo = &types.ClusterDpmConfigInfo{Enabled: spec.DpmConfig.Enabled}
	}
	if spec.SystemVMsConfig != nil && spec.SystemVMsConfig.DeploymentMode != "" {
		info.SystemVMsConfig = &types.ClusterSystemVMsConfigInfo{DeploymentMode: spec.SystemVMsConfig.DeploymentMode}
	}
}

// optionMethods go before the simulator's own methods of vCenter's advanced settings.
type optionMethods struct {
	*simulator.OptionManager
	server *Server
}

// UpdateOptions changes advanced settings.
func (o *optionMethods) UpdateOptions(r *types.UpdateOptions) soap.HasFault {
	body := o.OptionManager.UpdateOptions(r)
	if body.Fault() == nil {
		o.server.sim.after(0, o.server.sim.moveAgents)
	}
	return body
}

// moveAgents lets the vCLS VMs go where they are sent away, and come back where they are not. All are taken to belong
// to the first cluster.
func (s *Sim) moveAgents() {
	clusters := s.vcenter.model.Map().All("ClusterComputeResource")
	to := on
	if len(clusters) > 0 && s.Features(clusters[0].(*simulator.ClusterComputeResource).Name).Retreat {
		to = off
	}
	for _, m := range s.all() {
		if m.ManagedBy == agents {
			s.setPower(m, to)
		}
	}
}
