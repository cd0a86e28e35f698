package e2e_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/adapter/ssh/sshdtest"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/nut/nuttest"
)

// heard is all that came out of the program, by where it came out.
type heard map[string]string

// asks asks the API of a site on its socket for everything that it has.
func (h heard) asks(s *room, token string) {
	s.t.Helper()
	st, ok := s.Status()
	require.True(s.t, ok)
	h.asksAt(s.t, "unix", filepath.Join(s.Dir, "api.sock"), st.View.Outage, token)
}

// asksAt asks an API at an address, with and without the token and with a wrong one.
func (h heard) asksAt(t *testing.T, network, address, outage, token string) {
	t.Helper()
	client := http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}},
	}
	ask := func(method, path, token, body string) {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
		require.NoError(t, err)
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := client.Do(req)
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		h["API "+method+" "+path+" "+strconv.Itoa(len(h))] = fmt.Sprint(resp.Status, resp.Header, string(text))
	}
	for _, path := range []string{
		"/v1/status", "/v1/outages", "/v1/outages/" + outage, "/v1/outages/none", "/metrics", "/healthz",
		"/readyz", "/nowhere",
	} {
		ask(http.MethodGet, path, "", "")
		ask(http.MethodGet, path, token, "")
	}
	for _, body := range []string{"", `{"verb":"explode"}`, `{"verb":"confirm","node":"nas","by":"kim"}`} {
		ask(http.MethodPost, "/v1/commands", token, body)
		ask(http.MethodPost, "/v1/commands", token+"x", body)
	}
}

// runs runs commands, in both formats.
func (h heard) runs(s *room, args ...string) {
	s.t.Helper()
	for _, format := range []string{"text", "json"} {
		out, errs, _ := run(s.t, append(args, "--format", format)...)
		h[strings.Join(args, " ")+" "+format] = out + errs
	}
}

// process looks at what everybody on the machine, or its administrator, sees of a process.
func (h heard) process(t *testing.T, pid int) {
	t.Helper()
	for _, name := range []string{"cmdline", "environ", "status", "comm"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		require.NoError(t, err)
		h[name] = string(text)
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	require.NoError(t, err)
	require.Regexp(t, `Max core file size +0 +0`, string(limits))
}

// files reads everything in a folder but what is there to hold secrets.
func (h heard) files(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "credentials" {
			return filepath.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		h["file "+path] = string(text)
		return err
	}))
}

func (h heard) holdsNone(t *testing.T, p planted) {
	t.Helper()
	bytes := 0
	for where, text := range h {
		require.Empty(t, p.in(t, text), "in %s", where)
		bytes += len(text)
	}
	t.Logf("%d secrets, %d places, %d bytes", len(p), len(h), bytes)
}

