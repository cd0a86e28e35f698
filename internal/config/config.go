// Package config holds the daemon's own settings: where its runbook, journal and API are, how often it polls, and
// whether it may act. What it does in an outage is the runbook's matter.
//
// Settings come from a YAML file, from EBBTIDE_* environment variables and from flags; the later one wins. Secrets are
// never among them, only references to secrets.
package config

import (
	"log/slog"
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
	Token         Reference     // what shows the role operate over TCP; none: TCP takes no commands
	ReadToken     Reference     // what shows the role read over TCP; none: a loopback address answers everybody
	TLS           TLS           // set if Listen.TLS is
	Log           Log
	Notify        Notify
}

// Reference names a secret: at most one field is set.
type Reference struct {
	Credential string // a file in the directory of credentials
	File       string // a file's absolute path
	Env        string // an environment variable
}

// IsZero reports whether no secret is named.
func (r Reference) IsZero() bool { return r == Reference{} }

// TLS is what the API shows of itself.
type TLS struct {
	Certificate string    // PEM file: the certificate, then those of the authorities between it and the root
	Key         Reference // its private key, PEM
}

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
	minPoll = 100 * time.Millisecond
	maxPoll = time.Minute
)
