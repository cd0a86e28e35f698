// Package wol wakes machines by Wake-on-LAN.
package wol

import (
	"bytes"
	"context"
	"fmt"
	"net"
)

// Everywhere is where the packet goes if nothing else is said: all of the local network.
const Everywhere = "255.255.255.255:9"

// times is how often the packet is sent: UDP may lose one.
const times = 3

// Packet makes the magic packet for a network card: six bytes of ones, and sixteen times its address.
func Packet(mac string) ([]byte, error) {
	addr, err := net.ParseMAC(mac)
	if err != nil || len(addr) != 6 {
		return nil, fmt.Errorf("%q is not a MAC address: write it as 00:11:22:aa:bb:cc", mac)
	}
	return append(bytes.Repeat([]byte{0xff}, 6), bytes.Repeat(addr, 16)...), nil
}

// Send sends the packet for mac to broadcast (host:port; "" means Everywhere). Nothing answers a magic packet: no
// error says only that it was sent.
func Send(ctx context.Context, mac, broadcast string) error {
	packet, err := Packet(mac)
	if err != nil {
		return err
	}
	if broadcast == "" {
		broadcast = Everywhere
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp4", broadcast)
	if err != nil {
		return fmt.Errorf("cannot send a wake packet to %q: %w", broadcast, err)
	}
	defer func() { _ = conn.Close() }()
	for range times {
		if _, err := conn.Write(packet); err != nil {
			return fmt.Errorf("cannot send a wake packet to %q: %w", broadcast, err)
		}
	}
	return nil
}
