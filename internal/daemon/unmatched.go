package daemon

import (
	"fmt"
	"net/http"
)

// handled answers like mux, and where mux has no handler (an unknown path, a method that a path does not take) with a
// Fault in the place of its plain text: machines read this API.
func (d *Daemon) handled(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		refusal := &statusOnly{header: http.Header{}, code: http.StatusOK}
		mux.ServeHTTP(refusal, r)
		if allowed := refusal.header.Get("Allow"); allowed != "" {
			w.Header().Set("Allow", allowed)
		}
		d.fail(w, refusal.code, fmt.Errorf("%s %s: %s", r.Method, r.URL.Path, http.StatusText(refusal.code)))
	})
}

// statusOnly keeps an answer's status and header, and drops its body.
type statusOnly struct {
	header http.Header
	code   int
}

func (s *statusOnly) Header() http.Header         { return s.header }
func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }
func (s *statusOnly) WriteHeader(code int)        { s.code = code }
