// Package windowssim is a contract fake of Windows machines. It speaks WS-Management as far as a remote command goes, decodes
// the PowerShell that it is given, and leaves the answer to who knows the cmdlets in it, as their vendor documents them. It is
// no Windows: what it does not know of Windows, no test can find by it.
package windowssim

import (
	"context"
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
	"unicode/utf16"
)

// Who is let in.
const (
	User     = `HV1\ebbtide` // an account of the machine's own, which is part of a domain
	Password = "Planted-7!"
)

// Cmdlets answers a script, without its prelude, by the cmdlets in it: with what its JSON is made from. Its arguments and
// its input are JSON; null if there are none. It is called for one script after the other.
type Cmdlets func(script string, args, input json.RawMessage) any

// Failed is the answer of a cmdlet that fails, with the name of its error.
func Failed(text, id string) map[string]any { return map[string]any{"error": text, "id": id} }

// Machine is a fake machine.
type Machine struct {
	server  *httptest.Server
	cmdlets Cmdlets
	stop    chan struct{}
	once    sync.Once

	turn sync.Mutex // of scripts

	mu       sync.Mutex
	down     bool
	frozen   bool
	revoked  bool
	loses    bool   // breaks off the connection that carries an input
	failed   int    // logins by NTLM
	slow     int    // so many requests for output find none in time
	denied   string // a cmdlet that the account may not use
	ran      []string
	lines    []string
	commands map[string]*command
}

// command is one that was given over WinRM.
type command struct {
	line  string
	stdin strings.Builder
	ended chan struct{} // closed when out is valid
	out   string
}

// New starts a machine.
func New(cmdlets Cmdlets) *Machine {
	w := &Machine{cmdlets: cmdlets, stop: make(chan struct{}), commands: map[string]*command{}}
	w.server = httptest.NewUnstartedServer(http.HandlerFunc(w.serve))
	w.server.Config.ConnContext = connected
	w.server.StartTLS()
	return w
}

// URL is where WinRM listens.
func (w *Machine) URL() string { return w.server.URL }

// Thumbprint is of its certificate.
func (w *Machine) Thumbprint() string {
	sum := sha256.Sum256(w.server.Certificate().Raw)
	return hex.EncodeToString(sum[:])
}

// Close takes it off the network.
func (w *Machine) Close() {
	w.once.Do(func() {
		close(w.stop)
		w.server.CloseClientConnections()
		w.server.Close()
	})
}

// Freeze lets it take calls and answer none.
func (w *Machine) Freeze() { w.with(func() { w.frozen = true }) }

// Revoke has it let nobody in any more.
func (w *Machine) Revoke() { w.with(func() { w.revoked = true }) }

// LoseInput breaks off the connections on which scripts get their input; their output is waited for in vain.
func (w *Machine) LoseInput() { w.with(func() { w.loses = true }) }

// Slow lets the next requests for output find none within the time that they give.
func (w *Machine) Slow(requests int) { w.with(func() { w.slow = requests }) }

// Deny forbids a cmdlet.
func (w *Machine) Deny(cmdlet string) { w.with(func() { w.denied = cmdlet }) }

// ShutDown lets the machine break off all connections from now on.
func (w *Machine) ShutDown() { w.with(func() { w.down = true }) }

// Down reports whether the machine was shut down.
func (w *Machine) Down() (down bool) { w.with(func() { down = w.down }); return down }

// Ran lists the scripts that were run, without their preludes.
func (w *Machine) Ran() (ran []string) { w.with(func() { ran = append(ran, w.ran...) }); return ran }

// Lines are the command lines as the machine's list of processes showed them, decoded where they are encoded.
func (w *Machine) Lines() (lines []string) {
	w.with(func() { lines = append(lines, w.lines...) })
	return lines
}

