package vspheresim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// making is held while a model or its server is made: govmomi's simulator writes to tables of the whole process then.
var making sync.Mutex

// build makes vCenter's model and starts its server.
func (s *Sim) build() error {
	making.Lock()
	defer making.Unlock()
	model := simulator.VPX()
	model.Cluster, model.ClusterHost, model.Host, model.Machine = s.options.Clusters, s.options.HostsPerCluster, 0, 0
	if s.options.APIVersion != "" {
		model.ServiceContent.About.ApiVersion = s.options.APIVersion
	}
	if err := model.Create(); err != nil {
		return err
	}
	s.vcenter = newServer(s, model, nil)
	s.nameHosts()
	if s.options.Features != nil {
		for _, e := range model.Map().All("ClusterComputeResource") {
			if err := s.SetFeatures(e.(*simulator.ClusterComputeResource).Name, *s.options.Features); err != nil {
				return err
			}
		}
	}
	for _, vm := range s.options.VMs {
		m, err := s.newMachine(vm)
		if err != nil {
			return err
		}
		s.machines = append(s.machines, m)
	}
	if err := s.vcenter.populate(s.machines); err != nil {
		return err
	}
	if err := s.vcenter.serve(); err != nil {
		return err
	}
	return s.tag()
}

// newMachine is the truth about a VM that is yet to be shown.
func (s *Sim) newMachine(vm VM) (*machine, error) {
	if vm.Host < 0 || vm.Host >= len(s.hosts) {
		return nil, fmt.Errorf("VM %q is on host %d of %d", vm.Name, vm.Host, len(s.hosts))
	}
	m := &machine{
		VM:    vm,
		uuid:  uuid.NewSHA1(uuid.NameSpaceOID, []byte(vm.Folder+"/"+vm.Name)).String(),
		host:  s.hosts[vm.Host],
		state: on,
		shown: make(map[*Server]*simulator.VirtualMachine),
	}
	if vm.Off || vm.Template {
		m.state = off
	}
	if s.options.Guest != nil {
		m.guest = s.options.Guest(vm.Name)
	}
	return m, nil
}

// AddVM adds a VM to vCenter, without tags. A host's own endpoint that was made before does not show it.
func (s *Sim) AddVM(vm VM) error {
	m, err := s.newMachine(vm)
	if err == nil {
		s.mu.Lock()
		s.machines = append(s.machines, m)
		s.mu.Unlock()
		err = s.vcenter.populate([]*machine{m})
	}
	if err != nil {
		return fmt.Errorf("cannot add VM %q: %w", vm.Name, err)
	}
	return nil
}

// nameHosts gives the hosts of the model, in the order of their references, their names.
func (s *Sim) nameHosts() {
	all := s.vcenter.model.Map().All("HostSystem")
	number := func(e mo.Entity) int {
		n, _ := strconv.Atoi(strings.TrimPrefix(e.Reference().Value, "host-"))
		return n
	}
	slices.SortFunc(all, func(a, b mo.Entity) int { return number(a) - number(b) })
	for i, e := range all {
		h := &host{name: fmt.Sprintf("%s%02d", cmp.Or(s.options.HostPrefix, "esx"), i+1), object: e.(*simulator.HostSystem), on: true}
		s.vcenter.update(h.object, "name", h.name, "summary.config.name", h.name)
		s.vcenter.hosts[h.object.Self] = h
		s.hosts = append(s.hosts, h)
	}
}

// populate adds machines to a server's model and shows them as they are.
func (srv *Server) populate(machines []*machine) error {
	ctx := context.Background()
	client, err := vim25.NewClient(ctx, srv.model.Service) // in process, no network
	if err != nil {
		return err
	}
	finder := find.NewFinder(client)
	dc, err := finder.DefaultDatacenter(ctx)
	if err != nil {
		return err
	}
	finder.SetDatacenter(dc)
	top, err := dc.Folders(ctx)
	if err != nil {
		return err
	}
	folders := map[string]*object.Folder{"": top.VmFolder}
	created := &creations{done: make(chan types.ManagedObjectReference, 1)} // one is made after the other
	srv.model.Map().AddHandler(created)
	defer srv.model.Map().RemoveHandler(created)
	for _, m := range machines {
		name := ""
		if srv.host == nil {
			name = m.Folder
		}
		folder, err := makeFolder(ctx, finder, folders, name)
		if err != nil {
			return err
		}
		if err := srv.add(ctx, client, created, folder, m); err != nil {
			return fmt.Errorf("cannot add VM %q: %w", m.Name, err)
		}
	}
	return nil
}

