package redfish_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/adapter/redfish"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// emulator gives the program of OpenStack's Redfish emulator, which make setup puts beside the tools.
func emulator(t *testing.T) string {
	t.Helper()
	bin, err := filepath.Abs("../../../bin")
	require.NoError(t, err)
	return peertest.Need(t, "sushy-tools", filepath.Join(bin, "sushy", "bin", "sushy-emulator"))
}

// TestSushy drives a machine of OpenStack's emulator (sushy-tools, its fake driver) down and up. The driver takes from 1
// to 11 seconds for each, as it likes.
func TestSushy(t *testing.T) {
	program := emulator(t)
	dir, port := t.TempDir(), peertest.FreePort(t, "tcp")
	certificate := peertest.Certificate(t, dir, "127.0.0.1")
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
`, port, certificate.Cert, certificate.Key, filepath.Join(dir, "htpasswd"), dir), 0o600))
	address := fmt.Sprintf("127.0.0.1:%d", port)
	peertest.Start(t, dir, peertest.Listens(address), nil, program, "--config", filepath.Join(dir, "sushy.conf"))

	conn := &redfish.ConnectionSpec{
		URL: "https://" + address, Username: "ebbtide", Password: schema.SecretRef{Env: "X"},
		Thumbprint: certificate.Thumbprint,
	}
	wrong, _ := opened(t, conn, "wrong")
	_, err = wrong.Probe(t.Context())
	require.ErrorIs(t, err, adapter.ErrRefused)

	n, _ := opened(t, conn, "planted-sushy-secret")
	contracttest.UntilState(t, n, plan.On)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}))
	contracttest.UntilState(t, n, plan.Off)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}), "a stop of what is off")
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}))
	contracttest.UntilState(t, n, plan.On)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Force}))
	contracttest.UntilState(t, n, plan.Off)
}
