package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ebbtide/internal/adapter"
	"ebbtide/internal/runbook"
)

// inForce is a runbook that was read and checked, with its text.
type inForce struct {
	*runbook.Runbook
	text   []byte
	edited bool // the file of the settings says something else: an outage is open that began with this one
}

// readRunbook reads and checks the runbook of the settings.
func (d *Daemon) readRunbook() (*inForce, error) {
	file := d.options.Config.Runbook
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the runbook (the setting runbook says where it is): %w", err)
	}
	rb, problems := runbook.Load(file, src, adapter.Schema(d.options.Families))
	if problems.HasErrors() {
		return nil, &MistakesError{File: file, Problems: problems}
	}
	for _, p := range problems {
		d.log.Warn("the runbook has a warning", "warning", p.Message, "file", p.File, "line", p.Line, "hint", p.Hint)
	}
	return &inForce{Runbook: rb, text: src}, nil
}

// keptFile is the file beside the journal that has the text of the runbook as it was taken over.
func (d *Daemon) keptFile() string { return d.options.Config.Journal + ".runbook" }

// keep puts the text of the runbook that is followed from now on beside the journal. Where that can't be, what was kept
// is no good any more.
func (d *Daemon) keep(rb *inForce) {
	if kept, err := os.ReadFile(d.keptFile()); err == nil && bytes.Equal(kept, rb.text) {
		return
	}
	if err := replace(d.keptFile(), rb.text); err != nil {
		d.log.Warn("the runbook can't be copied beside the journal: if its file is edited while an outage is open, a restart has only "+
			"the edited version", keyError, err)
		_ = os.Remove(d.keptFile())
	}
}

// replace makes a file say something else, all of it or nothing, durably.
func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// resumeRunbook gives the runbook by which an open outage is finished: the one that it began with, whatever has become of the file of the
// settings (docs/adr/0021-the-runbook-of-an-open-outage.md), which is rb, or can't be used because of err. Where none
// was kept, or this version can't read it, the file has to do.
func (d *Daemon) resumeRunbook(rb *inForce, err error) (*inForce, error) {
	text, missing := os.ReadFile(d.keptFile())
	if missing != nil || err == nil && bytes.Equal(rb.text, text) {
		return rb, err
	}
	kept, problems := runbook.Load(d.keptFile(), text, adapter.Schema(d.options.Families))
	if problems.HasErrors() {
		d.log.Error("the runbook that the open outage began with can no longer be read", keyError,
			&MistakesError{File: d.keptFile(), Problems: problems})
		return rb, err
	}
	d.log.Warn("the runbook was edited while an outage is open: the outage is finished with the runbook it began with, and the edited "+
		"one takes effect after it",
		"edited", d.options.Config.Runbook, "followed", d.keptFile(), "hint",
		"to use the edited one at once, remove "+d.keptFile()+" and restart")
	return &inForce{Runbook: kept, text: text, edited: true}, nil
}

// isKept reports whether there is a runbook that could stand in for that of the settings.
func (d *Daemon) isKept() bool {
	_, err := os.Stat(d.keptFile())
	return err == nil
}

// tellEdited tells people that what they have edited is not followed yet.
func (d *Daemon) tellEdited() {
	if d.site.Load().edited {
		d.notify(true, "the runbook was edited while an outage is open: the outage is finished with the runbook it began with, "+
			d.keptFile()+"; the edited one takes effect after it")
	}
}

// takeOverEdited takes over a runbook that was edited while an outage was open, when that is over.
func (d *Daemon) takeOverEdited(ctx context.Context) {
	if !d.site.Load().edited || d.history.isOpen() {
		return
	}
	err := d.Reload(ctx)
	if err == nil || ctx.Err() != nil {
		return
	}
	d.notify(true, "the edited runbook is not used: "+err.Error()+"; the previous one stays in effect")
	d.forgetEdited()
}

// forgetEdited ends the waiting for the end of an outage: from now on a person reloads, as ever.
func (d *Daemon) forgetEdited() {
	d.loading.Lock()
	defer d.loading.Unlock()
	next := *d.site.Load()
	next.edited = false
	d.site.Store(&next)
}
