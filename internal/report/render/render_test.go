package render

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/report/doc"
	"ebbtide/test/paper"
)

// every has each kind of block, and text that the renderers must not take for something else.
func every() *doc.Document {
	rows := make([]doc.Row, 90)
	for i := range rows {
		rows[i] = doc.Row{
			Cells: []doc.Text{
				doc.T("row-%d", i),
				doc.T("some words that are long enough for a second line in a narrow column: %d", i), doc.T("%ds", i),
			}, Changed: i == 3,
			Anchor: fmt.Sprint("row-", i),
		}
	}
	many := make([]doc.Each, 60)
	for i := range many {
		number := fmt.Sprint(8 + i)
		many[i] = doc.Each{
			Step:  doc.Step{Number: number, Anchor: "step-" + number, Changed: i == 9},
			Title: doc.Join(doc.Bold("like-%d", i), doc.T(" "), doc.Bold("‹A›"), doc.T(" "), doc.Verbatim(fmt.Sprint("10.0.0.", i))),
			Lines: []doc.Text{doc.T("its own place %d", i)},
		}
	}
	return &doc.Document{
		Title: "All of <it> & more", Subtitle: "a | b", Head: "digest 0123456789ab", Date: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		Blocks: []doc.Block{
			doc.Contents{Level: 2},
			doc.Heading{Level: 1, Text: "First → part", Anchor: "first"},
			doc.Paragraph{Text: doc.Join(doc.T("Water at 40 °C × 2 – not "), doc.Bold("3"), doc.T(", type "),
				doc.Verbatim("echo `a` | b_c_ *"), doc.T(" ✓ or go to "), doc.Ref("the end", "end"), doc.T("."))},
			doc.List{Items: []doc.Text{doc.T("- one"), doc.Bold("two")}},
			doc.List{Numbered: true, Items: []doc.Text{doc.T("eins"), doc.T("zwei")}},
			doc.Note{Title: "Hold", Text: doc.T("until all that is above is off"), Anchor: "hold"},
			doc.Heading{Level: 2, Text: "Table", Anchor: "table"},
			doc.Table{
				Columns: []doc.Column{{Title: "name"}, {Title: "words", Weight: 2}, {Title: "time", Right: true}},
				Rows:    rows, Blank: 2,
			},
			doc.PageBreak{},
			doc.Heading{Level: 2, Text: "Steps", Anchor: "steps"},
			doc.Step{
				Number: "7", Title: doc.T("shut down esx01"), Anchor: "step-7", Boxes: []string{"time", "initials"}, Changed: true,
				Fields: []doc.Field{
					{Name: "where", Lines: []doc.Text{doc.T("A3/U40")}},
					{Name: "by hand", Lines: []doc.Text{
						doc.Verbatim("ssh root@10.0.0.11 " + strings.Repeat("very-long-option/", 12)),
						doc.T("or its button"),
					}},
				},
			},
			doc.Steps{
				Number: "8–67", Title: doc.T("shut down these 60"), Boxes: []string{"time"},
				Fields: []doc.Field{{Name: "by hand", Lines: []doc.Text{doc.Verbatim("ssh root@‹A›")}}}, Each: many,
			},
			doc.Figure{Caption: "The estate", Width: 200, Height: 60, Anchor: "figure", Listing: []string{"a needs b"}, Shapes: []doc.Shape{
				doc.Area{Points: doc.Box(10, 10, 60, 20), Fill: doc.Pale, Edge: doc.Foreground},
				doc.Label{At: doc.Pt(40, 24), Text: "esx01", Align: doc.Centre},
				doc.Line{Points: []doc.Point{doc.Pt(70, 20), doc.Pt(150, 50)}, Arrow: true, Dashed: true},
			}},
			doc.Heading{Level: 1, Text: "End", Anchor: "end"},
			doc.Index{Entries: []doc.IndexEntry{
				{Term: "esx01", Refs: []doc.Span{{Text: "step 7", Link: "step-7"}}},
				{Term: "row-50", Refs: []doc.Span{{Text: "table", Link: "row-50"}}},
			}},
		},
	}
}

func rendered(t testing.TB, d *doc.Document, format string) string {
	var b bytes.Buffer
	require.NoError(t, Write(&b, d, format, Papers[0]))
	return b.String()
}

func TestTheSameDocumentGivesTheSameBytes(t *testing.T) {
	for _, format := range Formats {
		first := rendered(t, every(), format)
		require.Equal(t, first, rendered(t, every(), format), format)
	}
	var b bytes.Buffer
	require.ErrorContains(t, Write(&b, every(), "docx", Papers[0]), "pdf, html, md")
}

func TestEachFormatSaysAllOfIt(t *testing.T) {
	md, html := rendered(t, every(), "md"), rendered(t, every(), "html")
	pdf := paper.Text(t, []byte(rendered(t, every(), "pdf")), "-layout")
	for _, fact := range []string{
		"First → part", "Water at 40 °C × 2 –", "eins", "until all that is above is off", "row-0", "row-89",
		"shut down esx01", "shut down these 60", "8–67", "like-59", "‹A›", "10.0.0.59", "its own place 7", "A3/U40", "or its button",
		"The estate", "digest 0123456789ab", "1 March 2026", "initials", "changed",
	} {
		require.Contains(t, md, fact)
		require.Contains(t, html, fact)
		if fact != "changed" { // a bar in the margin
			require.Contains(t, pdf, fact)
		}
	}
	require.Contains(t, pdf, "All of <it> & more")
	require.Contains(t, html, "All of &lt;it&gt; &amp; more")
	require.Contains(t, md, `All of \<it> & more`)
	require.Contains(t, md, "`` echo `a` | b_c_ * ``")
	require.NotContains(t, html, "<script")
}

func TestATableGoesOnUnderItsTitles(t *testing.T) {
	pages := strings.Split(strings.TrimSuffix(paper.Text(t, []byte(rendered(t, every(), "pdf")), "-layout"), "\f"), "\f")
	require.Greater(t, len(pages), 3)
	for i, page := range pages {
		require.Contains(t, page, fmt.Sprintf("page %d of %d", i+1, len(pages)))
		if strings.Contains(page, "row-") && !strings.Contains(page, "Contents") && i < len(pages)-1 {
			require.Contains(t, page, "words", "page %d has rows and no titles", i+1)
		}
	}
}

func TestWhatTheFontsLackIsWrittenByItsNumber(t *testing.T) {
	d := &doc.Document{Title: "t", Blocks: []doc.Block{doc.Paragraph{Text: doc.T("家 \u202e✓ →")}}}
	text := paper.Text(t, []byte(rendered(t, d, "pdf")))
	require.Contains(t, text, "U+5BB6")
	require.Contains(t, text, "√ →")
}
