// Package secrets reads secrets from where a runbook says they are, at the moment of use.
package secrets

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/schema"
)

// maxSecret bounds a secret's size in bytes: as for a systemd credential.
const maxSecret = 1 << 20

// secrets reads each secret anew when it is asked for, so that a changed one needs no restart.
type secrets struct{ dir string }

// New resolves references. dir is the credentials directory; "" means the one that systemd made for this
// service ($CREDENTIALS_DIRECTORY), if there is one.
func New(dir string) adapter.Secrets {
	if dir == "" {
		dir = os.Getenv("CREDENTIALS_DIRECTORY")
	}
	return secrets{dir: dir}
}

// Secret reads what ref points to, less one trailing newline. An empty secret is an error.
func (s secrets) Secret(ref schema.SecretRef) (string, error) {
	value, err := s.read(ref)
	if err != nil {
		return "", &Error{err}
	}
	value = strings.TrimSuffix(strings.TrimSuffix(value, "\n"), "\r")
	if value == "" {
		return "", &Error{fmt.Errorf("cannot use %s: it is empty", name(ref))}
	}
	return value, nil
}

// Error says that a secret could not be had: what it is for was not asked.
type Error struct{ error }

func (e *Error) Unwrap() error { return e.error }

func (s secrets) read(ref schema.SecretRef) (string, error) {
	switch ref {
	case schema.SecretRef{Credential: ref.Credential}:
		if ref.Credential == "" {
			return "", errors.New("cannot use a secret: no reference is given; name one of credential, file, env")
		}
		if s.dir == "" {
			return "", fmt.Errorf("cannot use %s: there is no credentials directory; set LoadCredential= in the unit, the daemon's "+
				"credentials setting, or --credentials DIR at a shell", name(ref))
		}
		if ref.Credential != filepath.Base(ref.Credential) || ref.Credential == ".." || ref.Credential == "." {
			return "", fmt.Errorf("cannot use %s: it must be a plain file name in the credentials directory; use file for a path",
				name(ref))
		}
		return readSecret(ref, filepath.Join(s.dir, ref.Credential), s.isClosed())
	case schema.SecretRef{File: ref.File}:
		if !filepath.IsAbs(ref.File) {
			return "", fmt.Errorf("cannot use %s: the path must be absolute", name(ref))
		}
		return readSecret(ref, ref.File, s.holds(ref.File) && s.isClosed())
	case schema.SecretRef{Env: ref.Env}:
		value, ok := os.LookupEnv(ref.Env)
		if !ok {
			return "", fmt.Errorf("cannot use %s: the variable is not set", name(ref))
		}
		return value, nil
	}
	return "", errors.New("cannot use a secret: more than one of credential, file, env is given")
}

// isClosed reports whether nobody else looks into the credentials directory: systemd has made it, or it is closed to others.
// What is in there needs no protection of its own.
func (s secrets) isClosed() bool {
	if made := os.Getenv("CREDENTIALS_DIRECTORY"); made != "" && filepath.Clean(made) == filepath.Clean(s.dir) {
		return true // it is opened to the service by an access list, which its mode does not show
	}
	info, err := os.Stat(s.dir)
	return err == nil && info.Mode().Perm()&0o077 == 0
}

// holds reports whether path is in the credentials directory.
func (s secrets) holds(path string) bool {
	return s.dir != "" && filepath.Dir(filepath.Clean(path)) == filepath.Clean(s.dir)
}

func readSecret(ref schema.SecretRef, path string, guarded bool) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot read %s: %w", name(ref), err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot read %s: %w", name(ref), err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("cannot read %s: %s is not a file", name(ref), path)
	case !guarded && info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("cannot use %s: others may read it (mode %04o); run: chmod 600 %s", name(ref), info.Mode().Perm(), path)
	}
	value, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", fmt.Errorf("cannot read %s: %w", name(ref), err)
	}
	if len(value) > maxSecret {
		return "", fmt.Errorf("cannot use %s: it is larger than %d bytes", name(ref), maxSecret)
	}
	return string(value), nil
}

// name names a reference for people. The reference is no secret.
func name(ref schema.SecretRef) string {
	switch {
	case ref.Credential != "":
		return fmt.Sprintf("credential %q", ref.Credential)
	case ref.File != "":
		return fmt.Sprintf("secret file %q", ref.File)
	default:
		return fmt.Sprintf("environment variable %q", ref.Env)
	}
}
