package daemon

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"ebbtide/internal/journal"
	"ebbtide/internal/ledger"
)

// lazyJournal is the journal as the daemon has it: one that may not be there at the start, because its disk can't be
// written, and is opened when it can. What it does about a bad one, and why: docs/adr/0008-a-bad-journal-at-the-start.md.
type lazyJournal struct {
	path, by string

	mu   sync.Mutex
	file *journal.Journal // nil: it could not be opened yet
}

// open gives the journal, opened now if it was not before.
func (l *lazyJournal) open() (*journal.Journal, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		return l.file, nil
	}
	var err error
	l.file, err = journal.Open(l.path, journal.Options{CreatedBy: l.by})
	return l.file, err
}

// Append makes records durable; with none it says whether it could.
func (l *lazyJournal) Append(records ...ledger.Record) error {
	j, err := l.open()
	if err != nil {
		return err
	}
	return j.Append(records...)
}

func (l *lazyJournal) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// newest opens the journal and reads the records of its newest outage; nil if there is none.
func (l *lazyJournal) newest() ([]ledger.Record, error) {
	j, err := l.open()
	if err != nil {
		return nil, err
	}
	records, err := newest(j)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return records, nil
}

func newest(j *journal.Journal) ([]ledger.Record, error) {
	last, found, err := j.Latest()
	if err != nil || !found {
		return nil, err
	}
	return j.Records(last.ID)
}

// peek reads the same from a journal that can't be written; nil if it can't be read either.
func (l *lazyJournal) peek() []ledger.Record {
	j, err := journal.Open(l.path, journal.Options{ReadOnly: true})
	if err != nil {
		return nil
	}
	defer j.Close() //nolint:errcheck // nothing was written
	records, err := newest(j)
	if err != nil {
		return nil
	}
	return records
}

// recall reads the records of the newest outage, and does about a bad journal what can be done with nobody there: a
// damaged one is moved away, one whose disk can't be written is done without for now (then lost says why). Anything else
// is for a person.
func (d *Daemon) recall() (records []ledger.Record, lost error, err error) {
	records, err = d.journal.newest()
	var damaged *journal.DamagedError
	if errors.As(err, &damaged) && !damaged.Foreign {
		aside, moved := journal.Quarantine(d.journal.path, time.Now())
		if moved == nil {
			d.log.Error("the journal is damaged: it was moved aside and an empty one started; an outage that was open in it is not resumed",
				keyError, err, "aside", aside)
			records, err = d.journal.newest()
		} else {
			err = errors.Join(err, moved)
		}
	}
	if err != nil && unwritable(err) {
		return d.journal.peek(), err, nil
	}
	return records, nil, err
}

// unwritable tells the faults of a disk from the mistakes of a person, who is there and reads the error.
func unwritable(err error) bool {
	for _, fault := range []error{syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT, syscall.EIO} {
		if errors.Is(err, fault) {
			return true
		}
	}
	return false
}

// lookAside looks for damaged journals that nobody has taken away yet. It is kept away from what must never wait for a
// disk: that asks aside.
func (d *Daemon) lookAside() {
	files, err := journal.Quarantined(d.options.Config.Journal)
	if err != nil {
		d.log.Debug("the journal's directory can't be read", keyError, err)
		return
	}
	d.asides.Store(&files)
}

// aside lists the damaged journals that were there at the last look.
func (d *Daemon) aside() []string {
	if files := d.asides.Load(); files != nil {
		return *files
	}
	return nil
}

// tellAside tells people of them, at each start.
func (d *Daemon) tellAside() {
	for _, file := range d.aside() {
		d.notify(true, "a damaged journal was moved aside as "+file+
			": an outage that was open in it is not resumed, and what it shut down stays down until someone starts it; "+
			"`ebbtide journal export "+file+"` shows what was on; then move the file away")
	}
}
