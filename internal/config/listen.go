package config

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Listen is a listener's address, as net.Listen takes it: a Unix socket's path, or an address and port. Without TLS an
// address is of this machine alone.
type Listen struct {
	Network string // "unix" or "tcp"
	Address string
	TLS     bool // of tcp: HTTPS is spoken
}

const (
	unixPrefix  = "unix:"
	httpsPrefix = "https://"
	maxSocket   = 107 // bytes in a socket's path, of which the kernel takes no more
)

func (l Listen) String() string {
	switch {
	case l.Network == "unix":
		return unixPrefix + l.Address
	case l.TLS:
		return httpsPrefix + l.Address
	}
	return l.Address
}

// Loopback reports whether only this machine reaches the listener.
func (l Listen) Loopback() bool {
	if l.Network == "unix" {
		return true
	}
	host, _, err := net.SplitHostPort(l.Address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// parseListen reads a listen address. Plain text is spoken on a Unix socket and a loopback address alone.
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
	bare, secure := strings.CutPrefix(s, httpsPrefix)
	host, port, err := net.SplitHostPort(bare)
	if err != nil {
		return Listen{}, fmt.Errorf("%q is not an address: write unix:/run/ebbtide/ebbtide.sock, a loopback address and port like "+
			"127.0.0.1:8417, or https://HOST:PORT", s)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return Listen{}, fmt.Errorf("%q has no valid port: write a number up to 65535", s)
	}
	l := Listen{Network: "tcp", Address: net.JoinHostPort(host, port), TLS: secure}
	if !secure && !l.Loopback() {
		return Listen{}, fmt.Errorf("%q is not a loopback address, and it would be spoken to in plain text: write https://%s, with "+
			"tls.certificate and tls.key", s, bare)
	}
	return l, nil
}
