package daemon

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/net/netutil"

	"ebbtide/internal/config"
	"ebbtide/internal/journal"
)

const (
	socketMode     = 0o660
	maxConnections = 256      // further ones wait
	maxHeader      = 16 << 10 // bytes
	maxCommand     = 4 << 10  // bytes in a command
)

// listen opens the API's listener, with TLS if the daemon has an identity. A socket that nobody serves any more is
// replaced; one that somebody serves is not.
func listen(ctx context.Context, l config.Listen, as *identity) (net.Listener, error) {
	if l.Network == "unix" {
		if err := clearSocket(ctx, l.Address); err != nil {
			return nil, fmt.Errorf("cannot listen on %s: %w", l, err)
		}
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, l.Network, l.Address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", l, err)
	}
	if l.Network == "unix" {
		if err := os.Chmod(l.Address, socketMode); err != nil {
			return nil, errors.Join(fmt.Errorf("cannot listen on %s: %w", l, err), listener.Close())
		}
	}
	listener = netutil.LimitListener(peers{listener}, maxConnections)
	if as != nil {
		listener = tls.NewListener(listener, as.server())
	}
	return listener, nil
}

func clearSocket(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != os.ModeSocket {
		return errors.New("a file that is not a socket is in the way: remove it, or listen elsewhere")
	}
	var dialer net.Dialer
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		return errors.Join(errors.New("another process serves that socket: check for a second daemon"), conn.Close())
	}
	return os.Remove(path)
}

// server makes the HTTP server of the API.
func (d *Daemon) server() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", d.open(d.getHealth))
	mux.HandleFunc("GET /readyz", d.open(d.getReady))
	mux.Handle("GET /metrics", d.reading(d.metrics.handler().ServeHTTP))
	mux.HandleFunc("GET /v1/status", d.reading(d.getStatus))
	mux.HandleFunc("GET /v1/outages", d.reading(d.getOutages))
	mux.HandleFunc("GET /v1/outages/{id}", d.reading(d.getOutage))
	mux.HandleFunc("POST /v1/commands", d.postCommand)
	mux.HandleFunc("POST /v1/drill", d.postDrill)
	server := &http.Server{
		Handler: d.handled(mux), ConnContext: withPeer, MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
	}
	server.RegisterOnShutdown(d.streams.end)
	return server
}

func serve(server *http.Server, l net.Listener) error {
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve the API: %w", err)
	}
	return nil
}

// shut ends the server: requests under way have a moment.
func shut(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return server.Close()
	}
	return nil
}

// Fault is the body of an answer that is an error.
type Fault struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
}

func (d *Daemon) answer(w http.ResponseWriter, code int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		d.log.Error("an answer can't be written as JSON", keyError, err)
		code, text = http.StatusInternalServerError, []byte(`{"error":"the answer can't be written as JSON"}`)
	}
	d.send(w, code, append(text, '\n'))
}

// send answers with JSON that is there already.
func (d *Daemon) send(w http.ResponseWriter, code int, line []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	if _, err := w.Write(line); err != nil {
		d.log.Debug("a client did not take its answer", keyError, err)
	}
}

func (d *Daemon) fail(w http.ResponseWriter, code int, err error) {
	fault := Fault{Error: err.Error()}
	if hinted := (interface{ Hint() string })(nil); errors.As(err, &hinted) {
		fault.Hint = hinted.Hint()
	}
	d.answer(w, code, fault)
}

func (d *Daemon) getHealth(w http.ResponseWriter, r *http.Request) {
	if !d.alive(r.Context(), viewWithin) {
		d.fail(w, http.StatusServiceUnavailable, errors.New("the runner's loop is stuck"))
		return
	}
	d.answer(w, http.StatusOK, map[string]string{"health": "ok"})
}

func (d *Daemon) getReady(w http.ResponseWriter, r *http.Request) {
	if err := d.ready(r.Context()); err != nil {
		if _, no := d.access.admit(r, read); no != nil {
			err = errors.New("not ready") // why is for those who may read
		}
		d.fail(w, http.StatusServiceUnavailable, err)
		return
	}
	d.answer(w, http.StatusOK, map[string]string{"ready": "yes"})
}

func (d *Daemon) getOutages(w http.ResponseWriter, _ *http.Request) {
	file, err := d.journal.open()
	if err != nil {
		d.fail(w, http.StatusServiceUnavailable, err)
		return
	}
	list, err := file.Outages()
	if err != nil {
		d.fail(w, http.StatusInternalServerError, err)
		return
	}
	if list == nil {
		list = []journal.Outage{}
	}
	d.answer(w, http.StatusOK, Outages{list})
}

func (d *Daemon) getOutage(w http.ResponseWriter, r *http.Request) {
	file, err := d.journal.open()
	if err != nil {
		d.fail(w, http.StatusServiceUnavailable, err)
		return
	}
	id := r.PathValue("id")
	records, err := file.Records(id)
	switch {
	case errors.Is(err, journal.ErrNoOutage):
		d.fail(w, http.StatusNotFound, err)
	case err != nil:
		d.fail(w, http.StatusInternalServerError, err)
	default:
		d.answer(w, http.StatusOK, Records{ID: id, Records: records})
	}
}
