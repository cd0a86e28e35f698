package array

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/adapter/reach"
	"ebbtide/internal/adapter/rest"
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/english"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// ONTAPConn are the keys of a connection of type "ontap": the cluster's management address.
type ONTAPConn struct {
	rest.Server  `yaml:",inline"`
	rest.Account `yaml:",inline"`
}

func (c *ONTAPConn) mistakes() []error      { return c.Check() }
func (c *ONTAPConn) place() manual.Endpoint { return c.Endpoint(c.Username, c.Password) }

func (c *ONTAPConn) dial(name string, secrets adapter.Secrets) (adapter.Conn, error) {
	at := rest.Config{Name: name, Server: c.Server}
	client, err := client(at, c.Password, secrets, func(_ context.Context, _ *rest.Client, secret string) (*rest.Session, error) {
		header := http.Header{}
		(&http.Request{Header: header}).SetBasicAuth(c.Username, secret)
		return &rest.Session{Header: header}, nil
	})
	if err != nil {
		return nil, err
	}
	return &ontapConn{client}, nil
}

type ontapConn struct{ *rest.Client }

// ONTAPSpec are the keys of a node of type "ontap.cluster".
type ONTAPSpec struct {
	Silence `yaml:",inline"`
	// Nodes are the management addresses of the cluster's nodes, host or host:port. Each of them must be silent before the
	// cluster counts as off: its own address is that of one node, and goes dark with it while the others still run.
	Nodes []string `yaml:"nodes" check:"required" json:"nodes"`
}

func (s *ONTAPSpec) mistakes() []error {
	var errs []error
	for i, address := range s.Nodes {
		host := address
		if h, _, err := net.SplitHostPort(address); err == nil {
			host = h
		}
		switch {
		case host == "" || strings.ContainsAny(address, " /@"):
			errs = append(errs, &schema.KeyError{Key: "nodes", Err: fmt.Errorf("%q is not an address: write host or host:port", address)})
		case slices.Contains(s.Nodes[:i], address):
			errs = append(errs, &schema.KeyError{Key: "nodes", Err: fmt.Errorf("%q is named twice", address)})
		}
	}
	return errs
}

func (s *ONTAPSpec) open(via adapter.Conn) (system, error) {
	switch conn := via.(type) {
	case *ontapConn:
		return &ontap{ontapREST{conn, addresses(s.Nodes, "443")}, addresses(s.Nodes, "443"), s.OffWhenRefused}, nil
	case *ssh.Conn:
		return &ontap{ontapCLI{conn}, addresses(s.Nodes, "22"), s.OffWhenRefused}, nil
	}
	return nil, errors.New("via must name a connection of type ontap or ssh")
}

// addresses gives each address its port.
func addresses(hosts []string, port string) []string {
	all := make([]string, len(hosts))
	for i, host := range hosts {
		all[i] = host
		if _, _, err := net.SplitHostPort(host); err != nil {
			all[i] = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
	}
	return all
}

func (s *ONTAPSpec) hand(at manual.Endpoint) manual.Procedure {
	at.Address = strings.TrimPrefix(at.Address, "https://")
	if host, port, err := net.SplitHostPort(at.Address); err == nil && port == "443" {
		at.Address = host
	}
	return manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{plan.Stop: {
			typed(at, "From any machine that may log in there, or without the ssh part at the console of a node. Takeover is inhibited, "+
				"or each node would keep the other's storage alive:", haltLine),
			{Say: "Or at the service processor of each node, as the last resort:", Type: "system power off"},
		}},
		Off: []manual.Instruction{{Say: "The console of each node (service processor: system console) shows LOADER>. Remotely: none of " +
			"these answers a ping: " + strings.Join(s.Nodes, ", ")}},
		On: []manual.Instruction{typed(at, "Every node's health is true:", showLine)},
	}
}

// ontapAPI is how a cluster is spoken to.
type ontapAPI interface {
	// nodes lists the nodes and how they are.
	nodes(ctx context.Context) ([]ontapNode, error)
	// halt halts all nodes, without takeover.
	halt(ctx context.Context) error
}

type ontapNode struct {
	UUID  string `json:"uuid"`
	Name  string `json:"name"`
	State string `json:"state"`
}

// ontap is one cluster.
type ontap struct {
	ontapAPI
	addresses []string // of the nodes
	refusal   bool     // counts as silence
}

