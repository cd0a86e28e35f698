package healthcheck

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"

	"ebbtide/internal/adapter/printable"
)

// The few words of NTP (RFC 5905, 7.3) that a health check needs.
const (
	ntpPacket    = 48
	ntpClient    = 4<<3 | 3 // version 4, mode client
	ntpServer    = 4        // mode server
	ntpOrigin    = 24       // where the server repeats the client's own timestamp
	ntpTransmit  = 40
	ntpUnset     = 3  // leap indicator: the clock is not synchronised
	ntpNoStratum = 16 // and above: no source
)

// checkNTP asks a server for the time, and wants one that knows it. What time it tells is not looked at.
func checkNTP(ctx context.Context, server string) error {
	if _, _, err := net.SplitHostPort(server); err != nil {
		server = net.JoinHostPort(server, "123")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	query := make([]byte, ntpPacket)
	query[0] = ntpClient
	_, _ = rand.Read(query[ntpTransmit:]) // any value will do: the server gives it back (it never fails)
	answer, err := exchange(ctx, conn, query, func(b []byte) bool {
		return len(b) >= ntpPacket && b[0]&7 == ntpServer && bytes.Equal(b[ntpOrigin:ntpOrigin+8], query[ntpTransmit:])
	})
	switch {
	case err != nil:
		return err
	case answer[1] == 0:
		return fmt.Errorf("it says %q instead of the time", printable.Text(string(bytes.TrimRight(answer[12:16], "\x00")), 4))
	case answer[0]>>6 == ntpUnset:
		return errors.New("its clock is not set yet")
	case answer[1] >= ntpNoStratum:
		return fmt.Errorf("it has no source of time (stratum %d)", answer[1])
	}
	return nil
}
