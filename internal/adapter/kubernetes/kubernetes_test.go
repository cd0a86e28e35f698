package kubernetes_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/kubernetes"
	"ebbtide/internal/adapter/kubernetes/kubetest"
	"ebbtide/internal/adapter/rest"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// planted is the token of all clusters: it must not be seen anywhere.
const planted = "eyJhbGciOiJSUzI1NiIsImtpZCI6InBsYW50ZWQifQ"

type vault string

func (v vault) Secret(schema.SecretRef) (string, error) {
	if v == "" {
		return "", errors.New("no such secret")
	}
	return string(v), nil
}

// opened opens the node worker1 of a cluster.
func opened(t *testing.T, c *kubetest.Cluster, secrets adapter.Secrets) (adapter.Node, adapter.Conn) {
	t.Helper()
	f := kubernetes.Family()
	conn, err := f.Connect(schema.Connection{Name: "kube", Type: "kubernetes", Spec: &kubernetes.ConnSpec{
		Server: rest.Server{URL: c.URL, Thumbprint: c.Thumbprint()}, Token: schema.SecretRef{Credential: "kube"},
	}}, secrets)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	n, err := f.Open(schema.Node{
		ID: "w1", Type: "kubernetes.node", Via: "kube",
		Spec: &kubernetes.NodeSpec{Node: "worker1"},
	}, conn, nil)
	require.NoError(t, err)
	return n, conn
}

func start(t *testing.T, nodes ...string) *kubetest.Cluster {
	t.Helper()
	c := kubetest.Start(planted, nodes...)
	t.Cleanup(c.Close)
	return c
}

func web(name string) kubetest.Pod {
	return kubetest.Pod{Namespace: "shop", Name: name, Node: "worker1", App: "web", Controller: "ReplicaSet"}
}

func protected(seen plan.Observation) bool { return seen.Protected == plan.Yes }

func TestContract(t *testing.T) {
	for name, cordoned := range map[string]bool{"schedulable": false, "cordoned by a person": true} {
		t.Run(name, func(t *testing.T) {
			contracttest.Run(t, contracttest.Subject{
				Make: func(t *testing.T) *contracttest.Thing {
					c := start(t, "worker1", "worker2")
					c.Run(web("web-a"), web("web-b"))
					if cordoned {
						c.Cordon("worker1")
					}
					n, conn := opened(t, c, vault(planted))
					return &contracttest.Thing{
						Node: n, Can: plan.VerbSet(plan.Protect, plan.Unprotect),
						Truth:   func() plan.State { return plan.On },
						Vanish:  func() { c.Remove("worker1") },
						Silence: c.Close, Freeze: c.Freeze, Close: conn.Close,
					}
				},
				Secrets: []string{planted},
			})
		})
	}
}

// A drain leaves what kubectl drain leaves: the kubelet's own pods, those of DaemonSets and what has finished; and, since
// nothing would bring it back, what has no controller.
func TestWhatADrainTakes(t *testing.T) {
	c := start(t, "worker1", "worker2")
	c.Run(
		web("web-a"),
		kubetest.Pod{Namespace: "db", Name: "db-0", Node: "worker1", App: "db", Controller: "StatefulSet"},
		kubetest.Pod{Namespace: "kube-system", Name: "proxy", Node: "worker1", Controller: "DaemonSet"},
		kubetest.Pod{Namespace: "kube-system", Name: "etcd", Node: "worker1", Mirror: true},
		kubetest.Pod{Namespace: "jobs", Name: "done", Node: "worker1", App: "done", Controller: "Job", Finished: true},
		kubetest.Pod{Namespace: "me", Name: "naked", Node: "worker1"},
		kubetest.Pod{Namespace: "shop", Name: "elsewhere", Node: "worker2", App: "web", Controller: "ReplicaSet"},
	)
	n, _ := opened(t, c, vault(planted))
	seen := contracttest.Probe(t, n)
	require.Equal(t, plan.Observation{
		State: plan.On, Protected: plan.No, Settings: "schedulable",
		Detail: "schedulable; pods left: 2 (0 terminating): shop/web-a, db/db-0; not evicted, because no controller would recreate them: me/naked",
	}, seen)
	require.NoError(t, contracttest.Do(t, n, plan.Protect))
	seen = contracttest.Until(t, n, "drained", protected)
	require.Empty(t, seen.Settings)
	require.Equal(t, []string{"done", "etcd", "naked", "proxy"}, c.On("worker1"))
	require.Equal(t, []string{"patch worker1 unschedulable=true", "evict web-a", "evict db-0"}, c.Given())
	require.Equal(t, map[string]any{"ebbtide/before": "schedulable"}, c.Annotations("worker1"))

	require.NoError(t, contracttest.Do(t, n, plan.Unprotect))
	require.False(t, c.Cordoned("worker1"))
	require.Empty(t, c.Annotations("worker1"))
	require.NoError(t, contracttest.Do(t, n, plan.Unprotect))
	require.Len(t, c.Given(), 4, "nothing is put back twice")
}

// What is known of before comes with Unprotect, and from the node itself if nothing came.
func TestACordonOfSomebodyElsesStays(t *testing.T) {
	for _, settings := range []string{"", "cordoned"} {
		c := start(t, "worker1", "worker2")
		c.Run(web("web-a"))
		c.Cordon("worker1")
		n, _ := opened(t, c, vault(planted))
		require.Equal(t, "cordoned", contracttest.Probe(t, n).Settings)
		require.NoError(t, contracttest.Do(t, n, plan.Protect))
		contracttest.Until(t, n, "drained", protected)
		require.Empty(t, c.On("worker1"), "it is drained all the same")
		require.NoError(t, n.Do(contracttest.Within(t, 10*time.Second), adapter.Command{Verb: plan.Unprotect, Settings: settings}))
		require.True(t, c.Cordoned("worker1"))
		require.Equal(t, plan.No, contracttest.Probe(t, n).Protected)
	}
}

