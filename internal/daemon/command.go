package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

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
	c.By = claimed(c.By, who)
	d.log.Info("command", "verb", string(c.Verb), keyNode, c.Node, "by", c.By)
	err = d.runner.Order(r.Context(), engine.Order{Verb: c.Verb, Node: c.Node, By: c.By})
	var refused *runner.RefusedError
	switch {
	case errors.As(err, &refused):
		d.refuse(w, refused)
	case err != nil:
		d.fail(w, http.StatusServiceUnavailable, err)
	default:
		d.answer(w, http.StatusOK, c)
	}
}

// claimed is who gave an order, for the record: the name that was given is a claim, and the record says whose.
func claimed(name, who string) string {
	if name == "" || name == who {
		return who
	}
	return name + " (" + who + ")"
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
	switch {
	case !slices.Contains(orders, c.Verb):
		return c, fmt.Errorf("unknown command %q: one of hold, resume, abort, go, confirm, skip", c.Verb)
	case aimed && c.Node == "":
		return c, fmt.Errorf("%s needs a node", c.Verb)
	case !aimed && c.Node != "":
		return c, fmt.Errorf("%s takes no node: it is about the whole outage", c.Verb)
	case len(c.By) > 100 || unprintable(c.By) || unprintable(c.Node):
		return c, errors.New("by and node must be short and printable")
	}
	return c, nil
}
