package healthcheck

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"

	"ebbtide/internal/schema"
)

// The few words of DNS (RFC 1035, RFC 3596) that a health check needs.
const (
	dnsHeader  = 12
	dnsRecurse = 0x0100 // RD
	dnsReply   = 0x8000 // QR
	dnsRcode   = 0x000f
	dnsA       = 1
	dnsAAAA    = 28
	dnsIN      = 1
)

var rcodes = map[uint16]string{1: "format error", 2: "server failure", 3: "no such name", 4: "not implemented", 5: "refused"}

// checkDNS asks the server itself. The resolver of package net will not do: it answers from this machine's hosts file
// first, and a machine that runs shutdowns has the names that matter in there.
func checkDNS(ctx context.Context, c schema.DNSCheck) error {
	server := c.Server
	if _, _, err := net.SplitHostPort(server); err != nil {
		server = net.JoinHostPort(server, "53")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	for _, kind := range []uint16{dnsA, dnsAAAA} {
		answers, err := ask(ctx, conn, c.Name, kind)
		if err != nil || answers > 0 {
			return err
		}
	}
	return errors.New("it has no address for the name")
}

// ask sends one question, each second anew, and counts the records of the answer.
func ask(ctx context.Context, conn net.Conn, name string, kind uint16) (int, error) {
	id := uint16(rand.Uint32())
	query, err := dnsQuery(id, name, kind)
	if err != nil {
		return 0, err
	}
	reply, err := exchange(ctx, conn, query, func(b []byte) bool {
		return len(b) >= dnsHeader && binary.BigEndian.Uint16(b) == id && binary.BigEndian.Uint16(b[2:])&dnsReply != 0
	})
	if err != nil {
		return 0, err
	}
	if code := binary.BigEndian.Uint16(reply[2:]) & dnsRcode; code != 0 {
		return 0, fmt.Errorf("it answers %q", cmp.Or(rcodes[code], fmt.Sprintf("error %d", code)))
	}
	return int(binary.BigEndian.Uint16(reply[6:])), nil
}

func dnsQuery(id uint16, name string, kind uint16) ([]byte, error) {
	q := binary.BigEndian.AppendUint16(make([]byte, 0, 64), id)
	for _, word := range []uint16{dnsRecurse, 1, 0, 0, 0} { // flags; one question, nothing else
		q = binary.BigEndian.AppendUint16(q, word)
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if label == "" || len(label) > 63 {
			return nil, fmt.Errorf("%q is not a DNS name", name)
		}
		q = append(append(q, byte(len(label))), label...)
	}
	q = append(q, 0)
	q = binary.BigEndian.AppendUint16(q, kind)
	return binary.BigEndian.AppendUint16(q, dnsIN), nil
}
