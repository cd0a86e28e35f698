package redfish_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/redfish"
	"ebbtide/internal/adapter/redfish/redfishsim"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// secrets gives any secret by the reference's own name.
type secrets string

func (s secrets) Secret(schema.SecretRef) (string, error) { return string(s), nil }

func simulate(t *testing.T, o redfishsim.Options) *redfishsim.Server {
	t.Helper()
	s := redfishsim.New(o)
	t.Cleanup(s.Close)
	return s
}

func spec(s *redfishsim.Server) *redfish.ConnectionSpec {
	return &redfish.ConnectionSpec{URL: s.URL, Username: redfishsim.User, Password: schema.SecretRef{Env: "X"}, Thumbprint: s.Thumbprint()}
}

// opened makes a node and its connection, as the daemon makes them.
func opened(t *testing.T, conn *redfish.ConnectionSpec, password string) (adapter.Node, func() error) {
	t.Helper()
	set, err := registry.Open([]adapter.Family{redfish.Family()},
		[]schema.Connection{{Name: "bmc", Type: "redfish", Spec: conn}},
		[]schema.Node{{ID: "tape", Type: "redfish.system", Via: "bmc", Spec: new(redfish.NodeSpec)}}, secrets(password))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	n, ok := set.Node("tape")
	require.True(t, ok)
	return n, set.Close
}

func TestContract(t *testing.T) {
	for name, o := range map[string]redfishsim.Options{
		"plain":         {Takes: 30 * time.Millisecond},
		"by ActionInfo": {Takes: 30 * time.Millisecond, ActionInfo: true},
	} {
		t.Run(name, func(t *testing.T) {
			contracttest.Run(t, contracttest.Subject{
				Secrets: []string{redfishsim.Password},
				Make: func(t *testing.T) *contracttest.Thing {
					s := simulate(t, o)
					n, end := opened(t, spec(s), redfishsim.Password)
					return &contracttest.Thing{
						Node: n, Can: plan.VerbSet(plan.Stop, plan.Force, plan.Start), Close: end,
						Truth: func() plan.State {
							return map[string]plan.State{
								"On": plan.On, "Off": plan.Off, "PoweringOn": plan.Starting,
								"PoweringOff": plan.Stopping,
							}[s.Power("1")]
						},
						Silence: s.Close,
						Freeze:  s.Freeze,
					}
				},
			})
		})
	}
}

func TestWhatIsSoAlreadyIsNotSent(t *testing.T) {
	s := simulate(t, redfishsim.Options{})
	n, _ := opened(t, spec(s), redfishsim.Password)
	for _, v := range []plan.Verb{plan.Start, plan.Force, plan.Force, plan.Stop, plan.Start} {
		require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: v})) // the controller answers 409 to what is so
	}
	require.Equal(t, []string{"ForceOff", "On"}, s.Resets())
}

func TestWhatAControllerAnswers(t *testing.T) {
	for _, tt := range []struct {
		status, after int // of the requests: the root, the list, the machine, the reset
		want          error
		text          string
	}{
		{status: 401, after: 1, want: adapter.ErrRefused, text: `"ebbtide" may not log in`},
		{status: 403, after: 3, want: adapter.ErrRefused, text: "ConfigureComponents"},
		{status: 404, after: 2, want: adapter.ErrBusy, text: "may still be starting"},
		{status: 404, after: 0, want: adapter.ErrBusy, text: "does not speak Redfish"},
		{status: 409, after: 3, want: adapter.ErrBusy, text: "broken on purpose"},
		{status: 503, after: 0, want: adapter.ErrBusy, text: "in the middle of something"},
		{status: 500, after: 2, want: adapter.ErrBusy, text: "500"},
		{status: 500, after: 3, want: context.DeadlineExceeded, text: "it is unknown"},
		{status: 400, after: 3, want: adapter.ErrRefused, text: "400 Bad Request"},
		{status: 301, after: 0, want: adapter.ErrRefused, text: "301"},
	} {
		t.Run(fmt.Sprint(tt.status, " after ", tt.after), func(t *testing.T) {
			s := simulate(t, redfishsim.Options{})
			n, _ := opened(t, spec(s), redfishsim.Password)
			s.Answer(tt.status, tt.after)
			err := n.Do(t.Context(), adapter.Command{Verb: plan.Stop})
			require.ErrorIs(t, err, tt.want)
			require.ErrorContains(t, err, tt.text)
			for _, other := range []error{adapter.ErrUnreachable, adapter.ErrRefused, adapter.ErrBusy, adapter.ErrGone} {
				require.Equal(t, errors.Is(tt.want, other), errors.Is(err, other), "%v", err)
			}
			s.Answer(0, 0)
			if tt.status != 401 {
				_, err = n.Probe(t.Context())
				require.NoError(t, err, "it is asked anew")
			}
		})
	}
}

