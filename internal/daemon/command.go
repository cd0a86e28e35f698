package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/runner"
)

// orders are the commands that people may give.
var orders = []ledger.OrderVerb{ledger.Hold, ledger.Resume, ledger.Abort, ledger.Go, ledger.Confirm, ledger.Skip}

// postCommand takes an operator's command.
func (d *Daemon) postCommand(w http.ResponseWriter, r *http.Request) {
	who, ok := d.admitOrder(w, r)
	if !ok {
		return
	}
	c, err := readCommand(http.MaxBytesReader(w, r.Body, maxCommand))
	if err != nil {
		d.unreadable(w, err)
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
		d.answer(w, http.StatusOK, Taken{c, !d.isArmed()})
	}
}

// admitOrder tells who gives an order, or answers why it is not taken.
func (d *Daemon) admitOrder(w http.ResponseWriter, r *http.Request) (who string, ok bool) {
	who, err := d.access.admit(r, operate)
	if err == nil {
		err = d.access.pace()
	}
	if err != nil {
		d.deny(w, err)
	}
	return who, err == nil
}

// unreadable answers an order that can't be read.
func (d *Daemon) unreadable(w http.ResponseWriter, err error) {
	code := http.StatusBadRequest
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		code = http.StatusRequestEntityTooLarge
	}
	d.fail(w, code, err)
}

// readOne reads the one document of a body. What it is, and what to write instead, are for the error.
func readOne(body io.Reader, to any, what, like string) error {
	in := json.NewDecoder(body)
	in.DisallowUnknownFields()
	if err := in.Decode(to); err != nil {
		return fmt.Errorf("cannot read the %s: %w; write %s", what, err, like)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("cannot read the %s: something follows it; send one at a time", what)
	}
	return nil
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
	if err := readOne(body, &c, "command", `{"verb": "hold", "by": "your name"}`); err != nil {
		return c, err
	}
	aimed := c.Verb == ledger.Confirm || c.Verb == ledger.Skip
	switch {
	case !slices.Contains(orders, c.Verb):
		return c, fmt.Errorf("unknown command %q: one of hold, resume, abort, go, confirm, skip", c.Verb)
	case aimed && c.Node == "":
		return c, fmt.Errorf("%s needs a node", c.Verb)
	case !aimed && c.Node != "":
		return c, fmt.Errorf("%s takes no node: it applies to the whole outage", c.Verb)
	case len(c.By) > 100 || unprintable(c.By) || unprintable(c.Node):
		return c, errors.New("by and node must be short and printable")
	}
	return c, nil
}
