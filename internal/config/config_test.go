package config

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// settings writes a settings file and clears the environment of what might play into it.
func settings(t *testing.T, text string) string {
	t.Helper()
	for _, s := range Settings() {
		t.Setenv(s.Env(), "")
	}
	t.Setenv("EBBTIDE_TOKEN", "")
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	path := filepath.Join(t.TempDir(), "ebbtide.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestDefaults(t *testing.T) {
	path := settings(t, "runbook: /etc/ebbtide/runbook.yaml\n")
	got, err := Load(path, nil)
	require.NoError(t, err)
	require.Equal(t, Config{
		File: path, Runbook: "/etc/ebbtide/runbook.yaml", Journal: "/var/lib/ebbtide/journal.db",
		Listen: Listen{Network: "unix", Address: "/run/ebbtide/ebbtide.sock"}, Poll: time.Second, PollOnBattery: 250 * time.Millisecond,
		Log: Log{Level: slog.LevelInfo, Format: "text"},
	}, got)
}

func TestEverySetting(t *testing.T) {
	path := settings(t, `
runbook: site/runbook.yaml
journal: /srv/ebbtide/journal.db
listen: "[::1]:8417"
poll: 2s
poll_on_battery: 500ms
armed: true
credentials: secrets
token: {credential: api-token}
read_token: {file: /etc/ebbtide/read}
tls: {certificate: api.pem, key: {credential: api-key}}
log: {level: debug, format: json}
notify: {command: [/usr/local/bin/page, "--to", on call]}
`)
	got, err := Load(path, nil)
	require.NoError(t, err)
	dir := filepath.Dir(path)
	require.Equal(t, Config{
		File: path, Runbook: dir + "/site/runbook.yaml", Journal: "/srv/ebbtide/journal.db",
		Listen: Listen{Network: "tcp", Address: "[::1]:8417"}, Poll: 2 * time.Second, PollOnBattery: 500 * time.Millisecond, Armed: true,
		Credentials: dir + "/secrets", Token: Reference{Credential: "api-token"},
		ReadToken: Reference{File: "/etc/ebbtide/read"}, TLS: TLS{Certificate: dir + "/api.pem", Key: Reference{Credential: "api-key"}},
		Log: Log{Level: slog.LevelDebug, Format: "json"}, Notify: Notify{Command: []string{"/usr/local/bin/page", "--to", "on call"}},
	}, got)
}

func TestFlagsWinOverEnvironmentOverFile(t *testing.T) {
	path := settings(t, "runbook: a.yaml\npoll: 2s\npoll_on_battery: 1s\narmed: true\nlog: {level: debug, format: json}\n")
	t.Setenv("EBBTIDE_POLL", "3s")
	t.Setenv("EBBTIDE_ARMED", "false")
	t.Setenv("EBBTIDE_LOG_LEVEL", "warn")
	t.Setenv("EBBTIDE_JOURNAL", "env/journal.db")
	t.Setenv("CREDENTIALS_DIRECTORY", "/run/credentials/ebbtide.service")
	got, err := Load(path, map[string]string{"poll": "4s", "log-level": "error", "runbook": "here.yaml"})
	require.NoError(t, err)
	wd, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, 4*time.Second, got.Poll)
	require.Equal(t, time.Second, got.PollOnBattery)
	require.False(t, got.Armed)
	require.Equal(t, Log{Level: slog.LevelError, Format: "json"}, got.Log)
	require.Equal(t, filepath.Join(wd, "here.yaml"), got.Runbook, "of a flag: relative to the working directory")
	require.Equal(t, filepath.Join(wd, "env/journal.db"), got.Journal)
	require.Equal(t, "/run/credentials/ebbtide.service", got.Credentials)
}