// A budget's "not now" is busy, so that the eviction is given again; what it lets go meanwhile goes.
func TestABudgetIsAskedAgain(t *testing.T) {
	c := start(t, "worker1", "worker2")
	c.Run(web("web-a"), web("web-b"))
	c.Budget(kubetest.Budget{Name: "web-pdb", App: "web", Min: 1})
	n, _ := opened(t, c, vault(planted))
	err := contracttest.Do(t, n, plan.Protect)
	require.ErrorIs(t, err, adapter.ErrBusy)
	require.ErrorContains(t, err, "shop/web-b is held: The disruption budget web-pdb needs 1 healthy pods and has 1 currently")
	seen := contracttest.Until(t, n, "its pods moved", func(plan.Observation) bool { return len(c.On("worker2")) == 1 })
	require.Equal(t, plan.NotKnown, seen.Protected)
	require.Equal(t, "schedulable", seen.Settings, "what it was before it was cordoned, not what it is")
	require.Contains(t, seen.Detail, "pods left: 1 (0 terminating): shop/web-b; shop/web-b is held: The disruption budget web-pdb")
	require.NoError(t, contracttest.Do(t, n, plan.Protect), "its other pod runs elsewhere now")
	contracttest.Until(t, n, "drained", protected)
	require.Empty(t, c.On("worker1"))
}

// Where no other node is left a budget never gives in. That is said, and the rest is gone.
func TestABudgetThatNeverGivesIn(t *testing.T) {
	c := start(t, "worker1")
	c.Run(web("web-a"), kubetest.Pod{Namespace: "db", Name: "db-0", Node: "worker1", App: "db", Controller: "StatefulSet"})
	c.Budget(kubetest.Budget{Name: "db-a", App: "db", Min: 1}, kubetest.Budget{Name: "db-b", App: "db", Min: 0})
	n, _ := opened(t, c, vault(planted))
	for range 3 {
		require.ErrorIs(t, contracttest.Do(t, n, plan.Protect), adapter.ErrBusy)
	}
	contracttest.Until(t, n, "its pods moved", func(plan.Observation) bool { return slices.Equal(c.On("worker1"), []string{"db-0"}) })
	seen := contracttest.Probe(t, n)
	require.Equal(t, plan.NotKnown, seen.Protected)
	require.Contains(t, seen.Detail, "db/db-0 is held: This pod has more than one PodDisruptionBudget")
}

func TestAllPagesOfALargeNodeAreRead(t *testing.T) {
	c := start(t, "worker1")
	for i := range 250 {
		c.Run(web(fmt.Sprintf("web-%03d", i)))
	}
	n, _ := opened(t, c, vault(planted))
	require.Contains(t, contracttest.Probe(t, n).Detail,
		"pods left: 250 (0 terminating): shop/web-000, shop/web-001, shop/web-002, shop/web-003, shop/web-004 and 245 more")
}

func TestRefusalsSayWhatToGrant(t *testing.T) {
	for right, says := range map[string]string{
		"get nodes": `cannot get resource "nodes"`, "patch nodes": `cannot patch resource "nodes"`,
		"list pods": `cannot list resource "pods"`, "create pods/eviction": `cannot create resource "pods/eviction"`,
	} {
		c := start(t, "worker1")
		c.Run(web("web-a"))
		c.Deny(right)
		n, _ := opened(t, c, vault(planted))
		err := contracttest.Do(t, n, plan.Protect)
		require.ErrorIs(t, err, adapter.ErrRefused, right)
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, "give its service account the ClusterRole of docs/systems/kubernetes.md")
	}
	c := start(t, "worker1")
	n, _ := opened(t, c, vault("expired"))
	_, err := n.Probe(contracttest.Within(t, 10*time.Second))
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "the token may have expired")
	n, _ = opened(t, c, vault(""))
	_, err = n.Probe(contracttest.Within(t, 10*time.Second))
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, `cannot read the token of connection "kube"`)
}

// An API server that has just started refuses rights that it does not know yet: that is no refusal.
func TestAServerThatStartsIsBusy(t *testing.T) {
	c := start(t, "worker1")
	before, _ := opened(t, c, vault(planted))
	require.NoError(t, contracttest.Do(t, before, plan.Protect))
	c.Boot(true)
	fresh, _ := opened(t, c, vault(planted))
	for _, n := range []adapter.Node{before, fresh} {
		require.ErrorIs(t, contracttest.Do(t, n, plan.Unprotect), adapter.ErrBusy)
	}
	c.Boot(false)
	require.NoError(t, contracttest.Do(t, fresh, plan.Unprotect))
	require.False(t, c.Cordoned("worker1"))
}

func TestCheck(t *testing.T) {
	f := kubernetes.Family()
	for name, wrong := range map[string]bool{
		"": false, "worker1": false, "ip-10-0-0-1.eu-central-1.compute.internal": false,
		"Worker1": true, "a/b": true, "worker1,": true,
	} {
		require.Equal(t, wrong, len(f.Nodes[0].Check(&kubernetes.NodeSpec{Node: name})) > 0, name)
	}
	require.NotEmpty(t, f.Connections[0].Check(&kubernetes.ConnSpec{Server: rest.Server{URL: "http://10.0.0.1:6443"}}))
}
