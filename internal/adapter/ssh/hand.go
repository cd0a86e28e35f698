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
	login := Login(at)
	say := "From any machine that may log in there, or without the ssh part at its own console:"
	if !spec.Stdin.IsZero() {
		say += " (it asks for the password that is kept as " + kept(spec.Stdin) + ")"
	}
	h := spec.ByHand(say, func(c runbook.Command) string { return login + " " + runbook.Quote(c.Shell()) })
	if spec.OffWhenUnreachable > 0 || spec.Probe.IsZero() {
		h.Off = append(h.Off, runbook.Instruction{
			Say:  fmt.Sprintf("No answer for %s, and its power light is dark (silence alone may be the network):", brief(spec.OffWhenUnreachable)),
			Type: "ping " + hostOf(at),
		})
	}
	if spec.Probe.IsZero() {
		h.On = append(h.On, runbook.Instruction{Say: "It can be logged in to:", Type: login + " true"})
	}
	return h
}

// Login is what a person types in front of a command that is to run at a place: "ssh -p 2222 admin@10.0.0.5".
func Login(at runbook.Place) string {
	login := "ssh "
	if _, port, err := net.SplitHostPort(at.Address); err == nil && port != "22" {
		login += "-p " + port + " "
	}
	return login + runbook.Quote(at.User+"@"+hostOf(at))
}

func hostOf(at runbook.Place) string {
	if host, _, err := net.SplitHostPort(at.Address); err == nil {
		return host
	}
	return at.Address
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
