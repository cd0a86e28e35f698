package array

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/lockout"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/adapter/reach"
	"ebbtide/internal/adapter/rest"
)

// trueNASSocket speaks JSON-RPC 2.0 over one WebSocket, one call at a time.
type trueNASSocket struct {
	client  *rest.Client
	user    string
	key     func() (string, error)
	lockout lockout.Guard

	turn   chan struct{} // holds one token: who has it may use what follows
	socket *websocket.Conn
	last   int // id of a call
}

func newTrueNASSocket(client *rest.Client, user string, key func() (string, error)) *trueNASSocket {
	t := &trueNASSocket{client: client, user: user, key: key, turn: make(chan struct{}, 1)}
	t.turn <- struct{}{}
	return t
}

// Close ends the connection: what is under way on the socket ends with it.
func (t *trueNASSocket) Close() error {
	err := t.client.Close() // ends the calls, which give their turn back
	<-t.turn
	defer func() { t.turn <- struct{}{} }()
	t.drop()
	return err
}

func (t *trueNASSocket) drop() {
	if t.socket != nil {
		_ = t.socket.CloseNow() // there is nobody to whom an error would matter
		t.socket = nil
	}
}

// take takes the socket for some calls, which end with ctx and with the connection.
func (t *trueNASSocket) take(ctx context.Context) (bound context.Context, release func(), err error) {
	select {
	case <-t.turn:
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("%w: %s: another call is under way: %w", adapter.ErrUnreachable, t.client.Base(), context.Cause(ctx))
	}
	bound, cancel := t.client.Bound(ctx)
	return bound, func() {
		cancel(nil)
		t.turn <- struct{}{}
	}, nil
}

// ask asks over the socket that is there, or over a new one if that has ended.
func (t *trueNASSocket) ask(ctx context.Context, method string, answer any) error {
	ctx, release, err := t.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	return t.askNow(ctx, method, answer)
}

func (t *trueNASSocket) askNow(ctx context.Context, method string, answer any) error {
	if t.socket != nil {
		err := t.call(ctx, true, method, []any{}, answer)
		if t.socket != nil || ctx.Err() != nil {
			return err
		}
	}
	if err := t.open(ctx); err != nil {
		return err
	}
	return t.call(ctx, true, method, []any{}, answer)
}

// shutdown is given over a socket that has just answered, so that it is sure to arrive.
func (t *trueNASSocket) shutdown(ctx context.Context) error {
	ctx, release, err := t.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	var state string
	if err := t.askNow(ctx, "system.state", &state); err != nil {
		return err
	}
	return t.call(ctx, false, "system.shutdown", []any{reason, map[string]any{}}, nil)
}

// open makes a socket and logs in.
func (t *trueNASSocket) open(ctx context.Context) error {
	if err := t.lockout.Locked(); err != nil {
		return err
	}
	key, err := t.key()
	if err != nil {
		return err
	}
	err = t.client.Under(ctx, true, func(ctx context.Context) error {
		socket, resp, err := websocket.Dial(ctx, "wss"+strings.TrimPrefix(t.client.Base(), "https")+"/api/current", //nolint:bodyclose // the library has taken the body
			&websocket.DialOptions{HTTPClient: t.client.HTTP()})
		switch {
		case err == nil:
			t.socket = socket
			socket.SetReadLimit(rest.MaxAnswer)
			return nil
		case resp != nil && resp.StatusCode >= http.StatusInternalServerError:
			return fmt.Errorf("%w: its middleware does not answer (%s): it is still starting, or stopping", adapter.ErrBusy, resp.Status)
		case resp != nil:
			return fmt.Errorf("%w: it has no JSON-RPC at /api/current (%s): TrueNAS before 25.04 needs api: rest",
				adapter.ErrRefused, resp.Status)
		}
		return err
	})
	if err != nil {
		return err
	}
	var in struct {
		Type string `json:"response_type"`
	}
	login := map[string]any{"mechanism": "API_KEY_PLAIN", "username": t.user, "api_key": key}
	err = t.call(ctx, true, "auth.login_ex", []any{login}, &in)
	if err == nil && in.Type != "SUCCESS" {
		t.drop()
		return t.lockout.Refused(fmt.Errorf("%w: %q may not log in by its API key (%s): check the user and that the key has not expired "+
			"or been revoked", rest.ErrDenied, t.user, printable.Text(in.Type, 40)))
	}
	if err == nil {
		t.lockout.Accepted()
	}
	return err
}

