// Package hypervsim is a contract fake of Windows machines with Hyper-V and a failover cluster. It speaks WS-Management
// as far as a remote command goes, and answers the PowerShell that is known to it by the cmdlets in it, as Microsoft
// documents them. It is no Windows: what it does not know of Windows, no test here can find.
package hypervsim

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
)

// Who is let in.
const (
	User     = `LAB\ebbtide`
	Password = "Planted-7!"
)

// VM is a VM of the machine, clustered or not.
type VM struct {
	ID, Name  string
	State     string // as Get-VM has it
	Clustered bool
	Offline   int  // its OfflineAction
	NoGuest   bool // it has no integration services
}

// Windows is a fake machine.
type Windows struct {
	Takes time.Duration // that a guest needs to shut down or start

	server *httptest.Server
	stop   chan struct{}
	once   sync.Once

	mu      sync.Mutex
	vms     []*VM
	service string // of the cluster
	down    bool
	frozen  bool
	denied  string // a cmdlet that the account may not use
	ran     []string
	answers map[string]string // by command id
}

// New starts a machine.
func New(vms ...*VM) *Windows {
	w := &Windows{Takes: 30 * time.Millisecond, vms: vms, service: "Running", stop: make(chan struct{}), answers: map[string]string{}}
	w.server = httptest.NewTLSServer(http.HandlerFunc(w.serve))
	return w
}

// URL is where WinRM listens.
func (w *Windows) URL() string { return w.server.URL }

// Thumbprint is of its certificate.
func (w *Windows) Thumbprint() string {
	sum := sha256.Sum256(w.server.Certificate().Raw)
	return hex.EncodeToString(sum[:])
}

// Close takes it off the network.
func (w *Windows) Close() {
	w.once.Do(func() {
		close(w.stop)
		w.server.CloseClientConnections()
		w.server.Close()
	})
}

// Freeze lets it take calls and answer none.
func (w *Windows) Freeze() { w.with(func() { w.frozen = true }) }

// Deny forbids a cmdlet.
func (w *Windows) Deny(cmdlet string) { w.with(func() { w.denied = cmdlet }) }

// Remove deletes a VM.
func (w *Windows) Remove(name string) {
	w.with(func() {
		for i, vm := range w.vms {
			if vm.Name == name {
				w.vms = append(w.vms[:i], w.vms[i+1:]...)
				return
			}
		}
	})
}

// State tells a VM's state.
func (w *Windows) State(name string) (state string) {
	w.with(func() {
		for _, vm := range w.vms {
			if vm.Name == name {
				state = vm.State
			}
		}
	})
	return state
}

// Service tells the state of the cluster's service.
func (w *Windows) Service() (state string) { w.with(func() { state = w.service }); return state }

// Down tells whether the machine was shut down.
func (w *Windows) Down() (down bool) { w.with(func() { down = w.down }); return down }

// Ran lists the scripts that were run, without their preludes.
func (w *Windows) Ran() (ran []string) { w.with(func() { ran = append(ran, w.ran...) }); return ran }

