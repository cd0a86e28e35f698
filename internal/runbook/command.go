package runbook

import (
	"errors"
	"strings"
)

// Command is a program to run, as a node's type spells it: a list is a program and its arguments, kept apart to the
// end; a text is a line for the shell of the system that runs it, taken as it is.
//
//	stop: [systemctl, poweroff]
//	stop: "sync && poweroff"
type Command struct {
	Argv []string // a list
	Line string   // a text
}

// IsZero tells whether no command is given.
func (c Command) IsZero() bool { return len(c.Argv) == 0 && c.Line == "" }

// String gives the command for people.
func (c Command) String() string {
	if c.Line != "" {
		return c.Line
	}
	return strings.Join(c.Argv, " ")
}

// UnmarshalYAML reads either form.
func (c *Command) UnmarshalYAML(decode func(any) error) error {
	var line string
	if err := decode(&line); err == nil {
		if strings.TrimSpace(line) == "" {
			return errors.New("the command is empty")
		}
		*c = Command{Line: line}
		return nil
	}
	var argv []string
	if err := decode(&argv); err != nil {
		return errors.New("a command is a list of a program and its arguments, or one text for the shell")
	}
	if len(argv) == 0 || argv[0] == "" {
		return errors.New("the command is empty")
	}
	*c = Command{Argv: argv}
	return nil
}
