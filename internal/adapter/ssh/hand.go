package ssh

import (
	"fmt"
	"net"
	"time"

	"ebbtide/internal/runbook"
)

// byHand tells how a person gives a node's commands.
func byHand(d *runbook.NodeDecl, places func(string) runbook.Place) runbook.Hand {
	spec, at := d.Spec.(*NodeSpec), places(d.Via)
	login := "ssh "
	host, port, err := net.SplitHostPort(at.Address)
	if err != nil {
		host = at.Address
	}
	if port != "" && port != "22" {
		login += "-p " + port + " "
	}
	login += runbook.Quote(at.User + "@" + host)
	say := "From any machine that may log in there, or without the ssh part at its own console:"
	if !spec.Stdin.IsZero() {
		say += " (it asks for the password that is kept as " + kept(spec.Stdin) + ")"
	}
	h := spec.ByHand(say, func(c runbook.Command) string { return login + " " + runbook.Quote(c.Shell()) })
	if spec.OffWhenUnreachable > 0 || spec.Probe.IsZero() {
		h.Off = append(h.Off, runbook.Instruction{
			Say:  fmt.Sprintf("No answer for %s, and its power light is dark (silence alone may be the network):", brief(spec.OffWhenUnreachable)),
			Type: "ping " + host,
		})
	}
	if spec.Probe.IsZero() {
		h.On = append(h.On, runbook.Instruction{Say: "It can be logged in to:", Type: login + " true"})
	}
	return h
}

// kept names where a secret is, and never the secret.
func kept(s runbook.SecretRef) string {
	switch {
	case s.Credential != "":
		return "the credential " + s.Credential
	case s.File != "":
		return "the file " + s.File
	default:
		return "the environment variable " + s.Env
	}
}

// brief is a span of silence in words.
func brief(d time.Duration) string {
	if d == 0 {
		return "a minute"
	}
	return d.String()
}
