// Package proxmoxtest starts fakepve, a fake of Proxmox VE's API that checks every call against Proxmox's own schema,
// and stands before it for what it does not keep: API tokens, missing privileges, HA states, Ceph's flags, and nodes that
// go down.
package proxmoxtest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/peertest"
)

// What is let in.
const (
	Token  = "ebbtide@pve!ups"
	Secret = "5f2d8a9e-planted"
)

// Guest is a guest as fakepve takes it.
type Guest struct {
	VMID     int               `json:"vmid"`
	Name     string            `json:"name"`
	Type     string            `json:"type,omitempty"` // lxc; a VM if not given
	Status   string            `json:"status"`
	QMP      string            `json:"qmpstatus,omitempty"`
	Config   map[string]string `json:"config,omitempty"`
	Template bool              `json:"template,omitempty"`
	Lock     string            `json:"lock,omitempty"`
	Takes    float64           `json:"shutdown_secs,omitempty"` // to shut down
	Fails    string            `json:"start_error,omitempty"`
	Managed  string            `json:"ha_state,omitempty"`
}

// Cluster is a running fake of one node, pve1.
type Cluster struct {
	t      testing.TB
	front  *httptest.Server
	back   string // fakepve's address
	client *http.Client
	cookie string
	csrf   string

	mu      sync.Mutex
	denied  map[string]string // "POST /nodes/pve1/qemu/100/status/stop": what is said
	down    bool              // pve1
	frozen  bool
	revoked bool
	ha      map[string]string
	flags   map[string]bool
	calls   []string
	stop    chan struct{}

	osdsDown int // of Ceph's three
}

// New starts a cluster. It skips the test where fakepve is not installed, and fails it in CI.
func New(t testing.TB, guests ...Guest) *Cluster {
	t.Helper()
	program := find(t)
	file := filepath.Join(t.TempDir(), "guests.json")
	text, err := json.Marshal(map[string]any{"guests": append([]Guest{}, guests...)})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o600))
	c := &Cluster{t: t, client: &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
	}}}
	c.start(program, file)
	return c.Again(t)
}

// Again is the same cluster's guests behind an API of its own: nothing of what was broken or set in c is so there.
func (c *Cluster) Again(t testing.TB) *Cluster {
	t.Helper()
	a := &Cluster{
		t: t, client: c.client, back: c.back, cookie: c.cookie, csrf: c.csrf,
		denied: map[string]string{}, ha: map[string]string{}, flags: map[string]bool{}, stop: make(chan struct{}),
	}
	for _, f := range []string{
		"nobackfill", "nodeep-scrub", "nodown", "noin", "noout", "norebalance", "norecover", "noscrub",
		"notieragent", "noup", "pause",
	} {
		a.flags[f] = false
	}
	a.front = httptest.NewTLSServer(http.HandlerFunc(a.serve))
	t.Cleanup(a.Close)
	return a
}

func find(t testing.TB) string {
	t.Helper()
	name := os.Getenv("EBBTIDE_FAKEPVE")
	if name == "" {
		name = "fakepve"
		at, err := filepath.Abs(".")
		for ; err == nil && at != "/"; at = filepath.Dir(at) { // the repository is somewhere above the package under test
			if _, err := os.Stat(filepath.Join(at, "bin/fakepve/bin/fakepve")); err == nil {
				name = filepath.Join(at, "bin/fakepve/bin/fakepve")
				break
			}
		}
	}
	at, err := exec.LookPath(name)
	if err == nil {
		return at
	}
	const message = "fakepve is not installed: run `make setup`, or name it in EBBTIDE_FAKEPVE"
	if os.Getenv("CI") != "" {
		t.Fatal(message)
	}
	t.Skip(message)
	return ""
}

