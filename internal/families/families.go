// Package families is the list of every family of systems that this program knows. A new one is added here, and
// nowhere else in the program; but that of a BMC or PDU is also a key of up.wake (package schema).
package families

import (
	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/array"
	"ebbtide/internal/adapter/cache"
	"ebbtide/internal/adapter/command"
	"ebbtide/internal/adapter/hyperv"
	"ebbtide/internal/adapter/ipmi"
	"ebbtide/internal/adapter/kubernetes"
	"ebbtide/internal/adapter/libvirt"
	"ebbtide/internal/adapter/passive"
	"ebbtide/internal/adapter/pernixdata"
	"ebbtide/internal/adapter/powershell"
	"ebbtide/internal/adapter/proxmox"
	"ebbtide/internal/adapter/redfish"
	"ebbtide/internal/adapter/self"
	"ebbtide/internal/adapter/snmp"
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/adapter/vsphere"
	"ebbtide/internal/nut"
	"ebbtide/internal/schema"
)

// All lists the families. Unless armed, the machine that runs Ebbtide is never stopped.
func All(armed bool) []adapter.Family {
	return []adapter.Family{
		vsphere.Family(), libvirt.Family(), proxmox.Family(), hyperv.Family(), kubernetes.Family(),
		redfish.Family(), ipmi.Family(), snmp.Family(), nut.Family(),
		ssh.Family(), powershell.Family(), cache.Family(), pernixdata.Family(), array.Family(), command.Family(), passive.Family(),
		self.Family(armed),
	}
}

// Schema is the part of the runbook language that the families give.
func Schema() schema.Types { return adapter.Schema(All(false)) }
