package nuttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// certify makes an authority and a server certificate, puts them into an NSS database (Debian's upsd reads no other),
// and gives the lines of upsd.conf.
func (s *Server) certify() string {
	s.t.Helper()
	for _, name := range []string{"openssl", "certutil", "pk12util"} {
		Need(s.t, name)
	}
	const password = "dbpass"
	path := func(name string) string { return filepath.Join(s.folder, name) }
	s.CAFile = path("ca.pem")
	makeCertificates(s.t, s.CAFile, path("srv.pem"), path("srv.key"))
	s.write("pw", password)
	if err := os.Mkdir(path("db"), 0o700); err != nil {
		s.t.Fatal(err)
	}
	for _, args := range [][]string{
		{"certutil", "-N", "-d", path("db"), "-f", path("pw")},
		{"certutil", "-A", "-d", path("db"), "-f", path("pw"), "-n", "ca", "-t", "CT,,", "-i", s.CAFile},
		{"openssl", "pkcs12", "-export", "-in", path("srv.pem"), "-inkey", path("srv.key"), "-certfile", s.CAFile, "-name", "server", "-out", path("srv.p12"), "-passout", "file:" + path("pw")},
		{"pk12util", "-i", path("srv.p12"), "-d", path("db"), "-k", path("pw"), "-w", path("pw")},
	} {
		if out, err := exec.CommandContext(s.t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			s.t.Fatalf("%s: %v: %s", args[0], err, out)
		}
	}
	return "CERTPATH " + path("db") + "\nCERTIDENT server " + password + "\nCERTREQUEST 0\nDISABLE_WEAK_SSL true\n"
}

func makeCertificates(t testing.TB, caFile, certFile, keyFile string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Ebbtide test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	must(err)
	certDER, err := x509.CreateCertificate(rand.Reader, cert, ca, &key.PublicKey, caKey)
	must(err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must(err)
	for _, f := range []struct {
		name, kind string
		der        []byte
	}{{caFile, "CERTIFICATE", caDER}, {certFile, "CERTIFICATE", certDER}, {keyFile, "PRIVATE KEY", keyDER}} {
		must(os.WriteFile(f.name, pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.der}), 0o600))
	}
}
