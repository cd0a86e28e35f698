// Package nuttest starts a real upsd with drivers of ours for tests: dummy-ups is slow to change and can't answer
// instant commands.
package nuttest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ebbtide/internal/adapter/peertest"
)

// program is called by its real path: /sbin/upsd is a wrapper that does nothing with MODE=none.
const program = "/lib/nut/upsd"

// The users that upsd knows.
const (
	Admin         = "admin" // may do everything
	AdminPassword = `s3cret "pass" \ #1`

	Viewer         = "viewer" // may log in as secondary
	ViewerPassword = "viewpass"

	Forcer         = "forcer" // may set the forced-shutdown flag
	ForcerPassword = "forcepass"

	Reader         = "reader" // may do nothing
	ReaderPassword = "readpass"
)

// Config says what to start.
type Config struct {
	UPSes []string // names; none: "ups1"
	TLS   bool     // STARTTLS with a certificate for localhost and 127.0.0.1
	Host  string   // where it listens; "": 127.0.0.1. Another address of the loopback is another machine as far as NUT knows
}

// Server is a running upsd.
type Server struct {
	Addr   string // 127.0.0.1:port
	CAFile string // of the authority that signed its certificate, with Config.TLS

	t       testing.TB
	folder  string // configuration
	state   string // sockets; a short path, as a socket's has at most 107 bytes
	drivers map[string]*Driver
	process *process
}

type process struct {
	cmd   *exec.Cmd
	log   lockedBuffer
	ended chan struct{}
}

// Start starts upsd and a driver for each UPS, with an ups.status of OL. It skips the test where upsd is not installed.
func Start(t testing.TB, c Config) *Server {
	t.Helper()
	peertest.Need(t, program, program)
	if len(c.UPSes) == 0 {
		c.UPSes = []string{"ups1"}
	}
	s := &Server{t: t, folder: t.TempDir(), drivers: map[string]*Driver{}}
	var err error
	if s.state, err = os.MkdirTemp("", "nut"); err != nil { //nolint:usetesting // t.TempDir is too long for a socket
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(s.state); err != nil {
			t.Error(err)
		}
	})
	var ups strings.Builder
	for _, name := range c.UPSes {
		fmt.Fprintf(&ups, "[%s]\n\tdriver = ebbtide\n\tport = auto\n\tdesc = \"The \\\"%s\\\" UPS\"\n", name, name)
		s.drivers[name] = newDriver(t, filepath.Join(s.state, "ebbtide-"+name))
		s.drivers[name].Set("ups.status", "OL")
	}
	s.write("ups.conf", ups.String())
	s.write("upsd.users", users())
	s.Addr = peertest.FreeAddress(t)
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	if c.Host != "" {
		host = c.Host
		s.Addr = net.JoinHostPort(host, port)
	}
	conf := fmt.Sprintf("LISTEN %s %s\nMAXAGE 15\n", host, port)
	if c.TLS {
		conf += s.certify()
	}
	s.write("upsd.conf", conf)
	t.Cleanup(s.Stop)
	s.Launch()
	return s
}

func users() string {
	quote := func(s string) string {
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`, `#`, `\#`).Replace(s)
	}
	return fmt.Sprintf(`[%s]
	password = "%s"
	actions = SET
	actions = FSD
	instcmds = ALL
	upsmon primary
[%s]
	password = "%s"
	upsmon secondary
[%s]
	password = "%s"
	actions = FSD
[%s]
	password = "%s"
`, Admin, quote(AdminPassword), Viewer, ViewerPassword, Forcer, ForcerPassword, Reader, ReaderPassword)
}

func (s *Server) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.folder, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// Driver gives the driver of a UPS.
func (s *Server) Driver(ups string) *Driver {
	s.t.Helper()
	d := s.drivers[ups]
	if d == nil {
		s.t.Fatalf("no UPS %q was asked for", ups)
	}
	return d
}

// Launch starts upsd, again after Stop, and waits until it has the data of all drivers that are alive.
func (s *Server) Launch() {
	s.t.Helper()
	args := []string{"-F"}
	if os.Geteuid() == 0 {
		args = append(args, "-u", "root")
	}
	p := &process{cmd: exec.Command(program, args...), ended: make(chan struct{})} //nolint:noctx // ended by Stop
	p.cmd.Env = append(os.Environ(), "NUT_CONFPATH="+s.folder, "NUT_STATEPATH="+s.state, "NUT_ALTPIDPATH="+s.state, "NUT_PIDPATH="+s.state,
		"NUT_QUIET_INIT_UPSNOTIFY=true")
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := p.cmd.Start(); err != nil {
		s.t.Fatalf("cannot start upsd: %v", err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // it is ended by a signal
	}()
	s.process = p
	for name, d := range s.drivers {
		if !d.alive() {
			continue
		}
		peertest.Until(s.t, fmt.Sprintf("upsd at %s serves %s", s.Addr, name), func() bool {
			select {
			case <-p.ended:
				s.t.Fatalf("upsd ended: %s", p.log.String())
			default:
			}
			answer, err := s.Ask("GET VAR " + name + " ups.status")
			return err == nil && strings.HasPrefix(answer, "VAR ") && !strings.Contains(answer, "WAIT")
		})
	}
}

func (d *Driver) alive() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.listener != nil
}

// Ask sends one line on a connection of its own and gives the first line of the answer.
func (s *Server) Ask(request string) (answer string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, request+"\n"); err != nil {
		return "", err
	}
	answer, err = bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(answer), err
}

// Await waits until upsd shows a value of a variable.
func (s *Server) Await(ups, name, value string) {
	s.t.Helper()
	request := fmt.Sprintf("VAR %s %s", ups, name)
	peertest.Until(s.t, fmt.Sprintf("%s to be %q", request, value), func() bool {
		answer, err := s.Ask("GET " + request)
		return err == nil && answer == fmt.Sprintf("%s %q", request, value)
	})
}

// AwaitError waits until upsd answers with an ERR code when a UPS is read.
func (s *Server) AwaitError(ups, code string) {
	s.t.Helper()
	peertest.Until(s.t, fmt.Sprintf("%s of %s", code, ups), func() bool {
		answer, err := s.Ask("GET VAR " + ups + " ups.status")
		return err == nil && answer == "ERR "+code
	})
}

// Stop ends upsd. It may be stopped twice.
func (s *Server) Stop() {
	if s.process == nil {
		return
	}
	s.signal(syscall.SIGKILL)
	<-s.process.ended
	s.process = nil
}

// Freeze stops upsd in its tracks: connections are taken by the kernel and never answered.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw lets a frozen upsd go on.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig os.Signal) {
	if err := s.process.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Error(err)
	}
}

// lockedBuffer is written by a process and read by a test.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
