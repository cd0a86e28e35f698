package nut

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// ConnSpec are the keys of a connection of type "nut": a UPS at its server, for what is told to others than the UPS.
type ConnSpec struct {
	NUT      string           `yaml:"nut" check:"required" json:"nut"` // ups@host:port
	Username string           `yaml:"username" check:"required" json:"username"`
	Password schema.SecretRef `yaml:"password" check:"required" json:"password,omitzero"`
	TLS      *schema.TLS      `yaml:"tls" json:"tls,omitempty"` // nil: plain text
}

// SecondariesSpec are the keys of a node of type "nut.secondaries".
type SecondariesSpec struct {
	// ClearedBy says what clears the forced-shutdown flag before the machines come back, as they would go down again:
	// "cut", upsd's own machine loses its power with them; "restart", something else restarts upsd.
	ClearedBy string `yaml:"fsd_cleared_by" check:"required" json:"fsd_cleared_by"`
	// Settle is how long after the last logout they count as off; 0: a minute.
	Settle time.Duration `yaml:"settle" check:"positive" json:"settle,omitempty"`
}

// DefaultSettle is how long a machine is given from its upsmon's leave until it counts as off.
const DefaultSettle = time.Minute

// Family serves the machines that go down by NUT's own word. The supplies' outputs are no family's: they are declared
// under supplies.
func Family() adapter.Family {
	return adapter.Family{
		Connections: []schema.AnyConnectionType{schema.ConnectionType[ConnSpec]{
			Name:     "nut",
			Doc:      "a UPS at its NUT server, as a user who may set the forced-shutdown flag",
			Check:    checkConn,
			Endpoint: func(s *ConnSpec) manual.Endpoint { return manual.Endpoint{Address: s.NUT, User: s.Username} },
		}.Any()},
		Nodes: []schema.AnyNodeType{schema.NodeType[SecondariesSpec]{
			Traits: schema.Traits{
				Name: "nut.secondaries",
				Doc:  "the machines whose upsmon is a secondary of a UPS: told to go down by the forced-shutdown flag",
				Kind: plan.Other,
				Via:  []string{"nut"},
				Can:  plan.VerbSet(plan.Stop),
				Times: map[plan.Verb]plan.Times{
					plan.Stop:  {Nominal: 2 * time.Minute, Within: 6 * time.Minute},
					plan.Start: {Nominal: 3 * time.Minute, Within: 15 * time.Minute},
				},
			},
			Check:  checkSecondaries,
			ByHand: secondariesByHand,
		}.Any()},
		Connect: connect,
		Open:    openSecondaries,
	}
}

func checkConn(s *ConnSpec) []error {
	if _, _, err := ParseTarget(s.NUT); err != nil {
		return []error{&schema.KeyError{Key: "nut", Err: err}}
	}
	return nil
}

func checkSecondaries(s *SecondariesSpec) []error {
	if s.ClearedBy == "cut" || s.ClearedBy == "restart" {
		return nil
	}
	return []error{&schema.KeyError{Key: "fsd_cleared_by", Err: errors.New(
		`upsd keeps the forced-shutdown flag until it is restarted, and any machine that logs in meanwhile shuts down again: write cut if its machine loses its power with the supply, restart if something else restarts upsd before the power is back`)}}
}

// conn is a UPS at its server. Nothing is kept open.
type conn struct {
	unit
	closed atomic.Bool
}

func (c *conn) Close() error { c.closed.Store(true); return nil }

func connect(d schema.Connection, secrets adapter.Secrets) (adapter.Conn, error) {
	s := d.Spec.(*ConnSpec)
	ups, address, err := ParseTarget(s.NUT)
	if err != nil {
		return nil, err
	}
	o := Options{Address: address, Username: s.Username, Password: func() (string, error) { return secrets.Secret(s.Password) }}
	if o.TLS, err = Trust(s.TLS); err != nil {
		return nil, err
	}
	return &conn{unit: unit{options: o, ups: ups}}, nil
}

func openSecondaries(d schema.Node, c adapter.Conn, _ func(string) (adapter.Conn, error)) (adapter.Node, error) {
	at, ok := c.(*conn)
	if !ok {
		return nil, fmt.Errorf("connection %q is not a UPS at a NUT server", d.Via)
	}
	settle := d.Spec.(*SecondariesSpec).Settle
	if settle == 0 {
		settle = DefaultSettle
	}
	return &secondaries{unit: at.unit, closed: at.closed.Load, settle: settle}, nil
}

// Trust makes of what a runbook says of TLS how a server is trusted; nil for nil.
func Trust(t *schema.TLS) (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile == "" {
		return config, nil
	}
	pem, err := os.ReadFile(t.CAFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the CA: %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("cannot use the CA: %q holds no certificate in PEM", t.CAFile)
	}
	return config, nil
}

func secondariesByHand(d *schema.Node, _ *SecondariesSpec, places func(string) manual.Endpoint) manual.Procedure {
	at := places(d.Via)
	ups, server, err := ParseTarget(at.Address)
	if err != nil {
		ups, server = at.Address, "its NUT server"
	}
	clients := manual.Instruction{Say: "No machine but the server itself is logged in:", Type: "upsc -c " + schema.Quote(at.Address)}
	back := "Restart upsd on its server before their power returns, or they shut down again:"
	return manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{
			plan.Stop: {
				{Say: "Shut down each machine that this lists, from its own console:", Type: "upsc -c " + schema.Quote(at.Address)},
				{Say: fmt.Sprintf("Not by “upsmon -c fsd”: the primary upsmon then shuts its server (%s) down too, and cuts the UPS under whatever "+
					"still runs on it.", server)},
			},
			plan.Start: {
				{Say: back, Type: "systemctl restart nut-server"},
				{
					Say:  "They start when their power returns. The flag is gone when this no longer says FSD:",
					Type: "upsc " + schema.Quote(ups+"@"+server) + " ups.status",
				},
			},
		},
		Off: []manual.Instruction{clients},
		On:  []manual.Instruction{{Say: "Each is logged in again:", Type: "upsc -c " + schema.Quote(at.Address)}},
	}
}
