package array

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/rest"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// TrueNASConn are the keys of a connection of type "truenas".
type TrueNASConn struct {
	rest.Server `yaml:",inline"`
	Username    string           `yaml:"username" check:"required" json:"username"` // whose key it is
	APIKey      schema.SecretRef `yaml:"api_key" check:"required" json:"api_key,omitzero"`
	// API is "rest" for releases before 25.04, which have no JSON-RPC; releases from 26 on have nothing else.
	API string `yaml:"api" json:"api,omitempty"`
}

func (c *TrueNASConn) mistakes() []error {
	errs := c.Check()
	if c.API != "" && c.API != "rest" && c.API != "websocket" {
		errs = append(errs, &schema.KeyError{
			Key: "api",
			Err: fmt.Errorf("api %q is neither websocket (25.04 and later) nor rest (earlier)", c.API),
		})
	}
	return errs
}

func (c *TrueNASConn) place() manual.Endpoint { return c.Endpoint(c.Username, c.APIKey) }

func (c *TrueNASConn) dial(name string, secrets adapter.Secrets) (adapter.Conn, error) {
	key := func() (string, error) { return password(secrets, c.APIKey) }
	client, err := rest.New(rest.Config{Name: name, Server: c.Server, Login: bearer(key)})
	if err != nil {
		return nil, err
	}
	if c.API == "rest" {
		return &trueNASRest{client}, nil
	}
	return newTrueNASSocket(client, c.Username, key), nil
}

// TrueNASSpec are the keys of a node of type "truenas".
type TrueNASSpec struct {
	Silence `yaml:",inline"`
	Pools   []string `yaml:"pools" json:"pools,omitempty"` // that must be usable for it to count as healthy
}

func (s *TrueNASSpec) mistakes() []error { return nil }

func (s *TrueNASSpec) open(via adapter.Conn) (system, error) {
	api, err := adapter.Via[trueNASAPI](via, "truenas")
	if err != nil {
		return nil, err
	}
	return &trueNAS{api, s.Pools}, nil
}

func (s *TrueNASSpec) hand(at manual.Endpoint) manual.Procedure {
	h := pages(at, "the power symbol at the top right > Shut Down.",
		"Its power light is dark. Remotely: it does not answer a ping for a minute.",
		"Storage shows every pool as online.")
	h.Do[plan.Stop] = append(h.Do[plan.Stop], manual.Instruction{
		Say:  "Or at its console, from the menu: Shut down. Or in its shell:",
		Type: "midclt call system.shutdown 'mains failure'",
	})
	return h
}

// trueNASAPI is how a TrueNAS is spoken to.
type trueNASAPI interface {
	// ask calls a method that has no parameters and changes nothing.
	ask(ctx context.Context, method string, answer any) error
	// shutdown has it shut down.
	shutdown(ctx context.Context) error
}

// reason is what the appliances' own logs say of a shutdown.
const reason = "mains failure (Ebbtide)"

// trueNAS is one system.
type trueNAS struct {
	api   trueNASAPI
	pools []string
}

// trueNASStates are what system.state may say.
var trueNASStates = map[string]plan.State{"READY": plan.On, "BOOTING": plan.Starting, "SHUTTING_DOWN": plan.Stopping}

func (n *trueNAS) look(ctx context.Context) (plan.Observation, error) {
	var state string
	if err := n.api.ask(ctx, "system.state", &state); err != nil {
		return plan.Observation{}, err
	}
	seen := plan.Observation{State: trueNASStates[state], Detail: "it says " + state}
	if seen.State != plan.On {
		return seen, nil
	}
	var pools []struct{ Name, Status string }
	if err := n.api.ask(ctx, "pool.query", &pools); err != nil {
		return plan.Observation{}, err
	}
	var ill []string
	wanted := slices.Clone(n.pools)
	for _, p := range pools {
		usable := p.Status == "ONLINE" || p.Status == "DEGRADED"
		if p.Status != "ONLINE" {
			ill = append(ill, fmt.Sprintf("pool %s is %s", p.Name, p.Status))
		}
		if usable {
			wanted = slices.DeleteFunc(wanted, func(name string) bool { return name == p.Name })
		}
	}
	if len(wanted) > 0 {
		seen.Healthy = plan.No
		ill = append(ill, "not usable: "+strings.Join(wanted, ", "))
	}
	if len(ill) > 0 {
		seen.Detail += "; " + strings.Join(ill, "; ")
	}
	return seen, nil
}

func (n *trueNAS) halt(ctx context.Context) error {
	var state string
	if err := n.api.ask(ctx, "system.state", &state); err != nil {
		return err
	}
	if trueNASStates[state] == plan.Stopping {
		return nil
	}
	return n.api.shutdown(ctx)
}

// trueNASRest speaks version 2 of the REST API.
type trueNASRest struct{ *rest.Client }

// bearer logs in by a key that each request carries.
func bearer(key func() (string, error)) func(context.Context, *rest.Client) (*rest.Session, error) {
	return func(context.Context, *rest.Client) (*rest.Session, error) {
		value, err := key()
		if err != nil {
			return nil, err
		}
		return &rest.Session{Header: http.Header{"Authorization": {"Bearer " + value}}}, nil
	}
}

func (t *trueNASRest) ask(ctx context.Context, method string, answer any) error {
	path, _ := strings.CutSuffix(strings.ReplaceAll(method, ".", "/"), "/query")
	return t.Do(ctx, rest.Request{Path: "/api/v2.0/" + path, Answer: answer, Asks: true})
}

// shutdown gives a reason, which releases before 24.10 do not take.
func (t *trueNASRest) shutdown(ctx context.Context) error {
	const path = "/api/v2.0/system/shutdown"
	err := t.Do(ctx, rest.Request{Method: http.MethodPost, Path: path, JSON: map[string]any{"reason": reason}})
	if no, ok := errors.AsType[*rest.StatusError](err); ok &&
		(no.Code == http.StatusUnprocessableEntity || no.Code == http.StatusBadRequest) {
		err = t.Do(ctx, rest.Request{Method: http.MethodPost, Path: path, JSON: map[string]any{}})
	}
	return err
}
