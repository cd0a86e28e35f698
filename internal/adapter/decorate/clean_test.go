package decorate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/decorate"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/plan"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"on, Grüße: 5 µs …":       "on, Grüße: 5 µs …",
		"\x1b]0;owned\x07\x1b[2J": " ]0;owned  [2J",
		"one\ntwo\r\nMAINPID=1":   "one two  MAINPID=1",
		"\u009b31m \u202egnp.exe": " 31m  gnp.exe",
		"\xff\x9b":                "��",
		"12345678901234567890123": "12345678901234567890…",
	} {
		require.Equal(t, want, printable.Text(text, 20), "%q", text)
	}
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.IntRange(0, 30).Draw(rt, "most")
		got := printable.Text(string(rapid.SliceOf(rapid.Byte()).Draw(rt, "text")), most)
		require.LessOrEqual(rt, utf8.RuneCountInString(got), most+1)
		require.False(rt, strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsGraphic(r) }))
	})
}

// sayer is a node that says what it likes.
type sayer string

func (s sayer) Probe(context.Context) (plan.Observation, error) {
	return plan.Observation{State: plan.On, Detail: string(s)}, nil
}

func (s sayer) Do(context.Context, adapter.Command) error {
	return fmt.Errorf("%s: %w", string(s), adapter.ErrRefused)
}

func (s sayer) Watch(_ context.Context, seen func(plan.Observation)) error {
	seen(plan.Observation{Detail: string(s)})
	return errors.New(string(s))
}

func TestCleanNodes(t *testing.T) {
	t.Parallel()
	n := decorate.Clean(sayer("\x1b[2J" + strings.Repeat("x", 1<<20)))
	tidy := func(text string) {
		t.Helper()
		require.NotContains(t, text, "\x1b")
		require.Less(t, len(text), 1100)
	}
	seen, err := n.Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, plan.On, seen.State)
	tidy(seen.Detail)
	err = n.Do(t.Context(), adapter.Command{Verb: plan.Stop})
	tidy(err.Error())
	require.ErrorIs(t, err, adapter.ErrRefused, "what an error means is kept")
	tidy(n.(adapter.Watcher).Watch(t.Context(), func(o plan.Observation) { tidy(o.Detail) }).Error())
	_, watches := decorate.Clean(struct{ adapter.Node }{sayer("")}).(adapter.Watcher)
	require.False(t, watches)
}
