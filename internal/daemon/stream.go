package daemon

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	maxStreams  = 64
	streamEvery = time.Second            // the least time between two documents of a stream
	streamAge   = 250 * time.Millisecond // how old a document may be that a stream gets: most of them share one
	// after so long without a change the status is sent all the same: no news and a broken line differ
	streamSilent = 10 * time.Second
	streamWithin = 10 * time.Second // for a client to take a document
	jsonLines    = "application/x-ndjson"
)

// streams are the clients that watch the status.
type streams struct {
	mu    sync.Mutex
	open  int
	ended chan struct{} // closed when the server shuts down
	end   func()
}

func newStreams() *streams {
	ended := make(chan struct{})
	return &streams{ended: ended, end: sync.OnceFunc(func() { close(ended) })}
}

// enter lets one more client in, unless there are too many.
func (s *streams) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= maxStreams {
		return false
	}
	s.open++
	return true
}

func (s *streams) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
}

// getStatus answers with the status; with watch=1, with a document a line whenever it changes, until the client goes.
func (d *Daemon) getStatus(w http.ResponseWriter, r *http.Request) {
	watch := false
	if text := r.URL.Query().Get("watch"); text != "" {
		var err error
		if watch, err = strconv.ParseBool(text); err != nil {
			d.fail(w, http.StatusBadRequest, errors.New("watch is 1 or 0"))
			return
		}
	}
	if watch {
		d.watchStatus(w, r)
		return
	}
	e, err := d.cache.get(r.Context(), time.Now())
	if err != nil {
		d.fail(w, http.StatusServiceUnavailable, err)
		return
	}
	d.send(w, http.StatusOK, e.line)
}

// watchStatus streams the status. A client that is slow misses what happened meanwhile and gets the newest next; one
// that does not take a document in time is dropped. Nobody waits for either.
func (d *Daemon) watchStatus(w http.ResponseWriter, r *http.Request) {
	if !d.streams.enter() {
		w.Header().Set("Retry-After", "30")
		d.answer(w, http.StatusServiceUnavailable,
			Fault{Error: "too many clients are watching the status", Hint: "poll /v1/status instead"})
		return
	}
	defer d.streams.leave()
	conn := http.NewResponseController(w)
	// The server's own limits are for short answers. Where they can't be lifted the stream is cut short, and begun again.
	_ = conn.SetReadDeadline(time.Time{})
	w.Header().Set("Content-Type", jsonLines)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	var sent time.Time
	change := 0
	tick := time.NewTimer(0)
	defer tick.Stop()
	for due := time.Now(); ; due = due.Add(streamEvery) {
		tick.Reset(time.Until(due))
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-d.streams.ended:
			return
		}
		e, err := d.cache.get(r.Context(), due.Add(-streamAge))
		switch {
		case err != nil && sent.IsZero():
			d.fail(w, http.StatusServiceUnavailable, err)
			return
		case err != nil:
			return // the client sees an end, and asks again
		case e.change == change && time.Since(sent) < streamSilent:
			continue
		}
		_ = conn.SetWriteDeadline(time.Now().Add(streamWithin))
		if _, err := w.Write(e.line); err != nil {
			d.log.Debug("a client that was watching the status was dropped", keyError, err)
			return
		}
		if err := conn.Flush(); err != nil {
			d.log.Debug("a client that was watching the status was dropped", keyError, err)
			return
		}
		sent, change = time.Now(), e.change
		due = sent
	}
}
