package healthcheck_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/fake"
	"ebbtide/internal/adapter/healthcheck"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// dnsServer answers questions for "up.lab" (an A record), "six.lab" (AAAA only) and "empty.lab" (no address); of
// "mute.lab" it says nothing, "slow.lab" is answered only when asked again, and every other name does not exist.
func dnsServer(t *testing.T) string {
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		asked := map[string]int{}
		buf := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			name := ""
			at := 12
			for ; at < n && buf[at] != 0; at += int(buf[at]) + 1 {
				name += string(buf[at+1:at+1+int(buf[at])]) + "."
			}
			kind := binary.BigEndian.Uint16(buf[at+1:])
			asked[name]++
			answers, rcode := byte(0), byte(3)
			switch name {
			case "up.lab.":
				answers, rcode = 1, 0
			case "six.lab.":
				rcode = 0
				if kind == 28 {
					answers = 1
				}
			case "empty.lab.":
				rcode = 0
			case "slow.lab.":
				if asked[name] == 1 {
					continue
				}
				answers, rcode = 1, 0
			case "mute.lab.":
				continue
			}
			buf[2], buf[3], buf[7] = 0x81, 0x80|rcode, answers
			stray := append([]byte{buf[0] + 1}, buf[1:n]...)
			_, _ = conn.WriteTo(stray, from) // the answer to somebody else's question
			_, _ = conn.WriteTo(buf[:n], from)
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return conn.LocalAddr().String()
}

// ntpServer answers with a stratum and a leap indicator, after an answer to somebody else's question; -1: it is silent.
func ntpServer(t *testing.T, stratum, leap int) string {
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 100)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if n != 48 || buf[0] != 4<<3|3 || stratum < 0 {
				continue
			}
			answer := make([]byte, 48)
			answer[0], answer[1] = byte(leap<<6)|4<<3|4, byte(stratum)
			copy(answer[12:], "RATE")
			_, _ = conn.WriteTo(answer, from)
			copy(answer[24:], buf[40:48])
			_, _ = conn.WriteTo(answer, from)
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return conn.LocalAddr().String()
}

