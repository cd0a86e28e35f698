package runbook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// plainText is of the kind that is read without the library.
const plainText = `version: 1
for: 18h
watched: true
supplies:
  "ups0": {charge: 70%, runtime: 35m, says: [no-runtime, "never low"]}
members:
  pool0: []
  pool1: [{name: m0, host: esx0}]
events:
  - {at: 84s, supply: ups0/1, clock: -1640s}
  - text
crash_after: [30, 0x1F, 1_000, 1e3]
nested:
    deeper:
        - a
    beside: {}
runbook: |
  version: 1
  nodes:
    nas: {type: ssh, host_key: "ssh-ed25519 AAAA: #b, {c}"}
policy: {restore: {when: {all: [{online: 273s}, {charge_above: 35%}]}}}
`

// library reads a text as it would be read if nothing were plain; nil: it has mistakes.
func library(text string) *value {
	r := &reporter{lines: strings.Split(text, "\n")}
	doc := r.byLibrary(text)
	if len(r.problems) > 0 {
		return nil
	}
	return doc
}

// apart gives a value without the line that the texts after a | end on: the library counts one too many, and all of them
// twice at the end of a file.
func apart(v *value) *value {
	if v == nil {
		return nil
	}
	if strings.Contains(v.text, "\n") {
		v.last = 0
	}
	for _, item := range v.items {
		apart(item)
	}
	for _, p := range v.pairs {
		apart(p.val)
	}
	return v
}

// TestPlainIsAsTheLibraryHasIt: what is read as plain, the library reads as the same values at the same places.
func TestPlainIsAsTheLibraryHasIt(t *testing.T) {
	t.Parallel()
	require.NotNil(t, plain(plainText))
	texts := []string{plainText}
	for _, pattern := range []string{"testdata/*.yaml", "../../runbooks/*.yaml", "../../test/dst/testdata/*.yaml", "../../test/dst/testdata/found/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		for _, path := range paths {
			src, err := os.ReadFile(path)
			require.NoError(t, err)
			texts = append(texts, string(src))
		}
	}
	were := 0
	for _, text := range texts {
		if doc := plain(text); doc != nil {
			were++
			require.Equal(t, apart(library(text)), apart(doc), text)
		}
	}
	t.Logf("%d of %d texts are plain", were, len(texts))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{plainText, "a: {b: [c, d]}\n", "a:\n  - b\n", "a: |\n  b\n", "a: \"b\"\n"}).Draw(t, "text")
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			at := rapid.IntRange(0, len(text)).Draw(t, "at")
			to := min(len(text), at+rapid.IntRange(0, 3).Draw(t, "without"))
			put := rapid.SampledFrom([]string{"", " ", "  ", "\n", "\n  ", "- ", "-", ":", ": ", ",", ", ", "{", "}", "[", "]", `"`, "'", "|", "#", " #", "&a", "*a", "!", "%", "0", "~", "null", ".", "<<", "?", "=", "_", "x", "---\n", "y: z\n", "true", "-1.5", "1_0", "0o17", "0b1", "2001-01-01", "1e-3", "NULL", "-0x1f", "\\", "\t"}).Draw(t, "put")
			text = text[:at] + put + text[to:]
		}
		if doc := plain(text); doc != nil {
			require.Equal(t, apart(library(text)), apart(doc), "%q", text)
		}
	})
}
