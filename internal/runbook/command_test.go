package runbook

import (
	"testing"

	"ebbtide/internal/schema"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

func TestCommandIsAListOrALine(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want schema.Command
		err  string
	}{
		{in: `[systemctl, poweroff]`, want: schema.Command{Argv: []string{"systemctl", "poweroff"}}},
		{in: `"sync && poweroff"`, want: schema.Command{Line: "sync && poweroff"}},
		{in: `[]`, err: "empty"},
		{in: `[""]`, err: "empty"},
		{in: `" "`, err: "empty"},
		{in: `{a: b}`, err: "a list of a program and its arguments"},
	} {
		var got struct{ Stop schema.Command }
		err := yaml.Unmarshal([]byte("stop: "+tt.in), &got)
		if tt.err != "" {
			require.ErrorContains(t, err, tt.err, tt.in)
			continue
		}
		require.NoError(t, err, tt.in)
		require.Equal(t, tt.want, got.Stop)
		require.False(t, got.Stop.IsZero())
	}
	require.True(t, schema.Command{}.IsZero())
}
