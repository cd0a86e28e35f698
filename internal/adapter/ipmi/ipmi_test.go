package ipmi_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/ipmi"
	"ebbtide/internal/adapter/ipmi/ipmitest"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

type secrets string

func (s secrets) Secret(schema.SecretRef) (string, error) { return string(s), nil }

func controller(t *testing.T, takes time.Duration) *ipmitest.Controller {
	t.Helper()
	c, err := ipmitest.New(takes)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func opened(t *testing.T, address, password string, suite int) (adapter.Node, func() error) {
	t.Helper()
	set, err := registry.Open([]adapter.Family{ipmi.Family()},
		[]schema.Connection{{Name: "bmc", Type: "ipmi", Spec: &ipmi.ConnectionSpec{
			Address: address, Username: ipmitest.User, Password: schema.SecretRef{Env: "X"}, CipherSuite: suite,
		}}},
		[]schema.Node{{ID: "tape", Type: "ipmi.chassis", Via: "bmc", Spec: new(ipmi.NodeSpec)}}, secrets(password))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	n, ok := set.Node("tape")
	require.True(t, ok)
	return n, set.Close
}

func TestContract(t *testing.T) {
	contracttest.Run(t, contracttest.Subject{
		Secrets: []string{ipmitest.Password},
		Make: func(t *testing.T) *contracttest.Thing {
			c := controller(t, 30*time.Millisecond)
			n, end := opened(t, c.Address, ipmitest.Password, 0)
			return &contracttest.Thing{
				Node: n, Can: plan.VerbSet(plan.Stop, plan.Force, plan.Start), Close: end,
				Truth: func() plan.State {
					if c.On() {
						return plan.On
					}
					return plan.Off
				},
				Silence: c.Close,
				Freeze:  c.Freeze,
			}
		},
	})
}

func TestCipherSuites(t *testing.T) {
	for _, suite := range []int{0, 3, 17} {
		t.Run(fmt.Sprint(suite), func(t *testing.T) {
			c := controller(t, 0)
			n, _ := opened(t, c.Address, ipmitest.Password, suite)
			for _, v := range []plan.Verb{plan.Start, plan.Stop, plan.Stop, plan.Start, plan.Force, plan.Force} {
				require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: v}))
			}
			require.Equal(t, []string{"soft", "up", "down"}, c.Commands(), "what is so already is not sent")
		})
	}
}

func TestAWrongPasswordIsTriedLess(t *testing.T) {
	c := controller(t, 0)
	n, _ := opened(t, c.Address, "wrong", 0)
	for _, means := range []error{adapter.ErrRefused, adapter.ErrUnreachable, adapter.ErrUnreachable} { // then it is not asked
		err := n.Do(t.Context(), adapter.Command{Verb: plan.Force})
		require.ErrorIs(t, err, means)
		require.ErrorContains(t, err, "the password is wrong")
		require.ErrorContains(t, err, "the next login is tried no earlier than")
	}
	require.True(t, c.On())
}

func TestADeadAddressEndsInTime(t *testing.T) {
	silent, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, silent.Close()) })
	nobody := fmt.Sprintf("127.0.0.1:%d", peertest.FreePort(t, "udp"))
	for name, address := range map[string]string{"silent": silent.LocalAddr().String(), "nobody": nobody} {
		t.Run(name, func(t *testing.T) {
			n, _ := opened(t, address, ipmitest.Password, 0)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := n.Probe(ctx)
			require.ErrorIs(t, err, adapter.ErrUnreachable)
			require.ErrorIs(t, n.Do(ctx, adapter.Command{Verb: plan.Force}), adapter.ErrUnreachable)
		})
	}
}

