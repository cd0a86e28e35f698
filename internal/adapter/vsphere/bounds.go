package vsphere

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"ebbtide/internal/adapter/certificate"
	"ebbtide/internal/adapter/reach"

	"github.com/vmware/govmomi/vim25/soap"
)

// What is believed of a server, so that one that lies, or is broken, costs us no more than this.
const (
	maxHeader  = 64 << 10  // bytes
	maxNesting = 100       // elements in elements of an answer
	maxObjects = 100_000   // VMs, hosts, clusters, folders and datastores
	maxTold    = 128 << 20 // bytes of what is kept of all of them; 10,000 VMs need some 5 MB
	maxDepth   = 100       // folders in folders
	maxLabel   = 1 << 10   // bytes of a name, an id or a question
	maxStores  = 256       // datastores of a VM
	maxServers = 64        // addresses that serve a datastore; disks that it lies on
)

// room is how much the answers to one question may be. What a text costs us in memory is a few times its bytes; what
// elements cost depends on their number alone, since the shortest, <a/>, may become a record of 200 bytes.
type room struct {
	bytes int // unpacked
	parts int // elements and attributes; 0: it is not XML
}

// The rooms. What large estates need, as TestRoomForALargeEstate counts it: 1,000 VMs asked after at once, each of which waits
// for an answer, 5 MB and 110,000 parts; a host with 1,024 disks 7 MB and 260,000; 10,000 VMs of a tag 0.5 MB.
var (
	smallRoom = room{1 << 20, 20_000} // a login, a reference, a fault
	largeRoom = room{32 << 20, 600_000}
	tagsRoom  = room{8 << 20, 0}
)

// errBeyond marks an answer that was not read to its end since it is more than any sane one.
var errBeyond = errors.New("its answer is not plausible")

// checkURL is what to do about a server that can't be one of vSphere's.
const checkURL = "check that url is right and that nothing in between answers in its place"

func beyond(format string, args ...any) error {
	return fmt.Errorf("%w: it %s, far more than a vCenter or ESXi should need: %s", errBeyond, fmt.Sprintf(format, args...), checkURL)
}

// bound makes a client believe no endless answer and follow no redirection: a password goes where the runbook says.
func bound(c *soap.Client) {
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Transport = bounded{c.DefaultTransport()}
}

type roomKey struct{}

// within gives all calls that are made with the context one room together. It travels with the context, as net/http's own
// traces do: between a call and the bytes of its answer lie govmomi and net/http, which hand nothing else through. Without
// it each call has a small room of its own.
func within(ctx context.Context, r room) context.Context {
	return context.WithValue(ctx, roomKey{}, &budget{r, r})
}

// budget is a room and what is left of it.
type budget struct{ whole, left room }

type bounded struct{ *http.Transport }

// RoundTrip bounds the body of the answer, and says how a server was not reached.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, at := req.Context(), reach.NewCourse(req.URL.Host)
	resp, err := b.Transport.RoundTrip(req.WithContext(at.Follow(ctx)))
	switch {
	case err != nil && (certificate.Refused(err) || errors.Is(ctx.Err(), context.Canceled)):
		return nil, err
	case err != nil:
		return nil, cmp.Or(at.Unsent(err), err)
	case resp.StatusCode == http.StatusServiceUnavailable:
		_ = resp.Body.Close() // it says no more than the status does
		return nil, reach.New(req.URL.Host, reach.Answering, errors.New("its services are still starting (503 Service Unavailable)"))
	}
	left, ok := ctx.Value(roomKey{}).(*budget)
	if !ok {
		left = &budget{smallRoom, smallRoom}
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, budget: left}
	return resp, nil
}

// boundedBody is the body of an answer as far as there is room for it.
type boundedBody struct {
	io.ReadCloser
	*budget // may be shared with the answers before
	tags    scanner
	err     error // for good
}

