package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSplit(t *testing.T) {
	for line, want := range map[string][]string{
		``:                            nil,
		`  OK`:                        {"OK"},
		`VAR a ups.status "OL CHRG"`:  {"VAR", "a", "ups.status", "OL CHRG"},
		"VAR a x \"\"":                {"VAR", "a", "x", ""},
		`VAR a x "Rack \#3 \"B\" \\"`: {"VAR", "a", "x", `Rack #3 "B" \`},
		`a\ b c`:                      {"a b", "c"},
		"a\t\"b\"\t":                  {"a", "b"},
	} {
		got, err := Split(line)
		require.NoError(t, err, line)
		require.Equal(t, want, got, line)
	}
	for line, want := range map[string]error{
		`VAR a x "OL`:  ErrUnfinished,
		`VAR a x "OL\`: ErrUnfinished,
		`VAR a\`:       ErrUnfinished,
		`VAR "a"x`:     ErrJoined,
		`VAR a"x"`:     ErrJoined,
	} {
		_, err := Split(line)
		require.ErrorIs(t, err, want, line)
	}
}

func TestQuotedWordsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[ -~]*`), 1, 5).Draw(t, "words")
		line := ""
		for _, word := range words {
			require.NoError(t, Check(word))
			line += Quote(word) + " "
		}
		got, err := Split(line)
		require.NoError(t, err)
		require.Equal(t, words, got)
	})
}

func TestCheckRefusesWhatUpsdDrops(t *testing.T) {
	for _, word := range []string{"a\nFSD ups", "a\r", "caffè", "\x00", "tab\t"} {
		require.Error(t, Check(word), "%q", word)
	}
}
