package render

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/report/doc"
)

// TestLettersOfEurope: names are printed as they are written in Latin, Greek and Cyrillic letters, with their accents.
func TestLettersOfEurope(t *testing.T) {
	t.Parallel()
	has := glyphs()
	for _, block := range []struct {
		name     string
		from, to rune
		not      string // not assigned, or written no more
	}{
		{"Latin-1", 0xa1, 0xff, "\u00ad"},
		{"Latin Extended-A", 0x100, 0x17f, ""},
		{"Romanian", 0x218, 0x21b, ""},
		{"Greek", 0x386, 0x3ce, "\u038b\u038d\u03a2\u0387"},
		{"Cyrillic", 0x400, 0x45f, ""},
		{"Ukrainian", 0x490, 0x491, ""},
		{"currencies", '€', '€', ""},
	} {
		for r := block.from; r <= block.to; r++ {
			if !has(r) {
				require.Contains(t, block.not, string(r), "%s U+%04X", block.name, r)
			}
		}
	}
}

// TestWhatTheFontsLackIsTold: of each place once, and of nothing that is printed as it is.
func TestWhatTheFontsLackIsTold(t *testing.T) {
	t.Parallel()
	d := &doc.Document{Title: "Łódź", Blocks: []doc.Block{
		doc.Heading{Level: 1, Text: "Who to call"},
		doc.Table{Columns: []doc.Column{{Title: "name"}, {Title: "notes"}}, Rows: []doc.Row{
			{Cells: []doc.Text{doc.T("王小明"), doc.T("夜 only, 夜")}},
			{Cells: []doc.Text{doc.T("Юлія Ковальчук"), doc.T("✓ °C ‹A› ‑\u202e")}},
		}},
		doc.Heading{Level: 1, Text: "Power down"},
		doc.Step{Number: "3", Title: doc.T("shut down nas"), Fields: []doc.Field{{Name: "notes", Lines: []doc.Text{doc.T("棚の上")}}}},
		doc.Steps{
			Number: "4–6", Title: doc.T("shut down these 3"),
			Each: []doc.Each{{
				Step: doc.Step{Number: "4", Title: doc.T("shut down a")}, Title: doc.T("a"),
				Lines: []doc.Text{doc.T("שלום א مرحبا")},
			}},
		},
	}}
	lacks := Lacks(d)
	require.Equal(t, Lack{"Who to call: 王小明", "王小明夜"}, lacks[0])
	require.Equal(t, Lack{"Power down: 3 shut down nas", "棚の上"}, lacks[1])
	require.Equal(t, "Power down: 4 shut down a", lacks[2].Where)
	require.Len(t, lacks, 3)
	require.Empty(t, Lacks(every()))
}
