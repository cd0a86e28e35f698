package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Setting describes one setting: the same list makes the flags, the documentation and the check for unknown keys.
type Setting struct {
	Key     string // in the file, dotted: "log.level"
	Doc     string // one line, for help
	Default string // as it would be written; "" if there is none
	set     func(*Config, value) error
}

// Env gives the environment variable of a setting.
func (s Setting) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_"))
}

// Flag gives the flag of a setting, without dashes before it.
func (s Setting) Flag() string {
	return strings.NewReplacer(".", "-", "_", "-").Replace(s.Key)
}

const envPrefix = "EBBTIDE_"

// commandKey is the one setting that is a list. It stands in the file only: no environment variable is split into
// words, since that needs rules of quoting.
const commandKey = "notify.command"

// Settings lists all settings that have a flag and an environment variable.
func Settings() []Setting {
	list := []Setting{
		{"runbook", "the runbook to follow", "", func(c *Config, v value) (err error) { c.Runbook, err = v.path(); return err }},
		{
			"journal", "the file that outages are recorded in", "/var/lib/ebbtide/journal.db",
			func(c *Config, v value) (err error) { c.Journal, err = v.path(); return err },
		},
		{
			"listen", "where the API listens: unix:PATH, a loopback address and port, or https://HOST:PORT", "unix:/run/ebbtide/ebbtide.sock",
			func(c *Config, v value) error {
				s, err := v.text()
				if err == nil {
					c.Listen, err = parseListen(s)
				}
				return err
			},
		},
		{
			"poll", "time between two readings of a supply", "1s",
			func(c *Config, v value) (err error) { c.Poll, err = v.interval(); return err },
		},
		{
			"poll_on_battery", "time between two readings of a supply that is on battery", "250ms",
			func(c *Config, v value) (err error) { c.PollOnBattery, err = v.interval(); return err },
		},
		{
			"armed", "true: act; false: observe, and say what would be done", "false",
			func(c *Config, v value) (err error) { c.Armed, err = v.truth(); return err },
		},
		{
			"credentials", "the directory that {credential: NAME} is looked up in", "",
			func(c *Config, v value) (err error) { c.Credentials, err = v.path(); return err },
		},
		{"log.level", "debug, info, warn or error", "info", func(c *Config, v value) error {
			s, err := v.text()
			if err != nil {
				return err
			}
			if c.Log.Level.UnmarshalText([]byte(s)) != nil {
				return fmt.Errorf("%q is not a level: write debug, info, warn or error", s)
			}
			return nil
		}},
		{"log.format", "text or json", "text", func(c *Config, v value) (err error) {
			if c.Log.Format, err = v.text(); err == nil && c.Log.Format != "text" && c.Log.Format != "json" {
				err = fmt.Errorf("%q is not a format: write text or json", c.Log.Format)
			}
			return err
		}},
		{
			"tls.certificate", "the certificate that an HTTPS API presents, a PEM file", "",
			func(c *Config, v value) (err error) { c.TLS.Certificate, err = v.path(); return err },
		},
	}
	for _, r := range references() {
		list = append(list, r.settings()...)
	}
	return list
}

// reference is a secret that the settings name.
type reference struct {
	key  string
	what string // the secret is
	of   func(*Config) *Reference
}

func references() []reference {
	return []reference{
		{"token", "the token for commands over TCP", func(c *Config) *Reference { return &c.Token }},
		{"read_token", "the token for read-only requests over TCP", func(c *Config) *Reference { return &c.ReadToken }},
		{"tls.key", "the private key of tls.certificate, PEM", func(c *Config) *Reference { return &c.TLS.Key }},
	}
}

func (r reference) settings() []Setting {
	return []Setting{
		{r.key + ".credential", "the credential that holds " + r.what, "", func(c *Config, v value) (err error) {
			r.of(c).Credential, err = v.secretName(isCredential, "the name of a credential (letters, digits, dot, dash, underscore)")
			return err
		}},
		{r.key + ".file", "the file that holds " + r.what, "", func(c *Config, v value) (err error) {
			r.of(c).File, err = v.secretName(isAbsolute, "an absolute path")
			return err
		}},
		{r.key + ".env", "the environment variable that holds " + r.what, "", func(c *Config, v value) (err error) {
			r.of(c).Env, err = v.secretName(isVariable, "the name of an environment variable")
			return err
		}},
	}
}

// command is the setting that has no flag.
func command() Setting {
	return Setting{commandKey, "program and arguments that notify people", "", func(c *Config, v value) error {
		list, ok := v.raw.([]any)
		if !ok || len(list) == 0 {
			return errors.New(`write the program and its arguments as a list: ["/usr/local/bin/page", "--urgent"]`)
		}
		for _, one := range list {
			s, ok := one.(string)
			if !ok {
				return fmt.Errorf("%v is not a string: put it in quotes", one)
			}
			c.Notify.Command = append(c.Notify.Command, s)
		}
		if !filepath.IsAbs(list[0].(string)) {
			return fmt.Errorf("the program %q needs an absolute path", list[0])
		}
		return nil
	}}
}

var (
	credentialName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	variableName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func isCredential(s string) bool { return credentialName.MatchString(s) }
func isVariable(s string) bool   { return variableName.MatchString(s) }
func isAbsolute(s string) bool   { return filepath.IsAbs(s) }

// value is a setting's value as it was given: a string, or what YAML made of it.
type value struct {
	raw any
	dir string // what a relative path is relative to
}

func (v value) text() (string, error) {
	s, ok := v.raw.(string)
	if !ok {
		return "", fmt.Errorf("%v is not a string: put it in quotes", v.raw)
	}
	if s == "" {
		return "", errors.New("it is empty: give it a value or leave it out")
	}
	return s, nil
}

func (v value) path() (string, error) {
	s, err := v.text()
	if err != nil || filepath.IsAbs(s) {
		return s, err
	}
	return filepath.Abs(filepath.Join(v.dir, s))
}

// secretName reads one part of a reference. It may be the secret itself, in the wrong place: no message repeats it.
func (v value) secretName(ok func(string) bool, what string) (string, error) {
	s, isText := v.raw.(string)
	if !isText || !ok(s) {
		return "", fmt.Errorf("it is not %s; never put the secret itself in the settings", what)
	}
	return s, nil
}

func (v value) truth() (bool, error) {
	if b, ok := v.raw.(bool); ok {
		return b, nil
	}
	switch v.raw {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%v is neither true nor false", v.raw)
}

// interval reads the time between two polls.
func (v value) interval() (time.Duration, error) {
	s, ok := v.raw.(string)
	if !ok {
		return 0, fmt.Errorf("%v is not a time: write it with its unit, like 1s or 250ms", v.raw)
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a time: write it with its unit, like 1s or 250ms", s)
	case d < minPoll || d > maxPoll:
		return 0, fmt.Errorf("%s is out of range: from %s to %s", d, minPoll, maxPoll)
	}
	return d, nil
}
