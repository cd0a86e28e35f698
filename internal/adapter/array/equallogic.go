package array

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/adapter/process"
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// EqualLogicSpec are the keys of a node of type "equallogic.group", reached by SSH at the group's address.
type EqualLogicSpec struct {
	Silence `yaml:",inline"`
	// Members are the arrays of the group by their names, in the order in which they are shut down: the one that leads the
	// group last.
	Members []string `yaml:"members" check:"required" json:"members"`
}

func (s *EqualLogicSpec) mistakes() []error {
	var errs []error
	for i, name := range s.Members {
		switch {
		case name == "" || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-.:") != "":
			errs = append(errs, &schema.KeyError{
				Key: "members",
				Err: fmt.Errorf("%q is not the name of a member: letters, digits, hyphens, dots and colons", name),
			})
		case slices.Contains(s.Members[:i], name):
			errs = append(errs, &schema.KeyError{Key: "members", Err: fmt.Errorf("%q is named twice", name)})
		}
	}
	return errs
}

func (s *EqualLogicSpec) open(via adapter.Conn) (system, error) {
	conn, err := adapter.Via[*ssh.Conn](via, "ssh")
	if err != nil {
		return nil, err
	}
	return &equalLogic{conn, s.Members}, nil
}

func (s *EqualLogicSpec) hand(at manual.Endpoint) manual.Procedure {
	host := at.Address
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	h := manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{
			plan.Start: {{Say: "Switch each member's power off and on, at its switches or its outlets."}},
		},
		Off: []manual.Instruction{{
			Say:  "The lights of the control modules are out. Remotely: the group's address does not answer for two minutes:",
			Type: "ping " + host,
		}},
		On: []manual.Instruction{typed(at, "Every member is online:", membersLine)},
	}
	for _, name := range s.Members {
		h.Do[plan.Stop] = append(h.Do[plan.Stop], typed(at,
			"From any machine that may log in there, or without the ssh part at the member's console; answer yes:", shutdownLine(name)))
	}
	return h
}

const membersLine = "member show"

// shutdownLine is the command that shuts a member down. The names have no character that would need quoting.
func shutdownLine(member string) string { return "member select " + member + " shutdown" }

// equalLogic speaks the group's command line over SSH.
type equalLogic struct {
	conn    *ssh.Conn
	members []string
}

func (e *equalLogic) run(ctx context.Context, line, answer string) (process.Result, error) {
	res, err := e.conn.Run(ctx, schema.Command{Line: line}, answer)
	if err != nil {
		return res, err
	}
	for text := range strings.Lines(res.Stdout + "\n" + res.Stderr) {
		text = strings.TrimSpace(text)
		if text != "" && (res.Code != 0 || strings.HasPrefix(text, "Error:") || strings.HasPrefix(text, "% Error")) {
			return res, fmt.Errorf("%w: it answers %q with %q", adapter.ErrRefused, line, printable.Text(text, 200))
		}
	}
	return res, nil
}

// online tells which members are online, by a table whose first columns are the name and the status.
func (e *equalLogic) online(ctx context.Context) (map[string]bool, error) {
	res, err := e.run(ctx, membersLine, "")
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for line := range strings.Lines(res.Stdout) {
		if f := strings.Fields(line); len(f) > 1 && (f[1] == "online" || f[1] == "offline") {
			known[f[0]] = f[1] == "online"
		}
	}
	for _, name := range e.members {
		if _, ok := known[name]; !ok {
			return nil, fmt.Errorf("%w: the group has no member %q: its table is %q", adapter.ErrRefused, name,
				printable.Text(res.Stdout, 200))
		}
	}
	return known, nil
}

func (e *equalLogic) look(ctx context.Context) (plan.Observation, error) {
	online, err := e.online(ctx)
	if err != nil {
		return plan.Observation{}, err
	}
	seen := plan.Observation{State: plan.On, Detail: "the group answers"}
	for _, name := range e.members {
		if !online[name] {
			seen.Detail += "; " + name + " is offline"
		}
	}
	return seen, nil
}

// halt shuts down the members that are online, one after the other. With the last of them the connection breaks.
func (e *equalLogic) halt(ctx context.Context) error {
	online, err := e.online(ctx)
	if err != nil {
		return err
	}
	for _, name := range e.members {
		if !online[name] {
			continue
		}
		_, err := e.run(ctx, shutdownLine(name), "yes\n")
		if err != nil && !lost(err) {
			return fmt.Errorf("member %s: %w", name, err)
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return context.Cause(ctx)
		}
	}
	return nil
}
