package vsphere

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
)

// clusterNode is a vsphere.cluster. To protect it means that vCenter does nothing there by itself any more: HA would
// start elsewhere what goes down with a host, DRS would move VMs off hosts that are to be emptied, and vCLS VMs come back
// as often as they are shut down.
type clusterNode struct {
	conn *Conn
	name string

	mu     sync.Mutex
	wanted *goal     // what the last command is to bring about, until it is seen; nil: nothing
	task   ref       // of the last reconfiguration
	asked  time.Time // when that was last looked at
	err    error     // how it failed
}

// goal is what a cluster is to become.
type goal struct {
	features
	back bool // it is what it had before
}

// cluster is what is known of a cluster.
type cluster struct {
	ref ref
	features
	vsan bool
}

// errVSAN says why a cluster, or a host of one, is left alone.
var errVSAN = fmt.Errorf("%w: it keeps its data in vSAN, which Ebbtide does not shut down: let Ebbtide stop the VMs, and shut down the cluster by hand "+
	"with vCenter's own Shut down cluster (docs/systems/vsphere.md)", adapter.ErrRefused)

// find looks the cluster up in what the watch knows.
func (n *clusterNode) find() (ref, error) {
	inv := n.conn.inventory
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if inv.agent {
		return ref{}, fmt.Errorf("%w: a host knows no clusters: give via a vCenter", adapter.ErrRefused)
	}
	var found []ref
	for r, name := range inv.tables.clusters {
		if name == n.name {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return ref{}, fmt.Errorf("%w: no cluster of this name is visible to %q: check the name, and that the account may see it",
			adapter.ErrGone, n.conn.spec.Username)
	default:
		return ref{}, fmt.Errorf("%w: vCenter has %d clusters of this name", adapter.ErrRefused, len(found))
	}
}

// read asks for the cluster's configuration anew.
func (n *clusterNode) read(ctx context.Context) (cluster, error) {
	r, err := n.find()
	if err != nil {
		return cluster{}, err
	}
	objects, err := n.conn.read(ctx, types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: r}},
		PropSet:   []types.PropertySpec{{Type: r.Type, PathSet: []string{"configurationEx"}}},
	})
	if err != nil {
		return cluster{}, err
	}
	for _, o := range objects {
		for _, p := range o.PropSet {
			if info, ok := p.Val.(clusterConfig); ok {
				c := clusterOf(r, &info)
				return c, n.conn.readAgents(ctx, &c, &info)
			}
		}
	}
	return cluster{}, fmt.Errorf("%w: its configuration may not be read by %q", adapter.ErrRefused, n.conn.spec.Username)
}

// clusterOf reads a configuration but for the vCLS VMs.
func clusterOf(r ref, info *clusterConfig) cluster {
	c := cluster{ref: r}
	c.ha = info.DasConfig.Enabled
	if info.DrsConfig.Enabled {
		c.drs = info.DrsConfig.DefaultVMBehavior
		if c.drs == "" {
			c.drs = types.DrsBehaviorFullyAutomated // its default
		}
	}
	c.levels = info.DrsConfig.EnableVMBehaviorOverrides == nil || *info.DrsConfig.EnableVMBehaviorOverrides
	c.dpm = info.DpmConfigInfo.Enabled
	c.vsan = info.VsanConfigInfo.Enabled
	return c
}

// readAgents reads what becomes of the vCLS VMs, wherever this vCenter says it.
func (c *Conn) readAgents(ctx context.Context, of *cluster, info *clusterConfig) error {
	return explainRead(c.do(ctx, func(ctx context.Context, s *session) error {
		switch s.agentsBy() {
		case nowhere:
			of.agents = noAgents
		case byCluster:
			of.agents = agentsOn
			if info.SystemVMsConfig.DeploymentMode == string(types.ClusterSystemVMsConfigInfoDeploymentModeABSENT) {
				of.agents = retreat
			}
		case bySetting:
			of.agents = agentsOn
			res, err := methods.QueryOptions(ctx, s.Client, &types.QueryOptions{This: *s.ServiceContent.Setting, Name: agentsKey(of.ref)})
			if err != nil && !isKind(err, &types.InvalidName{}) { // that it was never set
				return err
			}
			if err == nil && len(res.Returnval) > 0 && res.Returnval[0] != nil &&
				strings.EqualFold(fmt.Sprint(res.Returnval[0].GetOptionValue().Value), "false") {
				of.agents = retreat
			}
		}
		return nil
	}))
}

// agentsWay is where a vCenter is told what becomes of the vCLS VMs.
type agentsWay uint8

const (
	nowhere   agentsWay = iota // it has none
	bySetting                  // an advanced setting of vCenter
	byCluster                  // the cluster's configuration
)

func (s *session) agentsBy() agentsWay {
	api := parseRelease(s.ServiceContent.About.ApiVersion)
	switch {
	case slices.Compare(api, withMode) >= 0:
		return byCluster
	case slices.Compare(api, withAgents) >= 0 && s.ServiceContent.Setting != nil:
		return bySetting
	default:
		return nowhere
	}
}

