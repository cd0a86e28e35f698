package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
)

// guest is a proxmox.guest, or a member of a proxmox.guests.
type guest struct {
	conn  *conn
	name  string
	vmid  int // 0: known by its name
	grace int

	mu    sync.Mutex
	at    *resource // where it was last; nil: not known
	given order     // the last one
}

// order is a command under way: a task.
type order struct {
	task upid // "": none
	verb plan.Verb
}

func (g *guest) String() string {
	if g.vmid > 0 {
		return fmt.Sprintf("guest %d", g.vmid)
	}
	return fmt.Sprintf("guest %q", g.name)
}

// resource is a guest as the cluster's list has it. Its state there is up to ten seconds old.
type resource struct {
	ID       string `json:"id"`
	Type     string `json:"type"` // qemu, lxc
	Node     string `json:"node"`
	VMID     int    `json:"vmid"`
	Name     string `json:"name"`
	Status   string `json:"status"`
	Pool     string `json:"pool"`
	Tags     string `json:"tags"` // between semicolons
	Template int    `json:"template"`
}

func (r *resource) path() string {
	return "/nodes" + seg(r.Node) + "/" + r.Type + "/" + strconv.Itoa(r.VMID)
}

// all lists the guests that the token may see.
func (c *conn) all(ctx context.Context) ([]resource, error) {
	var found, list []resource
	if err := c.get(ctx, "/cluster/resources?type=vm", &list); err != nil {
		return nil, err
	}
	for _, r := range list {
		if r.Type == "qemu" || r.Type == "lxc" {
			found = append(found, r)
		}
	}
	return found, nil
}

