package vspheresim

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// ServeNFS makes a datastore one of an NFS server.
func (s *Sim) ServeNFS(datastore, server string) error {
	return s.serve(datastore, &types.NasDatastoreInfo{
		DatastoreInfo: types.DatastoreInfo{Name: datastore},
		Nas:           &types.HostNasVolume{RemoteHost: server, RemotePath: "/tank/vms"},
	})
}

// ServeISCSI makes a datastore one on a disk that every host reaches through an iSCSI target, host:port.
func (s *Sim) ServeISCSI(datastore, target string) error {
	const disk, key = "naa.6001405abcdef0123456789abcdef012", "key-vim.host.ScsiDisk-1"
	for _, h := range s.hosts {
		s.vcenter.update(h.object,
			"config.storageDevice.scsiLun", []types.BaseScsiLun{&types.HostScsiDisk{ScsiLun: types.ScsiLun{Key: key, CanonicalName: disk}}},
			"config.storageDevice.scsiTopology", &types.HostScsiTopology{Adapter: []types.HostScsiTopologyInterface{{Target: []types.HostScsiTopologyTarget{{
				Lun:       []types.HostScsiTopologyLun{{ScsiLun: key}},
				Transport: &types.HostInternetScsiTargetTransport{Address: []string{target}},
			}}}}})
	}
	return s.serve(datastore, &types.VmfsDatastoreInfo{
		DatastoreInfo: types.DatastoreInfo{Name: datastore},
		Vmfs:          &types.HostVmfsVolume{Extent: []types.HostScsiDiskPartition{{DiskName: disk, Partition: 1}}},
	})
}

func (s *Sim) serve(datastore string, info types.BaseDatastoreInfo) error {
	for _, e := range s.vcenter.model.Map().All("Datastore") {
		if o := e.(*simulator.Datastore); o.Name == datastore {
			s.vcenter.update(o, "info", info)
			return nil
		}
	}
	return fmt.Errorf("cannot serve datastore %q: no such datastore", datastore)
}
