package redfish_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/adapter/redfish"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

// emulator gives the program of OpenStack's Redfish emulator, which make setup puts beside the tools, if it can reach a
// package index.
func emulator(t *testing.T) string {
	t.Helper()
	bin, err := filepath.Abs("../../../bin")
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(bin, "sushy.unavailable")); err == nil {
		t.Skip("sushy-tools could not be installed by make setup")
	}
	return peertest.Need(t, "sushy-tools", filepath.Join(bin, "sushy", "bin", "sushy-emulator"))
}

// certified makes a certificate for 127.0.0.1 in dir and gives its thumbprint.
func certified(t *testing.T, dir string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// TestSushy drives a machine of OpenStack's emulator (sushy-tools, its fake driver) down and up. The driver takes from 1
// to 11 seconds for each, as it likes.
func TestSushy(t *testing.T) {
	program := emulator(t)
	if testing.Short() {
		t.Skip("it takes some 20 seconds")
	}
	dir, port := t.TempDir(), peertest.FreePort(t, "tcp")
	thumbprint := certified(t, dir)
	hash, err := bcrypt.GenerateFromPassword([]byte("planted-sushy-secret"), bcrypt.MinCost)
	require.NoError(t, err)
	hash = bytes.Replace(hash, []byte("$2a$"), []byte("$2y$"), 1) // as htpasswd writes it
	require.NoError(t, os.WriteFile(filepath.Join(dir, "htpasswd"), append([]byte("ebbtide:"), append(hash, '\n')...), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sushy.conf"), fmt.Appendf(nil, `
SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'
SUSHY_EMULATOR_LISTEN_PORT = %d
SUSHY_EMULATOR_SSL_CERT = %q
SUSHY_EMULATOR_SSL_KEY = %q
SUSHY_EMULATOR_AUTH_FILE = %q
SUSHY_EMULATOR_STATE_DIR = %q
SUSHY_EMULATOR_FAKE_DRIVER = True
SUSHY_EMULATOR_FAKE_SYSTEMS = [{'uuid': '11111111-1111-1111-1111-111111111111', 'name': 'tape', 'power_state': 'On', 'nics': []}]
`, port, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "htpasswd"), dir), 0o600))
	address := fmt.Sprintf("127.0.0.1:%d", port)
	peertest.Start(t, dir, peertest.Listens(address), nil, program, "--config", filepath.Join(dir, "sushy.conf"))

	conn := &redfish.ConnectionSpec{URL: "https://" + address, Username: "ebbtide", Password: runbook.SecretRef{Env: "X"}, Thumbprint: thumbprint}
	wrong, _ := opened(t, conn, "wrong")
	_, err = wrong.Probe(t.Context())
	require.ErrorIs(t, err, adapter.ErrRefused)

	n, _ := opened(t, conn, "planted-sushy-secret")
	until := func(want plan.State) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		defer cancel()
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			seen, err := n.Probe(ctx)
			require.NoError(t, err)
			if seen.State == want {
				return
			}
			<-tick.C
		}
	}
	until(plan.On)
	require.NoError(t, n.Do(t.Context(), plan.Stop))
	until(plan.Off)
	require.NoError(t, n.Do(t.Context(), plan.Stop), "a stop of what is off")
	require.NoError(t, n.Do(t.Context(), plan.Start))
	until(plan.On)
	require.NoError(t, n.Do(t.Context(), plan.Force))
	until(plan.Off)
}
