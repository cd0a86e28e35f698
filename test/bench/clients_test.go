package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	askEvery    = time.Second     // of a client that asks
	scrapeEvery = 5 * time.Second // of a metrics collector
)

// clients ask a daemon for its status and watch it, all at once, beside a metrics collector and a client that watches
// and reads nothing.
type clients struct {
	socket string
	end    context.CancelFunc
	all    sync.WaitGroup

	mu        sync.Mutex
	answers   []time.Duration // from each question to the last byte of its answer
	gaps      []time.Duration // between two documents of one stream
	documents int
	bytes     int64
	faults    []string
	heap      []float64 // MiB that live, at each scrape
	routines  []float64
}

// startClients starts n of them, half of which watch.
func startClients(t *testing.T, socket string, n int) *clients {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &clients{socket: socket, end: cancel}
	for i := range n {
		if i%2 == 0 {
			c.all.Go(func() { c.watch(ctx) })
		} else {
			c.all.Go(func() { c.every(ctx, askEvery, time.Duration(i)*askEvery/time.Duration(n), c.ask) })
		}
	}
	c.all.Go(func() { c.every(ctx, scrapeEvery, 0, c.scrape) })
	stalled, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	require.NoError(t, err)
	_, err = fmt.Fprint(stalled, "GET /v1/status?watch=1 HTTP/1.1\r\nHost: ebbtide\r\n\r\n")
	require.NoError(t, err)
	c.all.Go(func() { <-ctx.Done(); _ = stalled.Close() }) // until then it takes nothing
	return c
}

// stop ends them and waits.
func (c *clients) stop() {
	c.end()
	c.all.Wait()
}

func (c *clients) client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", c.socket)
		},
	}}
}

func (c *clients) every(ctx context.Context, every, first time.Duration, do func(context.Context, *http.Client)) {
	client := c.client()
	defer client.CloseIdleConnections()
	tick := time.NewTimer(first)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		tick.Reset(every)
		do(ctx, client)
	}
}

// get asks and hands the answer on; what goes wrong while ctx lasts is a fault.
func (c *clients) get(ctx context.Context, client *http.Client, path string, read func(io.Reader) error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://ebbtide"+path, nil)
	if err != nil {
		c.fault(err)
		return
	}
	resp, err := client.Do(req)
	if err == nil {
		if resp.StatusCode != http.StatusOK {
			err = errors.New(resp.Status)
		} else {
			err = read(resp.Body)
		}
		_ = resp.Body.Close()
	}
	if err != nil && ctx.Err() == nil {
		c.fault(fmt.Errorf("%s: %w", path, err))
	}
}

func (c *clients) fault(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, err.Error())
}

func (c *clients) ask(ctx context.Context, client *http.Client) {
	asked := time.Now()
	c.get(ctx, client, "/v1/status", func(r io.Reader) error {
		n, err := io.Copy(io.Discard, r)
		if err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.answers, c.bytes = append(c.answers, time.Since(asked)), c.bytes+n
		}
		return err
	})
}

func (c *clients) watch(ctx context.Context) {
	client := c.client()
	defer client.CloseIdleConnections()
	c.get(ctx, client, "/v1/status?watch=1", func(r io.Reader) error {
		last := time.Now()
		for in := bufio.NewReaderSize(r, 64<<10); ; {
			part, err := in.ReadSlice('\n')
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				return err
			}
			c.mu.Lock()
			c.bytes += int64(len(part))
			if err == nil {
				c.documents++
				c.gaps = append(c.gaps, time.Since(last))
				last = time.Now()
			}
			c.mu.Unlock()
		}
	})
}

// scrape reads what the daemon's own metrics say of its memory. The heap at which it collects garbage next is about
// twice what lives.
func (c *clients) scrape(ctx context.Context, client *http.Client) {
	c.get(ctx, client, "/metrics", func(r io.Reader) error {
		values := map[string]float64{}
		for in := bufio.NewScanner(r); in.Scan(); {
			if name, value, ok := strings.Cut(in.Text(), " "); ok && strings.HasPrefix(name, "go_") {
				values[name], _ = strconv.ParseFloat(value, 64)
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.heap = append(c.heap, values["go_memstats_next_gc_bytes"]/2/(1<<20))
		c.routines = append(c.routines, values["go_goroutines"])
		return nil
	})
}
