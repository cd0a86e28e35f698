package libvirt

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/libvirt/libvirttest"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// pem is the file of a private key, as a secret.
type pem string

func (p pem) Secret(schema.SecretRef) (string, error) {
	text, err := os.ReadFile(string(p))
	return string(text), err
}

// TestTLS is a daemon that listens for TLS: it lets in who has a certificate of its authority, and we talk to none that
// hasn't.
func TestTLS(t *testing.T) {
	ours, others := peertest.NewAuthority(t), peertest.NewAuthority(t)
	d, address := libvirttest.NewTLS(t, libvirttest.Table, ours)
	d.Start("web01", "")
	node := func(t *testing.T, trusted, signer *peertest.Authority) adapter.Node {
		cert, key := signer.Issue("ebbtide")
		spec := &ConnSpec{URI: libvirttest.Table, TLS: address, CAFile: trusted.File, Cert: cert, Key: schema.SecretRef{Credential: "key"}}
		set, err := registry.Open([]adapter.Family{Family()}, []schema.Connection{{Name: "kvm", Type: "libvirt", Spec: spec}},
			[]schema.Node{{ID: "node", Type: "libvirt.domain", Via: "kvm", Spec: &DomainSpec{Domain: "web01"}}}, pem(key))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, set.Close()) })
		n, _ := set.Node("node")
		return n
	}
	t.Run("down and up", func(t *testing.T) {
		n := node(t, ours, ours)
		require.Equal(t, plan.On, contracttest.Probe(t, n).State)
		require.NoError(t, contracttest.Do(t, n, plan.Stop))
		contracttest.UntilState(t, n, plan.Off)
		require.NoError(t, contracttest.Do(t, n, plan.Start))
		contracttest.UntilState(t, n, plan.On)
	})
	t.Run("our certificate is another authority's", func(t *testing.T) {
		_, err := node(t, ours, others).Probe(contracttest.Within(t, 20*time.Second))
		require.ErrorIs(t, err, adapter.ErrRefused)
		require.ErrorContains(t, err, "does not accept our certificate")
	})
	t.Run("the daemon's certificate is another authority's", func(t *testing.T) {
		_, err := node(t, others, ours).Probe(contracttest.Within(t, 20*time.Second))
		require.ErrorIs(t, err, adapter.ErrRefused)
		require.ErrorContains(t, err, "ca_file")
	})
}