// rpcAnswer is an answer, or with a method an event, of which we want none.
type rpcAnswer struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    struct {
		Name   string `json:"errname"`
		Reason string `json:"reason"`
	} `json:"data"`
}

// call makes one call on the socket. asks: it changes nothing. A socket that breaks is dropped.
func (t *trueNASSocket) call(ctx context.Context, asks bool, method string, params []any, answer any) error {
	t.last++
	got, err := t.exchange(ctx, map[string]any{"jsonrpc": "2.0", "id": t.last, "method": method, "params": params})
	if err != nil {
		t.drop()
		said := errors.New(printable.Text(err.Error(), 200))
		switch {
		case asks:
			return reach.New(t.client.Base(), reach.Answering,
				fmt.Errorf("no answer to %s (%v)", method, said)) //nolint:errorlint // a deadline in it would read as if nobody knew
		case ctx.Err() != nil:
			return fmt.Errorf("%s did not answer %s in time, so it is unknown whether it was done: %w", t.client.Base(), method,
				context.Cause(ctx))
		}
		return fmt.Errorf("%w of %s to %s: %v", rest.ErrLost, t.client.Base(), method, said) //nolint:errorlint // what it was is for people
	}
	if got.Error != nil {
		return t.explain(method, got.Error)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(got.Result, answer); err != nil {
		return fmt.Errorf("%w: its answer to %s is not as expected: %v", adapter.ErrRefused, method,
			err) //nolint:errorlint // only the sentinel is for others
	}
	return nil
}

func (t *trueNASSocket) exchange(ctx context.Context, request any) (rpcAnswer, error) {
	data, err := json.Marshal(request)
	if err != nil {
		return rpcAnswer{}, err
	}
	if err := t.socket.Write(ctx, websocket.MessageText, data); err != nil {
		return rpcAnswer{}, err
	}
	for {
		_, data, err := t.socket.Read(ctx)
		if err != nil {
			return rpcAnswer{}, err
		}
		var got rpcAnswer
		if err := json.Unmarshal(data, &got); err != nil {
			return rpcAnswer{}, fmt.Errorf("it sent what is not JSON-RPC: %w", err)
		}
		if got.ID == t.last && got.Method == "" {
			return got, nil
		}
	}
}

// explain says what an error of the API means.
func (t *trueNASSocket) explain(method string, e *rpcError) error {
	said := printable.Text(strings.TrimSpace(e.Message+" "+e.Data.Reason), 200)
	switch {
	case e.Data.Name == "ENOTAUTHENTICATED":
		t.drop()
		return reach.New(t.client.Base(), reach.Answering, fmt.Errorf("it has ended the session (%s)", said))
	case e.Data.Name == "EACCES" || e.Data.Name == "EPERM":
		return fmt.Errorf("%w: %q may not call %s (%s): system.shutdown needs the role FULL_ADMIN", adapter.ErrRefused,
			t.user, method, said)
	case e.Data.Name == "EBUSY" || e.Code == -32000:
		return fmt.Errorf("%w: %s: %s", adapter.ErrBusy, method, said)
	case e.Code == -32601:
		return fmt.Errorf("%w: it has no method %s (%s): check its release", adapter.ErrRefused, method, said)
	}
	return fmt.Errorf("%w: %s: %s", adapter.ErrRefused, method, said)
}
