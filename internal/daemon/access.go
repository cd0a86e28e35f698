package daemon

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"ebbtide/internal/adapter"
	"ebbtide/internal/config"
	"ebbtide/internal/schema"
)

// role is what somebody may do. A higher one may do what a lower one may.
type role uint8

const (
	read    role = iota // see the status, the outages and the metrics
	operate             // give commands
)

const (
	minToken = 16 // bytes; shorter ones could be guessed

	failuresAtOnce = 10 // wrong tokens from one address; after them one each failuresEvery
	failuresEvery  = time.Second
	maxFailing     = 1024 // addresses that are remembered

	commandsAtOnce = 20 // from everybody; after them one each commandsEvery
	commandsEvery  = 200 * time.Millisecond

	strangersAtOnce = 100 // questions for health from everybody; after them one each strangersEvery
	strangersEvery  = 20 * time.Millisecond
)

// access decides who may do what.
type access struct {
	config    config.Config
	secrets   adapter.Secrets
	log       *slog.Logger
	commands  *rate.Limiter
	strangers *rate.Limiter

	mu      sync.Mutex
	failing map[string]*rate.Limiter // by address: how many more wrong tokens are looked at
}

// newAccess finds tokens that can't be used before anybody needs them.
func newAccess(c config.Config, secrets adapter.Secrets, log *slog.Logger) (*access, error) {
	a := &access{
		config: c, secrets: secrets, log: log, failing: map[string]*rate.Limiter{},
		commands:  rate.NewLimiter(rate.Every(commandsEvery), commandsAtOnce),
		strangers: rate.NewLimiter(rate.Every(strangersEvery), strangersAtOnce),
	}
	command, err := a.token(c.Token)
	if err != nil {
		return nil, fmt.Errorf("cannot use the setting token: %w", err)
	}
	reading, err := a.token(c.ReadToken)
	if err != nil {
		return nil, fmt.Errorf("cannot use the setting read_token: %w", err)
	}
	if command != "" && command == reading {
		return nil, errors.New("cannot use the setting read_token: it is the same as token, so anyone who may read could also give " +
			"commands; make another: openssl rand -hex 32")
	}
	return a, nil
}

// token reads a token anew; "" if none is set.
func (a *access) token(ref config.Reference) (string, error) {
	if ref.IsZero() {
		return "", nil
	}
	token, err := a.secrets.Secret(schema.SecretRef(ref))
	if err == nil && len(token) < minToken {
		err = fmt.Errorf("it has fewer than %d characters and could be guessed; make a longer one: openssl rand -hex 32", minToken)
	}
	return token, err
}

// denial says why somebody may not do something.
type denial struct {
	code int // of HTTP
	text string
}

func (e *denial) Error() string { return e.text }

// admit tells who asks, or with a *denial why he may not have the role that he needs: root and the daemon's own user
// may operate over the Unix socket, others who can open it may read; elsewhere tokens show the role.
func (a *access) admit(r *http.Request, need role) (who string, err error) {
	peer, known := peerOf(r)
	if known && (peer == 0 || uint32(peer) == uint32(os.Geteuid())) { //nolint:gosec // a uid is never negative here
		return peer.userName(), nil
	}
	given, shown := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case shown:
		return a.byToken(from(r), given, need)
	case need == read && (a.config.Listen.Network == "unix" || a.config.Listen.Loopback() &&
		a.config.ReadToken.IsZero() && asksLoopback(r)):
		return "reader", nil
	case need == operate && a.config.Token.IsZero():
		return "", &denial{http.StatusForbidden, "over the Unix socket, only root and the daemon's own user may give commands; set token " +
			"to accept them from others"}
	}
	return "", &denial{http.StatusUnauthorized, "this request needs the header Authorization: Bearer TOKEN"}
}

// asksLoopback reports whether a request was meant for this machine. A page in somebody's browser may have given its own
// name our address, to read what only this machine may.
func asksLoopback(r *http.Request) bool {
	host := r.Host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		host = bare
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// byToken compares what was given with both tokens, in the same time whatever it is. An address that has given too many
// wrong ones is not looked at for a while.
func (a *access) byToken(from, given string, need role) (string, error) {
	failing := a.failures(from)
	if failing.Tokens() < 1 {
		return "", &denial{http.StatusTooManyRequests, "too many wrong tokens from this address: wait a second"}
	}
	command, err := a.token(a.config.Token)
	reading, err2 := a.token(a.config.ReadToken)
	if err = errors.Join(err, err2); err != nil {
		a.log.Error("a token can't be read", keyError, err)
		return "", &denial{http.StatusInternalServerError, "the daemon can't read its tokens; its log says why"}
	}
	operates, reads := sameSecret(command, given), sameSecret(reading, given)
	switch {
	case operates:
		return "token holder", nil
	case reads && need == read:
		return "reader", nil
	case reads:
		return "", &denial{http.StatusForbidden, "this token may only read: commands need the setting token"}
	}
	if !failing.Allow() {
		return "", &denial{http.StatusTooManyRequests, "too many wrong tokens from this address: wait a second"}
	}
	a.log.Warn("a request had a wrong token", "from", from)
	return "", &denial{http.StatusUnauthorized, "the token is wrong"}
}

// sameSecret compares hashes, so that neither the time nor the lengths tell anything. No secret is like nothing.
func sameSecret(want, given string) bool {
	a, b := sha256.Sum256([]byte(want)), sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && want != ""
}

// failures gives the limiter of an address. When too many addresses are known all are forgotten: memory is bounded, and
// what guards a token is its length.
func (a *access) failures(from string) *rate.Limiter {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l, ok := a.failing[from]; ok {
		return l
	}
	if len(a.failing) >= maxFailing {
		clear(a.failing)
	}
	l := rate.NewLimiter(rate.Every(failuresEvery), failuresAtOnce)
	a.failing[from] = l
	return l
}

// pace bounds how fast commands come.
func (a *access) pace() error {
	if a.commands.Allow() {
		return nil
	}
	return &denial{http.StatusTooManyRequests, "too many commands at once: wait a second"}
}

// from names where a request comes from, without what changes with each connection.
func from(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr
}

// reading lets those through who may read.
func (d *Daemon) reading(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, err := d.access.admit(r, read); err != nil {
			d.deny(w, err)
			return
		}
		h(w, r)
	}
}

// open lets everybody through, but no faster than the runner's loop, which is asked, can do without.
func (d *Daemon) open(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !d.access.strangers.Allow() {
			d.deny(w, &denial{http.StatusTooManyRequests, "too many requests at once: wait a second"})
			return
		}
		h(w, r)
	}
}

// deny answers somebody who may not.
func (d *Daemon) deny(w http.ResponseWriter, err error) {
	code := http.StatusForbidden
	if no := (*denial)(nil); errors.As(err, &no) {
		code = no.code
	}
	switch code {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="ebbtide"`)
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	}
	d.fail(w, code, err)
}

func (p peerAddr) userName() string {
	if u, err := user.LookupId(strconv.FormatUint(uint64(p), 10)); err == nil {
		return u.Username
	}
	return p.String()
}
