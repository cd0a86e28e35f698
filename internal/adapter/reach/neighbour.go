package reach

import (
	"bufio"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
)

// hasNeighbour reports whether the address that a dial went to is on this network and answers there, as the kernel's table of neighbours
// has it. A firewall that rejects with "host prohibited", as firewalld's does, reads like a machine that nobody finds: but that one has no
// such entry, or an incomplete one. Of IPv6, and of what lies behind a router, it tells nothing.
func hasNeighbour(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Addr == nil {
		return false
	}
	host, _, err := net.SplitHostPort(op.Addr.String())
	if err != nil {
		return false
	}
	table, err := os.Open("/proc/self/net/arp") // proc(5); the unit hides /proc/net (ProcSubset=pid)
	if err != nil {
		return false
	}
	defer func() { _ = table.Close() }()
	const complete = 0x2 // ATF_COM of <net/if_arp.h>
	for lines := bufio.NewScanner(table); lines.Scan(); {
		columns := strings.Fields(lines.Text())
		if len(columns) < 3 || columns[0] != host {
			continue
		}
		flags, err := strconv.ParseUint(columns[2], 0, 32)
		return err == nil && flags&complete != 0
	}
	return false
}
