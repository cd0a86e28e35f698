package arch

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unverified are the only files of the product that may switch the check of a certificate's chain off, with the reason.
var unverified = map[string]string{
	"internal/adapter/certificate/certificate.go": "the certificate itself is compared with the runbook's thumbprint",
	"internal/adapter/healthcheck/healthcheck.go": "a health check that the runbook calls insecure: it sends no secret and proves no shutdown",
	"internal/nut/dial.go":                        "it asks for the flag only, and never sets it",
}

// TestCertificatesAreVerified: no other file may even name the switch.
func TestCertificatesAreVerified(t *testing.T) {
	t.Parallel()
	var found []string
	for _, p := range list(t) {
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			require.NoError(t, err)
			if bytes.Contains(text, []byte("InsecureSkipVerify")) && !slices.Contains(doubles, p.ImportPath) &&
				!strings.HasPrefix(p.ImportPath, "test/") {
				found = append(found, p.ImportPath+"/"+name)
			}
		}
	}
	slices.Sort(found)
	want := make([]string, 0, len(unverified))
	for file := range unverified {
		want = append(want, file)
	}
	slices.Sort(want)
	require.Equal(t, want, found)
}
