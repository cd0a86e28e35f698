package config

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzSettings gives Load any file. It answers with settings that keep what Config promises, or with an error; and a
// secret that stands where a reference belongs is refused and not repeated, whatever is wrong beside it.
func FuzzSettings(f *testing.F) {
	example, err := os.ReadFile("../../deploy/ebbtide.yaml")
	require.NoError(f, err)
	for _, seed := range []string{
		string(example), "runbook: r\n", "runbook: r\nlisten: \"[::1]:1\"\ntoken: {file: /t}\npoll: 1m\n",
		"log: {level: debug\n", "a: &a [*a]\n",
		"? {a: b}\n: c\n", "1: 2\nnull: ~\n", "runbook: [r]\nnotify: {command: [/a, b]}\n", "---\nrunbook: r\n---\narmed: true\n",
		"\xff\xfe", "runbook.x: 1\nlog.level: warn\n",
	} {
		f.Add(seed)
	}
	for _, s := range Settings() {
		f.Setenv(s.Env(), "")
	}
	f.Setenv("EBBTIDE_TOKEN", "")
	f.Setenv("CREDENTIALS_DIRECTORY", "")
	path := filepath.Join(f.TempDir(), "ebbtide.yaml")
	load := func(t *testing.T, text string) (Config, error) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return Load(path, nil)
	}
	const secret = "hunter2+3/4=="
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 || strings.Contains(text, "hunter2") {
			return
		}
		c, err := load(t, text)
		if err == nil {
			requireSound(t, c)
			again, err := load(t, text)
			require.NoError(t, err)
			require.Equal(t, c, again)
		} else {
			require.NotEmpty(t, err.Error())
		}
		for _, spoilt := range []string{"token: " + secret + "\n" + text, "token: {env: " + secret + "}\n" + text} {
			_, err := load(t, spoilt)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "hunter2")
		}
	})
}

// requireSound checks what Config promises.
func requireSound(t *testing.T, c Config) {
	for _, path := range []string{c.File, c.Runbook, c.Journal} {
		require.True(t, filepath.IsAbs(path), "%q", path)
	}
	switch c.Listen.Network {
	case "unix":
		require.True(t, strings.HasPrefix(c.Listen.Address, "/"), c.Listen)
	case "tcp":
		host, _, err := net.SplitHostPort(c.Listen.Address)
		require.NoError(t, err)
		require.True(t, host == "localhost" || net.ParseIP(host).IsLoopback(), c.Listen)
	default:
		require.Fail(t, "neither a socket nor TCP", c.Listen)
	}
	require.LessOrEqual(t, minPoll, c.PollOnBattery)
	require.LessOrEqual(t, c.PollOnBattery, c.Poll)
	require.LessOrEqual(t, c.Poll, maxPoll)
	require.Contains(t, []string{"text", "json"}, c.Log.Format)
	if len(c.Notify.Command) > 0 {
		require.True(t, filepath.IsAbs(c.Notify.Command[0]))
	}
}