// start starts fakepve with a certificate of ours, since its own needs a Python package more.
func (c *Cluster) start(program, guests string) {
	c.t.Helper()
	certificate := peertest.Certificate(c.t, c.t.TempDir(), "127.0.0.1")
	cmd := exec.CommandContext(c.t.Context(), program, guests, "--host", "127.0.0.1", "--port", strconv.Itoa(peertest.FreePort(c.t, "tcp")),
		"--time-scale", "0.05", "--cert", certificate.Cert, "--key", certificate.Key)
	out, err := cmd.StdoutPipe()
	require.NoError(c.t, err)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	require.NoError(c.t, cmd.Start())
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	require.True(c.t, lines.Scan(), "fakepve does not start: %s", &errs)
	_, at, found := strings.Cut(lines.Text(), "listening on ")
	require.True(c.t, found, lines.Text())
	c.back = at
	form := url.Values{"username": {"root@pam"}, "password": {"secret"}}
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.back+"/api2/json/access/ticket",
		strings.NewReader(form.Encode()))
	require.NoError(c.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := c.client.Do(req)
	require.NoError(c.t, err)
	defer func() { _ = resp.Body.Close() }()
	var login struct {
		Data struct {
			Ticket string `json:"ticket"`
			CSRF   string `json:"CSRFPreventionToken"`
		} `json:"data"`
	}
	require.NoError(c.t, json.NewDecoder(resp.Body).Decode(&login))
	c.cookie, c.csrf = login.Data.Ticket, login.Data.CSRF
	require.NotEmpty(c.t, c.cookie)
}

// Close ends it.
func (c *Cluster) Close() {
	c.mu.Lock()
	select {
	case <-c.stop:
	default:
		close(c.stop)
	}
	c.mu.Unlock()
	c.front.CloseClientConnections()
	c.front.Close()
}

// URL is where the API is.
func (c *Cluster) URL() string { return c.front.URL }

// Thumbprint is of its certificate.
func (c *Cluster) Thumbprint() string {
	sum := sha256.Sum256(c.front.Certificate().Raw)
	return hex.EncodeToString(sum[:])
}

// Freeze lets it take calls and answer none.
func (c *Cluster) Freeze() { c.with(func() { c.frozen = true }) }

// Revoke has it accept its token no more.
func (c *Cluster) Revoke() { c.with(func() { c.revoked = true }) }

// Deny lets a call be refused for want of a privilege on a path, in Proxmox's words.
func (c *Cluster) Deny(call, path, privilege string) {
	c.with(func() { c.denied[call] = fmt.Sprintf("Permission check failed (%s, %s)", path, privilege) })
}

// SetHA gives HA a resource in a state.
func (c *Cluster) SetHA(sid, state string) { c.with(func() { c.ha[sid] = state }) }

// HA tells the state of a resource.
func (c *Cluster) HA(sid string) (state string) { c.with(func() { state = c.ha[sid] }); return state }

// SetFlag sets one of Ceph's flags.
func (c *Cluster) SetFlag(flag string) { c.with(func() { c.flags[flag] = true }) }

// Flag tells one of Ceph's flags.
func (c *Cluster) Flag(flag string) (on bool) { c.with(func() { on = c.flags[flag] }); return on }

// Down reports whether the node was shut down.
func (c *Cluster) Down() (down bool) { c.with(func() { down = c.down }); return down }

// Calls lists what was commanded, in order.
func (c *Cluster) Calls() (calls []string) {
	c.with(func() { calls = append(calls, c.calls...) })
	return calls
}

