// Package array serves storage appliances by their vendors' own interfaces: TrueNAS, Synology DSM, NetApp ONTAP, Dell Unity,
// HPE Nimble and Dell EqualLogic.
//
// They have one shape. A node is asked how it is, and told to shut itself down, which writes what it caches; then it falls
// silent, and its silence proves it off. None of them can be started through the interface that shut it down: that is
// up.wake's business.
package array

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/reach"
	"ebbtide/internal/adapter/rest"
	"ebbtide/internal/adapter/script"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// system is one appliance.
type system interface {
	// look asks it how it is. An error of package reach says that it could not be reached.
	look(ctx context.Context) (plan.Observation, error)
	// halt tells it to shut down, unless it is on its way already, and returns when that is accepted.
	halt(ctx context.Context) error
}

// declared is what the spec of each node type can do.
type declared interface {
	// mistakes finds what the decoder can't see.
	mistakes() []error
	// open makes the system, reached over a connection.
	open(via adapter.Conn) (system, error)
	// silence tells when silence is taken for off.
	silence() *Silence
	// hand tells what a person does to it at a place.
	hand(at manual.Endpoint) manual.Procedure
}

// Silence are the keys of every node that say what of its silence counts as off.
type Silence struct {
	// OffWhenUnreachable is how long it must be silent after an accepted stop to count as proven off: no answer at all to
	// a connection, not even a refusal. Each type has its own where it is not given.
	OffWhenUnreachable time.Duration `yaml:"off_when_unreachable" check:"positive" json:"off_when_unreachable,omitempty"`
	// OffWhenRefused lets a refused connection count as silence too. Otherwise it is "unknown": an appliance whose server
	// has ended may still be writing. Right for one behind a gateway that refuses in its place.
	OffWhenRefused bool `yaml:"off_when_refused" json:"off_when_refused,omitempty"`
}

func (s *Silence) silence() *Silence { return s }

// kind is what is of one node type of this package alone.
type kind struct {
	name, doc string
	via       []string
	stop      plan.Times
	start     plan.Times
	off       time.Duration // that silence proves it off, where the runbook does not say
	onlyPower bool          // once shut down, only its power brings it back
}

// of makes the node type whose spec is S.
func of[S any, P interface {
	*S
	declared
}](k kind,
) schema.AnyNodeType {
	return schema.NodeType[S]{
		Traits: schema.Traits{
			Name: k.name, Doc: k.doc, Kind: plan.Other, Risk: plan.Storage, Via: k.via, OnlyPower: k.onlyPower,
			Can: plan.VerbSet(plan.Stop), Times: map[plan.Verb]plan.Times{plan.Stop: k.stop, plan.Start: k.start},
		},
		Check:    func(s *S) []error { return P(s).mistakes() },
		OffAfter: func(s *S) time.Duration { return cmp.Or(P(s).silence().OffWhenUnreachable, k.off) },
		ByHand: func(d *schema.Node, s *S, places func(string) manual.Endpoint) manual.Procedure {
			return P(s).hand(places(d.Via))
		},
	}.Any()
}

func minutes(nominal, within float64) plan.Times {
	return plan.Times{Nominal: time.Duration(nominal * float64(time.Minute)), Within: time.Duration(within * float64(time.Minute))}
}

