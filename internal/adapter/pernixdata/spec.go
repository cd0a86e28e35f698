// Package pernixdata takes the write acceleration of PernixData FVP away from VMs before their hosts go, and gives it back.
//
// FVP acknowledged a VM's writes when they were on flash or in memory of the host, and of some peers, and wrote them to the
// storage later (destaging). It is history since 2016, and still runs somewhere. It is worked with by the cmdlets of its
// management server (module PrnxCli), through a connection that runs PowerShell there.
package pernixdata

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/powershell"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// ConnSpec are the keys of a connection of type "pernixdata".
type ConnSpec struct {
	// a winrm or ssh connection to a machine that has the module PrnxCli
	Through string `yaml:"through" check:"required,connection"`
	// the FVP management server as that machine knows it; localhost if not given
	Server   string           `yaml:"server"`
	Username string           `yaml:"username" check:"required"` // as Connect-PrnxServer takes it
	Password schema.SecretRef `yaml:"password" check:"required"`
}

// CacheSpec are the keys of a node of type "pernixdata.cache".
type CacheSpec struct {
	Select  Selection `yaml:"select" check:"required"`
	Exclude []string  `yaml:"exclude"` // globs of names
}

// Selection says which of the VMs that FVP knows are meant.
type Selection struct {
	Name string `yaml:"name"` // a glob, of * and ? alone
	All  bool   `yaml:"all"`
}

var verbs = plan.VerbSet(plan.Protect, plan.Flush, plan.Unprotect)

// Family is FVP's part of the runbook language.
func Family() adapter.Family {
	return adapter.Family{
		Connections: []schema.AnyConnectionType{schema.ConnectionType[ConnSpec]{
			Name: "pernixdata", Doc: "a PernixData FVP management server, through a Windows machine that has its cmdlets",
			Endpoint: func(s *ConnSpec) manual.Endpoint { return manual.Endpoint{Address: s.server(), User: s.Username} },
		}.Any()},
		Nodes: []schema.AnyNodeType{schema.NodeType[CacheSpec]{
			Traits: schema.Traits{
				Name: "pernixdata.cache", Doc: "PernixData FVP's write acceleration of VMs: write-through, proven destaged, back with each " +
					"VM's peers",
				Kind: plan.Other, Risk: plan.Storage, Via: []string{"pernixdata"}, Can: verbs,
				Times: map[plan.Verb]plan.Times{
					plan.Protect:   {Nominal: 15 * time.Second, Within: 3 * time.Minute},
					plan.Flush:     {Nominal: time.Minute, Within: 15 * time.Minute}, // what is dirty, at the pace of the storage
					plan.Unprotect: {Nominal: 15 * time.Second, Within: 5 * time.Minute},
				},
			},
			Check: (*CacheSpec).mistakes, ByHand: byHand,
		}.Any()},
		Connect: adapter.Connecting(func(name string, spec *ConnSpec, secrets adapter.Secrets) (*conn, error) {
			return &conn{name: name, spec: *spec, secrets: secrets}, nil
		}),
		Open: open,
	}
}

func (s *ConnSpec) server() string { return cmp.Or(s.Server, "localhost") }

// glob is what of VMs' names is selected.
func (s *CacheSpec) glob() string { return cmp.Or(s.Select.Name, "*") }

// mistakes finds what the decoder can't see. The globs are looked at by PowerShell, whose brackets and escapes are not ours.
func (s *CacheSpec) mistakes() []error {
	var errs []error
	if s.Select == (Selection{}) {
		errs = append(errs, schema.Mistake("select", "select is empty: give a name, or all: true"))
	}
	for key, globs := range map[string][]string{"select": {s.Select.Name}, "exclude": s.Exclude} {
		for _, glob := range globs {
			if strings.ContainsAny(glob, "[]\\`") {
				errs = append(errs, schema.Mistake(key,
					"glob %q has brackets or an escape: here only * (any characters) and ? (one) stand for others", glob))
			}
		}
	}
	return errs
}

// conn is a connection to one management server.
type conn struct {
	name    string
	spec    ConnSpec
	secrets adapter.Secrets
	closed  atomic.Bool
}

// Close ends it. The connection that it goes through is closed by itself.
func (c *conn) Close() error {
	c.closed.Store(true)
	return nil
}

func open(d schema.Node, via adapter.Conn, others func(string) (adapter.Conn, error)) (adapter.Node, error) {
	c, err := adapter.Via[*conn](via, "pernixdata")
	if err != nil {
		return nil, err
	}
	other, err := others(c.spec.Through)
	if err != nil {
		return nil, fmt.Errorf("cannot reach FVP through %q: %w", c.spec.Through, err)
	}
	on, ok := other.(powershell.Shell)
	if !ok {
		return nil, fmt.Errorf("cannot reach FVP through %q: it is not a connection of type winrm or ssh", c.spec.Through)
	}
	spec := d.Spec.(*CacheSpec)
	if err := errors.Join(spec.mistakes()...); err != nil {
		return nil, err
	}
	return &cache{id: d.ID, conn: c, on: on, spec: spec}, nil
}
