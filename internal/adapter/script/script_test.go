package script

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/process"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		out  string
		code int
		want plan.Observation
		err  string
	}{
		{out: "", code: 0, want: plan.Observation{State: plan.On}},
		{out: "", code: 3, want: plan.Observation{State: plan.Off}},
		{out: "", code: 1, err: "exited with 1; a probe exits with 0 for on and 3 for off"},
		{out: "active\n", code: 0, want: plan.Observation{State: plan.On}},
		{out: "inactive\n", code: 3, want: plan.Observation{State: plan.Off}},
		// systemctl is-active exits with 3 for all of these: its word says more.
		{out: "activating\n", code: 3, want: plan.Observation{State: plan.Starting}},
		{out: "deactivating\n", code: 3, want: plan.Observation{State: plan.Stopping}},
		{out: "failed\n", code: 3, want: plan.Observation{State: plan.Off}},
		{out: "inactive\n", code: 4, err: `exited with 4 and said "inactive"`},
		{out: "off\n", code: 0, want: plan.Observation{State: plan.Off}},
		{out: "on\n", code: 3, err: "printed that it is on, and exited with 3"},
		{out: "unknown\n", code: 0, want: plan.Observation{State: plan.Unknown}},
		{out: "tank is fine\noff\n", code: 0, want: plan.Observation{State: plan.On}}, // only the first line may be a word
		{out: "on\nprotected=yes\ndirty=0\n", code: 0, want: plan.Observation{State: plan.On, Protected: plan.Yes, Clean: plan.Yes}},
		{
			out: "state=stopping\r\nprotected=no\r\ndirty=4096\r\n", code: 0,
			want: plan.Observation{State: plan.Stopping, Protected: plan.No, Clean: plan.No, Dirty: 4096},
		},
		{
			out: "clean=no\ndetail= re\x1bsync 40% \nother=1\n", code: 0,
			want: plan.Observation{State: plan.On, Clean: plan.No, Detail: "re sync 40%"},
		},
		{out: "clean=no\ndirty=0\n", code: 0, want: plan.Observation{State: plan.On, Clean: plan.No}},
		{out: "clean=yes\ndirty=1\n", code: 0, err: "printed clean=yes and dirty=1"},
		{out: "dirty=some\n", code: 0, err: `printed "dirty=some": it must be a whole number of bytes`},
		{out: "dirty=-1\n", code: 0, err: "whole number"},
		{out: "dirty=99999999999999999999\n", code: 0, err: "whole number"},
		{out: "protected=ja\n", code: 0, err: "it must be yes or no"},
		{out: "state=up\n", code: 0, err: "it must be on, off, starting"},
	} {
		got, err := Read(process.Result{Code: tt.code, Stdout: tt.out})
		if tt.err != "" {
			require.ErrorContains(t, err, tt.err, "%q", tt.out)
			continue
		}
		require.NoError(t, err, "%q", tt.out)
		require.Equal(t, tt.want, got, "%q", tt.out)
	}
}

func TestExitStatusOfAVerb(t *testing.T) {
	for _, tt := range []struct {
		code int
		err  error
		want error
	}{
		{code: 0},
		{code: 1, want: adapter.ErrRefused},
		{code: 75, want: adapter.ErrBusy},
		{code: 126, want: adapter.ErrRefused},
		{code: 127, want: adapter.ErrRefused},
		{code: 137, want: adapter.ErrRefused},
		{err: adapter.ErrUnreachable, want: adapter.ErrUnreachable},
		{err: context.DeadlineExceeded, want: context.DeadlineExceeded},
	} {
		n := Node{
			ID: "nas", Spec: Spec{Stop: schema.Command{Line: "halt"}},
			Run: func(context.Context, schema.Command, string) (process.Result, error) {
				return process.Result{Code: tt.code, Stderr: "a\nb"}, tt.err
			},
		}
		err := n.Do(t.Context(), adapter.Command{Verb: plan.Stop})
		require.ErrorIs(t, err, tt.want)
		if tt.want != nil {
			require.ErrorContains(t, err, `cannot stop "nas"`)
		}
	}
}

func TestAProbeThatFailsSaysNothing(t *testing.T) {
	for code, want := range map[int]error{1: nil, 75: adapter.ErrBusy, 127: adapter.ErrRefused} {
		n := Node{
			ID: "nas", Spec: Spec{Probe: schema.Command{Line: "state"}},
			Run: func(context.Context, schema.Command, string) (process.Result, error) {
				return process.Result{Code: code, Stdout: "off"}, nil
			},
		}
		_, err := n.Probe(t.Context())
		require.ErrorContains(t, err, `cannot probe "nas" by its command "state"`)
		for _, sentinel := range []error{adapter.ErrUnreachable, adapter.ErrRefused, adapter.ErrBusy, adapter.ErrGone} {
			require.Equal(t, errors.Is(want, sentinel), errors.Is(err, sentinel), "exit status %d", code)
		}
	}
}

func TestABrokenConnectionIsAnAcceptedStop(t *testing.T) {
	c := schema.Command{Line: "x"}
	n := Node{
		ID: "nas", Spec: Spec{Stop: c, Force: c, Flush: c},
		Run: func(context.Context, schema.Command, string) (process.Result, error) {
			return process.Result{}, ErrBroken
		},
	}
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}))
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Force}))
	err := n.Do(t.Context(), adapter.Command{Verb: plan.Flush})
	require.ErrorIs(t, err, ErrBroken)
	for _, sentinel := range []error{adapter.ErrUnreachable, adapter.ErrRefused, adapter.ErrBusy, adapter.ErrGone} {
		require.NotErrorIs(t, err, sentinel, "nobody knows what became of a flush")
	}
}

func TestASecretIsGivenOnStdinAndDoesNotComeBack(t *testing.T) {
	var stdin string
	n := Node{
		ID: "nas", Spec: Spec{Probe: schema.Command{Line: "p"}, Stop: schema.Command{Line: "x"}},
		Stdin: func() (string, error) { return "hunter2", nil },
		Run: func(_ context.Context, c schema.Command, in string) (process.Result, error) {
			stdin = in
			if c.Line == "p" {
				return process.Result{Stdout: "detail=password hunter2"}, nil
			}
			return process.Result{Code: 1, Stderr: "wrong password: " + strings.TrimSpace(in)}, nil
		},
	}
	err := n.Do(t.Context(), adapter.Command{Verb: plan.Stop})
	require.ErrorContains(t, err, "wrong password: [secret]")
	require.Equal(t, "hunter2\n", stdin)
	seen, err := n.Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "password [secret]", seen.Detail)

	n.Stdin = func() (string, error) { return "", errors.New("no such file") }
	require.ErrorIs(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}), adapter.ErrRefused)
}
