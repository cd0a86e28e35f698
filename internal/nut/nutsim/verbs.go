package nutsim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ebbtide/internal/nut/wire"
)

const version = "Network UPS Tools upsd 2.8.0 - Ebbtide simulator"

// dispatch answers one command by the NUT developer guide, "Network protocol information".
func (c *session) dispatch(verb string, args []string) (string, error) {
	s := c.server
	switch verb {
	case "INSTCMD":
		return c.command(args)
	case "LOGOUT":
		return "OK Goodbye\n", nil
	case "VER":
		return version + "\n", nil
	case "NETVER", "PROTVER":
		return "1.3\n", nil
	case "STARTTLS":
		return "", refusal("FEATURE-NOT-CONFIGURED")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch verb {
	case "LIST":
		return c.list(args)
	case "GET":
		return c.get(args)
	case "SET":
		return c.set(args)
	case "USERNAME":
		return c.credential(&c.user, args, "ALREADY-SET-USERNAME")
	case "PASSWORD":
		return c.credential(&c.password, args, "ALREADY-SET-PASSWORD")
	case "LOGIN", "PRIMARY", "MASTER", "FSD":
		return c.monitor(verb, args)
	}
	return "", refusal("UNKNOWN-COMMAND")
}

func (c *session) credential(into *string, args []string, again refusal) (string, error) {
	switch {
	case len(args) != 1:
		return "", refusal("INVALID-ARGUMENT")
	case *into != "":
		return "", again
	}
	*into = args[0]
	return "OK\n", nil
}

// allowed reports whether the session's user has a right.
func (c *session) allowed(right func(User) bool) error {
	switch {
	case c.user == "":
		return refusal("USERNAME-REQUIRED")
	case c.password == "":
		return refusal("PASSWORD-REQUIRED")
	case slices.ContainsFunc(c.server.users, func(u User) bool {
		return u.Name == c.user && u.Password == c.password && right(u)
	}):
		return nil
	}
	return refusal("ACCESS-DENIED")
}

func (c *session) list(args []string) (string, error) {
	if len(args) == 0 {
		return "", refusal("INVALID-ARGUMENT")
	}
	head := strings.Join(args, " ")
	var items []string
	if args[0] == "UPS" && len(args) == 1 {
		for _, u := range c.server.supplies {
			items = append(items, "UPS "+u.name+" "+wire.Quote(u.description))
		}
		return block(head, items), nil
	}
	if len(args) != 2 {
		return "", refusal("INVALID-ARGUMENT")
	}
	u, err := c.server.lookup(args[1])
	if err != nil {
		return "", err
	}
	if args[0] == "CLIENT" {
		for _, other := range c.server.sessions {
			if other.login == u {
				host, _, _ := strings.Cut(other.conn.RemoteAddr().String(), ":")
				items = append(items, head+" "+host)
			}
		}
		return block(head, items), nil
	}
	if err := u.ready(); err != nil {
		return "", err
	}
	switch args[0] {
	case "VAR", "RW":
		for _, v := range u.vars {
			if args[0] == "VAR" || v.writable {
				items = append(items, head+" "+v.name+" "+wire.Quote(u.shown(v)))
			}
		}
	case "CMD":
		for _, cmd := range u.commands {
			items = append(items, head+" "+cmd)
		}
	default:
		return "", refusal("INVALID-ARGUMENT")
	}
	return block(head, items), nil
}

func block(head string, items []string) string {
	lines := slices.Concat([]string{"BEGIN LIST " + head}, items, []string{"END LIST " + head})
	return strings.Join(lines, "\n") + "\n"
}

func (c *session) get(args []string) (string, error) {
	if len(args) < 2 {
		return "", refusal("INVALID-ARGUMENT")
	}
	if args[0] == "TRACKING" {
		return c.trackingResult(args[1])
	}
	u, err := c.server.lookup(args[1])
	if err != nil {
		return "", err
	}
	if args[0] == "UPSDESC" {
		return fmt.Sprintf("UPSDESC %s %s\n", args[1], wire.Quote(u.description)), nil
	}
	if err := u.ready(); err != nil {
		return "", err
	}
	if args[0] == "NUMLOGINS" {
		n := 0
		for _, other := range c.server.sessions {
			if other.login == u {
				n++
			}
		}
		return fmt.Sprintf("NUMLOGINS %s %d\n", args[1], n), nil
	}
	if len(args) != 3 {
		return "", refusal("INVALID-ARGUMENT")
	}
	head := strings.Join(args, " ")
	if args[0] == "DESC" {
		return head + " \"Description unavailable\"\n", nil
	}
	at, found := u.find(args[2])
	if !found {
		return "", refusal("VAR-NOT-SUPPORTED")
	}
	switch args[0] {
	case "VAR":
		return head + " " + wire.Quote(u.shown(u.vars[at])) + "\n", nil
	case "TYPE":
		if u.vars[at].writable {
			return head + " RW STRING:255\n", nil
		}
		return head + " NUMBER\n", nil
	}
	return "", refusal("INVALID-ARGUMENT")
}

func (c *session) set(args []string) (string, error) {
	if len(args) == 2 && args[0] == "TRACKING" {
		c.tracking = args[1] == "ON"
		return "OK\n", nil
	}
	if len(args) != 4 || args[0] != "VAR" {
		return "", refusal("INVALID-ARGUMENT")
	}
	if err := c.allowed(func(u User) bool { return u.Set }); err != nil {
		return "", err
	}
	u, err := c.server.lookup(args[1])
	if err != nil {
		return "", err
	}
	if err := u.ready(); err != nil {
		return "", err
	}
	at, found := u.find(args[2])
	switch {
	case !found:
		return "", refusal("VAR-NOT-SUPPORTED")
	case !u.vars[at].writable:
		return "", refusal("READONLY")
	case len(args[3]) > 255:
		return "", refusal("TOO-LONG")
	}
	u.vars[at].value = args[3]
	return c.accepted(nil), nil
}

// accepted answers a SET or INSTCMD whose result is known.
func (c *session) accepted(result error) string {
	if !c.tracking {
		return "OK\n"
	}
	c.server.tracked = append(c.server.tracked, result)
	return fmt.Sprintf("OK TRACKING %d\n", len(c.server.tracked))
}

func (c *session) trackingResult(id string) (string, error) {
	n, err := strconv.Atoi(id)
	if err != nil || n < 1 || n > len(c.server.tracked) {
		return "", refusal("UNKNOWN")
	}
	if c.server.tracked[n-1] != nil {
		return "", refusal("FAILED")
	}
	return "SUCCESS\n", nil
}

// command carries out an instant command. The callback runs without the lock: it may set variables.
func (c *session) command(args []string) (string, error) {
	if len(args) < 2 || len(args) > 3 {
		return "", refusal("INVALID-ARGUMENT")
	}
	do, err := c.commandable(args[0], args[1])
	if err != nil {
		return "", err
	}
	result := do(args[1], strings.Join(args[2:], ""))
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	return c.accepted(result), nil
}

func (c *session) commandable(ups, command string) (func(command, parameter string) error, error) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if err := c.allowed(func(u User) bool { return u.Commands }); err != nil {
		return nil, err
	}
	u, err := c.server.lookup(ups)
	if err != nil {
		return nil, err
	}
	if err := u.ready(); err != nil {
		return nil, err
	}
	if !slices.Contains(u.commands, command) {
		return nil, refusal("CMD-NOT-SUPPORTED")
	}
	return u.onCommand, nil
}

func (c *session) monitor(verb string, args []string) (string, error) {
	if len(args) != 1 {
		return "", refusal("INVALID-ARGUMENT")
	}
	u, err := c.server.lookup(args[0])
	if err != nil {
		return "", err
	}
	if err := c.allowed(func(u User) bool { return u.Upsmon || verb == "FSD" && u.FSD }); err != nil {
		return "", err
	}
	switch verb {
	case "LOGIN":
		if c.login != nil {
			return "", refusal("ALREADY-LOGGED-IN")
		}
		c.login = u
		return "OK\n", nil
	case "FSD":
		u.forced = true
		return "OK FSD-SET\n", nil
	}
	return "OK " + verb + "-GRANTED\n", nil
}
