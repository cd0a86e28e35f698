package snmp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/adapter/snmp/snmptest"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// named gives the secrets by their names.
type named map[string]string

func (n named) Secret(ref schema.SecretRef) (string, error) {
	if n[ref.Env] == "" {
		return "", errors.New("the variable is not set")
	}
	return n[ref.Env], nil
}

// known are the right secrets.
var known = named{
	"COMMUNITY": snmptest.Community, "AUTH": snmptest.Auth, "PRIVACY": snmptest.Privacy, "READING": snmptest.Reading,
	"WRONG": "planted-wrong-password",
}

// spec is the connection to the PDU by version 2c.
func spec(p *snmptest.PDU, kind string) *ConnectionSpec {
	return &ConnectionSpec{Address: p.Address, Version: "2c", Community: schema.SecretRef{Env: "COMMUNITY"}, PDU: kind}
}

func opened(t *testing.T, spec *ConnectionSpec, outlets ...int) (adapter.Node, func() error) {
	t.Helper()
	set, err := registry.Open([]adapter.Family{Family()},
		[]schema.Connection{{Name: "rack-a", Type: "snmp", Spec: spec}},
		[]schema.Node{{ID: "lamp", Type: "pdu.outlet", Via: "rack-a", Spec: &NodeSpec{Outlets: outlets}}}, known)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	n, ok := set.Node("lamp")
	require.True(t, ok)
	return n, set.Close
}

const rpdu2 = "1.3.6.1.4.1.318.1.1.26.9.2.4.1.5."

func TestContract(t *testing.T) {
	contracttest.Run(t, contracttest.Subject{
		Secrets: slices.Collect(maps.Values(known)),
		Make: func(t *testing.T) *contracttest.Thing {
			p := snmptest.Start(t, map[string]int{rpdu2 + "3": 1, rpdu2 + "4": 1})
			n, end := opened(t, spec(p, "apc-rpdu2"), 3, 4)
			return &contracttest.Thing{
				Node: n, Can: plan.VerbSet(plan.Stop, plan.Force, plan.Start), Close: end,
				Truth: func() plan.State {
					if p.Get(t.Context(), rpdu2+"3")+p.Get(t.Context(), rpdu2+"4") == "22" {
						return plan.Off
					}
					return plan.On
				},
				Silence: p.Process.Kill,
				Freeze:  func() { p.Process.Signal(syscall.SIGSTOP) },
			}
		},
	})
}

func TestVersion3(t *testing.T) {
	p := snmptest.Start(t, map[string]int{rpdu2 + "3": 1})
	spec := func(change func(*ConnectionSpec)) *ConnectionSpec {
		s := &ConnectionSpec{
			Address: p.Address, Version: "3", User: snmptest.User, AuthPassword: schema.SecretRef{Env: "AUTH"},
			PrivacyPassword: schema.SecretRef{Env: "PRIVACY"}, PDU: "apc-rpdu2",
		}
		change(s)
		return s
	}
	n, _ := opened(t, spec(func(*ConnectionSpec) {}), 3)
	seen, err := n.Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, plan.On, seen.State)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}))
	require.Equal(t, "2", p.Get(t.Context(), rpdu2+"3"))

	for _, change := range []func(*ConnectionSpec){
		func(s *ConnectionSpec) { s.User = "nobody" },
		func(s *ConnectionSpec) { s.AuthPassword.Env = "WRONG" },
		func(s *ConnectionSpec) { s.Auth = "sha512" },
	} {
		n, _ := opened(t, spec(change), 3)
		err := n.Do(t.Context(), adapter.Command{Verb: plan.Start})
		require.ErrorIs(t, err, adapter.ErrRefused)
		require.ErrorContains(t, err, "user, auth or auth_password is wrong")
	}
	wrong, _ := opened(t, spec(func(s *ConnectionSpec) { s.PrivacyPassword.Env = "WRONG" }), 3)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err = wrong.Do(ctx, adapter.Command{Verb: plan.Start})
	require.True(t, errors.Is(err, adapter.ErrRefused) || errors.Is(err, adapter.ErrUnreachable), "%v", err)
	require.Equal(t, "2", p.Get(t.Context(), rpdu2+"3"))
}

