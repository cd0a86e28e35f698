package sshsim

import (
	"bytes"
	"context"
	"fmt"
	"net"

	"ebbtide/internal/adapter/wol"
)

// Wakes gives the NAS a network card with the address mac that powers it on, and tells where its packets must go:
// host:port on loopback.
func (n *NAS) Wakes(mac string) (broadcast string, err error) {
	magic, err := wol.Packet(mac)
	if err != nil {
		return "", err
	}
	card, err := (&net.ListenConfig{}).ListenPacket(context.Background(), "udp4", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("cannot listen for wake packets: %w", err)
	}
	n.mu.Lock()
	n.cards = append(n.cards, card)
	n.mu.Unlock()
	n.wg.Go(func() {
		buf := make([]byte, 256)
		for {
			got, _, err := card.ReadFrom(buf)
			if err != nil {
				return // it was closed
			}
			if bytes.Contains(buf[:got], magic) {
				n.PowerOn()
			}
		}
	})
	return card.LocalAddr().String(), nil
}
