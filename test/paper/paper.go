// Package paper reads what was printed.
package paper

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// Text is what a reader of a PDF can select, as poppler's pdftotext has it. It skips the test where that is not installed,
// and fails it in CI.
func Text(t testing.TB, pdf []byte, options ...string) string {
	t.Helper()
	tool, err := exec.LookPath("pdftotext")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no pdftotext: run make setup")
		}
		t.Skip("there is no pdftotext: run make setup")
	}
	cmd := exec.CommandContext(t.Context(), tool, append(options, "-enc", "UTF-8", "-", "-")...)
	cmd.Stdin = bytes.NewReader(pdf)
	text, err := cmd.Output()
	require.NoError(t, err)
	return string(text)
}