// Family serves the nodes and connections of this package.
func Family() adapter.Family {
	return adapter.Family{
		Nodes: []schema.AnyNodeType{
			of[TrueNASSpec](kind{
				name: "truenas", doc: "a TrueNAS system, by its API", via: []string{"truenas"},
				stop: minutes(1.5, 8), start: minutes(4, 15), off: time.Minute,
			}),
			of[SynologySpec](kind{
				name: "synology", doc: "a Synology NAS, by the API of DSM", via: []string{"synology"},
				stop: minutes(1.5, 10), start: minutes(4, 15), off: 90 * time.Second,
			}),
			of[ONTAPSpec](kind{
				name: "ontap.cluster", doc: "all nodes of a NetApp ONTAP cluster, halted without takeover, by REST or by its command line",
				via:  []string{"ontap", "ssh"},
				stop: minutes(2, 10), start: minutes(6, 20), off: 90 * time.Second,
			}),
			of[UnitySpec](kind{
				name: "unity", doc: "a Dell Unity array, shut down by a service action", via: []string{"unity"},
				stop: minutes(5, 20), start: minutes(10, 30), off: 3 * time.Minute, onlyPower: true,
			}),
			of[NimbleSpec](kind{
				name: "nimble.group", doc: "all arrays of an HPE Nimble group, halted: only their power brings them back",
				via:  []string{"nimble"},
				stop: minutes(2, 10), start: minutes(8, 20), off: 90 * time.Second, onlyPower: true,
			}),
			of[EqualLogicSpec](kind{
				name: "equallogic.group", doc: "the members of a Dell EqualLogic group, shut down by its command line", via: []string{"ssh"},
				stop: minutes(2, 10), start: minutes(5, 15), off: 2 * time.Minute, onlyPower: true,
			}),
		},
		Connections: []schema.AnyConnectionType{
			connection[TrueNASConn]("truenas", "the API of a TrueNAS system"),
			connection[SynologyConn]("synology", "the API of a Synology DSM"),
			connection[ONTAPConn]("ontap", "the REST API of a NetApp ONTAP cluster"),
			connection[UnityConn]("unity", "the REST API of a Dell Unity"),
			connection[NimbleConn]("nimble", "the REST API of an HPE Nimble group"),
		},
		Connect: connect,
		Open:    open,
	}
}

// dialled is what the spec of each connection type can do.
type dialled interface {
	mistakes() []error
	place() manual.Endpoint
	// dial makes the connection; nothing is sent yet.
	dial(name string, secrets adapter.Secrets) (adapter.Conn, error)
}

func connection[S any, P interface {
	*S
	dialled
}](name, doc string,
) schema.AnyConnectionType {
	return schema.ConnectionType[S]{
		Name: name, Doc: doc,
		Check:    func(s *S) []error { return P(s).mistakes() },
		Endpoint: func(s *S) manual.Endpoint { return P(s).place() },
	}.Any()
}

func connect(d schema.Connection, secrets adapter.Secrets) (adapter.Conn, error) {
	spec := d.Spec.(dialled)
	if err := errors.Join(spec.mistakes()...); err != nil {
		return nil, err
	}
	return spec.dial(d.Name, secrets)
}

func open(d schema.Node, via adapter.Conn, _ func(string) (adapter.Conn, error)) (adapter.Node, error) {
	spec := d.Spec.(declared)
	if err := errors.Join(spec.mistakes()...); err != nil {
		return nil, err
	}
	s, err := spec.open(via)
	if err != nil {
		return nil, err
	}
	return &node{id: d.ID, system: s, refusal: spec.silence().OffWhenRefused}, nil
}

// node is a declared appliance.
type node struct {
	id      string
	system  system
	refusal bool // counts as silence
}

// Probe asks the appliance. One that lets nothing be heard is Unreachable, one that refuses to be asked Unknown.
func (n *node) Probe(ctx context.Context) (plan.Observation, error) {
	return reach.Probe(ctx, n.id, n.refusal, n.system.look)
}

// Do shuts the appliance down. One that took the command and broke off has gone down under it.
func (n *node) Do(ctx context.Context, do adapter.Command) error {
	var err error
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case do.Verb != plan.Stop:
		err = fmt.Errorf("%w: it can only be shut down here; give it up.wake to have it started", adapter.ErrRefused)
	default:
		if err = n.system.halt(ctx); lost(err) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("cannot %s %q: %w", do.Verb, n.id, err)
	}
	return nil
}

// lost reports whether a connection broke under a command.
func lost(err error) bool { return errors.Is(err, rest.ErrLost) || errors.Is(err, script.ErrBroken) }

// client opens the way to an API behind a login with a password.
func client(c rest.Config, ref schema.SecretRef, secrets adapter.Secrets,
	login func(ctx context.Context, client *rest.Client, secret string) (*rest.Session, error),
) (*rest.Client, error) {
	c.Login = func(ctx context.Context, client *rest.Client) (*rest.Session, error) {
		secret, err := password(secrets, ref)
		if err != nil {
			return nil, err
		}
		return login(ctx, client, secret)
	}
	return rest.New(c)
}

// password reads a secret at the moment of use.
func password(secrets adapter.Secrets, ref schema.SecretRef) (string, error) {
	value, err := secrets.Secret(ref)
	if err != nil {
		return "", fmt.Errorf("%w: %w", adapter.ErrRefused, err)
	}
	return value, nil
}

// twoThirds of the time are for the first of two questions.
const twoThirds = 2.0 / 3
