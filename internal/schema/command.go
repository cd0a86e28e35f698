package schema

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

// IsZero reports whether no command is given.
func (c Command) IsZero() bool { return len(c.Argv) == 0 && c.Line == "" }

// String gives the command for people.
func (c Command) String() string {
	if c.Line != "" {
		return c.Line
	}
	return strings.Join(c.Argv, " ")
}

// bare are the characters that mean nothing to any shell: an argument of these alone needs no quotes, which some
// appliances' command lines do not know.
const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:@%+"

// Shell gives the command as a POSIX shell gets it: a line as it is, a list quoted, so that each argument arrives as it
// is.
func (c Command) Shell() string {
	if c.Line != "" {
		return c.Line
	}
	words := make([]string, len(c.Argv))
	for i, arg := range c.Argv {
		words[i] = Quote(arg)
	}
	return strings.Join(words, " ")
}

// Quote makes one word of a POSIX shell out of an argument.
func Quote(arg string) string {
	if arg != "" && strings.Trim(arg, bare) == "" {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
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