func (w *Machine) with(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

var (
	action    = regexp.MustCompile(`<a:Action[^>]*>([^<]+)<`)
	asked     = regexp.MustCompile(`(?s)<rsp:Command>(.*?)</rsp:Command>`)
	commandID = regexp.MustCompile(`CommandId="([^"]+)"`)
	stream    = regexp.MustCompile(`(?s)<rsp:Stream[^>]*>(.*?)</rsp:Stream>`)
	arguments = regexp.MustCompile(`FromBase64String\('([^']*)'\)\)\|ConvertFrom-Json;`)
)

const envelope = `<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:a="http://schemas.xmlsoap.org/ws/2004/08/addressing" xmlns:w="http://schemas.dmtf.org/wbem/wsman/1/wsman.xsd" xmlns:rsp="http://schemas.microsoft.com/wbem/wsman/1/windows/shell"><s:Header><a:Action>%s</a:Action></s:Header><s:Body>%s</s:Body></s:Envelope>`

const tooLate = `<s:Fault><s:Code><s:Value>s:Receiver</s:Value><s:Subcode><s:Value>w:TimedOut</s:Value></s:Subcode></s:Code><s:Detail><f:WSManFault xmlns:f="http://schemas.microsoft.com/wbem/wsman/1/wsmanfault" Code="2150858793" Machine="hv1"><f:Message>The WS-Management service cannot complete the operation within the time specified in OperationTimeout.</f:Message></f:WSManFault></s:Detail></s:Fault>`

// serve answers one request of WS-Management.
func (w *Machine) serve(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var frozen, down, loses, revoked bool
	w.with(func() { frozen, down, loses, revoked = w.frozen, w.down, w.loses, w.revoked })
	switch {
	case frozen:
		select {
		case <-r.Context().Done():
		case <-w.stop:
		}
		return
	case down:
		panic(http.ErrAbortHandler) // the connection breaks off
	case revoked:
		rw.WriteHeader(http.StatusUnauthorized)
		return
	case !w.lets(rw, r):
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
		if w.late() {
			rw.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintf(rw, envelope, "http://schemas.dmtf.org/wbem/wsman/1/wsman/fault", tooLate)
			return
		}
		answer = w.receive(r.Context(), body)
	case strings.HasSuffix(said, "/shell/Send") && loses:
		panic(http.ErrAbortHandler)
	case strings.HasSuffix(said, "/shell/Send"):
		w.send(body)
		answer = `<rsp:SendResponse/>`
	case strings.HasSuffix(said, "/shell/Signal"):
		answer = `<rsp:SignalResponse/>`
	}
	rw.Header().Set("Content-Type", "application/soap+xml;charset=UTF-8")
	fmt.Fprintf(rw, envelope, said+"Response", answer)
}

func (w *Machine) late() (late bool) {
	w.with(func() {
		if late = w.slow > 0; late {
			w.slow--
		}
	})
	return late
}

// begin takes a command; it runs when its standard input is at its end.
func (w *Machine) begin(body []byte) (id string) {
	c := &command{ended: make(chan struct{})}
	if m := asked.FindSubmatch(body); m != nil {
		c.line = strings.TrimSuffix(strings.TrimPrefix(string(m[1]), "<![CDATA["), "]]>")
	}
	w.with(func() {
		id = fmt.Sprintf("CMD-%d", len(w.commands))
		w.commands[id] = c
	})
	return id
}

func (w *Machine) command(body []byte) (id string, c *command) {
	if m := commandID.FindSubmatch(body); m != nil {
		id = string(m[1])
	}
	w.with(func() { c = w.commands[id] })
	return id, c
}

func (w *Machine) send(body []byte) {
	_, c := w.command(body)
	if c == nil {
		return
	}
	if m := stream.FindSubmatch(body); m != nil {
		raw, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(string(m[1])))
		c.stdin.Write(raw)
	}
	if strings.Contains(string(body), `End="true"`) {
		c.out = w.PowerShell(c.line, c.stdin.String())
		close(c.ended)
	}
}

func (w *Machine) receive(ctx context.Context, body []byte) string {
	id, c := w.command(body)
	if c == nil {
		return ""
	}
	select {
	case <-c.ended:
	case <-ctx.Done():
		return ""
	case <-w.stop:
		return ""
	}
	return `<rsp:ReceiveResponse><rsp:Stream Name="stdout" CommandId="` + id + `">` + base64.StdEncoding.EncodeToString([]byte(c.out)) +
		`</rsp:Stream><rsp:CommandState CommandId="` + id +
		`" State="http://schemas.microsoft.com/wbem/wsman/1/windows/shell/CommandState/Done"><rsp:ExitCode>0</rsp:ExitCode></rsp:CommandState></rsp:ReceiveResponse>`
}

// PowerShell runs a command line with an encoded script and gives what it prints.
func (w *Machine) PowerShell(line, stdin string) string {
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
	at := arguments.FindStringSubmatchIndex(text)
	if at == nil {
		return `{"error":"no arguments"}`
	}
	args, err := base64.StdEncoding.DecodeString(text[at[2]:at[3]])
	if err != nil || !json.Valid(args) {
		return `{"error":"the arguments are no JSON"}`
	}
	script, input := text[at[1]:], json.RawMessage("null")
	if reads, rest, ok := strings.Cut(script, "ConvertFrom-Json;"); ok && strings.HasPrefix(reads, "$i=") {
		script = rest
		if input, err = base64.StdEncoding.DecodeString(strings.TrimSpace(stdin)); err != nil || !json.Valid(input) {
			return `{"error":"the input is no JSON"}`
		}
	}
	script = strings.TrimSpace(script)
	var denied string
	w.with(func() {
		w.ran = append(w.ran, script)
		w.lines = append(w.lines, text+" "+string(args))
		denied = w.denied
	})
	if denied != "" && strings.Contains(script, denied) {
		return `{"error":"You do not have the required permission to complete this task.","id":"AccessDenied,` + denied + `"}`
	}
	w.turn.Lock()
	defer w.turn.Unlock()
	made, err := json.Marshal(w.cmdlets(script, args, input))
	if err != nil {
		return `{"error":"no JSON"}`
	}
	return string(made)
}
