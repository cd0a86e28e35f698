package wol

import (
	"bytes"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPacket(t *testing.T) {
	p, err := Packet("00-11-22-aa-bb-cc")
	require.NoError(t, err)
	require.Len(t, p, 102)
	require.Equal(t, bytes.Repeat([]byte{0xff}, 6), p[:6])
	for i := 6; i < len(p); i += 6 {
		require.Equal(t, []byte{0, 0x11, 0x22, 0xaa, 0xbb, 0xcc}, p[i:i+6])
	}
	for _, bad := range []string{"", "host", "00:11:22:aa:bb", "00:11:22:aa:bb:cc:dd:ee"} {
		_, err := Packet(bad)
		require.ErrorContains(t, err, "is not a MAC address")
	}
}

func TestSendToTheBroadcastAddress(t *testing.T) {
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp4", "127.255.255.255:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, Send(t.Context(), "00:11:22:aa:bb:cc", conn.LocalAddr().String()))
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(5*time.Second)))
	buf := make([]byte, 200)
	for range times {
		n, _, err := conn.ReadFrom(buf)
		require.NoError(t, err)
		require.Equal(t, 102, n)
	}
	require.ErrorContains(t, Send(t.Context(), "00:11:22:aa:bb:cc", "127.0.0.1"), "cannot send a wake packet to")
}