// find looks for the guest in the whole cluster.
func (g *guest) find(ctx context.Context) (*resource, error) {
	list, err := g.conn.all(ctx)
	if err != nil {
		return nil, err
	}
	var found []resource
	for _, r := range list {
		if g.vmid > 0 && r.VMID == g.vmid || g.vmid == 0 && r.Name == g.name {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 1:
		return &found[0], nil
	case 0:
		return nil, fmt.Errorf("%w: no such guest is visible to the token %s: check the name, and VM.Audit on /vms",
			adapter.ErrGone, g.conn.spec.Token)
	default:
		return nil, fmt.Errorf("%w: %d guests have this name: give the vmid of the one that is meant", adapter.ErrRefused, len(found))
	}
}

// sight is a guest's state.
type sight struct {
	resource

	Status string `json:"status"`
	QMP    string `json:"qmpstatus"`
	Lock   string `json:"lock"`
	HA     struct {
		Managed int    `json:"managed"`
		State   string `json:"state"`
	} `json:"ha"`
}

// look asks the guest's own node for its state, and follows a guest that has moved.
func (g *guest) look(ctx context.Context) (*sight, error) {
	g.mu.Lock()
	at := g.at
	g.mu.Unlock()
	for fresh := false; ; fresh = true {
		if at == nil {
			var err error
			if at, err = g.find(ctx); err != nil {
				return nil, err
			}
			fresh = true
		}
		s := &sight{}
		err := g.conn.get(ctx, at.path()+"/status/current", s)
		if err != nil && !fresh && (errors.Is(err, adapter.ErrGone) || errors.Is(err, adapter.ErrUnreachable)) {
			at = nil // it may be elsewhere now
			continue
		}
		if err != nil {
			return nil, err
		}
		s.resource = *at
		g.mu.Lock()
		g.at = at
		g.mu.Unlock()
		return s, nil
	}
}

// Probe tells the guest's state, with what holds it and how its last command failed as detail.
func (g *guest) Probe(ctx context.Context) (plan.Observation, error) {
	s, err := g.look(ctx)
	switch {
	case errors.Is(err, adapter.ErrGone):
		return plan.Observation{State: plan.Gone, Detail: "no longer in the cluster"}, nil
	case err != nil:
		return plan.Observation{}, fmt.Errorf("cannot probe %s: %w", g, err)
	}
	o := s.observation()
	if failed := g.followUp(ctx, o.State); failed != "" {
		o.Detail += "; " + failed
	}
	return o, nil
}

// observation says what a state means.
func (s *sight) observation() plan.Observation {
	var o plan.Observation
	switch s.Status {
	case "running":
		o = plan.Observation{State: plan.On, Detail: "running"}
		if s.QMP != "" && s.QMP != "running" {
			o.Detail = s.QMP
		}
		if s.QMP == "paused" {
			o.Caution = `it is paused and cannot shut down: run "qm resume" on it`
		}
	case "stopped":
		o = plan.Observation{State: plan.Off, Detail: "stopped"}
	default:
		o = plan.Observation{State: plan.Unknown, Detail: "Proxmox says " + s.Status}
	}
	o.Detail += " on " + s.Node
	if s.Lock != "" {
		o.Detail += ", locked (" + s.Lock + ")"
	}
	if s.HA.Managed == 1 {
		o.Detail += ", under HA (" + s.HA.State + ")"
	}
	return o
}

// holds reports whether a guest is where a verb leads.
func (s *sight) holds(v plan.Verb) bool {
	if v == plan.Start {
		return s.Status == "running"
	}
	return s.Status == "stopped"
}

// followUp tells how the last command failed, if the guest is not where that was to lead: Proxmox accepts a command and
// tells only its task what was wrong.
func (g *guest) followUp(ctx context.Context, state plan.State) string {
	g.mu.Lock()
	given := g.given
	g.mu.Unlock()
	if given.task == "" || (given.verb == plan.Start) == (state == plan.On) {
		return ""
	}
	if _, err := g.conn.failure(ctx, given.task); err != nil {
		return fmt.Sprintf("%s failed: %v", given.verb, err)
	}
	return ""
}

// Do asks the guest to shut down, powers it off, or starts it. HA does it in its own way for a guest that it manages.
func (g *guest) Do(ctx context.Context, do adapter.Command) error {
	if !guestVerbs.Has(do.Verb) {
		return fmt.Errorf("cannot %s %s: %w: a guest has no such verb", do.Verb, g, adapter.ErrRefused)
	}
	s, err := g.look(ctx)
	if err == nil && !s.holds(do.Verb) {
		err = g.give(ctx, s, do.Verb)
		if errors.Is(err, adapter.ErrRefused) || errors.Is(err, adapter.ErrBusy) {
			if now, lookErr := g.look(ctx); lookErr == nil && now.holds(do.Verb) {
				err = nil // it has got there meanwhile
			}
		}
	}
	if err != nil {
		return fmt.Errorf("cannot %s %s: %w", do.Verb, g, err)
	}
	return nil
}

// give sends the command for a verb.
func (g *guest) give(ctx context.Context, s *sight, v plan.Verb) error {
	g.mu.Lock()
	last := g.given
	g.mu.Unlock()
	under := false
	if last.task != "" {
		over, _ := g.conn.failure(ctx, last.task)
		under = !over
	}
	var task upid
	var err error
	switch {
	case v == plan.Start && s.Template == 1:
		return fmt.Errorf("%w: it is a template", adapter.ErrRefused)
	case v == plan.Stop && under && last.verb == plan.Stop:
		return nil // a second task would only wait for the first
	case v == plan.Stop:
		task, err = g.post(ctx, s, "shutdown", url.Values{"timeout": {strconv.Itoa(g.grace)}})
	case v == plan.Start:
		task, err = g.post(ctx, s, "start", url.Values{})
	default:
		// A shutdown that waits holds the guest: the stop takes its place.
		task, err = g.post(ctx, s, "stop", url.Values{"overrule-shutdown": {"1"}})
		var no *refusal
		if errors.As(err, &no) && no.status == http.StatusBadRequest { // before Proxmox VE 8.1 it can't; ours we can end
			if under {
				if err := g.conn.call(ctx, http.MethodDelete, last.task.path(), nil, nil); err != nil {
					return err
				}
			}
			task, err = g.post(ctx, s, "stop", url.Values{})
		}
	}
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.given = order{task: task, verb: v}
	g.mu.Unlock()
	return nil
}

func (g *guest) post(ctx context.Context, s *sight, what string, form url.Values) (upid, error) {
	var task upid
	err := g.conn.call(ctx, http.MethodPost, s.path()+"/status/"+what, form, &task)
	return task, err
}
