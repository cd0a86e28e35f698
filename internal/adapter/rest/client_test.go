package rest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
)

// serve starts a server and gives a client of it.
func serve(t *testing.T, handle http.HandlerFunc, login func(context.Context, *Client) (*Session, error)) *Client {
	t.Helper()
	s := httptest.NewUnstartedServer(handle)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	c, err := New(Config{Name: "box", Server: Server{
		URL:        s.URL,
		Thumbprint: fmt.Sprintf("%x", sha256.Sum256(s.Certificate().Raw)),
	}, Login: login})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestWhatAnAnswerMeans(t *testing.T) {
	for _, tt := range []struct {
		code      int
		asks      error // what it is for a question
		commanded error // and for a command
	}{
		{400, adapter.ErrRefused, adapter.ErrRefused},
		{401, ErrDenied, ErrDenied},
		{403, adapter.ErrRefused, adapter.ErrRefused},
		{404, adapter.ErrRefused, adapter.ErrRefused},
		{409, adapter.ErrBusy, adapter.ErrBusy},
		{423, adapter.ErrBusy, adapter.ErrBusy},
		{429, adapter.ErrBusy, adapter.ErrBusy},
		{500, adapter.ErrBusy, context.DeadlineExceeded}, // it is unknown whether it was done
		{503, adapter.ErrBusy, adapter.ErrBusy},
	} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.code)
			_, _ = io.WriteString(w, `{"error": {"message": "because\u001b[31m"}}`)
		}, nil)
		for asks, want := range map[bool]error{true: tt.asks, false: tt.commanded} {
			_, err := c.Send(t.Context(), Request{Path: "/x", Asks: asks})
			require.ErrorIs(t, err, want, "%d", tt.code)
			require.ErrorContains(t, err, "because [31m")
			status, ok := errors.AsType[*StatusError](err)
			require.True(t, ok)
			require.Equal(t, tt.code, status.Code)
		}
	}
}

func TestAnswersAreBoundedAndRead(t *testing.T) {
	body := ""
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }, nil)
	var answer struct{ Name string }
	body = fmt.Sprintf(`{"name": %q}`, make([]byte, MaxAnswer))
	_, err := c.Send(t.Context(), Request{Path: "/x", Answer: &answer, Asks: true})
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "larger than")
	body = "<html>"
	_, err = c.Send(t.Context(), Request{Path: "/x", Answer: &answer, Asks: true})
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "not as expected")
	body = `{"name": "half of`
	_, err = c.Send(t.Context(), Request{Path: "/x", Answer: &answer, Asks: true})
	require.ErrorIs(t, err, adapter.ErrUnreachable, "who goes down in the middle of an answer refuses nothing")
	_, err = c.Send(t.Context(), Request{Method: http.MethodPost, Path: "/x", Answer: &answer})
	require.ErrorIs(t, err, ErrLost)
	body = ""
	_, err = c.Send(t.Context(), Request{Path: "/x", Answer: &answer})
	require.NoError(t, err, "a command may be taken without a word")
}

// A connection that breaks under a question shows that the server is there; under a command nobody knows.
func TestABrokenConnection(t *testing.T) {
	c := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil)
	_, err := c.Send(t.Context(), Request{Path: "/x", Asks: true})
	require.ErrorIs(t, err, adapter.ErrUnreachable)
	_, err = c.Send(t.Context(), Request{Method: http.MethodPost, Path: "/x"})
	require.ErrorIs(t, err, ErrLost)
	require.NotErrorIs(t, err, adapter.ErrUnreachable)
}

// What Do sends again is only what was not done for want of a session.
func TestASessionIsRenewedOnce(t *testing.T) {
	var logins, done atomic.Int32
	var valid atomic.Value
	valid.Store("1")
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Token") != valid.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		done.Add(1)
	}, func(context.Context, *Client) (*Session, error) {
		return &Session{Header: http.Header{"X-Token": {fmt.Sprint(logins.Add(1))}}}, nil
	})
	command := Request{Method: http.MethodPost, Path: "/x"}
	require.NoError(t, c.Do(t.Context(), command))
	valid.Store("2")
	require.NoError(t, c.Do(t.Context(), command))
	require.Equal(t, int32(2), logins.Load())
	require.Equal(t, int32(2), done.Load())
	valid.Store("never")
	require.ErrorIs(t, c.Do(t.Context(), command), ErrDenied)
	require.Equal(t, int32(3), logins.Load())
	require.ErrorIs(t, c.Do(t.Context(), command), ErrDenied)
	require.Equal(t, int32(3), logins.Load(), "not before the pause is over")
}
