package ssh

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

type vault map[string]string

func (v vault) Secret(ref schema.SecretRef) (string, error) {
	if s, ok := v[ref.Credential]; ok {
		return s, nil
	}
	return "", errors.New("no such credential")
}

// appliance is an SSH server that takes the password "hunter2" in one of two ways, and opens sessions that do nothing
// but refuse commands.
func appliance(t *testing.T, interactive bool) (address, hostKey string) {
	check := func(given string) (*ssh.Permissions, error) {
		if given != "hunter2" {
			return nil, errors.New("wrong")
		}
		return nil, nil
	}
	config := &ssh.ServerConfig{}
	if interactive {
		config.KeyboardInteractiveCallback = func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			answers, err := ask("", "", []string{"Password: "}, []bool{false})
			if err != nil || len(answers) != 1 {
				return nil, errors.New("no answer")
			}
			return check(answers[0])
		}
	} else {
		config.PasswordCallback = func(_ ssh.ConnMetadata, given []byte) (*ssh.Permissions, error) { return check(string(given)) }
	}
	return serve(t, config, func(session ssh.Channel, requests <-chan *ssh.Request) {
		ssh.DiscardRequests(requests)
		_ = session.Close()
	})
}

// serve is an SSH server with a host key of its own, which does something for each session.
func serve(t *testing.T, config *ssh.ServerConfig, do func(ssh.Channel, <-chan *ssh.Request)) (address, hostKey string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	signer, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	config.AddHostKey(signer)
	address = peertest.Listen(t, func(conn net.Conn) {
		_, channels, requests, err := ssh.NewServerConn(conn, config)
		if err != nil {
			return
		}
		go ssh.DiscardRequests(requests)
		for asked := range channels {
			session, requests, err := asked.Accept()
			if err != nil {
				return
			}
			go do(session, requests)
		}
	})
	return address, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
}

// nodeOn opens a node on a connection. It is closed before the server is: the cleanups run in reverse.
func nodeOn(t *testing.T, c *ConnSpec, spec *NodeSpec, secrets vault) adapter.Node {
	set, err := registry.Open([]adapter.Family{Family()},
		[]schema.Connection{{Name: "c", Type: "ssh", Spec: c}},
		[]schema.Node{{ID: "n", Type: "ssh", Via: "c", Spec: spec}}, secrets)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	n, _ := set.Node("n")
	return n
}

func TestPasswords(t *testing.T) {
	for _, interactive := range []bool{false, true} {
		address, hostKey := appliance(t, interactive)
		conn := &ConnSpec{Address: address, User: "admin", HostKey: hostKey, Password: schema.SecretRef{Credential: "pw"}}
		spec := &NodeSpec{OffWhenUnreachable: time.Second}
		spec.Stop = schema.Command{Line: "shutdown"}
		n := nodeOn(t, conn, spec, vault{"pw": "hunter2"})
		seen, err := n.Probe(t.Context())
		require.NoError(t, err)
		require.Equal(t, plan.On, seen.State)
		err = n.Do(t.Context(), adapter.Command{Verb: plan.Stop})
		require.ErrorIs(t, err, adapter.ErrRefused)
		require.ErrorContains(t, err, "the server runs no commands for this user")

		_, err = nodeOn(t, conn, spec, vault{"pw": "planted"}).Probe(t.Context())
		require.ErrorIs(t, err, adapter.ErrRefused)
		require.ErrorContains(t, err, "check the user and the password")
		require.NotContains(t, err.Error(), "planted")

		_, err = nodeOn(t, conn, spec, vault{}).Probe(t.Context())
		require.ErrorIs(t, err, adapter.ErrRefused)
		require.ErrorContains(t, err, "no such credential")
	}
}

func TestKeysThatCannotBeUsed(t *testing.T) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("planted"))
	require.NoError(t, err)
	address, hostKey := appliance(t, false)
	for key, want := range map[string]string{
		string(pem.EncodeToMemory(locked)): "protected by a passphrase",
		"planted":                          "not a private key",
	} {
		conn := &ConnSpec{Address: address, User: "admin", HostKey: hostKey, Key: schema.SecretRef{Credential: "key"}}
		_, err := nodeOn(t, conn, &NodeSpec{}, vault{"key": key}).Probe(t.Context())
		require.ErrorIs(t, err, adapter.ErrRefused)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "planted")
	}
}

func TestCheckFindsMistakes(t *testing.T) {
	key, ref := "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIH7WMpXBIdxHtSJyLHDSqqhKPBlzpJJGX4L3MmXUCdMl", schema.SecretRef{Env: "X"}
	good := ConnSpec{Address: "nas", User: "me", Key: ref, HostKey: key}
	require.Empty(t, Family().Connections[0].Check(&good))
	for want, change := range map[string]func(*ConnSpec){
		"exactly one of key and password":         func(c *ConnSpec) { c.Password = ref },
		"exactly one of host_key and known_hosts": func(c *ConnSpec) { c.HostKey = "" },
		"is not a whole public key":               func(c *ConnSpec) { c.HostKey = "SHA256:abc" },
	} {
		bad := good
		change(&bad)
		errs := Family().Connections[0].Check(&bad)
		require.Len(t, errs, 1)
		require.ErrorContains(t, errs[0], want)
		_, err := Family().Connect(schema.Connection{Name: "c", Type: "ssh", Spec: &bad}, nil)
		require.ErrorContains(t, err, want)
	}

	types := Family().Nodes[0]
	stop := &NodeSpec{}
	stop.Stop = schema.Command{Line: "poweroff"}
	require.ErrorContains(t, types.Check(stop)[0], "stop needs a probe, or off_when_unreachable")
	require.ErrorContains(t, types.Check(&NodeSpec{OffWhenRefused: true})[0], "no effect without off_when_unreachable")
	stop.OffWhenUnreachable = 20 * time.Second
	require.Empty(t, types.Check(stop))
	require.Equal(t, 20*time.Second, types.OffAfter(stop))
	require.Equal(t, plan.VerbSet(plan.Stop), types.Verbs(stop))
	require.Equal(t, "nas:22", withPort("nas"))
	require.Equal(t, "[fe80::1]:22", withPort("fe80::1"))
	require.Equal(t, "nas:2222", withPort("nas:2222"))
}