// TestSecretsStayWhereTheyAre: in a whole outage and back, at the level debug, no secret comes out of the program
// anywhere.
func TestSecretsStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	s := newRoom(t, nil)
	settings := s.Files(true)
	const token, reading, inEnvironment = "planted token to operate with 8d1f", "planted token to read with 77ac", "PLANTED_READ_TOKEN"
	secrets := planted{
		"NUT password": nuttest.AdminPassword, "vSphere password": vspheresim.Password, "token": token,
		"read token": reading,
	}
	secrets.key("SSH key", s.SSHD.Key)
	s.Write("credentials/token", token)
	s.Write("page.sh", "#!/bin/sh\ncat >>"+s.Dir+"/pages\nenv >>"+s.Dir+"/pages\n")
	text, err := os.ReadFile(settings)
	require.NoError(t, err)
	s.Write("settings.yaml", string(text)+"log: {level: debug}\ntoken: {credential: token}\nread_token: {env: "+inEnvironment+
		"}\nnotify: {command: [/bin/sh, "+s.Dir+"/page.sh]}\n")

	p := startWith(t, []string{inEnvironment + "=" + reading}, settings)
	s.Ready()
	all := heard{}
	all.asks(s, token)
	s.untilDown(90 * time.Second)
	all.asks(s, reading)
	all.runs(s, "status", "--listen", "unix:"+s.Dir+"/api.sock")
	all.process(t, p.PID())
	require.Contains(t, all["environ"], inEnvironment+"="+reading, "a secret from the environment stands there: docs/SECURITY.md says so")
	all["environ"] = strings.ReplaceAll(all["environ"], reading, "")
	s.SetMains(true)
	s.untilRestored(120 * time.Second)
	all.asks(s, token)
	p.Signal(syscall.SIGTERM)
	<-p.Ended()

	journal, book := filepath.Join(s.Dir, "journal.db"), filepath.Join(s.Dir, "runbook.yaml")
	all.runs(s, "journal", "export", journal)
	all.runs(s, "report", "--journal", journal, "--runbook", book)
	all.runs(s, "report", "--journal", journal, "--runbook", book, "--as", "html")
	all.runs(s, "blame", "--journal", journal, "--runbook", book)
	all.runs(s, "critical-chain", "--journal", journal, "--runbook", book)
	require.Contains(t, all["report --journal "+journal+" --runbook "+book+" text"], "came back, the last", "what is told of a real outage")
	all.runs(s, "journal", "verify", journal)
	all.runs(s, "check", book)
	for _, format := range []string{"text", "json", "dot", "mermaid"} {
		for _, goal := range []string{"down", "up"} {
			out, errs, code := run(t, "plan", book, "--goal", goal, "--format", format)
			require.Zero(t, code, errs)
			all["plan "+goal+format] = out
		}
	}
	all["log"] = p.Log()
	require.Contains(t, all["log"], "level=DEBUG")
	all.files(t, s.Dir)
	require.Contains(t, all["file "+journal], "esx01", "the journal was read")
	// What the program that pages was given is its environment, which has the token that stands in ours.
	pages := "file " + filepath.Join(s.Dir, "pages")
	require.Contains(t, all[pages], "ebbtide: ")
	require.NotContains(t, all[pages], reading, "the program that tells people has no business with our environment")
	all.holdsNone(t, secrets)
}

// TestTokensStayWhereTheyAre: nor do tokens that are really asked for, on TCP, right and wrong ones.
func TestTokensStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	s := newRoom(t, nil)
	settings := s.Files(false)
	secrets := planted{"token": "planted token to operate with 91", "read token": "planted token to read with 92"}
	s.Write("credentials/token", secrets["token"])
	s.Write("credentials/read", secrets["read token"])
	text, err := os.ReadFile(settings)
	require.NoError(t, err)
	s.Write("settings.yaml", string(text)+"log: {level: debug}\ntoken: {credential: token}\nread_token: {credential: read}\n")
	address := peertest.FreeAddress(t)
	p := start(t, settings, "--listen", address)
	s.Write("credentials/given", secrets["read token"])
	all := heard{}
	s.Until("answer to the read token", 20*time.Second, func() bool {
		out, errs, code := run(t, "status", "--listen", address, "--token-file", filepath.Join(s.Dir, "credentials", "given"))
		all["status"] = out + errs
		return code == 0
	})
	all.asksAt(t, "tcp", address, "none", secrets["token"])
	all.asksAt(t, "tcp", address, "none", secrets["read token"])
	out, errs, code := run(t, "hold", "--listen", address, "--token-file", filepath.Join(s.Dir, "credentials", "given"))
	require.Equal(t, 6, code, "who may read may not command")
	all["hold"] = out + errs
	all.process(t, p.PID())
	all["log"] = p.Log()
	require.Contains(t, all["log"], "a request had a wrong token")
	all.files(t, s.Dir)
	all.holdsNone(t, secrets)
}

