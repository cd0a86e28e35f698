package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ebbtide/internal/config"
	"ebbtide/internal/daemon"
	"ebbtide/internal/evidence"
	"ebbtide/internal/families"
	"ebbtide/internal/journal"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/report/retrospect"
	"ebbtide/internal/runbook"
)

// newestOutage names the newest outage.
const newestOutage = "last"

// outageAt is which outage a command is asked to tell of, and where it is on record.
type outageAt struct {
	reach
	journal, runbook string
}

const outageHelp = `
OUTAGE is a recorded outage, such as 20260131T031415Z; the default is the last one, whether it is over or not. FILE
is what ` + "`ebbtide journal export`" + ` or ` + "`ebbtide simulate --format json`" + ` wrote, or a journal; you may
name one of its outages after it. Without FILE, the journal given by --journal or by the settings file of --config is
read, or the daemon that has it open is asked.

The runbook (from --runbook or the settings) says how long each step was expected to take and what waits for what.
Without a runbook, expectations come from earlier recorded outages.`

func (o *outageAt) flags(c *cobra.Command) {
	c.Flags().StringVar(&o.journal, "journal", "", "the journal file")
	c.Flags().StringVar(&o.runbook, "runbook", "", "the runbook that was followed")
	o.reach.flags(c)
}

// onRecord is an outage's records, with what else is known.
type onRecord struct {
	records   []ledger.Record
	past      *evidence.Evidence
	notes     []string
	simulated bool
}

// retrospect tells of the outage that a command is asked for.
func (a *app) retrospect(ctx context.Context, o *outageAt, args []string) (*retrospect.Retrospective, error) {
	book, given := o.runbook, o.runbook != ""
	if o.config != "" {
		settings, err := config.Load(o.config, nil)
		if err != nil {
			return nil, fail(exitUsage, "see `ebbtide daemon --help`", "%w", err)
		}
		if o.journal == "" {
			o.journal = settings.Journal
		}
		if book == "" {
			book = settings.Runbook
		}
	}
	found, err := a.findOutage(ctx, o, args)
	if err != nil {
		return nil, err
	}
	var rb *runbook.Runbook
	if book != "" {
		rb, err = a.usable(book)
		switch {
		case err != nil && given:
			return nil, err
		case err != nil:
			rb = nil
			found.notes = append(found.notes, "The runbook named in the settings, "+book+", could not be used.")
		}
	}
	basis, err := basisOf(rb, found)
	if err != nil {
		return nil, err
	}
	r, err := retrospect.Of(found.records, basis)
	if err != nil {
		return nil, fail(exitFailed, "", "cannot report on the outage: %w", err)
	}
	r.Notes = append(r.Notes, found.notes...)
	return r, nil
}

// basisOf gathers what an outage is held against.
func basisOf(rb *runbook.Runbook, found onRecord) (retrospect.Basis, error) {
	basis := retrospect.Basis{Zone: time.Local, Proven: map[string]power.Capacity{}}
	first := &found.records[0]
	if basis.Modelled = found.simulated; found.simulated || first.Mode == "simulate" {
		basis.Zone = time.UTC
	}
	for _, id := range found.past.Supplies() {
		basis.Proven[id] = found.past.Capacity(id, first.At)
	}
	var estate *plan.Estate
	if rb != nil {
		compiled, err := runbook.Compile(rb, families.Schema(), first.Members)
		if err != nil {
			return basis, fail(exitMistakes, "run `ebbtide check`", "cannot use runbook %q: %w", rb.Name, err)
		}
		estate, basis.Estate, basis.Sheets = compiled.Estate, compiled.Estate, compiled.Supplies
	} else {
		var err error
		if estate, err = plan.NewEstate(found.past.Nodes(), nil); err != nil {
			return basis, fail(exitFailed, "", "cannot use what has been recorded: %w", err)
		}
	}
	basis.Find = evidence.Finder(estate)
	basis.Past = found.past.Samples(basis.Find)
	return basis, nil
}

// findOutage finds the records that the arguments name.
func (a *app) findOutage(ctx context.Context, o *outageAt, args []string) (onRecord, error) {
	which := newestOutage
	if len(args) > 0 {
		which = args[0]
		if info, err := os.Stat(which); err == nil && !info.IsDir() {
			return a.inFile(ctx, which, append(args[1:], newestOutage)[0])
		}
		if len(args) > 1 {
			return onRecord{}, fail(exitUsage, "name the file first, then the outage", "there is no file %q", which)
		}
		if strings.ContainsAny(which, "./\\") {
			return onRecord{}, fail(exitFailed, "name a file that `ebbtide journal export` or `ebbtide simulate --format json` wrote, an "+
				"outage, or last", "there is no file %q", which)
		}
	}
	src, done, err := a.source(ctx, &o.reach, o.journal)
	if err != nil {
		return onRecord{}, err
	}
	defer done()
	return inSource(ctx, src, which)
}

