package ssh

import (
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"ebbtide/internal/english"
	"ebbtide/internal/manual"
	"ebbtide/internal/schema"
)

// byHand tells how a person gives a node's commands.
func byHand(d *schema.Node, spec *NodeSpec, places func(string) manual.Endpoint) manual.Procedure {
	at := places(d.Via)
	login := Login(at)
	say := "From any machine in the network, in the directory with the keys; or without the ssh part at its own console:"
	if identity(at) == "" {
		say = "From any machine in the network, or without the ssh part at its own console:"
	}
	if !spec.Stdin.IsZero() {
		say += " (it asks for the password that is kept as " + spec.Stdin.Location() + ")"
	}
	h := spec.ByHand(say, func(c schema.Command) string { return login + " " + schema.Quote(c.Shell()) })
	if spec.OffWhenUnreachable > 0 || spec.Probe.IsZero() {
		h.Off = append(h.Off, manual.Instruction{
			Say: fmt.Sprintf("No answer for %s, and its power light is dark (silence alone may be the network):",
				brief(spec.OffWhenUnreachable)),
			Type: "ping " + hostOf(at),
		})
	}
	if spec.Probe.IsZero() {
		h.On = append(h.On, manual.Instruction{Say: "It can be logged in to:", Type: login + " true"})
	}
	return h
}

// Login is what a person types in front of a command that is to run at a place: "ssh -i nas_key -p 2222 admin@10.0.0.5".
func Login(at manual.Endpoint) string {
	login := "ssh " + identity(at)
	if _, port, err := net.SplitHostPort(at.Address); err == nil && port != "22" {
		login += "-p " + port + " "
	}
	return login + schema.Quote(at.User+"@"+hostOf(at))
}

func hostOf(at manual.Endpoint) string {
	if host, _, err := net.SplitHostPort(at.Address); err == nil {
		return host
	}
	return at.Address
}

// placeOf is where a person logs in, with which key, and what the host then shows.
func placeOf(s *ConnSpec) manual.Endpoint {
	at := manual.Endpoint{Address: withPort(s.Address), User: s.User, SecretLocation: s.Password.Location()}
	if !s.Key.IsZero() {
		at.SecretLocation = keyKept + s.Key.Location()
	}
	if key, err := pinned(s.HostKey); err == nil {
		at.Proof = ssh.FingerprintSHA256(key)
	}
	return at
}

// keyKept begins what is said of a key, as against a password.
const keyKept = "key: "

// identity is the option that names the key, typed where the credentials are.
func identity(at manual.Endpoint) string {
	for _, kind := range []string{"the credential ", "the file "} {
		if name, is := strings.CutPrefix(at.SecretLocation, keyKept+kind); is {
			return "-i " + schema.Quote(name) + " "
		}
	}
	return ""
}

// brief is a span of silence in words.
func brief(d time.Duration) string {
	if d == 0 {
		return "a minute"
	}
	return english.Span(d)
}
