package proxmox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/certificate"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/adapter/reach"
)

// explainTransport says what a call that got no answer means.
func explainTransport(ctx context.Context, at *reach.Course, err error) error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errClosed):
		return errClosed
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("gave up waiting for %s: %w", at.Address(), cause)
	case certificate.Refused(err):
		return fmt.Errorf("%w: %w; if it was renewed, check it and put its SHA-256 into thumbprint", adapter.ErrRefused, plainURL(err))
	}
	if unsent := at.Unsent(err); unsent != nil {
		return unsent
	}
	return &unanswered{host: at.Address(), err: plainURL(err)}
}

// plainURL leaves the address out, which is said already.
func plainURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// denied is how Proxmox names what is missing: the path and the privilege, or several of which one will do.
var denied = regexp.MustCompile(`Permission check failed \(([^,)]+), ([A-Za-z.|, ]+)\)`)

// hints are looked through in order, in the answers that are neither yes nor a matter of permission.
var hints = []struct {
	text     string
	sentinel error
	say      string
}{
	{"does not exist", adapter.ErrGone, ""},
	{"no such VM", adapter.ErrGone, ""},
	{"is locked", adapter.ErrBusy, "a backup, a snapshot or a migration holds it"},
	{"can't lock file", adapter.ErrBusy, "another task holds it"},
	{"no quorum", adapter.ErrBusy, `the cluster has no quorum: start more of its nodes, or run "pvecm expected 1" on the last one`},
	{"cluster not ready", adapter.ErrBusy, `the cluster has no quorum: start more of its nodes, or run "pvecm expected 1" on the last one`},
	{"is paused", adapter.ErrRefused, `it cannot shut down: run "qm resume" on it, or let down.force power it off`},
	{"hostname lookup", adapter.ErrRefused, "the cluster knows no such node"},
	{"rados_connect", adapter.ErrBusy, "Ceph does not answer: its monitors may have no quorum"},
}

// explain says what an answer that is no success means. Proxmox gives its reason in the status line.
func (c *conn) explain(resp *http.Response, body []byte) error {
	said := strings.TrimSpace(strings.TrimPrefix(resp.Status, fmt.Sprint(resp.StatusCode)))
	var more struct {
		Message string            `json:"message"`
		Errors  map[string]string `json:"errors"`
	}
	if json.Unmarshal(body, &more) == nil {
		if len(strings.TrimSpace(more.Message)) > len(said) {
			said = strings.TrimSpace(more.Message)
		}
		var wrong []string
		for key, text := range more.Errors {
			wrong = append(wrong, key+": "+text)
		}
		slices.Sort(wrong)
		if len(wrong) > 0 {
			said += " (" + strings.Join(wrong, "; ") + ")"
		}
	}
	said = printable.Text(said, 300)
	host := resp.Request.URL.Host
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		return c.lockout.Sort(fmt.Errorf("%w: %s does not accept the token %s: check its name, its secret and that it has not expired (%s)",
			adapter.ErrRefused, host, c.spec.Token, said))
	case http.StatusForbidden:
		if m := denied.FindStringSubmatch(said); m != nil {
			return fmt.Errorf("%w: the token %s lacks the privilege %s on %s: put it into a role, and run \"pveum acl modify %s --tokens "+
				"'%s' --roles ROLE\"", adapter.ErrRefused, c.spec.Token, m[2], m[1], m[1], c.spec.Token)
		}
		return fmt.Errorf("%w: the token %s may not do this: %s", adapter.ErrRefused, c.spec.Token, said)
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return reach.New(host, reach.Answering, fmt.Errorf("it says: %s; its services may still be starting", said))
	case 595, 596, 599:
		return &away{host: host, said: said, status: resp.StatusCode}
	}
	for _, h := range hints {
		if strings.Contains(said, h.text) {
			if h.say == "" {
				return fmt.Errorf("%w: %s", h.sentinel, said)
			}
			return fmt.Errorf("%w: %s (%s)", h.sentinel, h.say, said)
		}
	}
	return &refusal{status: resp.StatusCode, said: said}
}

// away says that the node that was asked could not reach the one that it was asked about.
type away struct {
	host, said string
	status     int // 595: no connection came about; 596: it broke, in TLS or later; 599: anything else (AnyEvent::HTTP)
}

func (e *away) Error() string { return fmt.Sprintf("%s cannot reach that node: %s", e.host, e.said) }
func (e *away) Unwrap() error { return adapter.ErrUnreachable }

// silent reports whether nothing came back from that node. Any other failure was of one that runs, or of the network of the node that was
// asked.
func (e *away) silent() bool {
	said := strings.ToLower(e.said)
	return e.status == 595 && (strings.Contains(said, "timed out") || strings.Contains(said, "no route to host"))
}

// refusal is any other no. A failure of its own may pass: a lock that was not had in time, QEMU that did not answer.
type refusal struct {
	status int
	said   string
}

func (e *refusal) Error() string { return fmt.Sprintf("%s: Proxmox says: %s", e.Unwrap(), e.said) }

func (e *refusal) Unwrap() error {
	if e.status >= http.StatusInternalServerError && e.status != http.StatusNotImplemented { // which is no such path
		return adapter.ErrBusy
	}
	return adapter.ErrRefused
}