func TestWithoutAFile(t *testing.T) {
	settings(t, "")
	t.Setenv("EBBTIDE_RUNBOOK", "/etc/ebbtide/runbook.yaml")
	got, err := Load("", map[string]string{"token-env": "API_TOKEN", "listen": "localhost:0"})
	require.NoError(t, err)
	require.Empty(t, got.File)
	require.Equal(t, "/etc/ebbtide/runbook.yaml", got.Runbook)
	require.Equal(t, Reference{Env: "API_TOKEN"}, got.Token)
	require.Equal(t, "localhost:0", got.Listen.String())

	_, err = Load(filepath.Join(t.TempDir(), "none.yaml"), nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestMistakes(t *testing.T) {
	const base = "runbook: r.yaml\n"
	for name, tc := range map[string]struct {
		file  string
		env   map[string]string
		flags map[string]string
		want  []string // with FILE for the file's path; exactly these lines
	}{
		"unknown key": {file: base + "pol: 1s\n", want: []string{"FILE: pol: unknown setting, did you mean poll?"}},
		"unknown nested key": {
			file: base + "log: {lvl: info}\n",
			want: []string{"FILE: log.lvl: unknown setting, did you mean log.level?"},
		},
		"unlike any": {file: base + "webserver: 1\n", want: []string{"FILE: webserver: unknown setting"}},
		"case counts": {
			file: base + "armed: false\nArmed: true\n",
			want: []string{"FILE: Armed: unknown setting, did you mean armed?"},
		},
		"group as value": {
			file: base + "log: debug\n",
			want: []string{"FILE: log: it is a group: write its settings below it, like log.level"},
		},
		"value as group": {
			file: base + "poll: {every: 1s}\n",
			want: []string{"FILE: poll: map[every:1s] is not a time: write it with its unit, like 1s or 250ms"},
		},
		"time without unit": {
			file: base + "poll: 5\n",
			want: []string{"FILE: poll: 5 is not a time: write it with its unit, like 1s or 250ms"},
		},
		"no time": {
			file: base + "poll: soon\n",
			want: []string{`FILE: poll: "soon" is not a time: write it with its unit, like 1s or 250ms`},
		},
		"too fast": {
			file: base + "poll_on_battery: 1ms\n",
			want: []string{"FILE: poll_on_battery: 1ms is out of range: from 100ms to 1m0s"},
		},
		"slower on battery": {file: base + "poll: 200ms\n", want: []string{"poll_on_battery: 250ms is slower than poll, 200ms"}},
		"no bool":           {file: base + "armed: maybe\n", want: []string{"FILE: armed: maybe is neither true nor false"}},
		"bool as number":    {file: base + "armed: 1\n", want: []string{"FILE: armed: 1 is neither true nor false"}},
		"bool in environment": {
			file: base, env: map[string]string{"EBBTIDE_ARMED": "on"},
			want: []string{"EBBTIDE_ARMED: on is neither true nor false"},
		},
		"time in a flag": {
			file: base, flags: map[string]string{"poll": "1"},
			want: []string{`--poll: "1" is not a time: write it with its unit, like 1s or 250ms`},
		},
		"unknown flag": {file: base, flags: map[string]string{"pole": "1s"}, want: []string{"--pole: no setting has this flag"}},
		"no runbook": {
			file: "armed: true\n",
			want: []string{"no runbook is set: give runbook in the settings file, EBBTIDE_RUNBOOK or --runbook"},
		},
		"empty path": {
			file: base + "journal: ''\n",
			want: []string{"FILE: journal: it is empty: give it a value or leave it out"},
		},
		"number for a path": {file: base + "journal: 7\n", want: []string{"FILE: journal: 7 is not a string: put it in quotes"}},
		"level": {
			file: base + "log: {level: loud}\n",
			want: []string{`FILE: log.level: "loud" is not a level: write debug, info, warn or error`},
		},
		"format": {
			file: base + "log: {format: xml}\n",
			want: []string{`FILE: log.format: "xml" is not a format: write text or json`},
		},
		"command as text": {
			file: base + "notify: {command: /bin/true}\n",
			want: []string{`FILE: notify.command: write the program and its arguments as a list: ["/usr/local/bin/page", "--urgent"]`},
		},
		"command with number": {
			file: base + "notify: {command: [/bin/echo, 1]}\n",
			want: []string{"FILE: notify.command: 1 is not a string: put it in quotes"},
		},
		"command by name": {
			file: base + "notify: {command: [mail]}\n",
			want: []string{`FILE: notify.command: the program "mail" needs an absolute path`},
		},
		"two references": {
			file: base + "token: {file: /t, env: T}\n",
			want: []string{"token: name one of credential, file and env, not more"},
		},
		"two key references": {
			file: base + "tls: {key: {file: /t, credential: T}}\n",
			want: []string{"tls.key: name one of credential, file and env, not more"},
		},
		"open to the network": {
			file: base + "listen: 0.0.0.0:8417\n",
			want: []string{`FILE: listen: "0.0.0.0:8417" is not a loopback address, and it would be spoken to in plain text: write https://0.0.0.0:8417, with tls.certificate and tls.key`},
		},
		"https without a key": {
			file: base + "listen: https://127.0.0.1:8417\ntls: {certificate: c.pem}\n",
			want: []string{"listen: https://127.0.0.1:8417 needs tls.certificate and tls.key"},
		},
		"https without tokens": {
			file: base + "listen: https://0.0.0.0:8417\ntls: {certificate: c.pem, key: {credential: k}}\n",
			want: []string{"listen: https://0.0.0.0:8417 is open to other machines: set read_token, and token for commands"},
		},
		"all at once, in file": {
			file: "a: 1\npoll: x\narmed: 2\n",
			want: []string{
				"FILE: a: unknown setting", `FILE: poll: "x" is not a time: write it with its unit, like 1s or 250ms`,
				"FILE: armed: 2 is neither true nor false",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := settings(t, tc.file)
			for k, v := range tc.env {
				t.Setenv(k, v)
			}
			_, err := Load(path, tc.flags)
			require.Error(t, err)
			require.Equal(t, tc.want, strings.Split(strings.ReplaceAll(err.Error(), path, "FILE"), "\n"))
		})
	}
}

func TestListenAddresses(t *testing.T) {
	for text, want := range map[string]Listen{
		"unix:/run/ebbtide.sock": {"unix", "/run/ebbtide.sock", false},
		"127.0.0.1:8417":         {"tcp", "127.0.0.1:8417", false},
		"127.8.0.1:0":            {"tcp", "127.8.0.1:0", false},
		"[::1]:65535":            {"tcp", "[::1]:65535", false},
		"localhost:80":           {"tcp", "localhost:80", false},
		"https://192.168.1.2:1":  {"tcp", "192.168.1.2:1", true},
		"https://[::]:8417":      {"tcp", "[::]:8417", true},
		"https://ups.lab:8417":   {"tcp", "ups.lab:8417", true},
	} {
		got, err := parseListen(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())
	}
	for text, says := range map[string]string{
		":8417": "not a loopback", "0.0.0.0:8417": "not a loopback", "[::]:1": "not a loopback", "192.168.1.2:1": "not a loopback",
		"example.com:1": "not a loopback", "127.0.0.1": "not an address", "127.0.0.1:": "no valid port", "127.0.0.1:65536": "no valid port",
		"127.0.0.1:http": "no valid port", "unix:run/x": "absolute path", "unix:": "absolute path", "/run/x.sock": "not an address",
		"":                                  "not an address",
		"unix:/" + strings.Repeat("x", 107): "longer than", "https://ups.lab": "not an address", "https://ups.lab:1/x": "no valid port",
		"http://127.0.0.1:1": "not an address",
	} {
		_, err := parseListen(text)
		require.ErrorContains(t, err, says, text)
	}
}

// A secret that stands where it must not is refused, and the message does not spread it.
func TestSecretsAreNotRepeated(t *testing.T) {
	const secret = "hunter2+3/4=="
	for name, text := range map[string]string{
		"token":           "token: " + secret,
		"token as list":   "token: [" + secret + "]",
		"read token":      "read_token: " + secret,
		"key":             "tls: {key: " + secret + "}",
		"unknown part":    "token: {value: " + secret + "}",
		"credential":      "token: {credential: " + secret + "}",
		"file":            "token: {file: " + secret + "}",
		"env":             "token: {env: " + secret + "}",
		"part as a map":   "token: {env: {x: " + secret + "}}",
		"unknown setting": "password: " + secret,
		"unknown group":   "nut: {password: " + secret + "}",
		"not YAML":        "token: \"" + secret + "\n",
		"an alias":        "token: *" + secret + "\n",
		"no settings":     secret,
		"a key twice":     "token: {env: A}\n" + secret + ": 1\n" + secret + ": 2\n",
		"a bad tag":       "token: !!int " + secret + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(settings(t, text), map[string]string{"runbook": "r"})
			require.Error(t, err)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
	for _, flag := range []string{"token-credential", "token-file", "token-env", "read-token-env", "tls-key-file"} {
		_, err := Load(settings(t, "runbook: r\n"), map[string]string{flag: secret})
		require.ErrorContains(t, err, "--"+flag)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestTokenInTheEnvironmentIsNotTakenByAccident(t *testing.T) {
	path := settings(t, "runbook: r\n")
	t.Setenv("EBBTIDE_TOKEN", "hunter2")
	_, err := Load(path, nil)
	require.EqualError(t, err, "EBBTIDE_TOKEN: it is not a setting: to use it as the secret, set EBBTIDE_TOKEN_ENV=EBBTIDE_TOKEN")
	got, err := Load(path, map[string]string{"token-env": "EBBTIDE_TOKEN"})
	require.NoError(t, err)
	require.Equal(t, Reference{Env: "EBBTIDE_TOKEN"}, got.Token)
}

func TestNamesOfSettings(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Settings() {
		require.NotEmpty(t, s.Doc)
		require.Regexp(t, `^EBBTIDE_[A-Z_]+$`, s.Env())
		require.Regexp(t, `^[a-z-]+$`, s.Flag())
		require.False(t, seen[s.Flag()], s.Flag())
		seen[s.Flag()] = true
	}
}

// The example is read as it stands, and with every comment in it made a setting.
func TestExample(t *testing.T) {
	text, err := os.ReadFile("../../deploy/ebbtide.yaml")
	require.NoError(t, err)
	_, err = Load(settings(t, string(text)), nil)
	require.NoError(t, err)

	var all []string
	for line := range strings.Lines(string(text)) {
		if bare, ok := strings.CutPrefix(line, "#"); ok && !strings.HasPrefix(bare, " ") {
			line = bare
		}
		all = append(all, line)
	}
	got, err := Load(settings(t, strings.Join(all, "")), nil)
	require.NoError(t, err)
	for _, s := range append(Settings(), command()) {
		name := s.Key[strings.LastIndex(s.Key, ".")+1:]
		require.Contains(t, string(text), name, "the example does not show %s", s.Key)
	}
	require.NotEmpty(t, got.Notify.Command)
	require.False(t, got.Token.IsZero())
	require.False(t, got.Armed, "the example must not arm anything")
}

// The distance is that of the textbook, which tries everything.
func TestDistanceLaw(t *testing.T) {
	var naive func(a, b string) int
	naive = func(a, b string) int {
		if a == "" || b == "" {
			return len(a) + len(b)
		}
		replace := naive(a[1:], b[1:])
		if a[0] != b[0] {
			replace++
		}
		return min(replace, naive(a[1:], b)+1, naive(a, b[1:])+1)
	}
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.StringMatching(`[a-c]{0,6}`)
		a, b := word.Draw(rt, "a"), word.Draw(rt, "b")
		require.Equal(rt, naive(a, b), distance(a, b))
	})
}
