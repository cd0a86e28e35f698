// Package sshsim is a double of a host that is reached by SSH: a real SSH server on loopback whose commands are
// functions. It can refuse, hang, freeze, drop off the network and come back. NAS is a whole appliance made of it.
package sshsim

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
)

// User is the one who may log in, with the server's ClientKey.
const User = "ebbtide"

// Handler carries out a command: what it reads, prints and exits with. ctx ends when the server goes down.
type Handler func(ctx context.Context, stdin io.Reader) (stdout string, code int)

// Server is an SSH server on a loopback port of its own. Its methods may be called at the same time.
type Server struct {
	handlers  map[string]Handler
	config    *ssh.ServerConfig
	address   string
	hostKey   string
	clientKey string

	mu       sync.Mutex
	listener net.Listener // nil while it is down
	conns    map[net.Conn]struct{}
	ctx      context.Context // of the time that it is up
	down     context.CancelFunc
	thawed   chan struct{} // closed unless the server is frozen
	hung     map[string]bool
	refused  map[string]bool
	ran      []string
	wg       sync.WaitGroup
}

// Start makes a server with new keys, and lets it listen. handlers are by the whole command line.
func Start(handlers map[string]Handler) (*Server, error) {
	_, hostKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot make a host key: %w", err)
	}
	signer, err := ssh.NewSignerFromKey(hostKey)
	if err != nil {
		return nil, fmt.Errorf("cannot make a host key: %w", err)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(private, "ebbtide demo")
	if err != nil {
		return nil, fmt.Errorf("cannot make a client key: %w", err)
	}
	known, err := ssh.NewPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client key: %w", err)
	}
	s := &Server{
		handlers: handlers, address: "127.0.0.1:0", conns: map[net.Conn]struct{}{},
		hung: map[string]bool{}, refused: map[string]bool{}, thawed: make(chan struct{}),
		hostKey:   strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey()))),
		clientKey: string(pem.EncodeToMemory(block)),
	}
	close(s.thawed)
	s.config = &ssh.ServerConfig{
		PublicKeyCallback: func(meta ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if meta.User() != User || !bytes.Equal(key.Marshal(), known.Marshal()) {
				return nil, errors.New("unknown user or key")
			}
			return nil, nil
		},
	}
	s.config.AddHostKey(signer)
	if err := s.Up(); err != nil {
		return nil, err
	}
	return s, nil
}

// Address is where it listens, also after it was down.
func (s *Server) Address() string { return s.address }

// HostKey is its key as a runbook's host_key has it.
func (s *Server) HostKey() string { return s.hostKey }

// ClientKey is the private key that lets User in.
func (s *Server) ClientKey() string { return s.clientKey }

// Up lets it listen again after Down. A server that is up stays so.
func (s *Server) Up() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", s.address)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", s.address, err)
	}
	s.address, s.listener = listener.Addr().String(), listener
	s.ctx, s.down = context.WithCancel(context.Background())
	ctx := s.ctx
	s.wg.Go(func() { s.accept(ctx, listener) })
	return nil
}

// Down takes it off the network at once, with all connections, as a power cut does.
func (s *Server) Down() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return
	}
	s.down()
	_ = s.listener.Close()
	s.listener = nil
	for conn := range s.conns {
		_ = conn.Close()
	}
}

// Close ends it and all that it runs.
func (s *Server) Close() {
	s.Down()
	s.Freeze(false)
	s.wg.Wait()
}

// Freeze makes it accept connections and answer nothing, or go on.
func (s *Server) Freeze(frozen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.thawed:
		if frozen {
			s.thawed = make(chan struct{})
		}
	default:
		if !frozen {
			close(s.thawed)
		}
	}
}

// Hang makes a command hang from now on: it does nothing and never ends.
func (s *Server) Hang(command string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hung[command] = true
}

// Refuse makes a command fail from now on, with exit status 1.
func (s *Server) Refuse(command string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[command] = true
}

// Ran lists the command lines that came, in their order.
func (s *Server) Ran() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.ran...)
}

func (s *Server) accept(ctx context.Context, listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return // it is down
		}
		s.mu.Lock()
		if ctx.Err() != nil {
			s.mu.Unlock()
			_ = conn.Close()
			return
		}
		s.conns[conn] = struct{}{}
		s.mu.Unlock()
		s.wg.Go(func() {
			s.serve(ctx, conn)
			_ = conn.Close()
			s.mu.Lock()
			delete(s.conns, conn)
			s.mu.Unlock()
		})
	}
}

// thaw waits while the server is frozen, and reports whether it is still up then.
func (s *Server) thaw(ctx context.Context) bool {
	s.mu.Lock()
	thawed := s.thawed
	s.mu.Unlock()
	select {
	case <-thawed:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

func (s *Server) serve(ctx context.Context, raw net.Conn) {
	if !s.thaw(ctx) {
		return
	}
	conn, channels, requests, err := ssh.NewServerConn(raw, s.config)
	if err != nil {
		return // a client that may not come in, or has gone
	}
	defer func() { _ = conn.Close() }()
	s.wg.Go(func() {
		for req := range requests {
			if s.thaw(ctx) && req.WantReply {
				_ = req.Reply(false, nil) // no request is known; the answer is what a keep-alive wants
			}
		}
	})
	for asked := range channels {
		if !s.thaw(ctx) {
			return
		}
		if asked.ChannelType() != "session" {
			_ = asked.Reject(ssh.UnknownChannelType, "only sessions")
			continue
		}
		channel, requests, err := asked.Accept()
		if err != nil {
			return
		}
		s.wg.Go(func() { s.session(ctx, channel, requests) })
	}
}

// session serves one session: one command.
func (s *Server) session(ctx context.Context, channel ssh.Channel, requests <-chan *ssh.Request) {
	defer func() { _ = channel.Close() }()
	for req := range requests {
		var exec struct{ Command string }
		if req.Type != "exec" || ssh.Unmarshal(req.Payload, &exec) != nil {
			if req.WantReply {
				_ = req.Reply(false, nil)
			}
			continue
		}
		if !s.thaw(ctx) || req.Reply(true, nil) != nil {
			return
		}
		// Further requests are signals: what hangs ends when its session is closed.
		closed, stop := context.WithCancel(ctx)
		s.wg.Go(func() {
			ssh.DiscardRequests(requests)
			stop()
		})
		out, errs, code := s.run(closed, exec.Command, channel)
		if closed.Err() != nil || !s.thaw(ctx) {
			return
		}
		_, _ = io.WriteString(channel, out)
		_, _ = io.WriteString(channel.Stderr(), errs)
		status := struct{ Status uint32 }{uint32(code)}
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(status))
		return
	}
}

func (s *Server) run(ctx context.Context, command string, stdin io.Reader) (out, errs string, code int) {
	s.mu.Lock()
	s.ran = append(s.ran, command)
	hung, refused := s.hung[command], s.refused[command]
	handler := s.handlers[command]
	s.mu.Unlock()
	switch {
	case hung:
		<-ctx.Done()
		return "", "", 1
	case refused:
		return "", command + ": not permitted\n", 1
	case handler == nil:
		return "", "sh: " + command + ": not found\n", 127
	}
	out, code = handler(ctx, stdin)
	return out, "", code
}