func (o *ontap) look(ctx context.Context) (plan.Observation, error) {
	part, cancel := reach.Share(ctx, twoThirds)
	nodes, err := o.nodes(part)
	cancel()
	if err != nil {
		return o.silent(ctx, err)
	}
	seen := plan.Observation{State: plan.Unknown}
	var words []string
	for _, n := range nodes {
		words = append(words, n.Name+" is "+n.State)
		switch n.State {
		case "up", "degraded":
			seen.State = plan.On
		case "booting", "waiting_for_giveback":
			if seen.State == plan.Unknown {
				seen.State = plan.Starting
			}
		}
	}
	seen.Detail = strings.Join(words, ", ")
	return seen, nil
}

// silent asks the nodes themselves once the cluster's address lets nothing be heard.
func (o *ontap) silent(ctx context.Context, err error) (plan.Observation, error) {
	none, ok := reach.Seen(err, o.refusal)
	if !ok || none.State != plan.Unreachable || ctx.Err() != nil {
		return plan.Observation{}, err
	}
	part, cancel := reach.Share(ctx, twoThirds)
	defer cancel()
	found := make([]error, len(o.addresses))
	var wg sync.WaitGroup
	for i, address := range o.addresses {
		wg.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(part, "tcp", address)
			if err == nil {
				_ = conn.Close()
				found[i] = reach.New(address, reach.Answering, errors.New("the cluster's address is silent, but this node still answers"))
				return
			}
			found[i] = reach.New(address, reach.Classify(err), err)
		})
	}
	wg.Wait()
	for _, err := range found {
		if seen, _ := reach.Seen(err, o.refusal); seen.State != plan.Unreachable {
			return seen, nil
		}
	}
	none.Detail += "; " + english.CountAre(len(o.addresses), "node") + " silent too"
	return none, nil
}

// ontapREST speaks the REST API, at the cluster's address or at that of a node.
type ontapREST struct {
	*ontapConn
	addresses []string
}

func (o ontapREST) nodes(ctx context.Context) ([]ontapNode, error) { return o.list(ctx, "") }

func (o ontapREST) list(ctx context.Context, base string) ([]ontapNode, error) {
	var got struct {
		Records []ontapNode `json:"records"`
	}
	err := o.Do(ctx, rest.Request{
		Base: base, Path: "/api/cluster/nodes", Query: url.Values{"fields": {"name,state"}},
		Answer: &got, Asks: true,
	})
	if err == nil && len(got.Records) == 0 {
		err = fmt.Errorf("%w: it reports no nodes: check that the account may see /api/cluster/nodes", adapter.ErrRefused)
	}
	return got.Records, err
}

// halt halts each node. With allow_data_outage nothing is handed over to a partner, which would only be the next to go. The
// address that was asked may go dark with the first of them: the others are then told at their own.
func (o ontapREST) halt(ctx context.Context) error {
	bases := []string{""}
	for _, address := range o.addresses {
		bases = append(bases, "https://"+address)
	}
	var nodes []ontapNode
	var err error
	for len(bases) > 0 {
		if nodes, err = o.list(ctx, bases[0]); !errors.Is(err, adapter.ErrUnreachable) || ctx.Err() != nil {
			break
		}
		bases = bases[1:]
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, n := range nodes {
		if n.State == "down" {
			continue
		}
		if err := o.haltNode(ctx, n, bases); err != nil && !lost(err) {
			errs = append(errs, fmt.Errorf("node %s: %w", n.Name, err))
		}
	}
	return errors.Join(errs...)
}

// haltNode halts a node by the first address that is there.
func (o ontapREST) haltNode(ctx context.Context, n ontapNode, bases []string) error {
	var err error
	for _, base := range bases {
		var accepted struct {
			Job struct {
				UUID string `json:"uuid"`
			} `json:"job"`
		}
		err = o.Do(ctx, rest.Request{
			Method: http.MethodPatch, Base: base, Path: "/api/cluster/nodes/" + url.PathEscape(n.UUID),
			JSON: map[string]any{}, Answer: &accepted,
			Query: url.Values{"action": {"shutdown"}, "allow_data_outage": {"true"}, "shutdown_reboot_reason": {reason}},
		})
		if err == nil && accepted.Job.UUID != "" {
			return o.refused(ctx, base, accepted.Job.UUID)
		}
		if !errors.Is(err, adapter.ErrUnreachable) || ctx.Err() != nil {
			break
		}
	}
	return err
}

// refused tells why a job has failed already. One that can't be asked for may have halted the node that knew of it.
func (o ontapREST) refused(ctx context.Context, base, job string) error {
	var got struct {
		State   string `json:"state"`
		Message string `json:"message"`
	}
	err := o.Do(ctx, rest.Request{Base: base, Path: "/api/cluster/jobs/" + url.PathEscape(job), Answer: &got, Asks: true})
	if err == nil && got.State == "failure" {
		return fmt.Errorf("%w: its job failed: %s", adapter.ErrRefused, printable.Text(got.Message, 200))
	}
	return nil
}
