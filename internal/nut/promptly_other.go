//go:build !linux

package nut

import "net"

// promptly does something on Linux only.
func promptly(c net.Conn) net.Conn { return c }
