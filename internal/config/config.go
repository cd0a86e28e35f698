// Package config holds the daemon's own settings: where its runbook, journal and API are, how often it polls, and
// whether it may act. What it does in an outage is the runbook's matter.
//
// Settings come from a YAML file, from EBBTIDE_* environment variables and from flags; the later one wins. Secrets are
// never among them, only references to secrets.
package config

import (
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"
)

// Config is the settings of a daemon, checked. All paths are absolute.
type Config struct {
	File          string        // the settings file, "" if none was read
	Runbook       string        // the runbook file
	Journal       string        // the journal file
	Listen        Listen        // where the API listens
	Poll          time.Duration // between two readings of a supply on mains, 100ms to 1m
	PollOnBattery time.Duration // between two readings of a supply on battery, 100ms to Poll
	Armed         bool          // false: observe, and say what would be done
	Credentials   string        // the directory of credentials, "" if there is none
	Token         Reference     // what a command must show that comes over TCP; none: TCP takes no commands
	Log           Log
	Notify        Notify
}

// Listen is a listener's address, as net.Listen takes it: a Unix socket's path, or a loopback address and port.
type Listen struct {
	Network string // "unix" or "tcp"
	Address string
}

func (l Listen) String() string {
	if l.Network == "unix" {
		return unixPrefix + l.Address
	}
	return l.Address
}

// Reference names a secret: at most one field is set.
type Reference struct {
	Credential string // a file in the directory of credentials
	File       string // a file's absolute path
	Env        string // an environment variable
}

// IsZero tells whether no secret is named.
func (r Reference) IsZero() bool { return r == Reference{} }

// Log says what is logged, and how.
type Log struct {
	Level  slog.Level
	Format string // "text" or "json"
}

// Notify says how people are told.
type Notify struct {
	Command []string // program and arguments, run without a shell; empty: people are told by the log alone
}

const (
	unixPrefix = "unix:"
	maxSocket  = 107 // bytes in a socket's path, of which the kernel takes no more

	minPoll = 100 * time.Millisecond
	maxPoll = time.Minute
)

// parseListen reads a listen address. Anything but a Unix socket and a loopback address is refused: the API has no TLS.
func parseListen(s string) (Listen, error) {
	if path, ok := strings.CutPrefix(s, unixPrefix); ok {
		switch {
		case len(path) == 0 || path[0] != '/':
			return Listen{}, fmt.Errorf("%q needs an absolute path: write unix:/run/ebbtide/ebbtide.sock", s)
		case len(path) > maxSocket:
			return Listen{}, fmt.Errorf("the path of %q is longer than the %d bytes that a socket's may have", s, maxSocket)
		}
		return Listen{Network: "unix", Address: path}, nil
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return Listen{}, fmt.Errorf("%q is no address: write unix:/run/ebbtide/ebbtide.sock, or a loopback address and port like 127.0.0.1:8417", s)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return Listen{}, fmt.Errorf("%q has no valid port: write a number up to 65535", s)
	}
	if host != "localhost" {
		if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
			return Listen{}, fmt.Errorf("%q is not a loopback address, and the API has no TLS: listen on a Unix socket or 127.0.0.1, and put a proxy with TLS or an SSH tunnel in front of it", s)
		}
	}
	return Listen{Network: "tcp", Address: net.JoinHostPort(host, port)}, nil
}
