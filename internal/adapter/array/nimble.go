package array

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/rest"
	"ebbtide/internal/english"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
)

// nimblePort is where NimbleOS offers its API.
const nimblePort = "5392"

// NimbleConn are the keys of a connection of type "nimble": the management address of a group.
type NimbleConn struct {
	rest.Server  `yaml:",inline"`
	rest.Account `yaml:",inline"`
}

func (c *NimbleConn) mistakes() []error      { return c.Check() }
func (c *NimbleConn) place() manual.Endpoint { return c.Endpoint(c.Username, c.Password) }

func (c *NimbleConn) dial(name string, secrets adapter.Secrets) (adapter.Conn, error) {
	at := rest.Config{Name: name, Server: c.Server, Port: nimblePort}
	client, err := client(at, c.Password, secrets, func(ctx context.Context, client *rest.Client, secret string) (*rest.Session, error) {
		var in enveloped[struct {
			Token string `json:"session_token"`
		}]
		login := enveloped[map[string]string]{map[string]string{"username": c.Username, "password": secret}}
		if _, err := client.Send(ctx, rest.Request{
			Method: http.MethodPost, Path: "/v1/tokens", JSON: login, Answer: &in,
			Asks: true,
		}); err != nil {
			return nil, err
		}
		return &rest.Session{Header: http.Header{"X-Auth-Token": {in.Data.Token}}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &nimble{client}, nil
}

// NimbleSpec are the keys of a node of type "nimble.group".
type NimbleSpec struct {
	Silence `yaml:",inline"`
}

func (s *NimbleSpec) mistakes() []error { return nil }

func (s *NimbleSpec) open(via adapter.Conn) (system, error) {
	c, err := adapter.Via[*nimble](via, "nimble")
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (s *NimbleSpec) hand(at manual.Endpoint) manual.Procedure {
	h := pages(at, "Administration > Shutdown. All arrays of the group; it asks for the password.",
		"The lights of its controllers are out. Remotely: its pages do not open for two minutes.", "its arrays are shown as reachable.")
	h.Do[plan.Stop] = append(h.Do[plan.Stop], manual.Instruction{Say: "Only its power brings it back: note that its plugs must be " +
		"pulled and put back, or its outlets switched."})
	h.Do[plan.Start] = []manual.Instruction{{Say: "Pull its plugs, wait 10 seconds, and put them back, or switch its outlets off and " +
		"on: a halted array has no other way to start."}}
	return h
}

// enveloped is how NimbleOS wraps everything.
type enveloped[T any] struct {
	Data T `json:"data"`
}

// nimble speaks version 1 of the REST API of NimbleOS.
type nimble struct{ *rest.Client }

func (n *nimble) look(ctx context.Context) (plan.Observation, error) {
	var arrays enveloped[[]struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	}]
	err := n.Do(ctx, rest.Request{Path: "/v1/arrays", Query: url.Values{"fields": {"name,status"}}, Answer: &arrays, Asks: true})
	if err != nil {
		return plan.Observation{}, err
	}
	seen := plan.Observation{State: plan.On, Detail: "the group answers; " + english.Count(len(arrays.Data), "array")}
	for _, a := range arrays.Data {
		if a.Status != "" && a.Status != "reachable" {
			seen.Detail += fmt.Sprintf("; %s is %s", a.Name, a.Status)
		}
	}
	return seen, nil
}

// halt halts all arrays of the group, also if one of them does not answer.
func (n *nimble) halt(ctx context.Context) error {
	var groups enveloped[[]struct {
		ID string `json:"id"`
	}]
	if err := n.Do(ctx, rest.Request{Path: "/v1/groups", Answer: &groups, Asks: true}); err != nil {
		return err
	}
	if len(groups.Data) != 1 {
		return fmt.Errorf("%w: it reports %d groups instead of one: check that the account may see it", adapter.ErrRefused, len(groups.Data))
	}
	return n.Do(ctx, rest.Request{
		Method: http.MethodPost, Path: "/v1/groups/" + url.PathEscape(groups.Data[0].ID) + "/actions/halt",
		JSON: enveloped[map[string]bool]{map[string]bool{"force": true}},
	})
}
