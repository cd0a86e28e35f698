package schema

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
)

// HealthCheck is one entry of up.healthy: a question that only a node that really serves answers. Exactly one of TCP,
// HTTP, DNS, NTP, Ping and Command is set.
type HealthCheck struct {
	TCP      string    `yaml:"tcp" json:"tcp,omitempty"`           // host:port that accepts a connection
	HTTP     string    `yaml:"http" json:"http,omitempty"`         // URL, http or https; redirects are not followed
	Status   int       `yaml:"status" json:"status,omitempty"`     // with http: the answer's status; 0: any of 200 to 399
	Insecure bool      `yaml:"insecure" json:"insecure,omitempty"` // with http: any certificate will do
	DNS      *DNSCheck `yaml:"dns" json:"dns,omitempty"`           // name that a server resolves
	// host or host:port of a server that tells the time; port 123 if not given
	NTP     string        `yaml:"ntp" json:"ntp,omitempty"`
	Ping    string        `yaml:"ping" json:"ping,omitempty"`       // host that answers an ICMP echo
	Command []string      `yaml:"command" json:"command,omitempty"` // local program and its arguments, no shell; exit status 0 is healthy
	Within  time.Duration `yaml:"within" json:"within,omitempty"`   // longest wait for the answer; 0: 5 s
}

// DNSCheck asks one DNS server for the addresses of a name.
type DNSCheck struct {
	Server string `yaml:"server" check:"required" json:"server"` // host or host:port; port 53 if not given
	Name   string `yaml:"name" check:"required" json:"name"`
}

// Check finds what is wrong with the check itself.
func (c HealthCheck) Check() error {
	var kinds []string
	for _, k := range []struct {
		name string
		set  bool
	}{
		{"tcp", c.TCP != ""},
		{"http", c.HTTP != ""},
		{"dns", c.DNS != nil},
		{"ntp", c.NTP != ""},
		{"ping", c.Ping != ""},
		{"command", len(c.Command) > 0},
	} {
		if k.set {
			kinds = append(kinds, k.name)
		}
	}
	switch {
	case len(kinds) == 0:
		return errors.New("a health check needs one of tcp, http, dns, ntp, ping, command")
	case len(kinds) > 1:
		return fmt.Errorf("a health check is one of %s: write one entry for each", strings.Join(kinds, ", "))
	case c.HTTP == "" && (c.Status != 0 || c.Insecure):
		return fmt.Errorf("status and insecure need an http check, but this one is %s", kinds[0])
	case c.Status != 0 && (c.Status < 100 || c.Status > 599):
		return fmt.Errorf("%d is not an HTTP status", c.Status)
	case c.Within < 0:
		return fmt.Errorf("within is %v: it must be more than 0", c.Within)
	}
	return c.checkTarget()
}

// checkTarget finds what is wrong with what a check asks.
func (c HealthCheck) checkTarget() error {
	switch {
	case c.TCP != "":
		if _, _, err := net.SplitHostPort(c.TCP); err != nil {
			return fmt.Errorf("%q is not host:port", c.TCP)
		}
	case strings.ContainsAny(c.Ping, ":/ ") && net.ParseIP(c.Ping) == nil:
		return fmt.Errorf("%q is not a host: a ping has no port", c.Ping)
	case c.HTTP != "":
		u, err := url.Parse(c.HTTP)
		switch {
		case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
			return errors.New("http needs a whole URL, such as https://10.0.0.10/ui")
		case u.User != nil:
			return errors.New("http must not hold a user or password: use command with a program that finds them itself")
		}
	}
	return nil
}

func (c HealthCheck) String() string {
	switch {
	case c.TCP != "":
		return "tcp " + c.TCP
	case c.HTTP != "":
		return "http " + c.HTTP
	case c.DNS != nil:
		return "dns " + c.DNS.Name + " from " + c.DNS.Server
	case c.NTP != "":
		return "ntp " + c.NTP
	case c.Ping != "":
		return "ping " + c.Ping
	default:
		return "command " + strings.Join(c.Command, " ")
	}
}
