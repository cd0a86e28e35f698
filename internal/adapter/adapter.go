// Package adapter is the port to the estate. One package per family of systems lies below it; each passes the
// contract suite in contracttest.
package adapter

import (
	"context"
	"errors"
	"strings"

	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// Node is one thing of the estate as its adapter reaches it. Its methods may be called at the same time and end with
// their context.
type Node interface {
	// Probe asks what state the node is in, really. An error means that no answer was had; a node that is known not
	// to answer at all is an Observation with State Unreachable.
	Probe(ctx context.Context) (plan.Observation, error)
	// Do carries out one command and returns when the system has accepted it, not when it is done: a probe proves that.
	// It is safe to repeat. A verb that already holds (a stop of what is off) is no error, as far as the system can
	// still be asked. Errors wrap one of the sentinels below where they apply.
	Do(ctx context.Context, do Command) error
}

// Command is what a node is told to do.
type Command struct {
	Verb plan.Verb
	// Settings is what Unprotect is to put back: the Settings that a probe saw before Protect, as the journal has them; "" if nothing is
	// known of it: then Unprotect sets what is usual for the system. It came from a system: it is checked before it is used.
	Settings string
}

// Sentinels that the runner turns into outcomes. Wrap them with what was being done to what, why, and what to do next.
// An error of Do that wraps none of them, a context error for one, means that nobody knows whether it was done.
var (
	// ErrUnreachable: the system could not be asked. The command was not given.
	ErrUnreachable = errors.New("unreachable")
	// ErrRefused: the system was asked and said no; repeating it will not help (bad credentials, no such verb, Tools missing).
	ErrRefused = errors.New("refused")
	// ErrBusy: the system said not now (a task is running); repeating it may help.
	ErrBusy = errors.New("busy")
	// ErrGone: the node no longer exists.
	ErrGone = errors.New("gone")
)

// As gives an error the meaning of one of the sentinels, and no other one's: errors.Is finds that, and what else it wraps.
func As(err, meaning error) error { return sorted{err, meaning} }

// Plain is an error for people, without the sentinel that may end it, where the sentence around it says that already.
func Plain(err error) string {
	text := err.Error()
	for _, kind := range []error{ErrUnreachable, ErrRefused, ErrBusy, ErrGone} {
		text = strings.TrimSuffix(text, ": "+kind.Error())
	}
	return text
}

type sorted struct {
	error
	meaning error
}

// Is finds the meaning, and what the error wraps, other meanings apart.
func (s sorted) Is(target error) bool {
	switch target {
	case ErrUnreachable, ErrRefused, ErrBusy, ErrGone:
		return target == s.meaning
	}
	return errors.Is(s.error, target)
}

// As finds what the error wraps by its type.
func (s sorted) As(target any) bool { return errors.As(s.error, target) }

// Watcher is a Node that can tell of changes by itself, so that nobody has to poll it.
type Watcher interface {
	// Watch calls seen with each new observation, from whatever goroutine, until ctx ends. An error before that says that the watch broke:
	// the runner polls, and watches again after a pause.
	Watch(ctx context.Context, seen func(plan.Observation)) error
}

// Selector is a Node that stands for many: a "*.vms" node.
type Selector interface {
	// Members lists what the selector covers now, in no particular order. An error means that no answer was had: none covered is an empty
	// list without one.
	Members(ctx context.Context) ([]plan.Member, error)
	// Member gives the node of one member, found earlier or before a restart, by its ID. It asks nobody: an error says that the ID can't
	// be one of its system's; what exists no more is told by the node, with ErrGone or State Gone.
	Member(id string) (Node, error)
}

// Family is what one adapter package offers: its part of the runbook language and how to open it.
type Family struct {
	Connections []schema.AnyConnectionType // the types of connections that it declares, if any
	Nodes       []schema.AnyNodeType       // and of nodes
	// Open makes the node that d declares, and does not dial. conn is the opened connection that d names by via, or nil. others gives
	// any other declared connection by its name. An error says what in the declaration can't be: it stops the daemon at its start.
	Open func(d schema.Node, conn Conn, others func(name string) (Conn, error)) (Node, error)
	// List makes what lists what runs on the system that nodes of this family are reached through, where conn is a
	// connection of another family that can't know that. Nil: its connections are Listers themselves, or nothing can list it.
	List func(conn Conn) Lister
	// Connect makes a connection from its declaration. It does not dial: a system that is down now must not keep the
	// daemon from starting. An error says what in the declaration can't be, or which secret could not be had. Nil if the family has no
	// connection types.
	Connect func(d schema.Connection, secrets Secrets) (Conn, error)
}

// Conn is an opened connection, shared by the nodes that name it.
type Conn interface {
	// Close ends it. Nodes made from it answer ErrUnreachable afterwards. An error says what could not be ended on the other side, a
	// session for one; there is nothing to be done about it.
	Close() error
}

// Pacer is a Conn that knows how many calls of its nodes may be under way at once: 1 or more.
type Pacer interface{ Concurrency() int }

// Lister lists what runs on a system, so that what no node covers is seen. It is a Conn, or Family.List makes it of one.
type Lister interface {
	// Everything lists what is on, whether a node covers it or not, but for what its system looks after itself and what
	// can't be worked with. An error means that the list is not known: never a part of it.
	Everything(ctx context.Context) ([]schema.Running, error)
}

// Finder is a Lister that knows what the firmware of its VMs says.
type Finder interface {
	// Find tells the ID, as Everything gives it, of what runs there and whose firmware has a UUID (SMBIOS; see SameFirmware);
	// "" if nothing does. An error means that no answer was had.
	Find(ctx context.Context, firmware string) (id string, err error)
}

// SelfHosted is a Lister whose system may itself run in one of its own VMs, as a vCenter does.
type SelfHosted interface {
	// Own tells the IDs, as Everything gives them, of the VMs that the system runs in; none if that can't be seen. An error means that no
	// answer was had.
	Own(ctx context.Context) (ids []string, err error)
}

// HAWatcher is a Lister whose system starts again by itself what goes down: high availability.
type HAWatcher interface {
	// HAClusters tells where it does so now. An error means that no answer was had.
	HAClusters(ctx context.Context) ([]HACluster, error)
}

// HACluster is a cluster in which high availability is on, and what puts that off.
type HACluster struct {
	Cluster string // its name in its system; "": there is only one
	Type    string // of the node: "vsphere.cluster"
}

// Waker is a Conn that can power on the machine it belongs to: a BMC.
type Waker interface {
	// PowerOn returns when the command is accepted. A machine that is on is no error. Errors are those of Node.Do.
	PowerOn(ctx context.Context) error
}

// Powered is a Conn that belongs to one machine and knows and controls its power, whatever runs on it: a BMC.
type Powered interface {
	Waker
	// Power reports whether the machine has power: On, Off, Starting, Stopping, or Unknown where that can't be told. An
	// error means that no answer was had.
	Power(ctx context.Context) (plan.Observation, error)
	// PowerOff powers the machine off without asking it, and returns when the command is accepted. A machine that is off
	// is no error. Errors are those of Node.Do.
	PowerOff(ctx context.Context) error
}

// PDU is a Conn that switches outlets, by the numbers that are printed on it.
type PDU interface {
	// Outlet reports whether an outlet is on: On, Off, Starting, Stopping, or Unknown. An error means that no answer was had.
	Outlet(ctx context.Context, outlet int) (plan.Observation, error)
	// Switch turns an outlet on or off and returns when the command is accepted. An outlet that is so already is no error.
	// Errors are those of Node.Do.
	Switch(ctx context.Context, outlet int, on bool) error
}

// Secrets resolves references to secrets at the moment of use. A value never reaches a log, record or error.
type Secrets interface {
	// Secret gives the value that ref points to, without a trailing newline. An error names the reference and why nothing was had from it.
	Secret(ref schema.SecretRef) (string, error)
}

// Schema gathers the part of the runbook language that families give.
func Schema(families []Family) schema.Types {
	var s schema.Types
	for _, f := range families {
		s.Connections = append(s.Connections, f.Connections...)
		s.Nodes = append(s.Nodes, f.Nodes...)
	}
	return s
}
