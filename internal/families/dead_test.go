package families_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/peertest"
	"ebbtide/internal/adapter/registry"
	"ebbtide/internal/families"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
	"ebbtide/internal/schema"
)

// connections are what a runbook says of a connection of each type, with AT for host and port.
var connections = map[string]string{
	"vsphere":    `url: "https://AT/sdk", username: ebbtide, password: SECRET`,
	"libvirt":    `ssh: jump`,
	"proxmox":    `url: "https://AT", token: "ebbtide@pve!plan", secret: SECRET`,
	"winrm":      `url: "https://AT", username: ebbtide, password: SECRET`,
	"pernixdata": `through: jump, username: ebbtide, password: SECRET`,
	"redfish":    `url: "https://AT", username: ebbtide, password: SECRET`,
	"ipmi":       `address: "AT", username: ebbtide, password: SECRET`,
	"snmp":       `address: "AT", version: 2c, community: SECRET, pdu: apc-rpdu2`,
	"kubernetes": `url: "https://AT", token: SECRET`,
	"nut":        `nut: "ups@AT", username: ebbtide, password: SECRET`,
	"ssh":        `address: "AT", user: ebbtide, password: SECRET, host_key: "HOSTKEY"`,
	"truenas":    `url: "https://AT", username: ebbtide, api_key: SECRET`,
	"synology":   `url: "https://AT", username: ebbtide, password: SECRET`,
	"ontap":      `url: "https://AT", username: ebbtide, password: SECRET`,
	"unity":      `url: "https://AT", username: ebbtide, password: SECRET`,
	"nimble":     `url: "https://AT", username: ebbtide, password: SECRET`,
}

// nodes are the keys that nodes of some types must have.
var nodes = map[string]string{
	"vsphere.vms":      `select: {folder: Lab}`,
	"libvirt.domains":  `select: {all: true}`,
	"proxmox.guests":   `select: {all: true}`,
	"hyperv.vms":       `select: {all: true}`,
	"pdu.outlet":       `outlet: 1`,
	"nut.secondaries":  `fsd_cleared_by: cut`,
	"ontap.cluster":    `nodes: ["AT"]`,
	"equallogic.group": `members: [one]`,
	"ssh":              `stop: [poweroff], off_when_unreachable: 30s`,
	"bcache":           `device: bcache0`,
	"drive.cache":      `drives: [/dev/disk/by-id/x]`,
	"lvm.cache":        `lv: vg/lv`,
	"lvm.writecache":   `lv: vg/lv`,
	"opencas":          `cache: 1`,
	"zfs":              `pool: tank`,
	"pernixdata.cache": `select: {all: true}`,
}

const hostKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGsNcuxSTTfcv1Us7GyfM3BBuXrPF0dg+LQ4kXRdV0MC"

// secret is what every reference to a secret gives.
type secret struct{}

func (secret) Secret(schema.SecretRef) (string, error) { return "planted", nil }

const (
	askWithin = 250 * time.Millisecond
	overtime  = 3 * time.Second // that a call may outlast its context on a machine that has much else to do
)

// TestDeadAddresses asks and commands a node of every type, over every type of connection that reaches it, at an address
// from which nothing comes back and at one that refuses. No call outlasts its context, none claims anything of the node,
// and once the connections are closed no goroutine is left.
func TestDeadAddresses(t *testing.T) {
	types := families.Schema()
	for _, c := range types.Connections {
		require.Contains(t, connections, c.Name, "write down what a connection of this type looks like")
	}
	addresses := map[string]string{
		"silent": peertest.BlackHole(t),
		"closed": net.JoinHostPort("127.0.0.1", strconv.Itoa(peertest.FreePort(t, "tcp"))),
	}
	left := peertest.NoGoroutineLeft(t)
	t.Run("all", func(t *testing.T) {
		for way, address := range addresses {
			for _, nt := range types.Nodes {
				for _, via := range nt.Via {
					t.Run(way+" "+nt.Name+" by "+via, func(t *testing.T) {
						t.Parallel()
						dead(t, types, nt, via, address)
					})
				}
			}
		}
	})
	left()
}

func dead(t *testing.T, types schema.Types, nt schema.AnyNodeType, via, address string) {
	rb := declared(t, types, nt, via, address)
	connections, nodes := rb.Declared()
	set, err := registry.Open(families.All(false), connections, nodes, secret{})
	require.NoError(t, err)

	n, ok := set.Node("thing")
	require.True(t, ok)
	if sel, ok := n.(adapter.Selector); ok {
		found, err := inTime(t, "list its members", sel.Members)
		require.Empty(t, found)
		unreached(t, err)
	} else {
		seen, err := inTime(t, "probe", n.Probe)
		if err != nil {
			unreached(t, err)
		} else {
			require.Contains(t, []plan.State{plan.Unreachable, plan.Unknown}, seen.State)
		}
		for verb := plan.Protect; verb <= plan.Unprotect; verb++ {
			if nt.Verbs(rb.Nodes[0].Spec).Has(verb) {
				_, err := inTime(t, verb.String(),
					func(ctx context.Context) (any, error) { return nil, n.Do(ctx, adapter.Command{Verb: verb}) })
				unreached(t, err)
			}
		}
	}
	require.NoError(t, set.Close())
}

// declared is a runbook with one node of a type, "thing".
func declared(t *testing.T, types schema.Types, nt schema.AnyNodeType, via, address string) *runbook.Runbook {
	t.Helper()
	text := strings.NewReplacer("AT", address, "SECRET", "{credential: x}", "HOSTKEY", hostKey).Replace(fmt.Sprintf(
		"connections:\n  jump: {type: ssh, %s}\n  it: {type: %s, %s}\nnodes:\n  thing: {type: %s, via: it, fed_by: [ups], %s}\n",
		connections["ssh"], via, connections[via], nt.Name, nodes[nt.Name]))
	rb, problems := runbook.Load("dead.yaml", fmt.Appendf(nil, around, text), types)
	require.False(t, problems.HasErrors(), "%s\n%s", problems.Text(), text)
	return rb
}

// inTime makes one call, which must not outlast its context.
func inTime[A any](t *testing.T, what string, call func(context.Context) (A, error)) (A, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), askWithin)
	defer cancel()
	var answer A
	var err error
	done := make(chan struct{})
	go func() { answer, err = call(ctx); close(done) }()
	late := time.NewTimer(askWithin + overtime)
	defer late.Stop()
	select {
	case <-done:
		return answer, err
	case <-late.C:
		t.Fatalf("it hangs when it is asked to %s", what)
		panic("unreachable")
	}
}

// unreached holds of a call that was not made, or of which nobody knows.
func unreached(t *testing.T, err error) {
	t.Helper()
	require.True(t, errors.Is(err, adapter.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded), "%v", err)
}
