package reach

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/peertest"
)

// A machine whose firewall rejects with "host prohibited" reads like one that nobody finds: "no route to host". It runs.
func TestAFirewallIsNoSilence(t *testing.T) {
	const inside = "EBBTIDE_TEST_IN_A_NETWORK_OF_ITS_OWN"
	ip, _ := peertest.Need(t, "iproute2", "ip", "/usr/sbin/ip"), peertest.Need(t, "iptables", "iptables", "/usr/sbin/iptables")
	if os.Geteuid() != 0 {
		t.Skip("only root can make a network namespace")
	}
	if os.Getenv(inside) == "" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAFirewallIsNoSilence$", "-test.v")
		again.Env = append(os.Environ(), inside+"=1")
		again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		out, err := again.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), "--- PASS: TestAFirewallIsNoSilence")
		return
	}
	run := func(name string, args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		require.NoError(t, err, "%s %v: %s", name, args, out)
	}
	other := exec.CommandContext(t.Context(), "sleep", "60") // the machine that is asked: a namespace with somebody in it
	other.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	require.NoError(t, other.Start())
	t.Cleanup(func() { _, _ = other.Process.Kill(), other.Wait() })
	there := strconv.Itoa(other.Process.Pid)
	run(ip, "link", "add", "veth0", "type", "veth", "peer", "name", "veth1", "netns", there)
	run(ip, "addr", "add", "10.9.0.1/24", "dev", "veth0")
	run(ip, "link", "set", "veth0", "up")
	run("nsenter", "-t", there, "-n", "sh", "-c", "ip addr add 10.9.0.2/24 dev veth1 && ip link set veth1 up && "+
		"iptables -A INPUT -p tcp --dport 99 -j REJECT --reject-with icmp-host-prohibited")

	dial := func(address string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	for address, want := range map[string]How{"10.9.0.2:98": Refused, "10.9.0.2:99": Refused, "10.9.0.3:99": Silent} {
		err := dial(address)
		require.Error(t, err, address)
		require.Equal(t, want, Classify(err), "%s: %v", address, err)
	}
	err := dial("10.9.0.2:99")
	require.ErrorIs(t, err, syscall.EHOSTUNREACH)
	require.Contains(t, New("10.9.0.2:99", Classify(err), err).Error(), "a firewall rejects the connection")
}
