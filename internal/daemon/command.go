package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"ebbtide/internal/engine"
	"ebbtide/internal/runner"
)

// orders are the commands that people may give.
var orders = []engine.OrderVerb{engine.Hold, engine.Resume, engine.Abort, engine.Go, engine.Confirm, engine.Skip}

// postCommand takes an operator's command.
func (d *Daemon) postCommand(w http.ResponseWriter, r *http.Request) {
	who, err := d.access.admit(r, operate)
	if err == nil {
		err = d.access.pace()
	}
	if err != nil {
		d.deny(w, err)
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
	switch c.By { // the name is a claim, and the record says whose
	case "", who:
		c.By = who
	default:
		c.By += " (" + who + ")"
	}
	d.log.Info("command", "verb", string(c.Verb), keyNode, c.Node, "by", c.By)
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
