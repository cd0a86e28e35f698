package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"ebbtide/internal/english"
)

// ErrSilent says that a daemon that was watched says nothing any more.
var ErrSilent = errors.New("the daemon has stopped answering")

// lostAfter is how long a watched daemon may say nothing.
const lostAfter = 3 * streamSilent

// Watch follows the status: seen gets it at once, and again when it changes, once a second at most. What changes while
// seen works is skipped, the newest comes next. It returns when ctx ends, with what seen fails with, or with why the
// daemon was lost.
func (c *Client) Watch(ctx context.Context, seen func(*Status) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(lostAfter, func() { cancel(fmt.Errorf("%w: not for %s", ErrSilent, english.Span(lostAfter))) })
	defer late.Stop()
	patient := *c.http
	patient.Timeout = 0 // an answer without an end
	resp, err := c.send(ctx, &patient, http.MethodGet, "/v1/status?watch=1", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	for in := json.NewDecoder(resp.Body); ; {
		var s Status
		if err := in.Decode(&s); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return fmt.Errorf("lost the connection to the daemon at %s: %w", c.listen, err)
		}
		late.Stop()
		if err := seen(&s); err != nil {
			return err
		}
		late.Reset(lostAfter)
	}
}
