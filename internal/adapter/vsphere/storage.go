package vsphere

import (
	"cmp"
	"context"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// backingsFor is how long what was read of the storage behind datastores is believed: it changes when somebody rebuilds
// something, and reading it is much.
const backingsFor = 10 * time.Minute

// backings tell what serves datastores.
type backings struct {
	mu      sync.Mutex
	read    time.Time
	servers map[ref][]string // by datastore: addresses of NFS servers and iSCSI targets, without ports
}

// serversOf tells what serves the datastores that the connection can see. What can't be read is what was read last: it
// only adds edges to those that the runbook declares.
func (c *Conn) serversOf(ctx context.Context) map[ref][]string {
	b := &c.backings
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.read) < backingsFor {
		return b.servers
	}
	servers, disks, err := c.readStores(ctx)
	if err == nil && len(disks) > 0 {
		var targets map[string][]string
		if targets, err = c.readTargets(ctx); err == nil {
			for store, names := range disks {
				for _, disk := range names {
					servers[store] = append(servers[store], targets[disk]...)
				}
			}
		}
	}
	if err != nil {
		return b.servers
	}
	for store := range servers {
		slices.Sort(servers[store])
		servers[store] = slices.Compact(servers[store])
	}
	b.servers, b.read = servers, time.Now()
	return servers
}

// readStores tells the servers of NFS datastores and the disks of the others, by the names that hosts give disks.
func (c *Conn) readStores(ctx context.Context) (servers, disks map[ref][]string, err error) {
	inv := c.inventory
	inv.mu.Lock()
	refs := slices.Collect(maps.Keys(inv.tables.stores))
	inv.mu.Unlock()
	servers, disks = make(map[ref][]string), make(map[ref][]string)
	objects, err := c.readAll(ctx, "Datastore", refs, "info")
	for _, o := range objects {
		for _, p := range o.PropSet {
			switch info := p.Val.(type) {
			case types.NasDatastoreInfo:
				if info.Nas != nil {
					servers[o.Obj] = append(slices.Clone(info.Nas.RemoteHostNames), info.Nas.RemoteHost)
				}
			case types.VmfsDatastoreInfo:
				if info.Vmfs == nil {
					continue
				}
				for _, e := range info.Vmfs.Extent {
					disks[o.Obj] = append(disks[o.Obj], e.DiskName)
				}
			}
		}
	}
	return servers, disks, err
}

// readTargets tells, by disk, the addresses of the iSCSI targets that it is reached through, as all hosts have it.
func (c *Conn) readTargets(ctx context.Context) (map[string][]string, error) {
	inv := c.inventory
	inv.mu.Lock()
	hosts := slices.Collect(maps.Keys(inv.tables.hosts))
	inv.mu.Unlock()
	objects, err := c.readAll(ctx, "HostSystem", hosts, "config.storageDevice.scsiLun", "config.storageDevice.scsiTopology")
	targets := make(map[string][]string)
	for _, o := range objects {
		disks := make(map[string]string) // by the key of a LUN
		var topology types.HostScsiTopology
		for _, p := range o.PropSet {
			switch v := p.Val.(type) {
			case types.ArrayOfScsiLun:
				for _, l := range v.ScsiLun {
					disks[l.GetScsiLun().Key] = l.GetScsiLun().CanonicalName
				}
			case types.HostScsiTopology:
				topology = v
			}
		}
		for _, adapter := range topology.Adapter {
			for _, target := range adapter.Target {
				transport, ok := target.Transport.(*types.HostInternetScsiTargetTransport)
				if !ok {
					continue
				}
				for _, lun := range target.Lun {
					disk := disks[lun.ScsiLun]
					for _, address := range transport.Address {
						targets[disk] = append(targets[disk], withoutPort(address))
					}
				}
			}
		}
	}
	delete(targets, "")
	return targets, err
}

func withoutPort(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return cmp.Or(host, address)
}

// readAll asks for properties of many objects of a kind in one question.
func (c *Conn) readAll(ctx context.Context, kind string, refs []ref, paths ...string) ([]types.ObjectContent, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	spec := types.PropertyFilterSpec{PropSet: []types.PropertySpec{{Type: kind, PathSet: paths}}}
	for _, r := range refs {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: r})
	}
	return c.read(ctx, spec)
}
