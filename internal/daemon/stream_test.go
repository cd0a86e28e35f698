package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

func TestBulletinIsSharedAndNeverOlderThanTheQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const cost = 100 * time.Millisecond
		var made atomic.Int64
		b := newStatusCache(func(context.Context) (Status, error) {
			n := made.Add(1)
			<-time.After(cost)
			return Status{Started: time.Now(), Text: fmt.Sprint(n)}, nil
		})
		began := time.Now()
		var all sync.WaitGroup
		for i := range 500 { // for ten seconds
			all.Go(func() {
				<-time.After(time.Duration(i) * 20 * time.Millisecond)
				asked := time.Now()
				e, err := b.get(t.Context(), asked)
				require.NoError(t, err)
				var s Status
				require.NoError(t, json.Unmarshal(e.line, &s))
				require.False(t, e.begun.Before(asked), "made before it was asked for")
				require.LessOrEqual(t, time.Since(asked), 2*(1+restFor)*cost)
			})
		}
		all.Wait()
		took := time.Since(began)
		require.LessOrEqual(t, time.Duration(made.Load())*cost, took/(1+restFor)+2*cost, "more of a processor than it may take")
		require.Greater(t, made.Load(), int64(20))
		last, err := b.get(t.Context(), began)
		require.NoError(t, err)
		again, err := b.get(t.Context(), last.begun)
		require.NoError(t, err)
		require.Same(t, last, again, "new enough")
	})
}

func TestBulletinThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	broken := errors.New("the loop is stuck")
	b := newStatusCache(func(context.Context) (Status, error) { return Status{}, broken })
	_, err := b.get(t.Context(), time.Now())
	require.ErrorIs(t, err, broken)
	b.status = func(context.Context) (Status, error) { return Status{Text: "well"}, nil }
	e, err := b.get(t.Context(), time.Now())
	require.NoError(t, err)
	require.Contains(t, string(e.line), `"well"`)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	b.status = func(context.Context) (Status, error) { <-t.Context().Done(); return Status{}, broken }
	_, err = b.get(gone, time.Now())
	require.ErrorIs(t, err, context.Canceled, "who goes does not wait")
}

func TestOnlyTimePassing(t *testing.T) {
	t.Parallel()
	at := func() Status {
		return Status{Text: "ups on line", View: engine.View{
			Supplies: []engine.SupplyView{{ID: "ups"}}, Nodes: []engine.NodeView{{ID: "vm"}},
		}}
	}
	before, now := at(), at()
	now.View.Supplies[0].State.OnlineFor = time.Minute
	require.True(t, calm(&before, &now))
	for name, happen := range map[string]func(*Status){
		"text":    func(s *Status) { s.Text = "ups on battery" },
		"battery": func(s *Status) { s.View.Supplies[0].State.OnBatteryFor = time.Second },
		"node":    func(s *Status) { s.View.Nodes[0].Seen.State = plan.Off },
		"journal": func(s *Status) { s.View.Journal = true },
		"blind":   func(s *Status) { s.Blind = []string{"lab"} },
		"runbook": func(s *Status) { s.Digest = "another" },
		"outage":  func(s *Status) { s.View.Outage = "o" },
		"fewer":   func(s *Status) { s.View.Supplies = nil },
	} {
		now := at()
		happen(&now)
		require.False(t, calm(&before, &now), name)
	}
}

// TestStatusIsWatched follows an outage from the first to the last document.
func TestStatusIsWatched(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.start()
	g.ready()
	seen := make(chan *Status, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- g.client().Watch(context.Background(), func(s *Status) error { seen <- s; return nil })
	}()
	first := <-seen
	require.Empty(t, first.View.Outage)
	g.mains(false)
	var last *Status
	for last = range seen {
		if o := last.Outage; o != nil && o.Summary.Down == o.Summary.WasOn && o.Summary.WasOn > 0 {
			break
		}
	}
	require.NotEmpty(t, last.View.Outage)
	g.stop()
	select {
	case err := <-ended:
		require.ErrorContains(t, err, "lost the connection to the daemon")
	case <-time.After(5 * time.Second):
		t.Fatal("the stream goes on although the daemon has ended")
	}
}

func TestWatchEndsWithWhatTheViewerFailsWith(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.start()
	enough := errors.New("enough")
	require.ErrorIs(t, g.client().Watch(t.Context(), func(*Status) error { return enough }), enough)
	require.Equal(t, http.StatusBadRequest, g.get("/v1/status?watch=maybe").code)
	require.Equal(t, http.StatusOK, g.get("/v1/status?watch=0").code)
}

// TestStreamsAreBounded opens as many as there may be, none of which reads, and needs the daemon all the same.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	d := g.start()
	var open []net.Conn
	for range maxStreams {
		conn, err := new(net.Dialer).DialContext(t.Context(), "unix", g.config.Listen.Address)
		require.NoError(t, err)
		defer conn.Close() //nolint:errcheck // a client that goes away
		_, err = fmt.Fprint(conn, "GET /v1/status?watch=1 HTTP/1.1\r\nHost: ebbtide\r\n\r\n")
		require.NoError(t, err)
		open = append(open, conn)
	}
	for _, conn := range open { // the head alone: each is in
		_, err := bufio.NewReaderSize(conn, 16).ReadString('\n')
		require.NoError(t, err)
	}
	var refused *APIError
	require.ErrorAs(t, g.client().Watch(t.Context(), func(*Status) error { return nil }), &refused)
	require.Equal(t, http.StatusServiceUnavailable, refused.Code)
	require.NotEmpty(t, refused.Hint())
	require.NotEmpty(t, g.status().Version, "who only asks is answered")
	for _, conn := range open {
		require.NoError(t, conn.Close())
	}
	g.until("room again", func() bool {
		d.streams.mu.Lock()
		defer d.streams.mu.Unlock()
		return d.streams.open == 0
	})
}

func TestManySuppliesInFewWords(t *testing.T) {
	t.Parallel()
	supplies := func(well, failing int) []engine.SupplyView {
		var all []engine.SupplyView
		for i := range well + failing {
			v := engine.SupplyView{ID: fmt.Sprint("u", i), Text: "on battery", State: power.State{Mains: power.MainsOnBattery}}
			if i < well {
				v.Text, v.State.Mains = "on line", power.MainsOnline
			}
			all = append(all, v)
		}
		return all
	}
	require.Equal(t, []string{"u0 on line", "u1 on battery"}, suppliesInWords(supplies(1, 1)))
	require.Equal(t, []string{"200 supplies on line"}, suppliesInWords(supplies(200, 0)))
	require.Equal(t, []string{"u9 on battery", "9 supplies on line"}, suppliesInWords(supplies(9, 1)))
	require.Equal(t, []string{
		"u100 on battery", "u101 on battery", "u102 on battery", "u103 on battery", "96 more supplies not on line", "100 supplies on line",
	}, suppliesInWords(supplies(100, 100)))
}
