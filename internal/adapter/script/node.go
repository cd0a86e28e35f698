package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/process"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// ErrBroken is wrapped by a Runner's error when the connection was lost after the command was given and before its
// exit status came. Nobody knows what became of it, but after a stop it is what one would expect.
var ErrBroken = errors.New("the connection was lost")

// Runner runs a command where a node lives, and returns what it left. An error says that it did not come to its end;
// it wraps ErrBroken or one of the adapter's sentinels where they apply.
type Runner func(ctx context.Context, c schema.Command, stdin string) (process.Result, error)

// Node is a node that is driven by commands.
type Node struct {
	ID   string
	Spec Spec
	Run  Runner
	// Stdin gives the secret that each of the commands gets on its standard input, with a newline; nil: none.
	Stdin func() (string, error)
	// Look answers for a node without a probe command.
	Look func(context.Context) (plan.Observation, error)
}

// Probe runs the probe command and reads its answer.
func (n *Node) Probe(ctx context.Context) (plan.Observation, error) {
	if n.Spec.Probe.IsZero() {
		return n.Look(ctx)
	}
	res, err := n.run(ctx, n.Spec.Probe)
	if err != nil {
		return plan.Observation{}, fmt.Errorf("cannot probe %q: %w", n.ID, err)
	}
	seen, err := Read(res)
	if err == nil {
		return seen, nil
	}
	if m := meaning(res.Code); m != nil {
		err = fmt.Errorf("%w: %w", m, err)
	}
	return plan.Observation{}, fmt.Errorf("cannot probe %q by its command %q: %w", n.ID, n.Spec.Probe, err)
}

// Do runs the command of a verb. Exit status 0 means accepted; 75 (EX_TEMPFAIL) is ErrBusy; any other is ErrRefused,
// unless the probe shows that what was asked for is so already. A stop whose connection broke off counts as accepted:
// the machine went down under it.
func (n *Node) Do(ctx context.Context, do adapter.Command) error {
	c := n.Spec.Command(do.Verb)
	if c.IsZero() {
		return fmt.Errorf("cannot %s %q: it has no command for it: %w; add the key %s to the node", do.Verb, n.ID,
			adapter.ErrRefused, do.Verb)
	}
	res, err := n.run(ctx, c)
	switch {
	case errors.Is(err, ErrBroken) && (do.Verb == plan.Stop || do.Verb == plan.Force):
		return nil
	case err != nil:
		return fmt.Errorf("cannot %s %q: %w", do.Verb, n.ID, err)
	case res.Code == 0 || n.holds(ctx, do.Verb):
		return nil
	}
	why := cmp.Or(meaning(res.Code), adapter.ErrRefused)
	return fmt.Errorf("cannot %s %q: %w: its command %q exited with %d%s", do.Verb, n.ID, why, c, res.Code, said(res))
}

// holds reports whether a verb's end is reached already.
func (n *Node) holds(ctx context.Context, v plan.Verb) bool {
	if n.Spec.Probe.IsZero() {
		return false
	}
	seen, err := n.Probe(ctx)
	if err != nil {
		return false
	}
	switch v {
	case plan.Stop, plan.Force:
		return seen.State == plan.Off
	case plan.Start:
		return seen.State == plan.On
	case plan.Protect:
		return seen.Protected == plan.Yes
	case plan.Unprotect:
		return seen.Protected == plan.No
	case plan.Flush:
		return seen.Clean == plan.Yes
	default:
		return false
	}
}

// run runs a command with the node's secret on its standard input, and keeps the secret out of what comes back.
func (n *Node) run(ctx context.Context, c schema.Command) (process.Result, error) {
	if ctx.Err() != nil {
		return process.Result{}, fmt.Errorf("it was not run: %w", context.Cause(ctx))
	}
	if n.Stdin == nil {
		return n.Run(ctx, c, "")
	}
	secret, err := n.Stdin()
	if err != nil {
		return process.Result{}, fmt.Errorf("%w: %w", adapter.ErrRefused, err)
	}
	res, err := n.Run(ctx, c, secret+"\n")
	res.Stdout = strings.ReplaceAll(res.Stdout, secret, "[secret]")
	res.Stderr = strings.ReplaceAll(res.Stderr, secret, "[secret]")
	return res, err
}

// meaning is the sentinel that an exit status stands for, whatever the command; nil: none.
func meaning(code int) error {
	switch code {
	case exitTempFail:
		return adapter.ErrBusy
	case exitNoCommand:
		return fmt.Errorf("%w: no such command there", adapter.ErrRefused)
	case exitCannotExec:
		return fmt.Errorf("%w: the command cannot be executed there", adapter.ErrRefused)
	}
	return nil
}
