// Package snmptest starts a PDU for tests: Debian's snmpd with the objects of one, which keep what they are set to.
package snmptest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/peertest"
)

// What a PDU lets in: communities of version 2c, and the user of version 3 (SHA-256, AES).
const (
	Community = "planted-community"
	Reading   = "planted-reading" // may not write
	User      = "ebbtide"
	Auth      = "planted-auth-password"
	Privacy   = "planted-privacy-password"
)

// PDU is a running PDU.
type PDU struct {
	Address string // 127.0.0.1:port
	Process *peertest.Process

	t testing.TB
}

// Start starts a PDU whose objects have these values, by their OIDs. It ends with the test, which is skipped where snmpd
// is not installed.
func Start(t testing.TB, objects map[string]int) *PDU {
	t.Helper()
	program := peertest.Need(t, "snmpd", "/usr/sbin/snmpd")
	peertest.Need(t, "snmp", "snmpget")
	p := &PDU{t: t, Address: fmt.Sprintf("127.0.0.1:%d", peertest.FreePort(t, "udp"))}
	var config strings.Builder
	fmt.Fprintf(&config, "agentaddress udp:%s\nrwcommunity %s 127.0.0.1\nrocommunity %s 127.0.0.1\ncreateUser %s SHA-256 %s AES "+
		"%s\nrwuser %s authPriv\n", p.Address, Community, Reading, User, Auth, Privacy, User)
	for _, oid := range slices.Sorted(maps.Keys(objects)) {
		fmt.Fprintf(&config, "override -rw %s integer %d\n", oid, objects[oid])
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "snmpd.conf"), []byte(config.String()), 0o600))
	p.Process = peertest.Start(t, dir, func(ctx context.Context) bool { return p.Get(ctx, "1.3.6.1.2.1.1.3.0") != "" },
		// a comma in a path would end it
		[]string{"SNMP_PERSISTENT_DIR=" + dir}, program, "-f", "-C", "-m", "", "-c", "snmpd.conf", "-Lo", "-p", "pid")
	return p
}

// Get reads an object from the PDU's side: "" if it does not answer.
func (p *PDU) Get(ctx context.Context, oid string) string {
	out, err := exec.CommandContext(ctx, "snmpget", "-m", "", "-v2c", "-c", Community, "-r0", "-t1", "-Oqv", p.Address, oid).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// Set sets an object from the PDU's side.
func (p *PDU) Set(oid string, value int) {
	p.t.Helper()
	out, err := exec.CommandContext(p.t.Context(), "snmpset", "-m", "", "-v2c", "-c", Community, "-t5", p.Address, oid, "i",
		fmt.Sprint(value)).CombinedOutput()
	require.NoError(p.t, err, "%s", out)
}