func TestHealthChecks(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/away", http.StatusFound) })
	plain, secure := httptest.NewServer(mux), httptest.NewTLSServer(mux)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	dead, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	deadAddr := dead.Addr().String()
	require.NoError(t, dead.Close())
	dns := dnsServer(t)

	for _, tt := range []struct {
		name   string
		check  schema.HealthCheck
		detail string // of what fails; empty: it passes
	}{
		{"tcp", schema.HealthCheck{TCP: plain.Listener.Addr().String()}, ""},
		{"tcp, nobody there", schema.HealthCheck{TCP: deadAddr}, "connection refused"},
		{"http", schema.HealthCheck{HTTP: plain.URL + "/ok"}, ""},
		{"http, redirect", schema.HealthCheck{HTTP: plain.URL + "/login"}, ""},
		{"http, wrong status", schema.HealthCheck{HTTP: plain.URL + "/none"}, "it answers 404 Not Found"},
		{"http, that status", schema.HealthCheck{HTTP: plain.URL + "/none", Status: 404}, ""},
		{"http, not that status", schema.HealthCheck{HTTP: plain.URL + "/ok", Status: 204}, "it answers 200 OK, not 204"},
		{"https, unknown certificate", schema.HealthCheck{HTTP: secure.URL + "/ok"}, "certificate"},
		{"https, any certificate", schema.HealthCheck{HTTP: secure.URL + "/ok", Insecure: true}, ""},
		{"dns", schema.HealthCheck{DNS: &schema.DNSCheck{Server: dns, Name: "up.lab"}}, ""},
		{"dns, IPv6 only", schema.HealthCheck{DNS: &schema.DNSCheck{Server: dns, Name: "six.lab."}}, ""},
		{"dns, a lost packet", schema.HealthCheck{DNS: &schema.DNSCheck{Server: dns, Name: "slow.lab"}}, ""},
		{"dns, unknown", schema.HealthCheck{DNS: &schema.DNSCheck{Server: dns, Name: "down.lab"}}, "no such name"},
		// This machine's hosts file knows localhost: only the server's answer counts.
		{"dns, hosts file", schema.HealthCheck{DNS: &schema.DNSCheck{Server: dns, Name: "localhost"}}, "no such name"},
		{"dns, no address", schema.HealthCheck{DNS: &schema.DNSCheck{Server: dns, Name: "empty.lab"}}, "it has no address"},
		{
			"dns, no answer",
			schema.HealthCheck{DNS: &schema.DNSCheck{Server: dns, Name: "mute.lab"}, Within: 50 * time.Millisecond},
			"no answer within 50ms",
		},
		{"dns, not a name", schema.HealthCheck{DNS: &schema.DNSCheck{Server: dns, Name: "a..b"}}, "is not a DNS name"},
		{"ntp", schema.HealthCheck{NTP: ntpServer(t, 3, 0)}, ""},
		{"ntp, a clock that nobody set", schema.HealthCheck{NTP: ntpServer(t, 3, 3)}, "its clock is not set"},
		{"ntp, no source", schema.HealthCheck{NTP: ntpServer(t, 16, 0)}, "stratum 16"},
		{"ntp, kiss of death", schema.HealthCheck{NTP: ntpServer(t, 0, 0)}, `it says "RATE"`},
		{"ntp, no answer", schema.HealthCheck{NTP: ntpServer(t, -1, 0), Within: 50 * time.Millisecond}, "no answer within 50ms"},
		{"ping", schema.HealthCheck{Ping: "127.0.0.1"}, ""},
		{"ping, no time", schema.HealthCheck{Ping: "127.0.0.1", Within: 1}, "no answer within 1ms"},
		{"command", schema.HealthCheck{Command: []string{"true"}}, ""},
		{"command, fails", schema.HealthCheck{Command: []string{"sh", "-c", "exit 3"}}, "exit status 3"},
		{"command, none", schema.HealthCheck{Command: []string{"/nowhere/check"}}, "no such file"},
		{"command, hangs", schema.HealthCheck{Command: []string{"sleep", "60"}, Within: 50 * time.Millisecond}, "no answer within 50ms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.NoError(t, tt.check.Check())
			inner := fake.New(time.Now).Add("srv", fake.Spec{})
			n := healthcheck.With(inner, []schema.HealthCheck{{Command: []string{"true"}}, tt.check})
			seen, err := n.Probe(t.Context())
			require.NoError(t, err)
			require.Equal(t, plan.On, seen.State)
			if tt.detail == "" {
				require.Equal(t, plan.Yes, seen.Healthy, seen.Detail)
				return
			}
			require.Equal(t, plan.No, seen.Healthy)
			require.Contains(t, seen.Detail, tt.check.String())
			require.Contains(t, seen.Detail, tt.detail)
		})
	}
}

func TestHealthIsNotKnownWhenThereIsNoTime(t *testing.T) {
	n := healthcheck.With(fake.New(time.Now).Add("srv", fake.Spec{}), []schema.HealthCheck{{Command: []string{"sleep", "60"}}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	seen, err := n.Probe(ctx)
	require.NoError(t, err)
	require.Equal(t, plan.On, seen.State)
	require.Equal(t, plan.NotKnown, seen.Healthy)
}

func TestHealthIsCheckedOnlyWhenOn(t *testing.T) {
	inner := fake.New(time.Now).Add("srv", fake.Spec{State: plan.Off})
	n := healthcheck.With(inner, []schema.HealthCheck{{Command: []string{"false"}}})
	seen, err := n.Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, inner.Truth(), seen)
	require.NoError(t, n.Do(t.Context(), adapter.Command{Verb: plan.Start}))
	require.Equal(t, plan.On, inner.State())
	require.Same(t, inner, healthcheck.With(inner, nil))
}
