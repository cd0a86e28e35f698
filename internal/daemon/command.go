package daemon

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ebbtide/internal/engine"
	"ebbtide/internal/runbook"
	"ebbtide/internal/runner"
)

// orders are the commands that people may give.
var orders = []engine.OrderVerb{engine.Hold, engine.Resume, engine.Abort, engine.Go, engine.Confirm, engine.Skip}

// postCommand takes an operator's command.
func (d *Daemon) postCommand(w http.ResponseWriter, r *http.Request) {
	who, code, err := d.authorize(r)
	if err != nil {
		if code == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="ebbtide"`)
		}
		d.fail(w, code, err)
		return
	}
	c, err := readCommand(http.MaxBytesReader(w, r.Body, maxCommand))
	if err != nil {
		code := http.StatusBadRequest
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			code = http.StatusRequestEntityTooLarge
		}
		d.fail(w, code, err)
		return
	}
	if c.By == "" {
		c.By = who
	}
	d.log.Info("command", "verb", string(c.Verb), keyNode, c.Node, "by", c.By, "from", who)
	err = d.runner.Order(r.Context(), engine.Order{Verb: c.Verb, Node: c.Node, By: c.By})
	var refused *runner.RefusedError
	switch {
	case errors.As(err, &refused):
		text, hint, _ := strings.Cut(refused.Error(), "; ")
		d.answer(w, http.StatusConflict, Fault{Error: text, Hint: hint})
	case err != nil:
		d.fail(w, http.StatusServiceUnavailable, err)
	default:
		d.answer(w, http.StatusOK, c)
	}
}

func readCommand(body io.Reader) (Command, error) {
	var c Command
	in := json.NewDecoder(body)
	in.DisallowUnknownFields()
	if err := in.Decode(&c); err != nil {
		return c, fmt.Errorf(`cannot read the command: %w; write {"verb": "hold", "by": "your name"}`, err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return c, errors.New("cannot read the command: something follows it; send one at a time")
	}
	aimed := c.Verb == engine.Confirm || c.Verb == engine.Skip
	printable := func(s string) bool { return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) }
	switch {
	case !slices.Contains(orders, c.Verb):
		return c, fmt.Errorf("unknown command %q: one of hold, resume, abort, go, confirm, skip", c.Verb)
	case aimed && c.Node == "":
		return c, fmt.Errorf("%s needs a node", c.Verb)
	case !aimed && c.Node != "":
		return c, fmt.Errorf("%s takes no node: it is about the whole outage", c.Verb)
	case len(c.By) > 100 || !printable(c.By) || !printable(c.Node):
		return c, errors.New("by and node must be short and printable")
	}
	return c, nil
}

// authorize tells who gives a command: the owner of the daemon over its Unix socket, or whoever has the token.
func (d *Daemon) authorize(r *http.Request) (who string, code int, err error) {
	if uid, known := peerOf(r.Context()); known && (uid == 0 || uid == uint32(os.Geteuid())) { //nolint:gosec // a uid is never negative here
		return userName(uid), 0, nil
	}
	ref := d.options.Config.Token
	if ref.IsZero() {
		return "", http.StatusForbidden, errors.New("commands are taken over the Unix socket from root and the daemon's own user alone; set token to take them otherwise")
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || given == "" {
		return "", http.StatusUnauthorized, errors.New("a command needs the header Authorization: Bearer TOKEN")
	}
	token, err := d.secrets.Secret(runbook.SecretRef(ref))
	if err != nil {
		d.log.Error("the token can't be read", keyError, err)
		return "", http.StatusInternalServerError, errors.New("the daemon can't read its token; its log says why")
	}
	want, got := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(given))
	if subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
		return "", http.StatusUnauthorized, errors.New("the token is wrong")
	}
	return "token holder", 0, nil
}

// checkToken finds a token that can't be read before anybody needs it.
func (d *Daemon) checkToken() error {
	if d.options.Config.Token.IsZero() {
		return nil
	}
	if _, err := d.secrets.Secret(runbook.SecretRef(d.options.Config.Token)); err != nil {
		return fmt.Errorf("cannot use the setting token: %w", err)
	}
	return nil
}

func userName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return "uid " + id
}
