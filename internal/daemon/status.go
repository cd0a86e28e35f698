package daemon

import (
	"context"
	"errors"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/journal"
	"ebbtide/internal/ledger"
	"ebbtide/internal/timeline"
)

// Status is all that the daemon knows now, in one document.
type Status struct {
	Version string      `json:"version"`
	Now     time.Time   `json:"now"` // by the daemon's clock, as all other times
	Started time.Time   `json:"started"`
	Armed   bool        `json:"armed"`
	Mode    ledger.Mode `json:"mode"` // ledger.ModeRun or ledger.ModeObserve
	Runbook string      `json:"runbook"`
	File    string      `json:"file"`
	Digest  string      `json:"digest"` // of the whole down plan
	Journal string      `json:"journal"`
	Aside   []string    `json:"journals_set_aside,omitempty"` // damaged ones that lie beside it
	Text    string      `json:"text"`                         // in one line
	// selectors that have never answered: nothing is known of what they stand for
	Blind []string `json:"blind,omitempty"`
	// what supplies, and this machine, can't do of what the runbook wants of them: a cut, a power-off that would be refused
	Lacks  []string           `json:"lacks,omitempty"`
	Policy []string           `json:"policy"` // what is done when, a sentence each
	Proofs Proofs             `json:"proofs"`
	View   engine.View        `json:"view"`
	Outage *timeline.Timeline `json:"outage,omitempty"` // the open one
}

// Outages is the answer to the list of outages, oldest first.
type Outages struct {
	Outages []journal.Outage `json:"outages"`
}

// Records is the answer to one outage.
type Records struct {
	ID      string          `json:"id"`
	Records []ledger.Record `json:"records"`
}

// Command is an operator's command.
type Command struct {
	Verb ledger.OrderVerb `json:"verb"`
	Node string           `json:"node,omitempty"` // of confirm and skip
	By   string           `json:"by,omitempty"`   // who gives it, for the record
}

// Taken is the answer to an operator's command that was taken.
type Taken struct {
	Command
	Observing bool `json:"observing,omitempty"` // it counts for an outage in which nothing is commanded
}

func (d *Daemon) status(ctx context.Context) (Status, error) {
	view, err := d.view(ctx)
	if err != nil {
		return Status{}, err
	}
	site := d.site.Load()
	s := Status{
		Version: d.options.Version, Now: time.Now(), Started: d.began, Armed: d.isArmed(), Mode: d.conduct.mode(),
		Runbook: site.Runbook.Name, File: d.options.Config.Runbook, Digest: site.digest,
		Journal: d.options.Config.Journal, Aside: d.aside(),
		Text: d.inWords(view), Blind: site.blind, Policy: site.Runbook.Triggers(), Proofs: d.unproven(time.Now()), View: view,
	}
	s.Lacks = d.lacked()
	d.markObserved(&s.View)
	if tl := d.history.latest(); view.Outage != "" && tl.Outage == view.Outage {
		s.Outage = &tl
	}
	return s, nil
}

// markObserved has each sentence about an outage say that it is only observed. What a supply says of itself is so.
func (d *Daemon) markObserved(v *engine.View) {
	mark := func(text *string) {
		if *text != "" {
			*text = d.conduct.observing() + *text
		}
	}
	if v.Outage == "" {
		return
	}
	mark(&v.Waiting)
	for i := range v.Supplies {
		mark(&v.Supplies[i].Why)
	}
	for i := range v.Nodes {
		mark(&v.Nodes[i].Why)
	}
}

// ready says why the daemon is not ready: every supply has to be heard once, or waited for long enough, and the journal
// has to be writable.
func (d *Daemon) ready(ctx context.Context) error {
	view, err := d.view(ctx)
	if err == nil && !view.Journal {
		err = errors.New("the journal can't be written")
	}
	return errors.Join(d.heard.ready(), err)
}
