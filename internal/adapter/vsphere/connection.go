package vsphere

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/certificate"
	"ebbtide/internal/adapter/lockout"
	"ebbtide/internal/schema"

	"github.com/vmware/govmomi/vim25/soap"
)

// ConnectionSpec is what a runbook says of a connection of type vsphere. Without thumbprint and ca_file the system's
// authorities vouch for the server.
type ConnectionSpec struct {
	// https://vcenter.lab/sdk, of a vCenter or of a host; the path may be left out
	URL        string           `yaml:"url" check:"required"`
	Username   string           `yaml:"username" check:"required"`
	Password   schema.SecretRef `yaml:"password" check:"required"`
	Thumbprint string           `yaml:"thumbprint"` // of the certificate: SHA-256 or SHA-1 in hex, with or without colons
	CAFile     string           `yaml:"ca_file"`    // PEM certificates of the authorities
}

// pace is how a connection spends its time. Tests make it faster.
type pace struct {
	wait    time.Duration // how long the server may keep a watch without news: whole seconds
	grace   time.Duration // how much later than that its answer may come
	call    time.Duration // the longest that one call may take
	retry   time.Duration // the first pause before a broken watch is mended; doubles
	longest time.Duration // the longest such pause
	connect time.Duration // the longest that a server may take to accept a connection
}

var defaultPace = pace{
	wait: 10 * time.Second, grace: 5 * time.Second, call: 15 * time.Second,
	retry: time.Second, longest: 15 * time.Second, connect: 5 * time.Second,
}

// concurrency bounds the calls of a connection. More than this makes a vCenter slower, not faster.
const concurrency = 32

// Conn is a connection to a vCenter or a host: one session, one watch.
type Conn struct {
	name    string
	url     *url.URL
	spec    *ConnectionSpec
	secrets adapter.Secrets
	tls     *tls.Config
	pace    pace

	hosts     atomic.Int32 // how many vsphere.host nodes are reached through it
	inventory *inventory
	backings  backings
	slots     chan struct{}
	login     chan struct{} // holds one token: who takes it may use what follows
	current   *session      // nil: none yet, or it has expired
	closed    bool
	lockout   lockout.Guard

	close   context.CancelFunc
	running sync.WaitGroup
}

// Concurrency lets many calls come at once: probes that wait at the same time are one question, and commands take turns.
func (*Conn) Concurrency() int { return largestBatch }

// connect makes a connection without dialling.
func connect(name string, spec *ConnectionSpec, secrets adapter.Secrets, p pace) (*Conn, error) {
	u, err := parseURL(spec.URL)
	if err != nil {
		return nil, err
	}
	config, err := certificate.Config(spec.Thumbprint, spec.CAFile)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &Conn{
		name: name, url: u, spec: spec, secrets: secrets, tls: config, pace: p,
		inventory: newInventory(),
		slots:     make(chan struct{}, concurrency),
		login:     make(chan struct{}, 1),
		close:     cancel,
	}
	c.login <- struct{}{}
	c.running.Go(func() { c.keepWatching(ctx) })
	c.running.Go(func() { c.readBatches(ctx) })
	c.running.Go(func() { c.sendStarts(ctx) })
	return c, nil
}

// Close ends the watch and the session. A server that did not answer at last is not asked to end its part.
func (c *Conn) Close() error {
	c.inventory.mu.Lock()
	answers := c.inventory.phase == live
	c.inventory.mu.Unlock()
	c.close()
	c.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	select {
	case <-c.login:
	case <-ctx.Done():
		return nil // a login that hangs; its session is not ours to end
	}
	defer func() { c.login <- struct{}{} }()
	c.closed = true
	if c.current == nil {
		return nil
	}
	if answers {
		_ = c.current.manager.Logout(ctx) // the server ends the session anyway after a while
	}
	c.current.CloseIdleConnections()
	c.current = nil
	return nil
}

var errClosed = fmt.Errorf("%w: the connection is closed", adapter.ErrUnreachable)

func parseURL(text string) (*url.URL, error) {
	u, err := soap.ParseURL(text)
	if err != nil || u == nil || u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("url %q is not of the form https://host/sdk", text[strings.LastIndex(text, "@")+1:])
	}
	if _, secret := u.User.Password(); secret && u.User.Username() != "" {
		return nil, errors.New("url holds a user: give username and password by themselves")
	}
	u.User = nil
	return u, nil
}

// client makes a new HTTP client of this connection.
func (c *Conn) client() *soap.Client {
	client := soap.NewClient(c.url, false)
	transport := client.DefaultTransport()
	transport.TLSClientConfig = c.tls.Clone()
	transport.DialTLSContext = nil // govmomi's own knows only its own way of thumbprints
	transport.DialContext = (&net.Dialer{Timeout: c.pace.connect, KeepAlive: 15 * time.Second}).DialContext
	transport.Proxy = nil // a proxy may be down when this is needed most
	// Go keeps two idle connections unless told otherwise. The handshakes of the others would cost more than the calls.
	transport.MaxIdleConnsPerHost = concurrency + 1
	transport.MaxResponseHeaderBytes = maxHeader
	client.Types = typeOf
	bound(client)
	return client
}

// limit gives ctx the deadline of one call.
func (c *Conn) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.pace.call)
}
