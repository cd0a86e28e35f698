// Package vsphere reaches VMs and hosts through vCenter, or through a host's own agent, which speaks the same API.
//
// Each connection has one session and one watch: a property collector that covers all VMs and hosts, finds them by
// name and tells of their changes. So a thousand VMs cost one open request and not a thousand polls. A probe asks
// anew, in one question together with all others that are made at the same time. When the watch breaks it mends itself,
// with a new login if the session has expired. While it is broken a probe fails, or asks the node's fallback: the
// connections of hosts that may have the VM, which know it by the same instance UUID. A name is looked up anew each
// time; a renamed VM is followed by its instance UUID.
//
// # What the account needs
//
// A role of its own, given at the root of the inventory, with System.View and System.Read (every role has them) and
//
//	VirtualMachine.Interact.PowerOff   to shut down a guest and to power off a VM
//	VirtualMachine.Interact.PowerOn    to power on a VM
//	Host.Config.Maintenance            to shut down a host
//
// What the account can't see, Ebbtide does not know of: a role that is given only on some folders hides the other VMs
// of a host, and the host is shut down with them. Tags are read through the same account's REST session. On a host
// in lockdown mode the account must be one of its exception users.
//
// # What is left out
//
// Selectors never cover templates and vCLS VMs (vSphere's own cluster agents, which come back when they are shut
// down). A vCLS VM on a host doesn't keep the host from being shut down. Suspended VMs count as off and are never
// resumed. VMs inside a vApp have no folder: select them by tag or name.
package vsphere
