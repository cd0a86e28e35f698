package powershell

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/powershell/windowssim"
	"ebbtide/internal/schema"
)

func TestChecks(t *testing.T) {
	for want, spec := range map[string]*ConnSpec{
		"plain HTTP would show": {URL: "http://hv1:5985"},
		"neither ntlm nor":      {URL: "https://hv1", Auth: "kerberos"},
	} {
		require.ErrorContains(t, errors.Join(checkConn(spec)...), want)
	}
}

type secrets struct{}

func (secrets) Secret(r schema.SecretRef) (string, error) { return r.Env, nil }

// machine is one that answers each script with its arguments, and a connection to it.
func machine(t *testing.T) (*windowssim.Machine, *conn) {
	t.Helper()
	return doing(t, func(_ string, args, _ json.RawMessage) any { return args })
}

// doing is a machine that does as it is told, and a connection to it.
func doing(t *testing.T, cmdlets windowssim.Cmdlets) (*windowssim.Machine, *conn) {
	t.Helper()
	w := windowssim.New(cmdlets)
	t.Cleanup(w.Close)
	return w, connected(t, w, windowssim.Password)
}

func connected(t *testing.T, w *windowssim.Machine, password string) *conn {
	t.Helper()
	c, err := connect("hv1", &ConnSpec{
		URL: w.URL(), Username: windowssim.User, Password: schema.SecretRef{Env: password}, Thumbprint: w.Thumbprint(),
	}, secrets{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

const patience = time.Minute

func TestALostInputIsNotWaitedFor(t *testing.T) {
	w, c := machine(t)
	w.LoseInput()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := Script("Get-VM").Run(ctx, c, Call{Input: []string{"web"}}, nil)
	require.ErrorContains(t, err, "was lost")
	require.True(t, Unknown(err), "the command was given: %v", err)
	require.NoError(t, ctx.Err(), "it waited for an output that could not come")
}

// A machine that goes down by a command refuses the next request for its output. The command was given all the same.
func TestWhatWasGivenIsNotUnsent(t *testing.T) {
	begun, over := make(chan struct{}), make(chan struct{})
	w, c := doing(t, func(string, json.RawMessage, json.RawMessage) any {
		close(begun)
		<-over
		return nil
	})
	w.Slow(1 << 20)
	defer close(over)
	go func() {
		<-begun
		w.Close()
	}()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := Script("Stop-Computer").Run(ctx, c, Call{}, nil)
	require.Error(t, err)
	require.True(t, Unknown(err), "%v", err)
	require.NoError(t, ctx.Err())
	err = Script("Stop-Computer").Run(ctx, c, Call{}, nil)
	require.ErrorIs(t, err, adapter.ErrUnreachable, "this one was not given")
}

func TestAScriptMayTakeLongerThanARequest(t *testing.T) {
	w, c := machine(t)
	w.Slow(2)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got string
	require.NoError(t, Script("Stop-Cluster").Run(ctx, c, Call{Args: "lab"}, &got))
	require.Equal(t, "lab", got)
}

// NTLM authenticates connections: commands at the same time must not spread a login over several, since each that fails counts towards
// the lockout of the account.
func TestCommandsAtTheSameTimeLogIn(t *testing.T) {
	w, c := machine(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			var got string
			if err := Script("Get-VM").Run(ctx, c, Call{Args: "web"}, &got); err != nil || got != "web" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	all.Wait()
	require.Zero(t, w.FailedLogins())
}

func TestAWrongPasswordIsTriedOnce(t *testing.T) {
	w, _ := machine(t)
	c := connected(t, w, "wrong")
	for _, means := range []error{adapter.ErrRefused, adapter.ErrUnreachable, adapter.ErrUnreachable} { // then it is not asked
		require.ErrorIs(t, Script("Get-VM").Run(t.Context(), c, Call{}, nil), means)
	}
	require.Equal(t, 1, w.FailedLogins())
}

// Commands of several VMs at once make one login, and not one each: five refusals lock the account in most directories.
func TestAWrongPasswordIsTriedOnceByAllAtOnce(t *testing.T) {
	w, _ := machine(t)
	c := connected(t, w, "wrong")
	ended := make(chan error, 2*concurrency)
	for range cap(ended) {
		go func() { ended <- Script("Get-VM").Run(t.Context(), c, Call{}, nil) }()
	}
	for range cap(ended) {
		err := <-ended
		require.True(t, errors.Is(err, adapter.ErrRefused) || errors.Is(err, adapter.ErrUnreachable), "%v", err)
	}
	require.Equal(t, 1, w.FailedLogins())
}
