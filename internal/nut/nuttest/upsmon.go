package nuttest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ebbtide/internal/nut/wire"
)

// Upsmon plays the upsmon of another machine: it is logged in to a UPS, and when the forced-shutdown flag is set it leaves,
// as one does whose machine goes down.
type Upsmon struct {
	t     testing.TB
	conn  net.Conn
	in    *bufio.Reader
	left  atomic.Bool
	stop  context.CancelFunc
	ended sync.WaitGroup
}

// watchEvery is how often it looks: upsmon itself takes 5 s.
const watchEvery = 20 * time.Millisecond

// Upsmon logs in to a UPS from an address of this machine ("127.0.0.2" is another machine as far as upsd knows). It heeds
// the flag after the given time; a negative time never heeds it.
func (s *Server) Upsmon(from, ups string, heeds time.Duration) *Upsmon {
	s.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 5 * time.Second}
	conn, err := dialer.DialContext(s.t.Context(), "tcp", s.Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	m := &Upsmon{t: s.t, conn: conn, in: bufio.NewReader(conn)}
	for _, line := range []string{"USERNAME " + Viewer, "PASSWORD " + wire.Quote(ViewerPassword), "LOGIN " + ups} {
		if answer, err := m.ask(line); err != nil || answer != "OK" {
			s.t.Fatalf("%s: %q, error %v", line, answer, err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	m.ended.Go(func() { m.watch(ctx, ups, heeds) })
	s.t.Cleanup(m.Leave)
	return m
}

func (m *Upsmon) ask(line string) (string, error) {
	if err := m.conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintln(m.conn, line); err != nil {
		return "", err
	}
	answer, err := m.in.ReadString('\n')
	return strings.TrimSpace(answer), err
}

func (m *Upsmon) watch(ctx context.Context, ups string, heeds time.Duration) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var leave <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			_ = m.conn.Close() // it leaves
			return
		case <-leave:
			m.left.Store(true)
			_, _ = m.ask("LOGOUT") // it leaves, whatever is said
			_ = m.conn.Close()
			return
		case <-tick.C:
		}
		answer, err := m.ask("GET VAR " + ups + " ups.status")
		if err != nil {
			_ = m.conn.Close() // upsd is gone
			return
		}
		if leave == nil && heeds >= 0 && strings.Contains(answer, "FSD") {
			leave = time.After(heeds)
		}
	}
}

// Left reports whether it went because of the flag.
func (m *Upsmon) Left() bool { return m.left.Load() }

// Leave ends it as its machine's death does. It may be ended twice.
func (m *Upsmon) Leave() {
	m.stop()
	m.ended.Wait()
}
