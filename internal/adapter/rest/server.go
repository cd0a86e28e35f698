// Package rest is the client of appliances that are managed by JSON over HTTPS, whatever their vendor: which server is
// meant and how its certificate is known, a session that is renewed when it has ended, bounded answers, and what became of a
// request that got none.
package rest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"ebbtide/internal/adapter/certificate"
	"ebbtide/internal/manual"
	"ebbtide/internal/schema"
)

// Server are the keys of a connection that say which server is meant. Without thumbprint and ca_file the system's
// authorities vouch for it.
type Server struct {
	URL        string `yaml:"url" check:"required" json:"url"`        // https://10.0.0.30, with a port where it is not the usual one
	Thumbprint string `yaml:"thumbprint" json:"thumbprint,omitempty"` // of the certificate: SHA-256 or SHA-1 in hex, with or without colons
	CAFile     string `yaml:"ca_file" json:"ca_file,omitempty"`       // PEM certificates of the authorities
}

// Account are the keys of a connection that say who logs in.
type Account struct {
	Username string           `yaml:"username" check:"required" json:"username"`
	Password schema.SecretRef `yaml:"password" check:"required" json:"password,omitzero"`
}

// Check finds the mistakes in the keys.
func (s *Server) Check() []error {
	var errs []error
	if _, err := s.base(""); err != nil && s.URL != "" {
		errs = append(errs, &schema.KeyError{Key: "url", Err: err})
	}
	return append(errs, certificate.Check(s.Thumbprint, s.CAFile)...)
}

// Endpoint is where a person opens the appliance's own pages, with what secret, and what certificate it then shows.
func (s *Server) Endpoint(user string, secret schema.SecretRef) manual.Endpoint {
	place := manual.Endpoint{User: user, SecretLocation: secret.Location(), Proof: certificate.Shown(s.Thumbprint)}
	if at, err := s.base(""); err == nil {
		place.Address = at
	}
	return place
}

// base gives what paths come after. port is the usual one, "" for that of HTTPS.
func (s *Server) base(port string) (string, error) {
	u, err := url.Parse(s.URL)
	switch {
	case err != nil || u.Scheme != "https" || u.Hostname() == "":
		return "", fmt.Errorf("url %q is not of the form https://host", s.URL[strings.LastIndex(s.URL, "@")+1:])
	case u.User != nil:
		return "", errors.New("url holds a user: give the account by its own keys")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("url has more than an address (%q): give https://host alone", u.RequestURI())
	}
	if u.Port() == "" && port != "" {
		u.Host = net.JoinHostPort(u.Hostname(), port)
	}
	return "https://" + u.Host, nil
}
