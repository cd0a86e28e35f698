package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"ebbtide/internal/adapter"
	"ebbtide/internal/config"
	"ebbtide/internal/schema"
)

// identity is the certificate that the API shows on https.
type identity struct {
	config  config.TLS
	secrets adapter.Secrets
	current atomic.Pointer[tls.Certificate]
}

// newIdentity reads the certificate that the settings name; nil if the API speaks no TLS.
func newIdentity(c config.Config, secrets adapter.Secrets) (*identity, error) {
	if !c.Listen.TLS {
		return nil, nil //nolint:nilnil // no identity is needed
	}
	i := &identity{config: c.TLS, secrets: secrets}
	return i, i.load()
}

// load reads certificate and key anew. With an error the one before stays.
func (i *identity) load() error {
	chain, err := os.ReadFile(i.config.Certificate)
	if err != nil {
		return fmt.Errorf("cannot read tls.certificate: %w", err)
	}
	key, err := i.secrets.Secret(schema.SecretRef(i.config.Key))
	if err != nil {
		return fmt.Errorf("cannot use tls.key: %w", err)
	}
	pair, err := tls.X509KeyPair(chain, []byte(key))
	if err != nil {
		return fmt.Errorf("cannot use tls.certificate %q with tls.key: %w", i.config.Certificate, err)
	}
	i.current.Store(&pair)
	return nil
}

func (i *identity) server() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return i.current.Load(), nil },
	}
}

// Trusting makes a client's TLS from a PEM file of the authorities that vouch for the daemon, or of its own certificate.
func Trusting(file string) (*tls.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the CA certificates for the daemon: %w", err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	if !c.RootCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("cannot use %q as CA certificates for the daemon: it holds no PEM certificate", file)
	}
	return c, nil
}

// Pinning makes a client's TLS from the very certificate that the daemon shows, whatever address it is reached by.
func Pinning(file string) (*tls.Config, error) {
	c, err := Trusting(file)
	if err != nil {
		return nil, err
	}
	leaf, err := firstCertificate(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the daemon's certificate %q: %w", file, err)
	}
	switch {
	case len(leaf.DNSNames) > 0:
		c.ServerName = leaf.DNSNames[0]
	case len(leaf.IPAddresses) > 0:
		c.ServerName = leaf.IPAddresses[0].String()
	default:
		return nil, fmt.Errorf("cannot use the daemon's certificate %q: it names no host or address (subjectAltName)", file)
	}
	return c, nil
}

func firstCertificate(file string) (*x509.Certificate, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for {
		block, rest := pem.Decode(text)
		switch {
		case block == nil:
			return nil, errors.New("it holds no PEM certificate")
		case block.Type == "CERTIFICATE":
			return x509.ParseCertificate(block.Bytes)
		}
		text = rest
	}
}
