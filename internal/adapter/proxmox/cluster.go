package proxmox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/english"
	"ebbtide/internal/plan"
)

// Ceph's flags. noout keeps the data where it is when storage daemons go; the others keep those that are left from
// copying it about on battery.
var (
	usualFlags = []string{"nobackfill", "noout", "norebalance", "norecover"}
	knownFlags = []string{"nobackfill", "nodeep-scrub", "noin", "noout", "norebalance", "norecover", "noscrub", "notieragent", "noup"}
)

func (s *ClusterSpec) ha() bool { return s.HA == nil || *s.HA }

func (s *ClusterSpec) flags() []string {
	if !s.Ceph {
		return nil
	}
	if len(s.Flags) == 0 {
		return usualFlags
	}
	return slices.Sorted(slices.Values(s.Flags))
}

// cluster is a proxmox.cluster.
type cluster struct {
	conn  *conn
	ha    bool
	flags []string // those to set

	mu      sync.Mutex
	lacking time.Time // since when the cluster was to be put back and OSDs were missing; zero: none were
}

// What Ceph is waited for: some disk may never start again after its power was cut, and noout keeps its OSD "in" for ever.
// Where all data can be read without it, that is for short; where not, as long as a node with many disks may take to boot.
// Then recovery is what Ceph needs.
const (
	lackWhileActive = 3 * time.Minute
	lackAtMost      = 15 * time.Minute
)

// ignored is the state of an HA resource that HA leaves alone: commands go to the guest itself.
const ignored = "ignored"

// condition is how the cluster is set, as far as it is this node's business.
type condition struct {
	flags map[string]bool   // by flag
	ha    map[string]string // the state that is asked for, by HA resource: vm:100 → started
}

func (n *cluster) look(ctx context.Context) (*condition, error) {
	c := &condition{flags: map[string]bool{}, ha: map[string]string{}}
	if len(n.flags) > 0 {
		var list []struct {
			Name  string `json:"name"`
			Value truth  `json:"value"`
		}
		if err := n.conn.get(ctx, "/cluster/ceph/flags", &list); err != nil {
			return nil, fmt.Errorf("cannot read Ceph's flags: %w", err)
		}
		for _, f := range list {
			if slices.Contains(n.flags, f.Name) {
				c.flags[f.Name] = bool(f.Value)
			}
		}
	}
	if n.ha {
		var list []struct {
			SID   string `json:"sid"`
			State string `json:"state"`
		}
		if err := n.conn.get(ctx, "/cluster/ha/resources", &list); err != nil {
			return nil, fmt.Errorf("cannot read the HA resources: %w", err)
		}
		for _, r := range list {
			if r.State == "" || r.State == "enabled" { // what Proxmox takes for started
				r.State = "started"
			}
			c.ha[r.SID] = r.State
		}
	}
	return c, nil
}

// truth is a boolean as Perl writes it.
type truth bool

// UnmarshalJSON reads 1, "1" and true.
func (t *truth) UnmarshalJSON(b []byte) error {
	s := strings.Trim(string(b), `"`)
	*t = s == "1" || s == "true"
	return nil
}

// Probe reports whether all is suspended, and how it was set otherwise.
func (n *cluster) Probe(ctx context.Context) (plan.Observation, error) {
	c, err := n.look(ctx)
	if err != nil {
		return plan.Observation{}, fmt.Errorf("cannot probe the cluster: %w", err)
	}
	var missing, armed []string
	for _, f := range n.flags {
		if !c.flags[f] {
			missing = append(missing, f)
		}
	}
	for sid, state := range c.ha {
		if state != ignored {
			armed = append(armed, sid)
		}
	}
	o := plan.Observation{State: plan.On, Protected: plan.FactOf(len(missing)+len(armed) == 0)}
	if n.ha {
		o.Detail = fmt.Sprintf("HA looks after %d of %d resources", len(armed), len(c.ha))
	}
	if len(n.flags) > 0 {
		o.Detail = strings.TrimPrefix(fmt.Sprintf("%s; Ceph lacks %d of %d flags", o.Detail, len(missing), len(n.flags)), "; ")
	}
	if len(n.flags) == 0 && len(c.ha) == 0 { // a cluster without HA resources has nothing to suspend
		o.Protected = plan.Yes
	}
	if o.Protected == plan.No {
		o.Settings = n.settings(c)
	}
	return o, nil
}

