package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/report/doc"
	"ebbtide/test/paper"
)

// numbered are so many lines with a name.
func numbered(name string, count int) []doc.Text {
	lines := make([]doc.Text, count)
	for i := range lines {
		lines[i] = doc.T("%s-%d", name, i)
	}
	return lines
}

// afterLines is a document with so many lines before a block, and as much of it again after it.
func afterLines(lines int, b doc.Block) *doc.Document {
	d := &doc.Document{Title: "t"}
	for _, l := range numbered("before", lines) {
		d.Blocks = append(d.Blocks, doc.Paragraph{Text: l})
	}
	d.Blocks = append(d.Blocks, b, doc.Paragraph{Text: doc.T("after it")})
	return d
}

// pagesOf are the texts of a document's pages.
func pagesOf(t *testing.T, d *doc.Document) []string {
	t.Helper()
	return strings.Split(strings.TrimSuffix(paper.Text(t, []byte(rendered(t, d, "pdf")), "-layout"), "\f"), "\f")
}

// TestATallStepIsDividedBetweenItsParts: wherever on a page it begins, its parts stay whole, its number and title stand
// over each, its boxes stand where it ends, and nothing is lost.
func TestATallStepIsDividedBetweenItsParts(t *testing.T) {
	t.Parallel()
	step := doc.Step{Number: "12", Title: doc.T("shut down all"), Boxes: []string{"time", "initials"}, Fields: []doc.Field{
		{Name: "where", Lines: numbered("where", 1)},
		{Name: "by hand", Lines: numbered("hand", 14)},
		{Name: "see", Lines: numbered("see", 5), Apart: true},
		{Name: "takes", Lines: numbered("takes", 1)},
		{Name: "if not", Lines: numbered("not", 4), Apart: true},
	}}
	divided := map[int]int{} // documents, by how many lines of what is seen stand on the first page
	for lines := range 50 {
		pages := pagesOf(t, afterLines(lines, step))
		all := strings.Join(pages, "\n")
		for _, f := range step.Fields {
			for _, l := range f.Lines {
				require.Equal(t, 1, strings.Count(all, l.String()+"\n"), "%s after %d lines", l, lines)
			}
			with := 0
			for _, p := range pages {
				if strings.Contains(p, f.Lines[0].String()) {
					with++
					require.Contains(t, p, f.Lines[len(f.Lines)-1].String(), "after %d lines", lines)
				}
			}
			require.Equal(t, 1, with)
		}
		require.Equal(t, 1, strings.Count(all, "initials"))
		if !strings.Contains(all, "(continued)") {
			continue
		}
		divided[strings.Count(pages[0], "see-")]++
		require.Contains(t, pages[0], "continued on the next page")
		require.NotContains(t, pages[0], "initials")
		require.Contains(t, pages[0], "hand-13")
		require.Regexp(t, `12\s+shut down all \(continued\)`, pages[1])
		require.Contains(t, pages[1], "initials")
	}
	require.Positive(t, divided[0], "before what is seen")
	require.Positive(t, divided[5], "before what is done if it fails")
}

// TestAShortStepStaysWhole: turning a page costs more than the room that it would fill.
func TestAShortStepStaysWhole(t *testing.T) {
	t.Parallel()
	for lines := range 50 {
		text := strings.Join(pagesOf(t, afterLines(lines, doc.Step{Number: "12", Title: doc.T("wait"), Fields: []doc.Field{
			{Name: "by hand", Lines: numbered("hand", 3)}, {Name: "see", Lines: numbered("see", 3), Apart: true},
		}})), "\n")
		require.NotContains(t, text, "(continued)", "after %d lines", lines)
	}
}

// TestNoRowStandsAlone: neither the first of a table's rows at the foot of a page nor the last at the head of one.
func TestNoRowStandsAlone(t *testing.T) {
	t.Parallel()
	table := doc.Table{Columns: []doc.Column{{Title: "titles"}}}
	for _, l := range numbered("row", 6) {
		table.Rows = append(table.Rows, doc.Row{Cells: []doc.Text{l}})
	}
	broken := 0
	for lines := range 50 {
		pages := pagesOf(t, afterLines(lines, table))
		for _, p := range pages {
			if n := strings.Count(p, "row-"); n > 0 {
				require.Contains(t, p, "titles", fmt.Sprint(lines))
				require.NotEqual(t, 1, n, "after %d lines", lines)
				if n < 6 {
					broken++
				}
			}
		}
	}
	require.Positive(t, broken)
}

// TestAFigureGivesWayALittle: it becomes somewhat smaller rather than leave most of a page empty, and no smaller than that.
func TestAFigureGivesWayALittle(t *testing.T) {
	t.Parallel()
	figure := doc.Figure{Caption: "drawn", Width: 100, Height: 600}
	require.Len(t, pagesOf(t, afterLines(0, figure)), 1)
	require.Len(t, pagesOf(t, afterLines(10, figure)), 2, "what comes after it")
	require.Contains(t, pagesOf(t, afterLines(10, figure))[0], "drawn")
	require.NotContains(t, pagesOf(t, afterLines(20, figure))[0], "drawn")
}