// Read fails where the answer is more than it may be.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.err == nil && b.left.bytes <= 0 {
		b.err = beyond("is longer than %d MB", b.whole.bytes>>20)
	}
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left.bytes)])
	b.left.bytes -= n
	if b.whole.parts == 0 {
		return n, err
	}
	b.left.parts -= b.tags.scan(p[:n])
	switch {
	case b.left.parts < 0:
		b.err = beyond("has more than %d elements and attributes", b.whole.parts)
	case b.tags.depth > maxNesting:
		b.err = beyond("has elements nested more than %d deep", maxNesting)
	}
	if b.err != nil {
		return 0, b.err
	}
	return n, err
}

// scanner counts the elements and attributes of XML before anybody makes records of them. No trick lets it count too few:
// each '<' begins anew, wherever it stands. In comments and CDATA, of which vSphere sends none, it may count too many and
// err in the depth.
type scanner struct {
	at    position
	quote byte // that ends the value; valid in one
	last  byte
	depth int
}

// scan takes in the next piece and tells how many elements and attributes begin in it.
func (s *scanner) scan(piece []byte) (parts int) {
	for _, c := range piece {
		switch {
		case s.at == opening:
			parts += s.opens(c)
		case c == '<':
			s.at = opening
		case s.at == inValue && c == s.quote:
			s.at = inTag
		case s.at == inTag && (c == '"' || c == '\''):
			s.at, s.quote = inValue, c
		case s.at == inTag && c == '=':
			parts++
		case s.at == inTag && c == '>' && s.last == '/':
			s.depth--
			s.at = inText
		case c == '>' && s.at != inValue:
			s.at = inText
		}
		s.last = c
	}
	return parts
}

// opens takes in what follows a '<' and tells how many elements begin with it.
func (s *scanner) opens(c byte) (parts int) {
	switch c {
	case '/':
		s.depth--
		s.at = skipped
	case '!', '?':
		s.at = skipped
	default:
		parts = 1
		s.depth++
		s.at = inTag
	}
	return parts
}

// position is where a scanner stands.
type position uint8

const (
	inText  position = iota
	opening          // after a '<'
	inTag            // of an element that begins
	inValue          // of an attribute
	skipped          // the end of an element, a comment, an instruction
)

// short cuts what is far longer than vSphere lets anything be.
func short(text string) string {
	if len(text) <= maxLabel {
		return text
	}
	return strings.Clone(text[:maxLabel]) // not to keep the rest in memory
}

// sane reports whether a reference is one that a server could mean.
func sane(r ref) bool { return len(r.Type)+len(r.Value) <= maxLabel }

// excess says what there is too much of in the tables, nil if nothing.
func (t *tables) excess() error {
	switch {
	case len(t.vms)+len(t.hosts)+len(t.places)+len(t.stores)+len(t.clusters) > maxObjects:
		return fmt.Errorf("%w: it reports more than %d objects: use an account that sees fewer", errBeyond, maxObjects)
	case t.weight > maxTold:
		return fmt.Errorf("%w: its list of objects is longer than %d MB: use an account that sees fewer", errBeyond, maxTold>>20)
	default:
		return nil
	}
}

// weigh gives the bytes of the names, references and states that are kept of an object.
func (t *tables) weigh(r ref) int {
	n := len(t.stores[r]) + len(t.clusters[r])
	if m := t.vms[r]; m != nil {
		n += weight(m.stores) + weight([]ref{m.ref, m.host, m.parent})
		n += len(m.name) + len(m.uuid) + len(m.power) + len(m.reach) + len(m.tools) + len(m.question) + len(m.managedBy)
	}
	if h := t.hosts[r]; h != nil {
		n += weight([]ref{h.ref}) + len(h.name) + len(h.reach) + len(h.power)
	}
	if p := t.places[r]; p != nil {
		n += weight([]ref{r, p.parent}) + len(p.name)
	}
	return n
}

func weight(refs []ref) int {
	n := 0
	for _, r := range refs {
		n += 50 + len(r.Type) + len(r.Value) // a record of two strings, and what they hold
	}
	return n
}
