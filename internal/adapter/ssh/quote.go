package ssh

import (
	"strings"

	"ebbtide/internal/runbook"
)

// bare are the characters that mean nothing to any shell: an argument of these alone needs no quotes, which some
// appliances' command lines do not know.
const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:@%+"

// line is a command as the remote shell gets it.
func line(c runbook.Command) string {
	if c.Line != "" {
		return c.Line
	}
	words := make([]string, len(c.Argv))
	for i, arg := range c.Argv {
		words[i] = quote(arg)
	}
	return strings.Join(words, " ")
}

// quote makes one word of a POSIX shell out of an argument.
func quote(arg string) string {
	if arg != "" && strings.Trim(arg, bare) == "" {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