func TestAWrongPasswordIsTriedOnce(t *testing.T) {
	s := simulate(t, redfishsim.Options{})
	n, _ := opened(t, spec(s), "wrong")
	for _, means := range []error{adapter.ErrRefused, adapter.ErrUnreachable, adapter.ErrUnreachable} { // then it is not asked
		_, err := n.Probe(t.Context())
		require.ErrorIs(t, err, means)
		require.ErrorContains(t, err, "the next login is tried no earlier than")
	}
	require.Equal(t, 1, s.Logins())
}

func TestWhichMachineIsMeant(t *testing.T) {
	s := simulate(t, redfishsim.Options{Systems: []string{"blade-1", "blade-2"}})
	conn := spec(s)
	n, _ := opened(t, conn, redfishsim.Password)
	_, err := n.Probe(t.Context())
	require.ErrorContains(t, err, "say which one by system: blade-1, blade-2")
	conn.System = "blade-3"
	_, err = n.Probe(t.Context())
	require.ErrorContains(t, err, `no machine "blade-3": it has blade-1, blade-2`)
	conn.System = "blade-2"
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Force}))
	require.Equal(t, "Off", s.Power("blade-2"))
	require.Equal(t, "On", s.Power("blade-1"))
}

func TestWhatAControllerDoesNotOffer(t *testing.T) {
	s := simulate(t, redfishsim.Options{Resets: []string{"ForceOff", "ForceOn", "PushPowerButton"}})
	n, _ := opened(t, spec(s), redfishsim.Password)
	err := n.Do(t.Context(), adapter.Command{Verb: plan.Stop})
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "no GracefulShutdown for this machine: it has ForceOff, ForceOn, PushPowerButton")
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Force}))
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}))
	require.Equal(t, []string{"ForceOff", "ForceOn"}, s.Resets())
	s.Set("1", "Paused")
	seen, err := n.Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, plan.Unknown, seen.State)
}

func TestAnotherCertificateIsRefused(t *testing.T) {
	s := simulate(t, redfishsim.Options{})
	for name, thumbprint := range map[string]string{"pinned": fmt.Sprintf("%064x", 7), "by the authorities": ""} {
		t.Run(name, func(t *testing.T) {
			conn := spec(s)
			conn.Thumbprint = thumbprint
			n, _ := opened(t, conn, redfishsim.Password)
			_, err := n.Probe(t.Context())
			require.ErrorIs(t, err, adapter.ErrRefused)
			require.ErrorContains(t, err, "thumbprint")
			require.Zero(t, s.Logins(), "no password went there")
		})
	}
}

func TestADeadAddressEndsInTime(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := simulate(t, redfishsim.Options{})
	conn := spec(s)
	conn.URL = "https://" + l.Addr().String() // accepts, and never says a word
	n, _ := opened(t, conn, redfishsim.Password)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = n.Probe(ctx)
	require.ErrorIs(t, err, adapter.ErrUnreachable)
}

func TestCheck(t *testing.T) {
	connection := redfish.Family().Connections[0]
	for _, tt := range []struct {
		spec redfish.ConnectionSpec
		want string
	}{
		{redfish.ConnectionSpec{URL: "http://10.0.0.1"}, "is not of the form https://host"},
		{redfish.ConnectionSpec{URL: "https://me:hunter2@10.0.0.1"}, "url holds a user"},
		{redfish.ConnectionSpec{URL: "https://10.0.0.1/redfish/v1/Systems/1"}, "the machine's id by system"},
		{redfish.ConnectionSpec{URL: "https://10.0.0.1", System: "/redfish/v1/Systems/1"}, "is not an id"},
		{redfish.ConnectionSpec{URL: "https://10.0.0.1", Thumbprint: "ab"}, "is not the SHA-256"},
		{redfish.ConnectionSpec{URL: "https://10.0.0.1/redfish/v1/"}, ""},
	} {
		errs := connection.Check(&tt.spec)
		if tt.want == "" {
			require.Empty(t, errs)
			continue
		}
		require.ErrorContains(t, errors.Join(errs...), tt.want)
		require.NotContains(t, errors.Join(errs...).Error(), "hunter2")
	}
}
