package book

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebbtide/internal/report/doc"
)

// Whoever puts into the blanks what stands beside a step's name has each of its lines as it would stand alone.
func TestBlanksFilledInGiveTheStep(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "vm-1", "vm-2", "10.0.0.1", "10.0.0.2", "00:25:90:aa:bb:01", "00:25:90:aa:bb:02"})
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 12).Draw(t, "form") // what is at a place: one of the names below
		var l *likeness
		var steps []doc.Step
		for i := range rapid.IntRange(1, 6).Draw(t, "steps") {
			name := fmt.Sprintf("node-%d", i)
			known := []string{name, word.Draw(t, "first"), word.Draw(t, "second"), word.Draw(t, "third"), "same", "(for all)"}
			var said, typed []string
			for k, at := range form {
				if k%2 == 0 {
					said = append(said, known[at])
				} else {
					typed = append(typed, known[at])
				}
			}
			s := doc.Step{Fields: []doc.Field{
				{Name: "own", Lines: []doc.Text{doc.T("only %s", name)}},
				{Name: "by hand", Lines: []doc.Text{
					doc.T("%s:", strings.Join(said, ", ")),
					doc.Verbatim("ssh root@" + strings.Join(typed, " -x ")),
				}},
			}}
			if l == nil {
				l = newLikeness(s, name, "own")
			} else {
				require.True(t, l.add(s, name))
			}
			steps = append(steps, s)
		}
		require.LessOrEqual(t, l.count, mostBlanks)
		for i, s := range steps {
			put := []string{nameBlank, l.names[i]}
			for part := range strings.SplitSeq(l.fillings(i).String(), "   ") {
				if blank, word, found := strings.Cut(part, " "); found {
					put = append(put, blank, word)
				}
			}
			fill := strings.NewReplacer(put...)
			for k, f := range l.shared() {
				require.Equal(t, s.Fields[k+1].Name, f.Name)
				for n, line := range f.Lines {
					require.Equal(t, s.Fields[k+1].Lines[n].String(), fill.Replace(line.String()))
				}
			}
		}
	})
}

// What is not the same but for a few words is not alike.
func TestUnlikeSteps(t *testing.T) {
	step := func(words string, more ...doc.Text) doc.Step {
		return doc.Step{Fields: []doc.Field{{Name: "by hand", Lines: append([]doc.Text{doc.Verbatim(words)}, more...)}}}
	}
	l := newLikeness(step("a b c d e"), "one")
	for _, s := range []doc.Step{
		step("a b c d"), step("a b c d e f"), step("a b c d e", doc.T("more")), step("v w x y z"),
		step("a b c d - e"), step("a b c-d"),
		{},
	} {
		require.False(t, l.add(s, "another"))
	}
	require.True(t, l.add(step("a w x y z"), "two"))
	require.False(t, l.add(step("v w x y z"), "three"))
	require.Len(t, l.steps, 2)
}