func (w *Windows) with(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

var (
	action    = regexp.MustCompile(`<a:Action[^>]*>([^<]+)<`)
	commands  = regexp.MustCompile(`(?s)<rsp:Command>(.*?)</rsp:Command>`)
	commandID = regexp.MustCompile(`CommandId="([^"]+)"`)
	arguments = regexp.MustCompile(`FromBase64String\('([^']*)'\)\)\|ConvertFrom-Json;`)
)

const envelope = `<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:a="http://schemas.xmlsoap.org/ws/2004/08/addressing" xmlns:w="http://schemas.dmtf.org/wbem/wsman/1/wsman.xsd" xmlns:rsp="http://schemas.microsoft.com/wbem/wsman/1/windows/shell"><s:Header><a:Action>%s</a:Action></s:Header><s:Body>%s</s:Body></s:Envelope>`

// serve answers one request of WS-Management.
func (w *Windows) serve(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var frozen, down bool
	w.with(func() { frozen, down = w.frozen, w.down })
	switch user, password, _ := r.BasicAuth(); {
	case frozen:
		select {
		case <-r.Context().Done():
		case <-w.stop:
		}
		return
	case down:
		panic(http.ErrAbortHandler) // the connection breaks off
	case user != User || password != Password:
		rw.WriteHeader(http.StatusUnauthorized)
		return
	}
	m := action.FindSubmatch(body)
	if m == nil {
		http.Error(rw, "no action", http.StatusInternalServerError)
		return
	}
	said, answer := string(m[1]), ""
	switch {
	case strings.HasSuffix(said, "/transfer/Create"):
		answer = `<rsp:Shell><rsp:ShellId>SHELL-1</rsp:ShellId></rsp:Shell>`
	case strings.HasSuffix(said, "/shell/Command"):
		answer = `<rsp:CommandResponse><rsp:CommandId>` + w.begin(body) + `</rsp:CommandId></rsp:CommandResponse>`
	case strings.HasSuffix(said, "/shell/Receive"):
		answer = w.receive(body)
	case strings.HasSuffix(said, "/shell/Signal"):
		answer = `<rsp:SignalResponse/>`
	}
	rw.Header().Set("Content-Type", "application/soap+xml;charset=UTF-8")
	fmt.Fprintf(rw, envelope, said+"Response", answer)
}

// begin runs a command and keeps what it prints.
func (w *Windows) begin(body []byte) string {
	line := ""
	if m := commands.FindSubmatch(body); m != nil {
		line = strings.TrimSuffix(strings.TrimPrefix(string(m[1]), "<![CDATA["), "]]>")
	}
	out := w.PowerShell(line)
	w.mu.Lock()
	defer w.mu.Unlock()
	id := fmt.Sprintf("CMD-%d", len(w.answers))
	w.answers[id] = out
	return id
}

func (w *Windows) receive(body []byte) string {
	id := ""
	if m := commandID.FindSubmatch(body); m != nil {
		id = string(m[1])
	}
	var out string
	w.with(func() { out = w.answers[id] })
	return `<rsp:ReceiveResponse><rsp:Stream Name="stdout" CommandId="` + id + `">` + base64.StdEncoding.EncodeToString([]byte(out)) +
		`</rsp:Stream><rsp:CommandState CommandId="` + id + `" State="http://schemas.microsoft.com/wbem/wsman/1/windows/shell/CommandState/Done"><rsp:ExitCode>0</rsp:ExitCode></rsp:CommandState></rsp:ReceiveResponse>`
}

// PowerShell runs a command line with an encoded script and gives what it prints.
func (w *Windows) PowerShell(line string) string {
	words := strings.Fields(line)
	raw, err := base64.RawStdEncoding.DecodeString(words[len(words)-1])
	if err != nil || len(raw)%2 != 0 || words[0] != "powershell.exe" {
		return `{"error":"` + words[0] + ` is not recognized","id":"CommandNotFoundException"}`
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = uint16(raw[2*i]) | uint16(raw[2*i+1])<<8
	}
	text := string(utf16.Decode(units))
	var a struct{ ID, Name string }
	at := arguments.FindStringSubmatchIndex(text)
	if at == nil {
		return `{"error":"no arguments"}`
	}
	args, err := base64.StdEncoding.DecodeString(text[at[2]:at[3]])
	if err != nil || json.Unmarshal(args, &a) != nil {
		return `{"error":"the arguments are no JSON"}`
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	script := strings.TrimSpace(text[at[1]:])
	w.ran = append(w.ran, script)
	if w.denied != "" && strings.Contains(script, w.denied) {
		return `{"error":"You do not have the required permission to complete this task.","id":"AccessDenied,` + w.denied + `"}`
	}
	made, err := json.Marshal(w.answer(script, a.ID, a.Name))
	if err != nil {
		return `{"error":"no JSON"}`
	}
	return string(made)
}
