package schema

// SecretRef is a reference to a secret: exactly one field is set. A secret itself never stands in a runbook.
type SecretRef struct {
	// a systemd credential, or a file in the daemon's credentials directory
	Credential string `yaml:"credential" json:"credential,omitempty"`
	File       string `yaml:"file" json:"file,omitempty"` // a file's absolute path
	Env        string `yaml:"env" json:"env,omitempty"`   // an environment variable
}

// IsZero reports whether no secret is named.
func (s SecretRef) IsZero() bool { return s == SecretRef{} }

// Location names where the secret is, and never the secret.
func (s SecretRef) Location() string {
	switch {
	case s.Credential != "":
		return "the credential " + s.Credential
	case s.File != "":
		return "the file " + s.File
	case s.Env != "":
		return "the environment variable " + s.Env
	}
	return ""
}
