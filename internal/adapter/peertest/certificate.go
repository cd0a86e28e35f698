package peertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"math/big"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// Pair is a certificate that has signed itself, with its private key.
type Pair struct {
	Cert, Key  string // files, PEM
	Thumbprint string // SHA-256 of the certificate, in hex
}

// Certificate writes a new pair into a folder, over one that stands there: for a server with these names and addresses,
// for a day.
func Certificate(t testing.TB, dir string, names ...string) Pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	sum := sha256.Sum256(der)
	return Pair{
		Cert:       writePEM(t, filepath.Join(dir, "cert.pem"), "CERTIFICATE", der),
		Key:        writePEM(t, filepath.Join(dir, "key.pem"), "PRIVATE KEY", private),
		Thumbprint: hex.EncodeToString(sum[:]),
	}
}
