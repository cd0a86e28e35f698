package schema

import "ebbtide/internal/plan"

// Running is what runs on a system, as its connection lists it, and what a node that is to cover it would have to say.
type Running struct {
	plan.Member
	Keys  string // keys of that node beside its name, as a runbook has them ("clustered: true"); "": none
	Under string // the type of nodes that it depends on beside its host ("proxmox.cluster"), where one is declared; "": none
	Twin  bool   // another one on the same system has its name: only its ID tells them apart
}
