package vsphere

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/selector"
)

// Own tells the VMs that the vCenter itself runs in: those whose guest has an address of it, or its name. Its addresses are
// those that the connection's name stands for and the one that its hosts say they are managed from, whatever lies between
// them and us.
func (c *Conn) Own(ctx context.Context) ([]string, error) {
	running, err := c.poweredOn(ctx)
	if err != nil || c.isAgent() {
		return nil, err
	}
	addresses, err := c.addresses(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot tell where %s runs: %w", c.name, err)
	}
	// What a guest says of all its cards is long: it is asked only where its first address and its name do not tell.
	for _, paths := range [][]string{{"guest.ipAddress", "guest.hostName"}, {"guest.net"}} {
		var own []string
		err := c.readAll(ctx, "VirtualMachine", running.refs, paths, func(o types.ObjectContent) {
			if slices.ContainsFunc(o.PropSet, func(p types.DynamicProperty) bool { return c.isIn(p, addresses) }) {
				own = append(own, running.ids[o.Obj])
			}
		})
		if err != nil {
			return nil, fmt.Errorf("cannot tell where %s runs: %w", c.name, err)
		}
		if len(own) > 0 {
			slices.Sort(own)
			return own, nil
		}
	}
	return nil, nil
}

// isIn reports whether what a guest says of itself is an address or the name of the vCenter.
func (c *Conn) isIn(p types.DynamicProperty, addresses map[netip.Addr]bool) bool {
	switch v := p.Val.(type) {
	case string:
		return addresses[address(v)] || p.Name == "guest.hostName" && strings.EqualFold(v, c.url.Hostname())
	case nics:
		for _, nic := range v.GuestNicInfo {
			if slices.ContainsFunc(nic.IPAddress, func(text string) bool { return addresses[address(text)] }) {
				return true
			}
		}
	}
	return false
}

// addresses are those of the vCenter. A name that nobody can resolve has none: its hosts may know more.
func (c *Conn) addresses(ctx context.Context) (map[netip.Addr]bool, error) {
	all := map[netip.Addr]bool{}
	add := func(text string) {
		if a := address(text); a.IsValid() && !a.IsUnspecified() {
			all[a] = true
		}
	}
	found, err := net.DefaultResolver.LookupHost(ctx, c.url.Hostname())
	if err == nil {
		for _, text := range found {
			add(text)
		}
	}
	inv := c.inventory
	inv.mu.Lock()
	var hosts []ref
	for r := range inv.tables.hosts {
		hosts = append(hosts, r)
	}
	inv.mu.Unlock()
	err = c.readAll(ctx, "HostSystem", hosts, []string{"summary.managementServerIp"}, func(o types.ObjectContent) {
		for _, p := range o.PropSet {
			add(value[string](p.Val))
		}
	})
	return all, err
}

// address reads an address, the zero one if there is none.
func address(text string) netip.Addr {
	a, _ := netip.ParseAddr(text)
	return a.Unmap().WithZone("")
}

// Find tells the VM that is on and whose firmware says a UUID.
func (c *Conn) Find(ctx context.Context, firmware string) (id string, err error) {
	running, err := c.poweredOn(ctx)
	if err != nil {
		return "", err
	}
	err = c.readAll(ctx, "VirtualMachine", running.refs, []string{"config.uuid"}, func(o types.ObjectContent) {
		for _, p := range o.PropSet {
			if selector.SameFirmware(value[string](p.Val), firmware) {
				id = running.ids[o.Obj]
			}
		}
	})
	return id, err
}

// known are VMs by their references.
type known struct {
	refs []ref
	ids  map[ref]string // as Everything gives them
}

// poweredOn are the VMs that Everything lists.
func (c *Conn) poweredOn(ctx context.Context) (known, error) {
	all := known{ids: map[ref]string{}}
	err := c.settle(ctx, false)
	c.inventory.mu.Lock()
	defer c.inventory.mu.Unlock()
	for r, m := range c.inventory.tables.vms {
		if m.countable() && m.power == types.VirtualMachinePowerStatePoweredOn {
			all.refs, all.ids[r] = append(all.refs, r), m.uuid
		}
	}
	return all, err
}

func (c *Conn) isAgent() bool {
	c.inventory.mu.Lock()
	defer c.inventory.mu.Unlock()
	return c.inventory.agent
}

var _ adapter.HAWatcher = (*Conn)(nil)

// HAClusters tells the clusters in which HA is on.
func (c *Conn) HAClusters(ctx context.Context) ([]adapter.HACluster, error) {
	if err := c.settle(ctx, false); err != nil {
		return nil, err
	}
	c.inventory.mu.Lock()
	names := maps.Clone(c.inventory.tables.clusters)
	c.inventory.mu.Unlock()
	var all []adapter.HACluster
	err := c.readAll(ctx, "ClusterComputeResource", slices.Collect(maps.Keys(names)), []string{"configurationEx"},
		func(o types.ObjectContent) {
			for _, p := range o.PropSet {
				if info, ok := p.Val.(clusterConfig); ok && info.DasConfig.Enabled {
					all = append(all, adapter.HACluster{Cluster: names[o.Obj], Type: "vsphere.cluster"})
				}
			}
		})
	slices.SortFunc(all, func(a, b adapter.HACluster) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return all, err
}
