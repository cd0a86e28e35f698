// Package kubernetes reaches the nodes of a Kubernetes cluster by its API: a node is cordoned and drained before the machine
// that it is on goes down, and given back to the scheduler, if it was the scheduler's before, once that machine is up.
//
// # What the account needs
//
// A service account of its own with a ClusterRole of get and patch on nodes, list on pods and create on pods/eviction.
package kubernetes

import (
	"cmp"
	"fmt"
	"regexp"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/rest"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// ConnSpec are the keys of a connection of type "kubernetes".
type ConnSpec struct {
	rest.Server `yaml:",inline"`
	Token       schema.SecretRef `yaml:"token" check:"required" json:"token,omitzero"` // of the service account
}

// NodeSpec are the keys of a kubernetes.node.
type NodeSpec struct {
	Node string `yaml:"node" json:"node,omitempty"` // its name in the cluster; the node's id if not given
}

var verbs = plan.VerbSet(plan.Protect, plan.Unprotect)

// Family is Kubernetes' part of the runbook language.
func Family() adapter.Family {
	return adapter.Family{
		Connections: []schema.AnyConnectionType{schema.ConnectionType[ConnSpec]{
			Name: "kubernetes", Doc: "the API of a Kubernetes cluster, by the token of a service account",
			Check:    func(s *ConnSpec) []error { return s.Check() },
			Endpoint: placeOf,
		}.Any()},
		Nodes: []schema.AnyNodeType{schema.NodeType[NodeSpec]{
			Traits: schema.Traits{
				Name: "kubernetes.node", Doc: "a node of a cluster, cordoned and drained for the shutdown and put back as it was; its " +
					"machine is another node",
				Kind: plan.Cluster, Via: []string{"kubernetes"}, Can: verbs,
				// A pod has 30 s to end unless it says otherwise. What a budget holds back is waited for as long as this and
				// goes down with its machine then.
				Times: map[plan.Verb]plan.Times{
					plan.Protect:   {Nominal: 45 * time.Second, Within: 3 * time.Minute},
					plan.Unprotect: {Nominal: 5 * time.Second, Within: 10 * time.Minute},
				},
				Risk: plan.Application,
			},
			Check: check, ByHand: byHand,
		}.Any()},
		Connect: adapter.Connecting(connect),
		Open: func(d schema.Node, via adapter.Conn, _ func(string) (adapter.Conn, error)) (adapter.Node, error) {
			c, err := adapter.Via[*conn](via, "kubernetes")
			if err != nil {
				return nil, err
			}
			spec, ok := d.Spec.(*NodeSpec)
			if !ok {
				return nil, fmt.Errorf("its spec is a %T", d.Spec)
			}
			return &node{conn: c, name: cmp.Or(spec.Node, d.ID)}, nil
		},
	}
}

// nodeName is what the API takes for the name of a node: a DNS name (RFC 1123).
var nodeName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

func check(s *NodeSpec) []error {
	if s.Node != "" && !nodeName.MatchString(s.Node) {
		return []error{&schema.KeyError{
			Key: "node",
			Err: fmt.Errorf("%q is not the name of a Kubernetes node: kubectl get nodes lists them", s.Node),
		}}
	}
	return nil
}
