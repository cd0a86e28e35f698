// Package healthcheck asks whether a node that is on does what it is there for: by TCP, HTTP, DNS, NTP, a ping or a program.
package healthcheck

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/decorate"
	"ebbtide/internal/adapter/process"
	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// checkWithin is how long a check may take that says nothing else.
const checkWithin = 5 * time.Second

type healthy struct {
	inner  adapter.Node
	checks []schema.HealthCheck
}

// With adds health checks to a node. When its own probe says On, and nothing of its health, the checks are made: see
// Check. In every other state nothing is checked. What a watch tells leaves Healthy NotKnown: only a probe runs the
// checks.
func With(n adapter.Node, checks []schema.HealthCheck) adapter.Node {
	if len(checks) == 0 {
		return n
	}
	return decorate.WithWatch(healthy{n, checks}, n)
}

func (h healthy) Do(ctx context.Context, do adapter.Command) error { return h.inner.Do(ctx, do) }

func (h healthy) Probe(ctx context.Context) (plan.Observation, error) {
	seen, err := h.inner.Probe(ctx)
	if err != nil || seen.State != plan.On || seen.Healthy != plan.NotKnown {
		return seen, err
	}
	fact, why := Check(ctx, h.checks)
	seen.Healthy, seen.Detail = fact, cmp.Or(why, seen.Detail)
	return seen, nil
}

// Check makes health checks, all at once: Yes if all pass, No if one fails, NotKnown if the context ended before that
// was clear. why names the check that fails or is open.
func Check(ctx context.Context, checks []schema.HealthCheck) (passed plan.Fact, why string) {
	results := make(chan error, len(checks))
	for _, c := range checks {
		go func() { results <- check(ctx, c) }()
	}
	passed = plan.Yes
	for range checks {
		err := <-results
		switch {
		case err == nil || passed == plan.No:
		case ctx.Err() != nil:
			passed, why = plan.NotKnown, err.Error()
		default:
			passed, why = plan.No, err.Error()
		}
	}
	return passed, why
}

// check makes one check and says why it fails.
func check(ctx context.Context, c schema.HealthCheck) error {
	within := c.Within
	if within == 0 {
		within = checkWithin
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no answer within %s", english.Span(within)))
	defer cancel()
	var err error
	switch {
	case c.TCP != "":
		err = checkTCP(ctx, c.TCP)
	case c.HTTP != "":
		err = checkHTTP(ctx, c)
	case c.DNS != nil:
		err = checkDNS(ctx, *c.DNS)
	case c.NTP != "":
		err = checkNTP(ctx, c.NTP)
	case c.Ping != "":
		err = checkPing(ctx, c.Ping)
	default:
		err = checkCommand(ctx, c.Command)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("health check %q fails: %w", c, err)
	}
	return nil
}

func checkTCP(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

func checkHTTP(ctx context.Context, c schema.HealthCheck) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.HTTP, nil)
	if err != nil {
		return err
	}
	client := http.Client{
		Transport: &http.Transport{
			DisableKeepAlives: true,
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: c.Insecure},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case c.Status != 0 && resp.StatusCode != c.Status:
		return fmt.Errorf("it answers %s, not %d", resp.Status, c.Status)
	case c.Status == 0 && (resp.StatusCode < 200 || resp.StatusCode > 399):
		return fmt.Errorf("it answers %s", resp.Status)
	}
	return nil
}

func checkCommand(ctx context.Context, argv []string) error {
	res, err := process.Run(ctx, argv, "")
	if err != nil {
		return err
	}
	if res.Code != 0 {
		return fmt.Errorf("exit status %d", res.Code)
	}
	return nil
}