// TestWrongSecretsStayWhereTheyAre: what is refused is not repeated either, and nor is what systems that can't be reached
// were to be given.
func TestWrongSecretsStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	s := newRoom(t, nil)
	settings := s.Files(false)
	_, wrong := sshdtest.NewKey(t)
	secrets := planted{
		"wrong NUT password": "planted wrong for upsd 51", "wrong vSphere password": "planted wrong for vcenter 52",
		"SSH password": "planted wrong for ssh 53",
		"passphrase":   "planted passphrase 54", "token": "planted wrong token 55", "inline": "planted inline 56",
	}
	secrets.key("wrong SSH key", wrong)
	locked := lockedKey(t, secrets["passphrase"])
	secrets.key("locked SSH key", locked)
	for name, secret := range map[string]string{
		"upsd": secrets["wrong NUT password"], "vcenter": secrets["wrong vSphere password"], "ssh_password": secrets["SSH password"],
		"nas_key": wrong, "locked": locked, "token": secrets["token"],
	} {
		s.Write("credentials/"+name, secret)
	}
	nobody := peertest.FreeAddress(t)
	book, err := os.ReadFile(filepath.Join(s.Dir, "runbook.yaml"))
	require.NoError(t, err)
	more := fmt.Sprintf(`  gone-vcenter: {type: vsphere, url: "https://%[1]s", username: root, password: {credential: vcenter}}
  gone-nas: {type: ssh, address: "%[1]s", user: root, password: {credential: ssh_password}, host_key: "%[2]s"}
  by-password: {type: ssh, address: "%[3]s", user: root, password: {credential: ssh_password}, host_key: "%[2]s"}
  by-locked: {type: ssh, address: "%[3]s", user: root, key: {credential: locked}, host_key: "%[2]s"}
nodes:
  gone-vm: {type: vsphere.vm, via: gone-vcenter}
  gone-nas: {type: ssh, via: gone-nas, probe: [state], stop: [stop]}
  by-password: {type: ssh, via: by-password, probe: [state], stop: [stop]}
  by-locked: {type: ssh, via: by-locked, probe: [state], stop: [stop]}
`, nobody, s.SSHD.HostKey, s.SSHD.Address)
	changed := strings.Replace(string(book), "nodes:\n", more, 1)
	s.Write("runbook.yaml", strings.Replace(changed, "supplies:\n",
		"supplies:\n  gone: {nut: \"ups@"+nobody+"\", username: u, password: {credential: upsd}, cut: none}\n", 1))
	text, err := os.ReadFile(settings)
	require.NoError(t, err)
	s.Write("settings.yaml", string(text)+"log: {level: debug, format: json}\ntoken: {credential: token}\n")

	p := start(t, settings)
	all := heard{}
	s.Until("complaints", 60*time.Second, func() bool {
		log := p.Log()
		for _, complaint := range []string{
			"ACCESS-DENIED", "may not log in", "access denied", "protected by a passphrase",
			"connection refused",
		} {
			if !strings.Contains(log, complaint) {
				return false
			}
		}
		return true
	})
	all.asks(s, secrets["token"])
	s.SetMains(false)
	s.Until("outage", 20*time.Second, func() bool { st, ok := s.Status(); return ok && st.View.Outage != "" })
	all.asks(s, secrets["token"])
	all.process(t, p.PID())
	p.Signal(syscall.SIGTERM)
	<-p.Ended()
	all.runs(s, "journal", "export", filepath.Join(s.Dir, "journal.db"))

	s.Write("inline.yaml", strings.Replace(string(book), "password: {credential: vcenter}", `password: "planted inline 56"`, 1))
	all.runs(s, "check", filepath.Join(s.Dir, "inline.yaml"))
	all.runs(s, "plan", filepath.Join(s.Dir, "inline.yaml"))
	require.Contains(t, all["check "+filepath.Join(s.Dir, "inline.yaml")+" text"], "must be a reference to a secret")
	require.NoError(t, os.Remove(filepath.Join(s.Dir, "inline.yaml")))
	s.Write("inline.yaml", "runbook: runbook.yaml\ntoken: planted inline 56\n")
	all.runs(s, "daemon", "--config", filepath.Join(s.Dir, "inline.yaml"))
	require.NoError(t, os.Remove(filepath.Join(s.Dir, "inline.yaml")))
	all["log"] = p.Log()
	all.files(t, s.Dir)
	all.holdsNone(t, secrets)
}

// lockedKey makes a private key that a passphrase locks.
func lockedKey(t *testing.T, passphrase string) string {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	require.NoError(t, err)
	return string(bytes.TrimSpace(pem.EncodeToMemory(block)))
}
