package ssh

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"ebbtide/internal/adapter"
)

// pinned reads a host key as the runbook gives it: a line of a .pub file.
func pinned(text string) (ssh.PublicKey, error) {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("host_key %q is not a whole public key: write its type and its text as in a .pub file, with no host name before "+
			"them and nothing left out; \"ssh-keyscan -t ed25519 HOST\" prints them after the name", text)
	}
	return key, nil
}

// wrongHostKey says that a host is not the one that the runbook means, or was given a new key.
type wrongHostKey struct {
	host string
	got  ssh.PublicKey
	want []ssh.PublicKey // none: no key is known for the host
	from string          // where the expected key stands
}

func (e *wrongHostKey) Error() string {
	got := e.got.Type() + " " + ssh.FingerprintSHA256(e.got)
	if len(e.want) == 0 {
		return fmt.Sprintf("%s shows the host key %s, and %s knows none for it; compare it with the one on the host's console, then add it",
			e.host, got, e.from)
	}
	want := make([]string, len(e.want))
	for i, k := range e.want {
		want[i] = k.Type() + " " + ssh.FingerprintSHA256(k)
	}
	return fmt.Sprintf("%s shows the host key %s, but %s says %s; either another machine answers, or the host has a new key: compare it "+
		"with the one on the host's console, then change %s",
		e.host, got, e.from, strings.Join(want, " or "), e.from)
}

func (e *wrongHostKey) Unwrap() error { return adapter.ErrRefused }

// hostKeys gives the check of a host's key, and the algorithms to ask for: only those of keys that are known, or else
// a host with several keys may show one that nobody has compared.
func hostKeys(s *ConnSpec, address string) (ssh.HostKeyCallback, []string, error) {
	if s.HostKey != "" {
		want, err := pinned(s.HostKey)
		if err != nil {
			return nil, nil, err
		}
		return func(host string, _ net.Addr, got ssh.PublicKey) error {
			if string(got.Marshal()) != string(want.Marshal()) {
				return &wrongHostKey{host, got, []ssh.PublicKey{want}, "host_key"}
			}
			return nil
		}, algorithms([]ssh.PublicKey{want}), nil
	}
	known, err := knownhosts.New(s.KnownHosts)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read known_hosts %q: %w", s.KnownHosts, err)
	}
	check := func(host string, remote net.Addr, got ssh.PublicKey) error {
		err := known(host, remote, got)
		if wrong, ok := errors.AsType[*knownhosts.KeyError](err); ok {
			return &wrongHostKey{host, got, keys(wrong.Want), s.KnownHosts}
		}
		return err
	}
	return check, algorithms(knownFor(known, address)), nil
}

// knownFor lists the keys that a known_hosts file has for an address: it is asked for a key that nobody has.
func knownFor(known ssh.HostKeyCallback, address string) []ssh.PublicKey {
	err := known(address, &net.TCPAddr{IP: net.IPv4zero}, nobodysKey{})
	if wrong, ok := errors.AsType[*knownhosts.KeyError](err); ok {
		return keys(wrong.Want)
	}
	return nil
}

func keys(known []knownhosts.KnownKey) []ssh.PublicKey {
	list := make([]ssh.PublicKey, len(known))
	for i, k := range known {
		list[i] = k.Key
	}
	return list
}

// algorithms lists the signature algorithms of keys; none if there are no keys, which leaves the choice open.
func algorithms(keys []ssh.PublicKey) []string {
	var list []string
	for _, k := range keys {
		if k.Type() == ssh.KeyAlgoRSA {
			list = append(list, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
			continue
		}
		list = append(list, k.Type())
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// nobodysKey is a key that equals no other.
type nobodysKey struct{}

func (nobodysKey) Type() string                        { return "none" }
func (nobodysKey) Marshal() []byte                     { return nil }
func (nobodysKey) Verify([]byte, *ssh.Signature) error { return errors.New("it signs nothing") }
