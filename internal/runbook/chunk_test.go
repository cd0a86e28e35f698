package runbook

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/lexer"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// twin builds a runbook with all that could confuse the cutting into chunks.
func twin(n int) string {
	var b strings.Builder
	b.WriteString("version: 1 # nodes:\nx-nodes: &base {fed_by: [ups]}\nnodes:   # the nodes\n")
	for i := range n {
		switch i % 9 {
		case 0:
			fmt.Fprintf(&b, "  n%d: {type: a, x: [1,\n 2, {y: z}],\nq: 3}\n", i)
		case 1:
			fmt.Fprintf(&b, "\n  # a comment: here\n  n%d:\n    notes: |\n      nodes:\n      n%d: text\n    type: b\n", i, i)
		case 2:
			fmt.Fprintf(&b, "  \"n %d\": &a%d\n    <<: *base\n    list:\n    - a: 1\n      b: 2\n    - c\n", i, i)
		case 3:
			fmt.Fprintf(&b, "  n%d:\n", i)
		case 4:
			fmt.Fprintf(&b, "  n%d: 'quoted\n    over lines: x'\n", i)
		case 5:
			fmt.Fprintf(&b, "  %d: plain text\n    over lines\n", i)
		case 6:
			fmt.Fprintf(&b, "  n%d: *a%d\n", i, i-4)
		case 7:
			fmt.Fprintf(&b, "  n%d: >-\n    folded\n    text\n", i)
		case 8:
			fmt.Fprintf(&b, "  ? n%d\n  : {a: b}\n", i)
		}
	}
	b.WriteString("# the end\npolicy:\n  a: b\n  n1: c\n")
	return b.String()
}

// TestChunksAreTheWhole: a large section parsed in chunks gives what the library gives for the whole, positions and all.
func TestChunksAreTheWhole(t *testing.T) {
	for _, text := range []string{
		twin(40), twin(7), "nodes:\n  a: 1\n  b: 2\n  c: 3", "nodes:\n  a: 1\n  b: 2\n c: 3\n",
		"nodes:\n- a\n- b\n- c\n", "nodes:\npolicy: 1\nversion: 2\n",
	} {
		whole := &reporter{}
		file, err := parse(lexer.Tokenize(text))
		wholeBuilder := builder{reporter: whole, anchors: map[string]*value{}}
		for _, size := range []int{1, 2, 3, 5, 1000} {
			chunked, chunkErr := parseYAML(text, lexer.Tokenize(text), size)
			if err != nil {
				require.Error(t, chunkErr)
				require.Equal(t, err.Error(), chunkErr.Error())
				continue
			}
			require.NoError(t, chunkErr)
			b := builder{reporter: &reporter{}, anchors: map[string]*value{}}
			require.Equal(t, wholeBuilder.convert(file.Docs[0].Body, 0), b.convert(chunked.Docs[0].Body, 0), "chunks of %d", size)
			require.Empty(t, b.problems)
		}
	}
	odd := withoutComments(lexer.Tokenize(twin(8)))
	starts, end := entries(odd)
	require.NotNil(t, parseChunks(odd, starts, end, 3), "the odd entries must not keep it from working in chunks")
}

// What is quick to see is enough: no line is passed over that the pattern of secrets would mask.
func TestNoSecretIsPassedOver(t *testing.T) {
	words := []string{
		"Password", "PASSPHRASE", "paſſword", "pasw", "PWD", "my-secret", "apiToken", "ſecret", "toKen", "Private", "key",
		"Kelvin", " ", ":", `"`, "'", "{", ",", "x", "is", "7",
	}
	rapid.Check(t, func(t *rapid.T) {
		line := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 9).Draw(t, "line"), "")
		if secretLike.MatchString(line) {
			require.True(t, mayHoldSecret(line), line)
		}
	})
}
