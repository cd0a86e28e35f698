package kubernetes

import (
	"cmp"

	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// placeOf is where kubectl goes.
func placeOf(s *ConnSpec) manual.Endpoint {
	return s.Endpoint("(a service account; people have their own kubeconfig)", s.Token)
}

func byHand(d *schema.Node, s *NodeSpec, places func(string) manual.Endpoint) manual.Procedure {
	name := schema.Quote(cmp.Or(s.Node, d.ID))
	at := "With kubectl as an administrator of the cluster"
	if address := places(d.Via).Address; address != "" {
		at += " at " + address
	}
	return manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{
			plan.Protect: {
				{Say: at + ". Write down whether it says SchedulingDisabled already:", Type: "kubectl get node " + name},
				{Type: "kubectl cordon " + name},
				{
					Say:  "Pods that a PodDisruptionBudget keeps are left when the time is over, and go down with the machine:",
					Type: "kubectl drain " + name + " --ignore-daemonsets --delete-emptydir-data --timeout=3m",
				},
			},
			plan.Unprotect: {
				{Say: at + ", when its machine is up and it says Ready:", Type: "kubectl get node " + name},
				{Say: "Unless it was cordoned before:", Type: "kubectl uncordon " + name},
				{
					Say:  "And the annotation that Ebbtide leaves on the nodes it has cordoned:",
					Type: "kubectl annotate node " + name + " " + mark + "-",
				},
			},
		},
		Clean: []manual.Instruction{{Say: "It says SchedulingDisabled, and no pods but those of DaemonSets and of the node itself are listed:", Type: "kubectl get node " + name + "; kubectl get pods -A --field-selector spec.nodeName=" + name}},
		Back: []manual.Instruction{{
			Say:  "It says Ready, and SchedulingDisabled only if it did before:",
			Type: "kubectl get node " + name,
		}},
	}
}
