// Package kubetest is a contract fake of a Kubernetes API server: nodes, pods, disruption budgets and evictions as the API's
// documentation has them (kubernetes.io/docs, "API-initiated eviction" and the reference of policy/v1), over TLS on loopback.
// It plays the part of the controllers too: a pod that has ended is created again on another node, where there is one.
package kubetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"
)

// Ends is how long a pod takes to end.
const Ends = 30 * time.Millisecond

// Pod is one pod.
type Pod struct {
	Namespace, Name string
	Node            string // "" is pending
	App             string // what budgets select by
	Controller      string // the kind of its controller, "" if it has none
	Mirror          bool
	Finished        bool

	uid    int
	ending bool
}

// healthy: budgets count it.
func (p *Pod) healthy() bool { return p.Node != "" && !p.ending && !p.Finished }

// Budget is a PodDisruptionBudget.
type Budget struct {
	Name, App string
	Min       int // minAvailable
}

// Cluster is a running fake.
type Cluster struct {
	*httptest.Server
	Token string // the only one that it lets in

	mu      sync.Mutex
	nodes   map[string]map[string]any
	pods    []*Pod
	budgets []Budget
	denied  map[string]bool // "patch nodes"
	given   []string        // the changes that it was asked for, in their order
	timers  []*time.Timer
	uids    int
	frozen  bool
	booting bool
	ctx     context.Context // ends with Close
	end     context.CancelFunc
}

// Start starts a cluster with nodes that are well and schedulable.
func Start(token string, nodes ...string) *Cluster {
	c := &Cluster{Token: token, nodes: map[string]map[string]any{}, denied: map[string]bool{}}
	c.ctx, c.end = context.WithCancel(context.Background())
	for _, name := range nodes {
		c.nodes[name] = map[string]any{
			"kind": "Node", "apiVersion": "v1", "metadata": map[string]any{"name": name}, "spec": map[string]any{},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
		}
	}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(c.serve))
	c.Config.ErrorLog = log.New(io.Discard, "", 0)
	c.StartTLS()
	return c
}

// Close ends it.
func (c *Cluster) Close() {
	c.end()
	c.mu.Lock()
	for _, t := range c.timers {
		t.Stop()
	}
	c.mu.Unlock()
	c.CloseClientConnections()
	c.Server.Close()
}

// Thumbprint is that of its certificate.
func (c *Cluster) Thumbprint() string {
	return fmt.Sprintf("%x", sha256.Sum256(c.Certificate().Raw))
}

// Run adds pods.
func (c *Cluster) Run(pods ...Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range pods {
		c.uids++
		p.uid = c.uids
		c.pods = append(c.pods, &p)
	}
}

// Budget adds disruption budgets.
func (c *Cluster) Budget(budgets ...Budget) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.budgets = append(c.budgets, budgets...)
}

// Deny takes a right away, as in "patch nodes".
func (c *Cluster) Deny(right string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denied[right] = true
}

// Boot says whether it is still starting up: then it is not ready and knows no rights.
func (c *Cluster) Boot(starting bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.booting = starting
}

// Freeze makes it accept requests and answer none.
func (c *Cluster) Freeze() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frozen = true
}

// Remove deletes a node.
func (c *Cluster) Remove(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.nodes, node)
}

// Cordon cordons a node, as a person does.
func (c *Cluster) Cordon(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[node]["spec"].(map[string]any)["unschedulable"] = true
}

// Cordoned reports whether a node is.
func (c *Cluster) Cordoned(node string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unschedulable(node)
}

func (c *Cluster) unschedulable(node string) bool {
	on, _ := c.nodes[node]["spec"].(map[string]any)["unschedulable"].(bool)
	return on
}

// Annotations are those of a node.
func (c *Cluster) Annotations(node string) map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, _ := c.nodes[node]["metadata"].(map[string]any)["annotations"].(map[string]any)
	return all
}

// On lists what is on a node, in order of names.
func (c *Cluster) On(node string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, p := range c.pods {
		if p.Node == node {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Given lists the changes that were asked for, granted or not.
func (c *Cluster) Given() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.given)
}

// finish ends a pod some time after it was told to. What its controller creates in its place starts on another node.
func (c *Cluster) finish(p *Pod) {
	p.ending = true
	c.timers = append(c.timers, time.AfterFunc(Ends, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.pods = slices.DeleteFunc(c.pods, func(q *Pod) bool { return q == p })
		if p.Controller == "" || p.Finished {
			return
		}
		c.uids++
		next := &Pod{Namespace: p.Namespace, Name: fmt.Sprintf("%s-%d", p.App, c.uids), App: p.App, Controller: p.Controller, uid: c.uids}
		for name := range c.nodes {
			if !c.unschedulable(name) {
				next.Node = name
			}
		}
		c.pods = append(c.pods, next)
	}))
}
