// Package certificate says by which certificate a TLS server is known: the system's authorities, those of a file, or its
// own certificate by its thumbprint, which is what management controllers and appliances with certificates of their own
// are known by.
package certificate

import (
	"bytes"
	"crypto/sha1" // thumbprints as many systems themselves show them
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"ebbtide/internal/schema"
)

// ErrOther says that a server is not the one that the runbook means.
var ErrOther = errors.New("its certificate is not the one of the runbook")

var errBoth = errors.New("thumbprint and ca_file can't be combined: keep one")

// Check finds the mistakes in a connection's keys thumbprint and ca_file; "" was not given.
func Check(thumbprint, caFile string) []error {
	var errs []error
	if _, err := parse(thumbprint); err != nil && thumbprint != "" {
		errs = append(errs, &schema.KeyError{Key: "thumbprint", Err: err})
	}
	if thumbprint != "" && caFile != "" {
		errs = append(errs, &schema.KeyError{Key: "ca_file", Err: errBoth})
	}
	return errs
}

func parse(text string) ([]byte, error) {
	sum, err := hex.DecodeString(strings.ReplaceAll(text, ":", ""))
	if err != nil || len(sum) != sha256.Size && len(sum) != sha1.Size {
		return nil, fmt.Errorf("thumbprint %q is not the SHA-256 (64 digits) or SHA-1 (40 digits) of a certificate in hex", text)
	}
	return sum, nil
}

// Shown is a thumbprint as browsers and command lines show it, for people who compare; "" if it is none.
func Shown(thumbprint string) string {
	sum, err := parse(thumbprint)
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(fmt.Sprintf("% X", sum), " ", ":")
}

// Config makes the client's side of TLS. With a thumbprint (SHA-256 or SHA-1 in hex, with or without colons) the one
// certificate that has it will do; with caFile, one that its authorities (PEM) vouch for; with neither, one that the
// system's do.
func Config(thumbprint, caFile string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	switch {
	case thumbprint != "" && caFile != "":
		return nil, errBoth
	case thumbprint != "":
		want, err := parse(thumbprint)
		if err != nil {
			return nil, err
		}
		config.InsecureSkipVerify = true // the chain is not asked: the certificate itself is known
		config.VerifyConnection = func(s tls.ConnectionState) error {
			raw := s.PeerCertificates[0].Raw
			long, short := sha256.Sum256(raw), sha1.Sum(raw)
			if bytes.Equal(want, long[:]) || bytes.Equal(want, short[:]) {
				return nil
			}
			return fmt.Errorf("%w: its SHA-256 is %x", ErrOther, long)
		}
	case caFile != "":
		pem, err := os.ReadFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("cannot read ca_file: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca_file %q holds no PEM certificate", caFile)
		}
	}
	return config, nil
}

// Refused reports whether err says that a server's certificate will not do.
func Refused(err error) bool {
	var invalid *tls.CertificateVerificationError
	return errors.As(err, &invalid) || errors.Is(err, ErrOther)
}
