package site

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/config"
	"ebbtide/internal/daemon"
)

// Folder holds a daemon's files: its settings, runbook.yaml, journal and credentials, and the socket that it is asked at.
type Folder struct {
	Dir string

	t testing.TB
}

// NewFolder makes an empty one, which goes with the test.
func NewFolder(t testing.TB) *Folder { return &Folder{Dir: t.TempDir(), t: t} }

// Write puts a file among the daemon's.
func (f *Folder) Write(name, text string) {
	f.t.Helper()
	require.NoError(f.t, os.WriteFile(filepath.Join(f.Dir, name), []byte(text), 0o600))
}

// Secret puts a credential among the daemon's.
func (f *Folder) Secret(name, text string) {
	f.t.Helper()
	require.NoError(f.t, os.MkdirAll(filepath.Join(f.Dir, "credentials"), 0o700))
	f.Write(filepath.Join("credentials", name), text)
}

// Settings writes the settings and gives their path.
func (f *Folder) Settings(armed bool) string {
	f.t.Helper()
	f.Write("settings.yaml", fmt.Sprintf("runbook: runbook.yaml\njournal: journal.db\nlisten: unix:%s\ncredentials: credentials\narmed: "+
		"%t\npoll: 200ms\npoll_on_battery: 100ms\n", f.socket(), armed))
	return filepath.Join(f.Dir, "settings.yaml")
}

func (f *Folder) socket() string { return filepath.Join(f.Dir, "api.sock") }

// Client asks the daemon.
func (f *Folder) Client() *daemon.Client {
	return daemon.NewClient(config.Listen{Network: "unix", Address: f.socket()}, "", nil)
}

// Status asks the daemon; false while it does not answer.
func (f *Folder) Status() (*daemon.Status, bool) {
	st, err := f.Client().Status(f.t.Context())
	return st, err == nil
}
