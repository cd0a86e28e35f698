package nuttest

import (
	"os"
	"os/exec"
	"path/filepath"

	"ebbtide/internal/adapter/peertest"
)

// certify makes an authority and a server certificate, puts them into an NSS database (Debian's upsd reads no other),
// and gives the lines of upsd.conf.
func (s *Server) certify() string {
	s.t.Helper()
	for _, name := range []string{"openssl", "certutil", "pk12util"} {
		peertest.Need(s.t, name, name)
	}
	const password = "dbpass"
	path := func(name string) string { return filepath.Join(s.folder, name) }
	authority := peertest.NewAuthority(s.t)
	cert, key := authority.Issue("localhost")
	s.CAFile = authority.File
	s.write("pw", password)
	if err := os.Mkdir(path("db"), 0o700); err != nil {
		s.t.Fatal(err)
	}
	for _, args := range [][]string{
		{"certutil", "-N", "-d", path("db"), "-f", path("pw")},
		{"certutil", "-A", "-d", path("db"), "-f", path("pw"), "-n", "ca", "-t", "CT,,", "-i", s.CAFile},
		{
			"openssl", "pkcs12", "-export", "-in", cert, "-inkey", key, "-certfile", s.CAFile, "-name", "server", "-out", path("srv.p12"),
			"-passout", "file:" + path("pw"),
		},
		{"pk12util", "-i", path("srv.p12"), "-d", path("db"), "-k", path("pw"), "-w", path("pw")},
	} {
		if out, err := exec.CommandContext(s.t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			s.t.Fatalf("%s: %v: %s", args[0], err, out)
		}
	}
	return "CERTPATH " + path("db") + "\nCERTIDENT server " + password + "\nCERTREQUEST 0\nDISABLE_WEAK_SSL true\n"
}
