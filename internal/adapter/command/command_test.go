package command

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/script"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// appliance is a program that keeps the state of a cache in the folder that it stands in. It is not idempotent: it
// complains when it is told what is so already, as many do.
const appliance = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
put() { echo "$2" >"$1.$$" && mv "$1.$$" "$1"; }
[ -e frozen ] && exec sleep 1000
case $1 in
probe) cat state mode; echo "dirty=$(cat dirty)" ;;
stop|force) [ "$(cat state)" = off ] && { echo "already off" >&2; exit 1; }; put state off ;;
start) [ "$(cat state)" = on ] && { echo "already on" >&2; exit 1; }; put state on ;;
protect) put mode protected=yes ;;
flush) put dirty 0 ;;
unprotect) put mode protected=no ;;
esac
`

func spec(program string) *script.Spec {
	c := func(verb string) schema.Command { return schema.Command{Argv: []string{program, verb}} }
	return &script.Spec{
		Probe: c("probe"), Protect: c("protect"), Flush: c("flush"), Stop: c("stop"), Force: c("force"),
		Start: c("start"), Unprotect: c("unprotect"),
	}
}

func open(t *testing.T, s *script.Spec) adapter.Node {
	n, err := Family().Open(schema.Node{ID: "cache", Type: "command", Spec: s}, nil, nil)
	require.NoError(t, err)
	return n
}

func TestContract(t *testing.T) {
	contracttest.Run(t, contracttest.Subject{Make: func(t *testing.T) *contracttest.Thing {
		dir := t.TempDir()
		put := func(name, text string, mode os.FileMode) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
		}
		put("appliance", appliance, 0o700)
		put("state", "on\n", 0o600)
		put("mode", "protected=no\n", 0o600)
		put("dirty", "4096\n", 0o600)
		s := spec(filepath.Join(dir, "appliance"))
		require.Empty(t, Family().Nodes[0].Check(s))
		return &contracttest.Thing{
			Node: open(t, s),
			Can:  Family().Nodes[0].Verbs(s),
			Truth: func() plan.State {
				text, err := os.ReadFile(filepath.Join(dir, "state"))
				require.NoError(t, err)
				if strings.TrimSpace(string(text)) == "on" {
					return plan.On
				}
				return plan.Off
			},
			Freeze: func() { put("frozen", "", 0o600) },
		}
	}})
}

func TestArgumentsReachTheProgramAsTheyAre(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	awkward := []string{"a b", "$HOME", "`id`", "'", `"`, "", "*", "-n", "ü\n"}
	n := open(t, &script.Spec{Stop: schema.Command{Argv: append([]string{
		"sh", "-c", `f=$1; shift; printf '<%s>' "$@" >"$f"`, "sh",
		out,
	}, awkward...)}})
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}))
	got, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, "<"+strings.Join(awkward, "><")+">", string(got))
}

func TestWhatCannotRunIsRefused(t *testing.T) {
	plainFile := filepath.Join(t.TempDir(), "plain")
	require.NoError(t, os.WriteFile(plainFile, nil, 0o600))
	for _, program := range []string{"/nowhere/tool", "ebbtide-no-such-tool", plainFile} {
		n := open(t, spec(program))
		require.ErrorIs(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}), adapter.ErrRefused)
		_, err := n.Probe(t.Context())
		require.ErrorIs(t, err, adapter.ErrRefused)
		require.ErrorContains(t, err, program)
	}
}

func TestAStopThatHangsIsKilledAndNotRefused(t *testing.T) {
	n := open(t, &script.Spec{Stop: schema.Command{Argv: []string{"sleep", "1000"}}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := n.Do(ctx, adapter.Command{Verb: plan.Stop})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, adapter.ErrRefused)
	seen, err := n.Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, plan.Unknown, seen.State, "it has no probe")
}

func TestCheck(t *testing.T) {
	c := schema.Command{Argv: []string{"x"}}
	for _, tt := range []struct {
		spec script.Spec
		want string
	}{
		{script.Spec{Stop: c}, "stop needs a probe"},
		{script.Spec{Flush: c}, "flush needs a probe that prints"},
		{script.Spec{Probe: c, Protect: c}, "protect and unprotect need each other"},
		{
			script.Spec{Probe: c, Stop: schema.Command{Line: "poweroff -f"}},
			`stop must be a list of a program and its arguments: there is no shell here; write [sh, -c, "poweroff -f"]`,
		},
	} {
		errs := Family().Nodes[0].Check(&tt.spec)
		require.Len(t, errs, 1)
		require.ErrorContains(t, errs[0], tt.want)
	}
}
