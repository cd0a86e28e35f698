package cli

import (
	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/command"
	"ebbtide/internal/adapter/passive"
	"ebbtide/internal/adapter/self"
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/adapter/vsphere"
	"ebbtide/internal/runbook"
)

// families is every family of systems that this program knows. A new one is added here and nowhere else.
func families(armed bool) []adapter.Family {
	return []adapter.Family{vsphere.Family(), ssh.Family(), command.Family(), passive.Family(), self.Family(armed)}
}

// schema is the part of the runbook language that the families give.
func schema() runbook.Schema { return adapter.Schema(families(false)) }
