package ssh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/process"
	"ebbtide/internal/adapter/reach"
	"ebbtide/internal/adapter/script"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// node is a node that is driven by commands on the host of its connection.
type node struct {
	script.Node
	conn           *Conn
	offWhenRefused bool
}

func open(d schema.Node, via adapter.Conn, _ func(string) (adapter.Conn, error)) (adapter.Node, error) {
	c, err := adapter.Via[*Conn](via, "ssh")
	if err != nil {
		return nil, err
	}
	spec := d.Spec.(*NodeSpec)
	n := &node{
		Node: script.Node{ID: d.ID, Spec: spec.Spec, Run: c.Run, Look: c.look},
		conn: c, offWhenRefused: spec.OffWhenRefused,
	}
	if !spec.Stdin.IsZero() {
		n.Stdin = func() (string, error) { return c.secrets.Secret(spec.Stdin) }
	}
	return n, nil
}

// Probe runs the probe command, or without one logs in.
func (n *node) Probe(ctx context.Context) (plan.Observation, error) {
	seen, err := n.Node.Probe(ctx)
	if err == nil || ctx.Err() != nil {
		return seen, err
	}
	if none, ok := reach.Seen(err, n.offWhenRefused); ok {
		return none, nil
	}
	return seen, err
}

// look reports whether the host can be logged in to.
func (c *Conn) look(ctx context.Context) (plan.Observation, error) {
	release, err := c.take(ctx)
	if err != nil {
		return plan.Observation{}, err
	}
	defer release()
	s, err := c.session(ctx)
	if err != nil {
		return plan.Observation{}, err
	}
	_ = s.Close() // with the session goes nothing that matters
	return plan.Observation{State: plan.On, Detail: "it can be logged in to"}, nil
}

// Run runs a command on the host, with stdin as its standard input, and gives what it left: an exit status that is not 0
// is no error. Of each output the first process.MaxOutput bytes are kept. A list of arguments reaches the program as it
// is; see NodeSpec.
//
// An error says that the command did not come to its end: it wraps adapter.ErrUnreachable if the host could not be asked
// and the command was not given, adapter.ErrBusy if there was no session for it, adapter.ErrRefused if the host does not
// let us in or runs no commands, script.ErrBroken if the connection broke off while it ran, and the context's cause if the
// time was up: then nobody knows what became of it.
func (c *Conn) Run(ctx context.Context, command schema.Command, stdin string) (process.Result, error) {
	release, err := c.take(ctx)
	if err != nil {
		return process.Result{}, err
	}
	defer release()
	s, err := c.session(ctx)
	if err != nil {
		return process.Result{}, err
	}
	defer func() { _ = s.Close() }()
	var out, errs process.Output
	s.Stdin, s.Stdout, s.Stderr = strings.NewReader(stdin), &out, &errs
	done := make(chan error, 1)
	go func() { done <- runOn(s, command.Shell()) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		// The host may kill what it runs, or not: nobody knows what became of the command.
		go func() {
			_ = s.Signal(ssh.SIGKILL)
			_ = s.Close()
		}()
		return process.Result{}, fmt.Errorf("%s did not answer in time: %w", c.address, context.Cause(ctx))
	}
	res := process.Result{Stdout: out.String(), Stderr: errs.String()}
	var exit *ssh.ExitError
	switch {
	case err == nil:
		return res, nil
	case errors.As(err, &exit) && slices.Contains(goingDown, exit.Signal()):
		return res, fmt.Errorf("%w with %s: signal %s ended the command, as init's does when a machine goes down", script.ErrBroken, c.address,
			exit.Signal())
	case errors.As(err, &exit):
		res.Code = exit.ExitStatus()
		return res, nil
	case errors.Is(err, adapter.ErrRefused):
		return res, fmt.Errorf("%s: %w", c.address, err)
	}
	// No exit status came, which is all that is left of a machine that goes down under its own command.
	return res, fmt.Errorf("%w to %s while the command ran: %w", script.ErrBroken, c.address, err)
}

// goingDown are the signals by which a command ends that waits for the shutdown which it has begun: init's TERM may reach it before sshd.
var goingDown = []string{"TERM", "HUP"}

// runOn runs a command line to its end.
func runOn(s *ssh.Session, line string) error {
	err := s.Start(line)
	if err == nil {
		return s.Wait()
	}
	if strings.HasPrefix(err.Error(), "ssh: command ") { // the library has no type for it
		return fmt.Errorf("%w: the server runs no commands for this user", adapter.ErrRefused)
	}
	return err
}

// take takes one of the sessions that a connection may have at a time.
func (c *Conn) take(ctx context.Context) (release func(), err error) {
	select {
	case c.slots <- struct{}{}:
		return func() { <-c.slots }, nil
	case <-ctx.Done():
		if len(c.slots) < cap(c.slots) { // the time was over before its turn
			return nil, fmt.Errorf("%w: it was not asked: %w", adapter.ErrUnreachable, context.Cause(ctx))
		}
		return nil, fmt.Errorf("%d commands are under way on the connection %q: %w", cap(c.slots), c.name, adapter.ErrBusy)
	}
}
