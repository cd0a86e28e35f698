package vsphere

import (
	"cmp"
	"context"
	"errors"
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
		if targets, err = c.readTargets(ctx, disks); err == nil {
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
	err = c.readAll(ctx, "Datastore", refs, []string{"info"}, func(o types.ObjectContent) {
		for _, p := range o.PropSet {
			switch info := p.Val.(type) {
			case nasStore:
				servers[o.Obj] = few(append(info.Nas.RemoteHostNames, info.Nas.RemoteHost))
			case vmfsStore:
				for _, e := range info.Vmfs.Extent {
					disks[o.Obj] = append(disks[o.Obj], e.DiskName)
				}
				disks[o.Obj] = few(disks[o.Obj])
			}
		}
	})
	return servers, disks, err
}

// readTargets tells, by disk, the addresses of the iSCSI targets that it is reached through, as all hosts have it. Only the
// disks of datastores are looked at.
func (c *Conn) readTargets(ctx context.Context, stores map[ref][]string) (map[string][]string, error) {
	inv := c.inventory
	inv.mu.Lock()
	hosts := slices.Collect(maps.Keys(inv.tables.hosts))
	inv.mu.Unlock()
	targets := make(map[string][]string)
	for _, disks := range stores {
		for _, disk := range disks {
			targets[disk] = nil
		}
	}
	err := c.readAll(ctx, "HostSystem", hosts, []string{"config.storageDevice.scsiLun", "config.storageDevice.scsiTopology"},
		func(o types.ObjectContent) {
			var all luns
			var tree topology
			for _, p := range o.PropSet {
				switch v := p.Val.(type) {
				case luns:
					all = v
				case topology:
					tree = v
				}
			}
			for disk, addresses := range tree.addresses(all) {
				if known, wanted := targets[disk]; wanted {
					targets[disk] = few(append(known, addresses...))
				}
			}
		})
	return targets, err
}

// addresses tells those of the iSCSI targets of a host by the names of its disks.
func (t topology) addresses(all luns) map[string][]string {
	disks := make(map[string]string) // by the key of a LUN
	for _, l := range all.ScsiLun {
		disks[l.Key] = l.CanonicalName
	}
	addresses := make(map[string][]string)
	for _, adapter := range t.Adapter {
		for _, target := range adapter.Target {
			for _, lun := range target.Lun {
				disk := disks[lun.ScsiLun]
				for _, address := range target.Transport.Address {
					addresses[disk] = append(addresses[disk], withoutPort(address))
				}
			}
		}
	}
	return addresses
}

// few sorts names or addresses and keeps each once, and no more and no longer ones than a datastore can have.
func few(names []string) []string {
	names = slices.DeleteFunc(names, func(name string) bool { return len(name) > maxLabel })
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.Clone(names[:min(len(names), maxServers)])
}

func withoutPort(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return cmp.Or(host, address)
}

// readAll asks for properties of many objects of a kind and hands each object over. Where an answer is more than one may
// be, half as many are asked after at once: what a host says of its disks may be a thousand times what a VM says of itself.
func (c *Conn) readAll(ctx context.Context, kind string, refs []ref, paths []string, each func(types.ObjectContent)) error {
	for most := largestBatch; len(refs) > 0; {
		n := min(most, len(refs))
		spec := types.PropertyFilterSpec{PropSet: []types.PropertySpec{{Type: kind, PathSet: paths}}}
		for _, r := range refs[:n] {
			spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: r})
		}
		objects, err := c.read(ctx, spec)
		if errors.Is(err, errBeyond) && n > 1 {
			most = n / 2
			continue
		}
		if err != nil {
			return err
		}
		for _, o := range objects {
			each(o)
		}
		refs = refs[n:]
	}
	return nil
}
