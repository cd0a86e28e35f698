package secrets_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/secrets"
	"ebbtide/internal/schema"
)

func TestSecrets(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	put := func(path, value string, mode os.FileMode) string {
		require.NoError(t, os.WriteFile(path, []byte(value), 0o600))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	inside := put(filepath.Join(dir, "nas"), "hunter2\n", 0o444)
	private := put(filepath.Join(elsewhere, "private"), "two\nlines\r\n", 0o600)
	open := put(filepath.Join(elsewhere, "open"), "hunter2", 0o640)
	empty := put(filepath.Join(elsewhere, "empty"), "\n", 0o600)
	large := put(filepath.Join(elsewhere, "large"), strings.Repeat("hunter2", 1<<18), 0o600)
	t.Setenv("EBBTIDE_TEST_SECRET", "from env\n\n")

	for _, tt := range []struct {
		ref  schema.SecretRef
		want string
		err  string
	}{
		{ref: schema.SecretRef{Credential: "nas"}, want: "hunter2"},
		{ref: schema.SecretRef{File: inside}, want: "hunter2"},
		{ref: schema.SecretRef{File: private}, want: "two\nlines"},
		{ref: schema.SecretRef{Env: "EBBTIDE_TEST_SECRET"}, want: "from env\n"},
		{ref: schema.SecretRef{File: open}, err: "others may read it (mode 0640); run: chmod 600 " + open},
		{ref: schema.SecretRef{File: empty}, err: "it is empty"},
		{ref: schema.SecretRef{File: large}, err: "it is larger than"},
		{ref: schema.SecretRef{File: elsewhere}, err: "is not a file"},
		{ref: schema.SecretRef{File: "nas"}, err: "the path must be absolute"},
		{ref: schema.SecretRef{File: "/nowhere/nas"}, err: "no such file"},
		{ref: schema.SecretRef{Credential: "none"}, err: `cannot read credential "none"`},
		{ref: schema.SecretRef{Credential: "../x"}, err: "plain file name"},
		{ref: schema.SecretRef{Credential: ".."}, err: "plain file name"},
		{ref: schema.SecretRef{Env: "EBBTIDE_TEST_UNSET"}, err: "the variable is not set"},
		{ref: schema.SecretRef{}, err: "no reference is given"},
		{ref: schema.SecretRef{Env: "A", File: "/b"}, err: "more than one"},
	} {
		got, err := secrets.New(dir).Secret(tt.ref)
		if tt.err != "" {
			require.ErrorContains(t, err, tt.err)
			require.NotContains(t, err.Error(), "hunter2")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tt.want, got)
	}

	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	got, err := secrets.New("").Secret(schema.SecretRef{Credential: "nas"})
	require.NoError(t, err)
	require.Equal(t, "hunter2", got)
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	_, err = secrets.New("").Secret(schema.SecretRef{Credential: "nas"})
	require.ErrorContains(t, err, "there is no credentials directory")
}

// TestAnOpenFolderOfCredentials: in a folder that others look into each file is to be closed to them, but in one that systemd made.
func TestAnOpenFolderOfCredentials(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "nas")
	require.NoError(t, os.WriteFile(path, []byte("hunter2"), 0o600))
	ref := schema.SecretRef{Credential: "nas"}
	got, err := secrets.New(dir).Secret(ref)
	require.NoError(t, err)
	require.Equal(t, "hunter2", got)
	require.NoError(t, os.Chmod(path, 0o644))
	_, err = secrets.New(dir).Secret(ref)
	require.ErrorContains(t, err, "others may read it (mode 0644); run: chmod 600 "+path)
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	_, err = secrets.New("").Secret(ref)
	require.NoError(t, err)
}
