package families_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/families"
	"ebbtide/internal/runbook"
)

// TestTheRunbookOfTheNUTPageIsOne checks and compiles what docs/systems/nut.md tells people to write.
func TestTheRunbookOfTheNUTPageIsOne(t *testing.T) {
	page, err := os.ReadFile("../../docs/systems/nut.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```yaml\n")
	require.True(t, found)
	text, _, found := strings.Cut(rest, "```\n")
	require.True(t, found)
	rb, problems := runbook.Load("nut.md", []byte(text), families.Schema())
	require.Empty(t, problems.Text())
	compiled, err := runbook.Compile(rb, families.Schema(), nil)
	require.NoError(t, err)
	_, has := compiled.Estate.Index("ups-a/2")
	require.True(t, has)
}