// settings writes down what Protect is about to change: "unset=noout,… started=vm:100,ct:101 stopped=vm:102".
func (n *cluster) settings(c *condition) string {
	by := map[string][]string{}
	for _, f := range n.flags {
		if !c.flags[f] {
			by["unset"] = append(by["unset"], f)
		}
	}
	for sid, state := range c.ha {
		if state != ignored {
			by[state] = append(by[state], sid)
		}
	}
	var parts []string
	for key, what := range by {
		slices.Sort(what)
		parts = append(parts, key+"="+strings.Join(what, ","))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// Do suspends HA and Ceph, or puts them back as the settings say. Where nothing is known of them, all that was suspended
// is taken to have been in force: HA that starts one guest too many is better than none.
func (n *cluster) Do(ctx context.Context, do adapter.Command) error {
	if !clusterVerbs.Has(do.Verb) {
		return fmt.Errorf("cannot %s the cluster: %w: it can only be suspended and put back", do.Verb, adapter.ErrRefused)
	}
	c, err := n.look(ctx)
	if err != nil {
		return fmt.Errorf("cannot %s the cluster: %w", do.Verb, err)
	}
	flags, states := map[string]bool{}, map[string]string{}
	if do.Verb == plan.Protect {
		n.waitsFor(false, time.Time{}, 0) // another wait begins then
		for _, f := range n.flags {
			flags[f] = true
		}
		for sid := range c.ha {
			states[sid] = ignored
		}
	} else {
		flags, states = n.before(c, do.Settings)
		if len(flags) > 0 {
			if err := n.osdsUp(ctx); err != nil {
				return fmt.Errorf("cannot %s the cluster: %w", do.Verb, err)
			}
		}
	}
	if err := errors.Join(n.setFlags(ctx, c, flags), n.setHA(ctx, c, states)); err != nil {
		return fmt.Errorf("cannot %s the cluster: %w", do.Verb, err)
	}
	n.waitsFor(false, time.Time{}, 0)
	return nil
}

// osdsUp is an error while Ceph's storage daemons that hold data are not all up, and may yet come: without its flags Ceph
// would begin to copy what the missing ones hold, and HA start guests whose disks can't be read (docs.ceph.com:
// num_up_osds and num_in_osds of the status; a placement group that is not active serves nobody).
func (n *cluster) osdsUp(ctx context.Context) error {
	type osdmap struct {
		Up int `json:"num_up_osds"`
		In int `json:"num_in_osds"`
	}
	var status struct {
		OSDs struct {
			osdmap
			Inner osdmap `json:"osdmap"` // of Ceph before Octopus
		} `json:"osdmap"`
		PGs struct {
			Number int `json:"num_pgs"`
			States []struct {
				Name  string `json:"state_name"` // "active+undersized+degraded"
				Count int    `json:"count"`
			} `json:"pgs_by_state"`
		} `json:"pgmap"`
	}
	if err := n.conn.get(ctx, "/cluster/ceph/status", &status); err != nil {
		return fmt.Errorf("cannot read Ceph's status: %w", err)
	}
	up, in := max(status.OSDs.Up, status.OSDs.Inner.Up), max(status.OSDs.In, status.OSDs.Inner.In)
	active := 0
	for _, s := range status.PGs.States {
		is := strings.Split(s.Name, "+")
		if slices.Contains(is, "active") && !slices.Contains(is, "stale") { // a stale one was active when last heard of
			active += s.Count
		}
	}
	patience := lackAtMost
	if status.PGs.Number > 0 && active == status.PGs.Number {
		patience = lackWhileActive
	}
	if left := n.waitsFor(in == 0 || up < in, time.Now(), patience); left > 0 {
		return fmt.Errorf("%w: %d of Ceph's %d OSDs are up, %d of %d placement groups are active: HA and Ceph's flags are put back when all are, "+
			"or in %s", adapter.ErrBusy, up, in, active, status.PGs.Number, english.Span(left.Truncate(time.Second)))
	}
	return nil
}

// waitsFor tells for how much longer OSDs are waited for that lack; 0: no longer.
func (n *cluster) waitsFor(lacks bool, now time.Time, patience time.Duration) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case !lacks:
		n.lacking = time.Time{}
		return 0
	case n.lacking.IsZero():
		n.lacking = now
	}
	return max(0, patience-now.Sub(n.lacking))
}

// before reads settings. What the cluster has no longer is left out.
func (n *cluster) before(c *condition, settings string) (flags map[string]bool, states map[string]string) {
	flags, states = map[string]bool{}, map[string]string{}
	if settings == "" {
		for _, f := range n.flags {
			flags[f] = false
		}
		for sid, state := range c.ha {
			if state == ignored {
				states[sid] = "started"
			}
		}
		return flags, states
	}
	for part := range strings.FieldsSeq(settings) {
		key, list, _ := strings.Cut(part, "=")
		for what := range strings.SplitSeq(list, ",") {
			if _, there := c.ha[what]; there {
				states[what] = key
			} else if key == "unset" && slices.Contains(n.flags, what) {
				flags[what] = false
			}
		}
	}
	return flags, states
}

// setFlags sets those flags that are not so yet, in one call.
func (n *cluster) setFlags(ctx context.Context, c *condition, want map[string]bool) error {
	form := url.Values{}
	for f, on := range want {
		if c.flags[f] != on {
			form.Set(f, map[bool]string{true: "1", false: "0"}[on])
		}
	}
	if len(form) == 0 {
		return nil
	}
	if err := n.conn.call(ctx, http.MethodPut, "/cluster/ceph/flags", form, nil); err != nil {
		return fmt.Errorf("cannot set Ceph's flags: %w", err)
	}
	return nil
}

// setHA sets those states that are not so yet. One that fails does not keep the others.
func (n *cluster) setHA(ctx context.Context, c *condition, want map[string]string) error {
	var errs []error
	for _, sid := range slices.Sorted(maps.Keys(want)) {
		if c.ha[sid] == want[sid] {
			continue
		}
		if err := n.conn.call(ctx, http.MethodPut, "/cluster/ha/resources"+seg(sid), url.Values{"state": {want[sid]}}, nil); err != nil {
			errs = append(errs, fmt.Errorf("cannot set the HA resource %s to %s: %w", sid, want[sid], err))
		}
	}
	return errors.Join(errs...)
}

var _ adapter.HAWatcher = (*conn)(nil)

// HAClusters reports whether HA keeps anything running.
func (c *conn) HAClusters(ctx context.Context) ([]adapter.HACluster, error) {
	now, err := (&cluster{conn: c, ha: true}).look(ctx)
	if err != nil {
		return nil, err
	}
	for _, state := range now.ha {
		if state == "started" {
			return []adapter.HACluster{{Type: "proxmox.cluster"}}, nil
		}
	}
	return nil, nil
}