func (c *Cluster) with(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// Status tells a guest's state, not through the adapter; "" if there is none.
func (c *Cluster) Status(kind string, vmid int) string {
	var answer struct {
		Data struct {
			Status string `json:"status"`
		} `json:"data"`
	}
	_, _, body := c.forward(context.Background(), http.MethodGet,
		fmt.Sprintf("/api2/json/nodes/pve1/%s/%d/status/current", kind, vmid), nil, "")
	_ = json.Unmarshal(body, &answer) // an error has no status
	return answer.Data.Status
}

// Delete stops a VM and deletes it.
func (c *Cluster) Delete(vmid int) {
	c.forward(context.Background(), http.MethodPost, fmt.Sprintf("/api2/json/nodes/pve1/qemu/%d/status/stop", vmid), nil, "")
	for c.Status("qemu", vmid) == "running" {
	}
	for c.Status("qemu", vmid) != "" {
		c.forward(context.Background(), http.MethodDelete, fmt.Sprintf("/api2/json/nodes/pve1/qemu/%d", vmid), nil, "")
	}
}

// forward asks fakepve as root.
func (c *Cluster) forward(ctx context.Context, method, path string, body []byte, contentType string) (status int,
	reason string, text []byte,
) {
	req, err := http.NewRequestWithContext(ctx, method, c.back+path, bytes.NewReader(body))
	if err != nil {
		return http.StatusInternalServerError, err.Error(), nil
	}
	req.Header.Set("Cookie", "PVEAuthCookie="+c.cookie)
	req.Header.Set("CSRFPreventionToken", c.csrf)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return http.StatusInternalServerError, err.Error(), nil
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ = io.ReadAll(resp.Body)
	return resp.StatusCode, strings.TrimSpace(strings.TrimPrefix(resp.Status, strconv.Itoa(resp.StatusCode))), text
}

func (c *Cluster) serve(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api2/json")
	call := r.Method + " " + path
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	frozen, revoked, no, down := c.frozen, c.revoked, c.denied[call], c.down && strings.HasPrefix(path, "/nodes/pve1/")
	c.mu.Unlock()
	switch {
	case frozen:
		select {
		case <-r.Context().Done():
		case <-c.stop:
		}
		return
	case revoked, r.Header.Get("Authorization") != "PVEAPIToken="+Token+"="+Secret:
		answer(w, http.StatusUnauthorized, "invalid token value!", `{"data":null}`)
		return
	case no != "":
		answer(w, http.StatusForbidden, no, `{"data":null}`)
		return
	case down:
		answer(w, 595, "No route to host", `{"data":null}`)
		return
	}
	status, reason, text := c.forward(r.Context(), r.Method, r.URL.RequestURI(), body, r.Header.Get("Content-Type"))
	form, _ := url.ParseQuery(string(body))
	if r.Method != http.MethodGet {
		c.with(func() { c.calls = append(c.calls, strings.TrimSpace(call+" "+form.Encode())) })
	}
	if status == http.StatusOK {
		text = c.keep(call, form, text)
	}
	answer(w, status, reason, string(text))
}

// SetOSDsDown lets so many of Ceph's three OSDs be down.
func (c *Cluster) SetOSDsDown(n int) { c.with(func() { c.osdsDown = n }) }

// keep does what fakepve checks and does not do.
func (c *Cluster) keep(call string, form url.Values, text []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []map[string]any
	switch sid, put := strings.CutPrefix(call, "PUT /cluster/ha/resources/"); {
	case put:
		c.ha[sid] = form.Get("state")
		return text
	case call == "PUT /cluster/ceph/flags":
		for f := range form {
			c.flags[f] = form.Get(f) == "1"
		}
		return text
	case call == "POST /nodes/pve1/status":
		c.down = true
		return text
	case call == "GET /cluster/ha/resources":
		for sid, state := range c.ha {
			list = append(list, map[string]any{"sid": sid, "type": "vm", "state": state})
		}
	case call == "GET /cluster/ceph/flags":
		for f, on := range c.flags {
			list = append(list, map[string]any{"name": f, "value": map[bool]int{true: 1, false: 0}[on]})
		}
	case call == "GET /cluster/ceph/status":
		return fmt.Appendf(nil, `{"data":{"health":{"status":"HEALTH_WARN"},"osdmap":{"num_osds":3,"num_up_osds":%d,"num_in_osds":3},`+
			`"pgmap":{"num_pgs":33,"pgs_by_state":[{"state_name":"active+clean","count":32},{"state_name":%q,"count":1}]}}}`, 3-c.osdsDown,
			map[bool]string{false: "active+clean+scrubbing", true: "undersized+degraded+peered"}[c.osdsDown > 1])
	default:
		return text
	}
	made, err := json.Marshal(map[string]any{"data": list})
	if err != nil {
		return text
	}
	return made
}

// answer gives an error as Proxmox does, its reason in the status line, which net/http does not let a handler write.
func answer(w http.ResponseWriter, status int, reason, text string) {
	if status == http.StatusOK {
		w.Header().Set("Content-Type", "application/json;charset=UTF-8")
		_, _ = io.WriteString(w, text)
		return
	}
	raw, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer func() { _ = raw.Close() }()
	fmt.Fprintf(raw, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", status,
		reason, len(text), text)
}
