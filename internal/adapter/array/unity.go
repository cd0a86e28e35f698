package array

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/rest"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
)

// UnityConn are the keys of a connection of type "unity".
type UnityConn struct {
	rest.Server  `yaml:",inline"`
	rest.Account `yaml:",inline"`
}

func (c *UnityConn) mistakes() []error      { return c.Check() }
func (c *UnityConn) place() manual.Endpoint { return c.Endpoint(c.Username, c.Password) }

func (c *UnityConn) dial(name string, secrets adapter.Secrets) (adapter.Conn, error) {
	at := rest.Config{Name: name, Server: c.Server}
	client, err := client(at, c.Password, secrets, func(ctx context.Context, client *rest.Client, secret string) (*rest.Session, error) {
		return unityLogin(ctx, client, c.Username, secret)
	})
	if err != nil {
		return nil, err
	}
	return &unity{client}, nil
}

// UnitySpec are the keys of a node of type "unity".
type UnitySpec struct {
	Silence `yaml:",inline"`
}

func (s *UnitySpec) mistakes() []error { return nil }

func (s *UnitySpec) open(via adapter.Conn) (system, error) {
	c, err := adapter.Via[*unity](via, "unity")
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (s *UnitySpec) hand(at manual.Endpoint) manual.Procedure {
	return pages(at, "Service > Service Tasks > Storage System > Shut Down System > Execute (it asks for the service password).",
		"The lights of both storage processors are out, or only their standby lights are lit. Remotely: its pages do not open for five minutes.",
		"System View shows the system's health as OK.")
}

// unity speaks the Unisphere Management REST API.
type unity struct{ *rest.Client }

// unityLogin asks for the session itself: its answer has the cookie and the token without which nothing may be changed.
func unityLogin(ctx context.Context, c *rest.Client, user, secret string) (*rest.Session, error) {
	header := http.Header{
		"X-Emc-Rest-Client": {"true"},
		"Authorization":     {"Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+secret))},
	}
	got, err := c.Send(ctx, rest.Request{Path: "/api/types/loginSessionInfo/instances", Header: header, Asks: true})
	if err != nil {
		return nil, err
	}
	if token := got.Get("Emc-Csrf-Token"); token != "" {
		header["Emc-Csrf-Token"] = []string{token}
	}
	var cookies []string
	for _, cookie := range (&http.Response{Header: got}).Cookies() {
		cookies = append(cookies, cookie.Name+"="+cookie.Value)
	}
	if len(cookies) > 0 {
		header["Cookie"] = []string{strings.Join(cookies, "; ")}
	}
	return &rest.Session{Header: header}, nil
}

func (u *unity) look(ctx context.Context) (plan.Observation, error) {
	var systems struct {
		Entries []struct {
			Content struct {
				Name   string `json:"name"`
				Health struct {
					Descriptions []string `json:"descriptions"`
				} `json:"health"`
			} `json:"content"`
		} `json:"entries"`
	}
	err := u.Do(ctx, rest.Request{
		Path: "/api/types/system/instances", Query: url.Values{"fields": {"name,health"}},
		Answer: &systems, Asks: true,
	})
	if err != nil {
		return plan.Observation{}, err
	}
	if len(systems.Entries) == 0 {
		return plan.Observation{}, fmt.Errorf("%w: it reports no system: check that the account may see it", adapter.ErrRefused)
	}
	is := systems.Entries[0].Content
	return plan.Observation{State: plan.On, Detail: strings.TrimSpace(is.Name + " answers; " + strings.Join(is.Health.Descriptions, "; "))},
		nil
}

func (u *unity) halt(ctx context.Context) error {
	return u.Do(ctx, rest.Request{
		Method: http.MethodPost, Path: "/api/instances/serviceAction/shutdownSystem/action/execute",
		Query: url.Values{"timeout": {"0"}}, JSON: map[string]any{}, // 0: it goes on by itself
	})
}
