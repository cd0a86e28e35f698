package array

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/rest"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
)

// synologyPort is where DSM listens for HTTPS unless told otherwise.
const synologyPort = "5001"

// SynologyConn are the keys of a connection of type "synology".
type SynologyConn struct {
	rest.Server  `yaml:",inline"`
	rest.Account `yaml:",inline"`
}

func (c *SynologyConn) mistakes() []error      { return c.Check() }
func (c *SynologyConn) place() manual.Endpoint { return c.Endpoint(c.Username, c.Password) }

func (c *SynologyConn) dial(name string, secrets adapter.Secrets) (adapter.Conn, error) {
	at := rest.Config{Name: name, Server: c.Server, Port: synologyPort}
	client, err := client(at, c.Password, secrets, func(ctx context.Context, client *rest.Client, secret string) (*rest.Session, error) {
		return dsmLogin(ctx, client, c.Username, secret)
	})
	if err != nil {
		return nil, err
	}
	return &synology{client}, nil
}

// SynologySpec are the keys of a node of type "synology".
type SynologySpec struct {
	Silence `yaml:",inline"`
}

func (s *SynologySpec) mistakes() []error { return nil }

func (s *SynologySpec) open(via adapter.Conn) (system, error) {
	c, err := adapter.Via[*synology](via, "synology")
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (s *SynologySpec) hand(at manual.Endpoint) manual.Procedure {
	h := pages(at, "the user icon at the top right > Shutdown.",
		"Its power light is dark. Remotely: it does not answer a ping for two minutes.", "Storage Manager shows its volumes as normal.")
	h.Do[plan.Stop] = append(h.Do[plan.Stop], manual.Instruction{Say: "Or hold its power button until it beeps once, and let go."})
	return h
}

// synology speaks DSM's web API: forms to one path, and answers that say no with a success of HTTP. SYNO.API.Auth is
// documented (DSM Login Web API Guide); SYNO.Core.System is what DSM's own pages use.
type synology struct{ *rest.Client }

// dsm is the envelope of every answer.
type dsm[T any] struct {
	Success bool `json:"success"`
	Data    T    `json:"data"`
	Error   struct {
		Code int `json:"code"`
	} `json:"error"`
}

// dsmPath is where all of the APIs are asked.
const dsmPath = "/webapi/entry.cgi"

func dsmForm(api, version, method string, more url.Values) url.Values {
	form := url.Values{"api": {api}, "version": {version}, "method": {method}}
	maps.Copy(form, more)
	return form
}

func dsmLogin(ctx context.Context, c *rest.Client, user, secret string) (*rest.Session, error) {
	var in dsm[struct {
		SID   string `json:"sid"`
		Token string `json:"synotoken"`
	}]
	form := dsmForm("SYNO.API.Auth", "6", "login",
		url.Values{"account": {user}, "passwd": {secret}, "format": {"sid"}, "enable_syno_token": {"yes"}})
	_, err := c.Send(ctx, rest.Request{Method: http.MethodPost, Path: dsmPath, Form: form, Answer: &in, Asks: true, Judge: func() error {
		if in.Success {
			return nil
		}
		return fmt.Errorf("%w: %q: %s", rest.ErrDenied, user, dsmLogins[in.Error.Code].or(in.Error.Code))
	}})
	if err != nil {
		return nil, err
	}
	s := &rest.Session{Form: url.Values{"_sid": {in.Data.SID}}}
	if in.Data.Token != "" {
		s.Header = http.Header{"X-Syno-Token": {in.Data.Token}}
	}
	return s, nil
}

// meaning is what a number of DSM says.
type meaning string

func (m meaning) or(code int) string {
	if m == "" {
		return fmt.Sprintf("error %d", code)
	}
	return string(m)
}

// dsmLogins are the errors of SYNO.API.Auth.
var dsmLogins = map[int]meaning{
	400: "no such account, or a wrong password",
	401: "the account is disabled",
	402: "the account may not log in",
	403: "the account needs a second factor: use one that has none",
	406: "DSM demands a second factor of it: exempt this account",
	407: "DSM has blocked this machine's address: unblock it under Security > Protection, and allow it for good",
	408: "its password has expired", 409: "its password has expired", 410: "its password must be changed",
}

// dsmErrors are the errors that all APIs have in common.
var dsmErrors = map[int]error{
	102: fmt.Errorf("%w: DSM has no such API: check its version", adapter.ErrRefused),
	103: fmt.Errorf("%w: DSM has no such method: check its version", adapter.ErrRefused),
	104: fmt.Errorf("%w: DSM has no such version of the API: check its version", adapter.ErrRefused),
	105: fmt.Errorf("%w: the account lacks a right: it must be in the group administrators", adapter.ErrRefused),
	106: fmt.Errorf("%w: it was idle too long", rest.ErrEnded),
	107: fmt.Errorf("%w: another login has replaced it", rest.ErrEnded),
	119: fmt.Errorf("%w: DSM no longer knows it", rest.ErrEnded),
	150: fmt.Errorf("%w: this machine's address has changed", rest.ErrEnded),
}

// call calls a method of SYNO.Core.System.
func (s *synology) call(ctx context.Context, method string, asks bool, answer *dsm[dsmSystem]) error {
	return s.Do(ctx, rest.Request{
		Method: http.MethodPost, Path: dsmPath, Form: dsmForm("SYNO.Core.System", "1", method, nil), Answer: answer, Asks: asks,
		Judge: func() error {
			if answer.Success {
				return nil
			}
			if err, ok := dsmErrors[answer.Error.Code]; ok {
				return fmt.Errorf("SYNO.Core.System %s: %w", method, err)
			}
			return fmt.Errorf("%w: SYNO.Core.System %s answers error %d", adapter.ErrRefused, method, answer.Error.Code)
		},
	})
}

// dsmSystem is a part of what SYNO.Core.System tells.
type dsmSystem struct {
	Model   string `json:"model"`
	Version string `json:"firmware_ver"`
}

func (s *synology) look(ctx context.Context) (plan.Observation, error) {
	var info dsm[dsmSystem]
	if err := s.call(ctx, "info", true, &info); err != nil {
		return plan.Observation{}, err
	}
	return plan.Observation{State: plan.On, Detail: fmt.Sprintf("%s, %s", info.Data.Model, info.Data.Version)}, nil
}

func (s *synology) halt(ctx context.Context) error {
	var done dsm[dsmSystem]
	return s.call(ctx, "shutdown", false, &done)
}
