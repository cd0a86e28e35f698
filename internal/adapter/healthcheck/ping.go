package healthcheck

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/netip"
	"os"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// echo is how ICMP asks and answers for a version of IP.
type echo struct {
	socket, raw, any string // networks for a socket without and with rights, and the address to listen on
	asks, answers    icmp.Type
	protocol         int
}

var (
	echo4 = echo{"udp4", "ip4:icmp", "0.0.0.0", ipv4.ICMPTypeEcho, ipv4.ICMPTypeEchoReply, 1}
	echo6 = echo{"udp6", "ip6:ipv6-icmp", "::", ipv6.ICMPTypeEchoRequest, ipv6.ICMPTypeEchoReply, 58}
)

// checkPing wants an answer to an ICMP echo. Where this machine lets anybody ask (net.ipv4.ping_group_range) it needs no
// right, elsewhere CAP_NET_RAW.
func checkPing(ctx context.Context, host string) error {
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return err
	}
	to, kind := addresses[0].Unmap(), echo4
	if to.Is6() {
		kind = echo6
	}
	conn, unprivileged, err := kind.listen()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	var token [16]byte // the kernel gives the echo its own identifier: ours is known by its text
	_, _ = rand.Read(token[:])
	query, err := (&icmp.Message{Type: kind.asks, Body: &icmp.Echo{ID: os.Getpid() & 0xffff, Seq: 1, Data: token[:]}}).Marshal(nil)
	if err != nil {
		return err
	}
	_, err = exchange(ctx, &pingConn{conn, destination(to, unprivileged)}, query, func(b []byte) bool {
		m, err := icmp.ParseMessage(kind.protocol, b)
		if err != nil || m.Type != kind.answers {
			return false
		}
		body, ok := m.Body.(*icmp.Echo)
		return ok && bytes.Equal(body.Data, token[:])
	})
	return err
}

// listen opens a socket without rights, or with them.
func (e echo) listen() (conn *icmp.PacketConn, unprivileged bool, err error) {
	if conn, err = icmp.ListenPacket(e.socket, e.any); err == nil {
		return conn, true, nil
	}
	if conn, rawErr := icmp.ListenPacket(e.raw, e.any); rawErr == nil {
		return conn, false, nil
	}
	return nil, false, fmt.Errorf("it can't be pinged: %w; allow the daemon's group with the sysctl net.ipv4.ping_group_range, or give "+
		"the daemon CAP_NET_RAW", err)
}

func destination(to netip.Addr, unprivileged bool) net.Addr {
	if unprivileged {
		return &net.UDPAddr{IP: to.AsSlice(), Zone: to.Zone()}
	}
	return &net.IPAddr{IP: to.AsSlice(), Zone: to.Zone()}
}

// pingConn is a socket for ICMP with one destination.
type pingConn struct {
	*icmp.PacketConn
	to net.Addr
}

func (c *pingConn) Write(b []byte) (int, error) { return c.WriteTo(b, c.to) }

func (c *pingConn) Read(b []byte) (int, error) {
	n, _, err := c.ReadFrom(b)
	return n, err
}
