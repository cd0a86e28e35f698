// Package nutsim is a NUT server in the process: UPSes whose variables are set at run time, instant commands that call
// back, users, and faults on demand. It serves the demo and tests that need no real upsd.
package nutsim

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"ebbtide/internal/nut/wire"
)

// User is who may do what, as in upsd.users.
type User struct {
	Name, Password string
	Set, FSD       bool // actions
	Commands       bool // all instant commands
	Upsmon         bool // may log in
}

// Fault is what goes wrong with the answer to one request. The zero Fault is none.
type Fault struct {
	Delay  time.Duration // before the answer
	Answer string        // sent as it is instead of the true answer
	Drop   bool          // the connection is closed after Answer, which may be empty
}

// Server is a NUT server on a loopback port of its own.
type Server struct {
	listener net.Listener
	closing  chan struct{}
	all      sync.WaitGroup

	mu       sync.Mutex
	supplies []*UPS
	users    []User
	fault    func(request string) Fault
	witness  func(user, request string)
	sessions []*session
	tracked  []error // results of commands, by id
}

// Start begins to serve on a free port of 127.0.0.1.
func Start() (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot start the NUT simulator: %w", err)
	}
	s := &Server{listener: listener, closing: make(chan struct{})}
	s.all.Go(s.accept)
	return s, nil
}

// Addr is the server's host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// AddUser lets a user in.
func (s *Server) AddUser(u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users = append(s.users, u)
}

// SetFault asks f about each request from now on; nil ends that.
func (s *Server) SetFault(f func(request string) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// SetWitness lets f see each request when it comes in, with the user of its connection; "" is one that only reads. Nil
// ends that.
func (s *Server) SetWitness(f func(user, request string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.witness = f
}

// DropConnections closes all connections. The server goes on.
func (s *Server) DropConnections() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.sessions {
		_ = c.conn.Close() // its goroutine sees it and ends
	}
}

// Close ends the server and waits for its goroutines.
func (s *Server) Close() error {
	close(s.closing)
	err := s.listener.Close()
	s.DropConnections()
	s.all.Wait()
	if err != nil {
		return fmt.Errorf("cannot stop the NUT simulator: %w", err)
	}
	return nil
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		s.admit(conn)
	}
}

func (s *Server) admit(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closing: // DropConnections may be over
		_ = conn.Close() // nobody reads it
		return
	default:
	}
	c := &session{server: s, conn: conn}
	s.sessions = append(s.sessions, c)
	s.all.Go(c.serve)
}

// session is one connection.
type session struct {
	server         *Server
	conn           net.Conn
	user, password string
	login          *UPS
	tracking       bool
}

func (c *session) serve() {
	defer c.end()
	in := bufio.NewScanner(c.conn)
	for in.Scan() {
		select {
		case <-c.server.closing:
			return
		default:
		}
		request := strings.TrimSuffix(in.Text(), "\r")
		c.server.see(c.user, request)
		fault := c.server.faultFor(request)
		if fault.Delay > 0 && !c.server.wait(fault.Delay) {
			return
		}
		answer := fault.Answer
		if answer == "" && !fault.Drop {
			answer = c.answer(request)
		}
		if _, err := io.WriteString(c.conn, answer); err != nil {
			return
		}
		if fault.Drop || request == "LOGOUT" {
			return
		}
	}
}

func (c *session) end() {
	_ = c.conn.Close() // may be closed already
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions = slices.DeleteFunc(s.sessions, func(other *session) bool { return other == c })
}

func (s *Server) see(user, request string) {
	s.mu.Lock()
	f := s.witness
	s.mu.Unlock()
	if f != nil {
		f(user, request)
	}
}

func (s *Server) faultFor(request string) Fault {
	s.mu.Lock()
	f := s.fault
	s.mu.Unlock()
	if f == nil {
		return Fault{}
	}
	return f(request)
}

// wait tells false if the server ends meanwhile.
func (s *Server) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.closing:
		return false
	}
}

// refusal is an ERR answer.
type refusal string

func (r refusal) Error() string { return string(r) }

// answer gives the whole answer to a request.
func (c *session) answer(request string) string {
	words, err := wire.Split(request)
	if err != nil || len(words) == 0 {
		return "ERR UNKNOWN-COMMAND\n"
	}
	text, err := c.dispatch(words[0], words[1:])
	if no, refused := errors.AsType[refusal](err); refused {
		return "ERR " + string(no) + "\n"
	}
	return text
}
