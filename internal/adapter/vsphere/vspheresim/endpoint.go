package vspheresim

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"ebbtide/internal/adapter/peertest/hole"
)

// endpoint is an HTTPS server on 127.0.0.1. Its address and certificate stay the same
// however often it stops and starts.
type endpoint struct {
	handler http.Handler
	addr    string
	cert    tls.Certificate

	mu       sync.Mutex
	server   *http.Server // nil while stopped
	listener net.Listener
	silent   *hole.Hole    // where it was, once it has vanished
	gate     chan struct{} // closed while the endpoint answers
	open     map[*gatedConn]struct{}
	served   sync.WaitGroup
}

const anyPort = "127.0.0.1:0"

// listen starts an endpoint on a free port.
func listen(handler http.Handler) (*endpoint, error) {
	cert, err := selfSigned()
	if err != nil {
		return nil, fmt.Errorf("cannot make a certificate: %w", err)
	}
	e := &endpoint{handler: handler, addr: anyPort, cert: cert, gate: make(chan struct{}), open: make(map[*gatedConn]struct{})}
	close(e.gate)
	if err := e.Start(); err != nil {
		return nil, err
	}
	return e, nil
}

// URL is the address of the SDK.
func (e *endpoint) URL() string { return "https://" + e.addr + "/sdk" }

// Thumbprint is the SHA-256 of the certificate in hex.
func (e *endpoint) Thumbprint() string {
	sum := sha256.Sum256(e.cert.Certificate[0])
	return hex.EncodeToString(sum[:])
}

// ThumbprintSHA1 is the SHA-1 of the certificate as vSphere's own pages show it, AA:BB:….
func (e *endpoint) ThumbprintSHA1() string {
	sum := sha1.Sum(e.cert.Certificate[0])
	return strings.ReplaceAll(fmt.Sprintf("% X", sum), " ", ":")
}

// CertificatePEM is the certificate, which is its own authority.
func (e *endpoint) CertificatePEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.cert.Certificate[0]})
}

// Start listens again after Stop or Vanish. It does nothing if the endpoint is up.
func (e *endpoint) Start() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.server != nil {
		return nil
	}
	if err := e.appear(); err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", e.addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %q: %w", e.addr, err)
	}
	if e.addr == anyPort {
		e.addr = l.Addr().String()
	}
	server := &http.Server{
		Handler:           e.handler,
		ErrorLog:          log.New(io.Discard, "", 0), // a client that goes away is what is being tested
		ReadHeaderTimeout: time.Minute,
	}
	e.server, e.listener = server, l
	e.served.Go(func() {
		// Serve always ends with an error: ErrServerClosed after Stop.
		_ = server.Serve(tls.NewListener(&gatedListener{l, e}, &tls.Config{Certificates: []tls.Certificate{e.cert}}))
	})
	return nil
}

// Stop drops all connections and refuses new ones.
func (e *endpoint) Stop() {
	e.mu.Lock()
	server, listener := e.server, e.listener
	e.server = nil
	_ = e.appear() // which only fails for what is no socket
	e.mu.Unlock()
	if server != nil {
		// In this order: the server says goodbye on each connection, which a frozen one would never let through.
		_ = listener.Close()
		e.hangUp()
		_ = server.Close()
	}
	e.served.Wait()
}

// Vanish drops all connections and answers to no new one, as a machine without power does.
func (e *endpoint) Vanish() error {
	e.Stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	silent, err := hole.Open(e.addr)
	e.silent = silent
	return err
}

// appear ends what Vanish began.
func (e *endpoint) appear() error {
	silent := e.silent
	e.silent = nil
	if silent == nil {
		return nil
	}
	return silent.Close()
}

// Freeze makes the endpoint accept connections and never answer, like a machine whose software hangs.
func (e *endpoint) Freeze() {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.gate:
		e.gate = make(chan struct{})
	default:
	}
}

// Thaw ends a Freeze: what was asked meanwhile is answered now.
func (e *endpoint) Thaw() {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.gate:
	default:
		close(e.gate)
	}
}

func (e *endpoint) answering() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.gate
}

// hangUp drops all connections without an answer and goes on listening.
func (e *endpoint) hangUp() {
	e.mu.Lock()
	all := slices.Collect(maps.Keys(e.open))
	e.mu.Unlock()
	for _, c := range all {
		_ = c.Close()
	}
}

type gatedListener struct {
	net.Listener
	e *endpoint
}

func (l *gatedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	gated := &gatedConn{Conn: c, e: l.e, closed: make(chan struct{})}
	l.e.mu.Lock()
	l.e.open[gated] = struct{}{}
	l.e.mu.Unlock()
	return gated, nil
}

// gatedConn neither hands on what it reads nor writes while its endpoint is frozen.
type gatedConn struct {
	net.Conn
	e      *endpoint
	once   sync.Once
	closed chan struct{}
}

func (c *gatedConn) wait() error {
	select {
	case <-c.e.answering():
		return nil
	case <-c.closed:
		return net.ErrClosed
	}
}

func (c *gatedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if gated := c.wait(); gated != nil {
		return 0, gated
	}
	return n, err
}

func (c *gatedConn) Write(b []byte) (int, error) {
	if err := c.wait(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

func (c *gatedConn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.e.mu.Lock()
		delete(c.e.open, c)
		c.e.mu.Unlock()
	})
	return c.Conn.Close()
}

func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "vspheresim"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().AddDate(1, 0, 0),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