// agentsKey is made from the reference and never from a text: a malformed key has crashed vCenters.
func agentsKey(cluster ref) string { return "config.vcls.clusters." + cluster.Value + ".enabled" }

// Probe tells what vCenter does by itself in the cluster.
func (n *clusterNode) Probe(ctx context.Context) (plan.Observation, error) {
	c, err := n.now(ctx)
	if err != nil {
		return plan.Observation{}, fmt.Errorf("cannot probe cluster %q: %w", n.name, err)
	}
	o := plan.Observation{State: plan.On, Protected: plan.FactOf(c.quiet()), Detail: c.String()}
	if c.vsan {
		o.Caution = "vSAN: Ebbtide does not shut this cluster's hosts down: see docs/systems/vsphere.md"
		o.Detail += "; vSAN: Ebbtide does not shut this cluster's hosts down"
	}
	missing, back := n.followUp(ctx, c.features)
	if missing != "" {
		o.Detail += "; " + missing
	}
	if back {
		o.Protected = plan.Yes // as long as only a part of it is back
	}
	if o.Protected == plan.No {
		o.Settings = c.String()
	}
	return o, nil
}

// now reads the cluster once the watch is there.
func (n *clusterNode) now(ctx context.Context) (c cluster, err error) {
	if err = n.conn.settle(ctx, false); err == nil {
		c, err = n.read(ctx)
	}
	return c, err
}

// followUp says what is still missing of what the last command is to bring about, "" if nothing, and whether that is
// what the cluster had before. vCenter accepts a reconfiguration and tells only its task what was wrong.
func (n *clusterNode) followUp(ctx context.Context, is features) (missing string, back bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.wanted == nil || n.wanted.features == is {
		n.wanted = nil
		return "", false
	}
	if n.err == nil && n.task != (ref{}) && time.Since(n.asked) > n.conn.pace.retry {
		n.asked = time.Now()
		n.err = n.conn.failure(ctx, n.task)
	}
	text := "on its way to " + n.wanted.String()
	if n.err != nil {
		text += ", but vCenter could not: " + oneLine(n.err)
	}
	return text, n.wanted.back
}

// Do quiets the cluster, or puts back what it had before.
func (n *clusterNode) Do(ctx context.Context, do adapter.Command) error {
	if do.Verb != plan.Protect && do.Verb != plan.Unprotect {
		return fmt.Errorf("cannot %s cluster %q: %w: its features can only be suspended and put back", do.Verb, n.name, adapter.ErrRefused)
	}
	c, err := n.now(ctx)
	if err == nil {
		err = n.turn(ctx, do, &c)
	}
	if err != nil {
		return fmt.Errorf("cannot %s cluster %q: %w", do.Verb, n.name, err)
	}
	return nil
}

func (n *clusterNode) turn(ctx context.Context, do adapter.Command, c *cluster) error {
	to := goal{features: c.quieted()}
	switch {
	case do.Verb == plan.Unprotect:
		before, err := c.before(do.Settings)
		if err != nil {
			return err
		}
		to = goal{before, true}
	case c.vsan:
		return errVSAN
	}
	n.mu.Lock()
	n.wanted, n.task, n.err = &to, ref{}, nil
	n.mu.Unlock()
	return n.set(ctx, c, to.features)
}

// before is what a cluster had, as it was noted, or else what is usual.
func (c *cluster) before(noted string) (features, error) {
	if noted == "" {
		return c.usual(), nil
	}
	f, err := parseFeatures(noted)
	if err != nil {
		return f, fmt.Errorf("%w: %w: set HA, DRS and vCLS by hand", adapter.ErrRefused, err)
	}
	if (f.agents == noAgents) != (c.agents == noAgents) {
		f.agents = c.agents // vCenter is another one since
	}
	return f, nil
}

// set makes the cluster have what to has, in at most two calls.
func (n *clusterNode) set(ctx context.Context, c *cluster, to features) error {
	if c.features == to {
		return nil
	}
	var task ref
	err := n.conn.do(ctx, func(ctx context.Context, s *session) error {
		way := s.agentsBy()
		if way == bySetting && c.agents != to.agents {
			_, err := methods.UpdateOptions(ctx, s.Client,
				&types.UpdateOptions{This: *s.ServiceContent.Setting, ChangedValue: []types.BaseOptionValue{
					&types.OptionValue{Key: agentsKey(c.ref), Value: fmt.Sprint(to.agents == agentsOn)},
				}})
			if err != nil {
				return err
			}
			c.agents = to.agents
		}
		if c.features == to {
			return nil
		}
		res, err := methods.ReconfigureComputeResource_Task(ctx, s.Client, &types.ReconfigureComputeResource_Task{
			This: c.ref, Spec: c.spec(to, way == byCluster), Modify: true,
		})
		if err == nil {
			task = res.Returnval
		}
		return err
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	n.task, n.asked = task, time.Now()
	return explain(err)
}
