package hyperv

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/powershell"
	"ebbtide/internal/english"
	"ebbtide/internal/plan"
)

// cluster is a hyperv.cluster.
type cluster struct {
	on   powershell.Shell
	name string
}

func (n *cluster) look(ctx context.Context) (running, error) {
	var r running
	err := lookCluster.run(ctx, n.on, wanted{}, &r)
	return r, powershell.Asked(err)
}

// state says what the state of the cluster's service means.
func (r running) state() plan.State {
	switch r.Service {
	case "Running":
		return plan.On
	case "Stopped":
		return plan.Off
	case "StartPending":
		return plan.Starting
	case "StopPending":
		return plan.Stopping
	}
	return plan.Unknown
}

// Probe reports whether the cluster's service runs on the machine that is asked, and how its shared volumes are.
func (n *cluster) Probe(ctx context.Context) (plan.Observation, error) {
	r, err := n.look(ctx)
	if err != nil {
		return plan.Observation{}, fmt.Errorf("cannot probe cluster %q: %w", n.name, err)
	}
	o := plan.Observation{State: r.state(), Detail: fmt.Sprintf("its service is %s, %s not off",
		strings.ToLower(r.Service), english.CountAre(len(r.On), "VM"))}
	if len(r.Volumes) > 0 {
		o.Detail += "; volumes: " + r.volumes()
	}
	var unwell []string
	for _, v := range r.Volumes {
		if !v.well() {
			unwell = append(unwell, v.String())
		}
	}
	o.Caution = strings.Join(unwell, "; ")
	return o, nil
}

// Do stops the cluster on all of its hosts, when none of its VMs is left, or starts it. Its shared volumes go with it.
func (n *cluster) Do(ctx context.Context, do adapter.Command) error {
	if !clusterVerbs.Has(do.Verb) {
		return fmt.Errorf("cannot %s cluster %q: %w: a cluster has no such verb", do.Verb, n.name, adapter.ErrRefused)
	}
	r, err := n.look(ctx)
	state := r.state()
	switch {
	case err != nil:
	case do.Verb == plan.Start && state != plan.On && state != plan.Starting:
		err = startCluster.run(ctx, n.on, wanted{}, nil)
	case do.Verb == plan.Stop && state != plan.Off && state != plan.Stopping:
		if err = r.err("in it"); err == nil {
			err = stopCluster.run(ctx, n.on, wanted{}, nil)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot %s cluster %q: %w", do.Verb, n.name, err)
	}
	return nil
}

// volume is a cluster shared volume.
type volume struct {
	Name        string `json:"name"`
	State       string `json:"state"`
	Host        string `json:"host"`        // that owns it now
	Maintenance bool   `json:"maintenance"` // a person has suspended it
	Redirected  bool   `json:"redirected"`  // its hosts reach it through its owner
}

// well reports whether VMs can run from a volume now, and can again once the cluster has been stopped and started.
func (v volume) well() bool { return v.State == "Online" && !v.Maintenance }

func (v volume) String() string {
	text := fmt.Sprintf("%s %s on %s", v.Name, strings.ToLower(v.State), v.Host)
	if v.Redirected {
		text += ", redirected"
	}
	switch {
	case v.Maintenance:
		text += ", in maintenance until someone resumes it: Resume-ClusterResource"
	case !v.well():
		text += ": nothing on it starts before it is online"
	}
	return text
}

// mostVolumes is how many volumes are told of one by one.
const mostVolumes = 8

// volumes says how the volumes are, those that are not well first.
func (r running) volumes() string {
	list := slices.Clone(r.Volumes)
	slices.SortStableFunc(list, func(a, b volume) int {
		if a.well() != b.well() {
			return map[bool]int{true: 1, false: -1}[a.well()]
		}
		return cmp.Compare(a.Name, b.Name)
	})
	var parts []string
	for _, v := range list[:min(len(list), mostVolumes)] {
		parts = append(parts, v.String())
	}
	if more := len(list) - mostVolumes; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, "; ")
}