// TestProfiles switches an outlet of each kind of PDU off and on. Where a PDU tells its state by another object than the
// one that is set, the test sets that one, as the PDU's firmware does.
func TestProfiles(t *testing.T) {
	eight := 8
	for name, tt := range map[string]struct {
		spec    ConnectionSpec
		on, off set
		status  string
		reads   [2]int // on, off
	}{
		"apc-rpdu": {
			on: set{"1.3.6.1.4.1.318.1.1.12.3.3.1.1.4.5", 1}, off: set{"1.3.6.1.4.1.318.1.1.12.3.3.1.1.4.5", 2},
			status: "1.3.6.1.4.1.318.1.1.12.3.5.1.1.4.5", reads: [2]int{1, 2},
		},
		"raritan-px2": {
			on: set{"1.3.6.1.4.1.13742.6.4.1.2.1.2.1.5", 1}, off: set{"1.3.6.1.4.1.13742.6.4.1.2.1.2.1.5", 0},
			status: "1.3.6.1.4.1.13742.6.4.1.2.1.3.1.5", reads: [2]int{7, 8},
		},
		"eaton-epdu": {
			on: set{"1.3.6.1.4.1.534.6.6.7.6.6.1.4.0.5", 0}, off: set{"1.3.6.1.4.1.534.6.6.7.6.6.1.3.0.5", 0},
			status: "1.3.6.1.4.1.534.6.6.7.6.6.1.2.0.5", reads: [2]int{1, 0},
		},
		"custom": {
			spec: ConnectionSpec{Custom: &Custom{
				Switch: "1.3.6.1.4.1.99999.1.N.2", On: 5, Off: 6, Status: "1.3.6.1.4.1.99999.1.N.3",
				ReadsOff: &eight,
			}},
			on: set{"1.3.6.1.4.1.99999.1.5.2", 5}, off: set{"1.3.6.1.4.1.99999.1.5.2", 6}, status: "1.3.6.1.4.1.99999.1.5.3",
			reads: [2]int{5, 8},
		},
	} {
		t.Run(name, func(t *testing.T) {
			const untouched = 77
			p := snmptest.Start(t, map[string]int{tt.on.oid: untouched, tt.off.oid: untouched, tt.status: tt.reads[0]})
			spec := spec(p, name)
			spec.Custom = tt.spec.Custom
			n, _ := opened(t, spec, 5)
			state := func() plan.State {
				t.Helper()
				seen, err := n.Probe(t.Context())
				require.NoError(t, err)
				return seen.State
			}
			require.Equal(t, plan.On, state())
			require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}))
			require.Equal(t, "77", p.Get(t.Context(), tt.on.oid), "what is on is not turned on")
			require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Force}))
			require.Equal(t, fmt.Sprint(tt.off.value), p.Get(t.Context(), tt.off.oid))
			require.Equal(t, plan.On, state(), "a command is no proof")
			p.Set(tt.status, tt.reads[1])
			require.Equal(t, plan.Off, state())
			require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}))
			require.Equal(t, fmt.Sprint(tt.on.value), p.Get(t.Context(), tt.on.oid))
			p.Set(tt.status, 55)
			require.Equal(t, plan.Unknown, state())
		})
	}
}

func TestWhatAPDUAnswers(t *testing.T) {
	p := snmptest.Start(t, map[string]int{rpdu2 + "3": 1})
	n, _ := opened(t, spec(p, "apc-rpdu2"), 9)
	_, err := n.Probe(t.Context())
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "it has no outlet 9 that can be switched")

	reader := spec(p, "apc-rpdu2")
	reader.Community.Env = "READING"
	n, _ = opened(t, reader, 3)
	_, err = n.Probe(t.Context())
	require.NoError(t, err)
	err = n.Do(t.Context(), adapter.Command{Verb: plan.Stop})
	require.ErrorIs(t, err, adapter.ErrRefused)
	require.ErrorContains(t, err, "give the community or user the right to write")

	stranger := spec(p, "apc-rpdu2")
	stranger.Community.Env = "WRONG"
	n, _ = opened(t, stranger, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err = n.Do(ctx, adapter.Command{Verb: plan.Stop})
	require.ErrorIs(t, err, adapter.ErrUnreachable)
	require.ErrorContains(t, err, "a community that is wrong")
	require.NotContains(t, err.Error(), "planted")
}

func TestCheck(t *testing.T) {
	ref := schema.SecretRef{Env: "X"}
	for _, tt := range []struct {
		spec ConnectionSpec
		want string
	}{
		{ConnectionSpec{Version: "1"}, "version is 2c or 3"},
		{ConnectionSpec{Version: "2c"}, "needs community"},
		{ConnectionSpec{Version: "2c", Community: ref, User: "x"}, "need version 3"},
		{ConnectionSpec{Version: "3", User: "x", AuthPassword: ref}, "needs user, auth_password and privacy_password"},
		{ConnectionSpec{Version: "3", User: "x", AuthPassword: ref, PrivacyPassword: ref, Community: ref}, "needs version 2c"},
		{ConnectionSpec{Version: "3", Auth: "md5"}, "auth is sha, sha256 or sha512"},
		{ConnectionSpec{Version: "3", Privacy: "des"}, "privacy is aes or aes256"},
		{ConnectionSpec{Address: "a:b"}, "is not host or host:port"},
		{ConnectionSpec{PDU: "apc"}, "it is one of apc-rpdu, apc-rpdu2, eaton-epdu, raritan-px2, or custom"},
		{ConnectionSpec{PDU: "apc-rpdu", Custom: &Custom{}}, "custom needs pdu: custom"},
		{ConnectionSpec{PDU: "custom"}, "needs custom"},
		{ConnectionSpec{PDU: "custom", Custom: &Custom{Switch: "1.3.N", On: 1, Off: 1}}, "on and off must differ"},
		{ConnectionSpec{PDU: "custom", Custom: &Custom{Switch: "1.3.6", On: 1, Off: 2}}, "must hold N once"},
		{ConnectionSpec{PDU: "custom", Custom: &Custom{Switch: "iso.N", On: 1, Off: 2}}, "is not an OID"},
	} {
		require.ErrorContains(t, errors.Join(check(&tt.spec)...), tt.want)
	}
	require.Empty(t, check(&ConnectionSpec{Address: "10.0.0.71", Version: "2c", Community: ref, PDU: "apc-rpdu2"}))
}
