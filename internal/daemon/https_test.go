package daemon

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/config"
)

// certify lets the daemon have a new certificate for names, in the place of the one before.
func (g *rig) certify(names ...string) {
	g.t.Helper()
	pair := peertest.Certificate(g.t, g.dir, names...)
	g.config.TLS = config.TLS{Certificate: pair.Cert, Key: config.Reference{File: pair.Key}}
}

// listens is where the daemon listens, as a client says it.
func (g *rig) listens() config.Listen {
	_, port, err := net.SplitHostPort(g.alive.Addr().String())
	require.NoError(g.t, err)
	return config.Listen{Network: "tcp", Address: net.JoinHostPort("localhost", port), TLS: true}
}

// TestHTTPS: the client believes the certificate that it is told to, and nothing else; one that was renewed is shown
// after a reload, and a bad one leaves the old in its place.
func TestHTTPS(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.config.Listen = config.Listen{Network: "tcp", Address: "127.0.0.1:0", TLS: true}
	g.tokens()
	g.certify("localhost")
	g.start()
	token := operating[len("Bearer "):]
	trust, err := Trusting(g.config.TLS.Certificate)
	require.NoError(t, err)
	_, err = NewClient(g.listens(), token, trust).Status(t.Context())
	require.NoError(t, err)

	byAddress := config.Listen{Network: "tcp", Address: g.alive.Addr().String(), TLS: true}
	_, err = NewClient(byAddress, token, trust).Status(t.Context())
	require.ErrorContains(t, err, "127.0.0.1", "the certificate is not made out to the address")
	pin, err := Pinning(g.config.TLS.Certificate)
	require.NoError(t, err)
	_, err = NewClient(byAddress, token, pin).Status(t.Context())
	require.NoError(t, err, "the very certificate is believed wherever it is shown")

	_, err = NewClient(g.listens(), token, nil).Status(t.Context())
	wrong := (*tls.CertificateVerificationError)(nil)
	require.ErrorAs(t, err, &wrong, "the system's authorities do not know it")
	outdated := &tls.Config{RootCAs: trust.RootCAs, ServerName: "localhost", MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	old, err := tls.Dial("tcp", g.alive.Addr().String(), outdated) //nolint:gosec,noctx // that is the test
	require.Error(t, err, old)
	_, err = NewClient(config.Listen{Network: "tcp", Address: g.alive.Addr().String()}, token, nil).Status(t.Context())
	require.Error(t, err, "plain text is not answered")

	g.certify("localhost")
	require.NoError(t, g.alive.Reload(t.Context()))
	_, err = NewClient(g.listens(), token, trust).Status(t.Context())
	require.ErrorAs(t, err, &wrong, "another certificate is shown now")
	trust, err = Trusting(g.config.TLS.Certificate)
	require.NoError(t, err)
	_, err = NewClient(g.listens(), token, trust).Status(t.Context())
	require.NoError(t, err)

	require.NoError(t, os.WriteFile(g.config.TLS.Certificate, []byte("nothing"), 0o600))
	require.NoError(t, g.alive.Reload(t.Context()))
	require.Contains(t, g.log.String(), "the API keeps its present certificate")
	_, err = NewClient(g.listens(), token, trust).Status(t.Context())
	require.NoError(t, err)
	require.NotContains(t, g.log.String(), token)
}

func TestHTTPSThatCannotBe(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.config.Listen = config.Listen{Network: "tcp", Address: "127.0.0.1:0", TLS: true}
	g.certify()
	_, err := Pinning(g.config.TLS.Certificate)
	require.ErrorContains(t, err, "no host or address")
	require.NoError(t, os.Chmod(g.config.TLS.Key.File, 0o644))
	_, err = Open(t.Context(), g.options())
	require.ErrorContains(t, err, "others may read it")
	g.config.TLS.Key = config.Reference{Credential: "key"}
	_, err = Open(t.Context(), g.options())
	require.ErrorContains(t, err, "cannot use tls.key")
	g.config.TLS.Certificate = filepath.Join(g.dir, "nowhere")
	_, err = Open(t.Context(), g.options())
	require.ErrorContains(t, err, "cannot read tls.certificate")
	_, err = Trusting(filepath.Join(g.dir, "password"))
	require.ErrorContains(t, err, "no PEM certificate")
}