// TestOpenIPMI drives a chassis of Debian's ipmi_sim, which runs a script for its power and has cipher suite 3 only.
func TestOpenIPMI(t *testing.T) {
	program := peertest.Need(t, "openipmi", "/usr/bin/ipmi_sim")
	dir, port := t.TempDir(), peertest.FreePort(t, "udp")
	write := func(name, text string, mode os.FileMode) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	write("power", "1\n", 0o600)
	write("chassis", fmt.Sprintf(`#!/bin/sh
echo "$*" >> %[1]s/log
case "$2 $3" in
"get power") echo "power:$(cat %[1]s/power)" ;;
"set power") echo "$4" > %[1]s/power ;;
"set shutdown") echo 0 > %[1]s/power ;;
"get boot") echo "boot:none" ;;
esac
exit 0
`, dir), 0o700)
	write("lan.conf", fmt.Sprintf(`name "bmc"
set_working_mc 0x20
startlan 1
  addr 127.0.0.1 %d
  priv_limit admin
  allowed_auths_callback none md2 md5 straight
  allowed_auths_user none md2 md5 straight
  allowed_auths_operator none md2 md5 straight
  allowed_auths_admin none md2 md5 straight
  guid a123456789abcdefa123456789abcdef
endlan
chassis_control "%s/chassis 0x20"
user 2 true %q %q operator 10 none md2 md5 straight
`, port, dir, ipmitest.User, ipmitest.Password), 0o600)
	write("sim.emu", "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr\nsel_enable 0x20 1000 "+
		"0x0a\nmc_enable 0x20\n", 0o600)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "state"), 0o700))

	n, _ := opened(t, fmt.Sprintf("127.0.0.1:%d", port), ipmitest.Password, 0)
	peertest.Start(t, dir, func(ctx context.Context) bool {
		_, err := n.Probe(ctx)
		return err == nil
	}, nil, program, "-c", "lan.conf", "-f", "sim.emu", "-s", filepath.Join(dir, "state"), "-n")
	state := func() plan.State {
		t.Helper()
		seen, err := n.Probe(t.Context())
		require.NoError(t, err)
		return seen.State
	}
	require.Equal(t, plan.On, state())
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}))
	require.Equal(t, plan.Off, state())
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Stop}), "a stop of what is off")
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}))
	require.Equal(t, plan.On, state())
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Force}))
	require.Equal(t, plan.Off, state())
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	require.NoError(t, err)
	require.Contains(t, string(log), "set shutdown 1")

	for _, tt := range []struct {
		password string
		suite    int
		want     string
	}{
		{"wrong", 3, "the password is wrong"},
		{ipmitest.Password, 17, "try cipher_suite: 3"},
	} {
		n, _ := opened(t, fmt.Sprintf("127.0.0.1:%d", port), tt.password, tt.suite)
		_, err := n.Probe(t.Context())
		require.ErrorIs(t, err, adapter.ErrRefused)
		require.ErrorContains(t, err, tt.want)
	}
}

func TestCheck(t *testing.T) {
	connection := ipmi.Family().Connections[0]
	for _, tt := range []struct {
		spec ipmi.ConnectionSpec
		want string
	}{
		{ipmi.ConnectionSpec{Address: "10.0.0.1:x"}, "is not host or host:port"},
		{ipmi.ConnectionSpec{Address: "10.0.0.1", Username: "a-name-that-is-too-long"}, "at most 16 characters"},
		{ipmi.ConnectionSpec{Address: "10.0.0.1", CipherSuite: 1}, "cipher_suite is 17 or 3"},
		{ipmi.ConnectionSpec{Address: "10.0.0.1:6230", CipherSuite: 3}, ""},
	} {
		if errs := connection.Check(&tt.spec); tt.want == "" {
			require.Empty(t, errs)
		} else {
			require.ErrorContains(t, errors.Join(errs...), tt.want)
		}
	}
}

func TestByHand(t *testing.T) {
	hand := ipmi.Family().Nodes[0].ByHand(&schema.Node{Via: "bmc", Spec: &ipmi.NodeSpec{}}, func(string) manual.Endpoint {
		return manual.Endpoint{Address: "10.0.0.1:6230", User: "ebbtide"}
	})
	require.Equal(t, "ipmitool -I lanplus -L OPERATOR -a -H 10.0.0.1 -p 6230 -U ebbtide chassis power soft", hand.Do[plan.Stop][0].Type)
}
