package vsphere

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/vmware/govmomi/vim25/soap"
)

// What is believed of a server, so that one that lies, or is broken, costs us no more than this.
const (
	maxAnswer  = 64 << 20 // bytes of one answer, unpacked: some 20,000 VMs in one page
	maxHeader  = 64 << 10 // bytes
	maxObjects = 100_000  // VMs, hosts, clusters, folders and datastores
	maxDepth   = 100      // folders in folders
	maxLabel   = 1 << 10  // bytes of a name, an id or a question
	maxStores  = 256      // datastores of a VM
)

var (
	errTooLong = errors.New("its answer is longer than 64 MB")
	errTooMany = errors.New("it tells of more than 100000 objects")
)

// bound makes a client believe no endless answer and follow no redirection: a password goes where the runbook says.
func bound(c *soap.Client) {
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Transport = bounded{c.DefaultTransport()}
}

type bounded struct{ *http.Transport }

// RoundTrip bounds the body of the answer.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.Transport.RoundTrip(req)
	if err == nil {
		resp.Body = &boundedBody{resp.Body, maxAnswer}
	}
	return resp, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

// Read fails where the answer is longer than it may be.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// short cuts what is far longer than vSphere lets anything be.
func short(text string) string {
	if len(text) <= maxLabel {
		return text
	}
	return strings.Clone(text[:maxLabel]) // not to keep the rest in memory
}

// sane tells whether a reference is one that a server could mean.
func sane(r ref) bool { return len(r.Type)+len(r.Value) <= maxLabel }

func (t *tables) size() int {
	return len(t.vms) + len(t.hosts) + len(t.places) + len(t.stores) + len(t.clusters)
}