// inFile finds an outage in a file of records or in a journal.
func (a *app) inFile(ctx context.Context, path, which string) (onRecord, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return onRecord{}, fail(exitFailed, "name a file that can be read", "cannot read the outage: %w", err)
	}
	if start := bytes.TrimSpace(text); len(start) > 0 && start[0] != '{' {
		j, err := openJournal(path)
		if err != nil {
			return onRecord{}, err
		}
		defer func() { _ = j.Close() }() // nothing was written
		return inSource(ctx, j, which)
	}
	records, simulated, err := readRecords(text)
	if err != nil {
		return onRecord{}, fail(exitFailed, "use a file that `ebbtide journal export FILE` or `ebbtide simulate RUNBOOK --format json` wrote", "cannot read outages from %q: %w", path, err)
	}
	found, err := inSource(ctx, recordsOf(retrospect.Outages(records)), which)
	found.simulated = simulated
	return found, err
}

// readRecords reads records, one document each, or lists of them in documents.
func readRecords(text []byte) (all []ledger.Record, simulated bool, err error) {
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var doc struct {
			ledger.Record
			Records []ledger.Record `json:"records"`
			Ended   *float64        `json:"ended_seconds"` // that a simulation alone has
		}
		switch err := d.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return all, simulated, nil
		case err != nil:
			return nil, false, fmt.Errorf("byte %d: %w", d.InputOffset(), err)
		}
		simulated = simulated || doc.Ended != nil
		if doc.Kind != "" {
			doc.Records = append(doc.Records, doc.Record)
		}
		for i := range doc.Records {
			if r := &doc.Records[i]; r.Verb == nil && ofStep(r.Kind) {
				return nil, false, fmt.Errorf("record %d, %q, does not say what was done", r.Seq, r.Kind)
			}
		}
		all = append(all, doc.Records...)
	}
}

// ofStep reports whether records of a kind are about a step: then they have its verb.
func ofStep(k ledger.Kind) bool {
	switch k {
	case ledger.Intent, ledger.Accepted, ledger.Proven, ledger.Failed, ledger.HeldBack, ledger.Asked:
		return true
	default:
		return false
	}
}

// recordsOf are the outages of a file.
type recordsOf [][]ledger.Record

// Outages lists them, oldest first.
func (all recordsOf) Outages() ([]journal.Outage, error) {
	var list []journal.Outage
	for _, records := range all {
		first, end := &records[0], &records[len(records)-1]
		o := journal.Outage{ID: first.Outage, Start: first.At, Open: end.Kind != ledger.Closed, Mode: first.Mode, Records: len(records)}
		if !o.Open {
			o.End = end.At
		}
		list = append(list, o)
	}
	return list, nil
}

// Records gives those of one.
func (all recordsOf) Records(id string) ([]ledger.Record, error) {
	for _, records := range all {
		if records[0].Outage == id {
			return records, nil
		}
	}
	return nil, journal.ErrNoOutage
}

// inSource finds an outage, and what those before it had shown.
func inSource(ctx context.Context, src evidence.Source, which string) (onRecord, error) {
	var found onRecord
	list, err := src.Outages()
	if len(list) == 0 {
		if err != nil {
			return found, err
		}
		return found, fail(exitFailed, "simulate one to look at: `ebbtide simulate RUNBOOK --format json > night.json`",
			"there is no outage on record")
	}
	at := len(list) - 1
	var known []string
	for i, o := range list {
		known = append(known, o.ID)
		if o.ID == which {
			at = i
		}
	}
	if which != newestOutage && list[at].ID != which {
		return found, fail(exitFailed, "recorded: "+strings.Join(known, ", "), "there is no outage %q on record", which)
	}
	if found.records, err = src.Records(list[at].ID); err != nil {
		if len(found.records) == 0 {
			return found, err
		}
		found.notes = append(found.notes, "The journal is damaged; records after the damage are missing here: "+err.Error()+".")
	}
	if found.past, err = evidence.Read(ctx, before{src, list[:at]}); err != nil {
		found.notes = append(found.notes, "Some earlier outages could not be learned from: "+
			strings.ReplaceAll(err.Error(), "\n", "; ")+".")
	}
	return found, ctx.Err()
}

// before are some of a source's outages.
type before struct {
	evidence.Source
	list []journal.Outage
}

// Outages lists them, oldest first.
func (b before) Outages() ([]journal.Outage, error) { return b.list, nil }

// source opens where outages are on record: a journal or, if there is none to read, the daemon.
func (a *app) source(ctx context.Context, r *reach, file string) (evidence.Source, func(), error) {
	if file != "" {
		j, err := openJournal(file)
		if err == nil {
			return j, func() { _ = j.Close() }, nil // nothing was written
		}
		if inUse := (*journal.InUseError)(nil); !errors.As(err, &inUse) || r.config == "" && r.listen == "" {
			return nil, nil, err
		}
	}
	client, err := r.client()
	if err != nil {
		return nil, nil, err
	}
	list, err := client.Outages(ctx)
	if err != nil {
		return nil, nil, asked(err)
	}
	return answers{list.Outages, func(id string) (*daemon.Records, error) { return client.Outage(ctx, id) }}, func() {}, nil
}