// creations is told by the registry when a creation has ended. The simulator's own ways to wait take 10 ms or more.
type creations struct {
	done chan types.ManagedObjectReference
}

func (*creations) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "EbbtideCreations", Value: "creations"}
}

func (*creations) PutObject(*simulator.Context, mo.Reference) {}

func (*creations) RemoveObject(*simulator.Context, types.ManagedObjectReference) {}

func (c *creations) UpdateObject(_ *simulator.Context, o mo.Reference, changes []types.PropertyChange) {
	task, ok := o.(*mo.Task)
	if !ok || task.Info.Entity.Type != "Folder" { // those of VMs and hosts are not ours
		return
	}
	for _, change := range changes {
		if change.Val == types.TaskInfoStateSuccess || change.Val == types.TaskInfoStateError {
			c.done <- task.Self
		}
	}
}

func makeFolder(ctx context.Context, finder *find.Finder, folders map[string]*object.Folder, name string) (*object.Folder, error) {
	if f := folders[name]; f != nil {
		return f, nil
	}
	dir, base := path.Split(name)
	parent, err := makeFolder(ctx, finder, folders, strings.TrimSuffix(dir, "/"))
	if err != nil {
		return nil, err
	}
	f, err := finder.Folder(ctx, path.Join("/DC0/vm", name))
	if err != nil { // the usual case: it is not there yet
		f, err = parent.CreateFolder(ctx, base)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot make folder %q: %w", name, err)
	}
	folders[name] = f
	return f, nil
}

// add creates a VM on its host.
func (srv *Server) add(ctx context.Context, client *vim25.Client, created *creations, folder *object.Folder, m *machine) error {
	h := srv.sim.hostOf(m).object
	if srv.host != nil {
		h = srv.model.Map().Any("HostSystem").(*simulator.HostSystem)
	}
	pool, err := object.NewHostSystem(client, h.Self).ResourcePool(ctx)
	if err != nil {
		return err
	}
	task, err := folder.CreateVM(ctx, types.VirtualMachineConfigSpec{
		Name:         m.Name,
		GuestId:      string(types.VirtualMachineGuestOsIdentifierOtherGuest),
		InstanceUuid: m.uuid,
		Uuid:         m.Firmware,
		Files:        &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"},
	}, pool, object.NewHostSystem(client, h.Self))
	if err != nil {
		return err
	}
	for <-created.done != task.Reference() {
	}
	t := srv.model.Map().Get(task.Reference()).(*simulator.Task)
	t.Wait() // returns at once, and lets us read Info
	if t.Info.Error != nil {
		return errors.New(t.Info.Error.LocalizedMessage)
	}
	o := srv.model.Map().Get(t.Info.Result.(types.ManagedObjectReference)).(*simulator.VirtualMachine)
	srv.update(o, "config.template", m.Template, "summary.config.template", m.Template)
	if m.ManagedBy != "" {
		srv.update(o, "config.managedBy", &types.ManagedByInfo{ExtensionKey: m.ManagedBy, Type: "cluster-agent"})
	}
	if m.Secondary {
		srv.update(o, "config.ftInfo", &types.FaultToleranceSecondaryConfigInfo{FaultToleranceConfigInfo: types.FaultToleranceConfigInfo{Role: 2}})
	}
	if m.GuestName != "" {
		srv.update(o, "guest.hostName", m.GuestName)
	}
	if len(m.Addresses) > 0 {
		nics := make([]types.GuestNicInfo, len(m.Addresses))
		for i, a := range m.Addresses {
			nics[i].IpAddress = []string{a}
		}
		srv.update(o, "guest.ipAddress", m.Addresses[0], "guest.net", nics)
	}
	srv.mu.Lock()
	srv.vms[o.Self] = m
	srv.mu.Unlock()
	srv.sim.mu.Lock()
	m.shown[srv] = o
	state, tools := m.state, m.tools()
	srv.sim.mu.Unlock()
	srv.showPower(o, state, tools)
	return nil
}

// serve starts the endpoint.
func (srv *Server) serve() error {
	service := srv.model.Service
	service.RegisterEndpoints = true
	service.Listen = &url.URL{Host: anyPort, User: url.UserPassword(User, Password)}
	// NewServer is what registers the handlers. Its own server is not used: it can't be stopped and started.
	service.NewServer().Close()
	e, err := listen(service.ServeMux)
	if err != nil {
		return err
	}
	srv.endpoint = e
	srv.mu.Lock()
	clear(srv.calls) // those of building it
	srv.latency = srv.sim.options.Latency
	srv.mu.Unlock()
	return nil
}
