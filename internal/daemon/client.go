package daemon

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ebbtide/internal/config"
)

// Client asks a running daemon.
type Client struct {
	listen config.Listen
	token  string
	http   *http.Client
}

// ErrNotRunning says that no daemon answers.
var ErrNotRunning = errors.New("no daemon answers")

// APIError is a daemon's answer that is an error.
type APIError struct {
	Code  int // of HTTP
	Fault Fault
}

func (e *APIError) Error() string { return e.Fault.Error }

// Hint says what a person can do; it may be empty.
func (e *APIError) Hint() string { return e.Fault.Hint }

// maxAnswer bounds an answer in bytes: the records of a large outage.
const maxAnswer = 256 << 20

// NewClient makes a client of the daemon that listens there. token may be "" where the Unix socket is enough. trust says
// which certificate is believed on https: see Trusting and Pinning; nil: those of the system's authorities.
func NewClient(l config.Listen, token string, trust *tls.Config) *Client {
	var dialer net.Dialer
	if trust == nil {
		trust = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return &Client{listen: l, token: token, http: &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return dialer.DialContext(ctx, l.Network, l.Address)
			},
			TLSClientConfig: trust, DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Status asks for all that the daemon knows now.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	var s Status
	if err := c.call(ctx, http.MethodGet, "/v1/status", nil, &s); err != nil {
		return nil, err
	}
	return &s, nil
}

// Outages asks for the list of outages, oldest first.
func (c *Client) Outages(ctx context.Context) (*Outages, error) {
	var o Outages
	if err := c.call(ctx, http.MethodGet, "/v1/outages", nil, &o); err != nil {
		return nil, err
	}
	return &o, nil
}

// Outage asks for the records of one outage.
func (c *Client) Outage(ctx context.Context, id string) (*Records, error) {
	var r Records
	if err := c.call(ctx, http.MethodGet, "/v1/outages/"+url.PathEscape(id), nil, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// Command gives an operator's command. A refusal is an *APIError with code 409.
func (c *Client) Command(ctx context.Context, command Command) (*Taken, error) {
	var t Taken
	if err := c.call(ctx, http.MethodPost, "/v1/commands", command, &t); err != nil {
		return nil, err
	}
	return &t, nil
}

// PlanDrill asks what a drill would do.
func (c *Client) PlanDrill(ctx context.Context, o DrillOrder) (*DrillPlan, error) {
	var p DrillPlan
	if err := c.call(ctx, http.MethodPost, "/v1/drill?preview=1", o, &p); err != nil {
		return nil, err
	}
	return &p, nil
}

// Drill begins a drill. A refusal is an *APIError with code 409.
func (c *Client) Drill(ctx context.Context, o DrillOrder) (*DrillBegun, error) {
	var b DrillBegun
	if err := c.call(ctx, http.MethodPost, "/v1/drill", o, &b); err != nil {
		return nil, err
	}
	return &b, nil
}

// Rehearse goes through a drill that commands nothing: seen gets each line of it. It returns when that is over.
func (c *Client) Rehearse(ctx context.Context, o DrillOrder, seen func(*RehearsalLine) error) error {
	patient := *c.http
	patient.Timeout = 0
	resp, err := c.send(ctx, &patient, http.MethodPost, "/v1/drill?rehearse=1", o)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	for in := json.NewDecoder(resp.Body); ; {
		var line RehearsalLine
		switch err := in.Decode(&line); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("cannot read the daemon's answer: %w", err)
		case line.Fault != nil:
			return &APIError{Code: http.StatusConflict, Fault: *line.Fault}
		}
		if err := seen(&line); err != nil {
			return err
		}
	}
}

func (c *Client) call(ctx context.Context, method, path string, body, into any) error {
	resp, err := c.send(ctx, c.http, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("cannot read the daemon's answer: %w", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("cannot read the daemon's answer: %w", err)
	}
	return nil
}

// send asks, and gives the answer if it is no error. Its body is to be closed.
func (c *Client) send(ctx context.Context, by *http.Client, method, path string, body any) (*http.Response, error) {
	var send bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&send).Encode(body); err != nil {
			return nil, fmt.Errorf("cannot ask the daemon: %w", err)
		}
	}
	base := "http://" + c.listen.Address
	switch {
	case c.listen.Network == "unix":
		base = "http://ebbtide"
	case c.listen.TLS:
		base = c.listen.String()
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, &send)
	if err != nil {
		return nil, fmt.Errorf("cannot ask the daemon: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := by.Do(req)
	if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
		return nil, fmt.Errorf("cannot reach the daemon at %s: %w: %w", c.listen, dial.Err, ErrNotRunning)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot ask the daemon at %s: %w", c.listen, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, refusal(resp)
	}
	return resp, nil
}

// refusal reads an answer that is an error.
func refusal(resp *http.Response) error {
	defer resp.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("cannot read the daemon's answer: %w", err)
	}
	fault := Fault{}
	if json.Unmarshal(text, &fault) != nil || fault.Error == "" {
		fault = Fault{Error: "the daemon answers " + resp.Status + ": " + strings.TrimSpace(string(text))}
	}
	return &APIError{Code: resp.StatusCode, Fault: fault}
}
