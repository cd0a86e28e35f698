package cli

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/config"
	"ebbtide/internal/daemon"
)

// TestStatusOverHTTPS: the certificate comes from the daemon's settings, from a file, or from the system's authorities;
// whoever shows another is told nothing, the token least of all.
func TestStatusOverHTTPS(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.Header.Get("Authorization") != "Bearer the token of the role read" {
			w.WriteHeader(http.StatusUnauthorized)
			_ = json.NewEncoder(w).Encode(daemon.Fault{Error: "no token"})
			return
		}
		_ = json.NewEncoder(w).Encode(daemon.Status{Runbook: "far away"})
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	cert := write("api.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	token := write("token", "the token of the role read\n")
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	settings := write("settings.yaml", "runbook: r\nlisten: https://0.0.0.0"+port+
		"\nread_token: {credential: t}\ntls: {certificate: api.pem, key: {credential: k}}\n")
	status := func(args ...string) (string, int) {
		var out, errs bytes.Buffer
		code := Main(t.Context(), World{Args: append([]string{"status"}, args...), Stdout: &out, Stderr: &errs})
		return out.String() + errs.String(), code
	}
	for _, args := range [][]string{
		{"--listen", server.URL, "--ca-file", cert, "--token-file", token},
		{"--config", settings, "--token-file", token},
	} {
		out, code := status(args...)
		require.Equal(t, exitDone, code, out)
		require.Contains(t, out, "far away")
	}
	out, code := status("--listen", server.URL, "--ca-file", cert)
	require.Equal(t, exitRefused, code)
	require.Contains(t, out, "no token")

	before := asked
	out, code = status("--listen", server.URL, "--token-file", token)
	require.Equal(t, exitUnreachable, code)
	require.Contains(t, out, "--ca-file", "the hint says what to do")
	out, code = status("--listen", server.URL, "--ca-file", token, "--token-file", token)
	require.Equal(t, exitUsage, code)
	require.Contains(t, out, "no PEM certificate")
	require.NotContains(t, out, "may only read")
	require.Equal(t, before, asked)
}

func TestWhereAListenerIsDialled(t *testing.T) {
	t.Parallel()
	for listens, want := range map[string]string{
		"0.0.0.0:1": "localhost:1", "[::]:1": "localhost:1", ":1": "localhost:1",
		"10.0.0.1:1": "10.0.0.1:1", "ups.lab:1": "ups.lab:1",
	} {
		require.Equal(t, want, dialled(config.Listen{Network: "tcp", Address: listens}).Address)
	}
}
