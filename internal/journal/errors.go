package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// ErrSequence says that records do not follow what the journal holds. Nothing of the batch was written.
var ErrSequence = errors.New("out of sequence")

// ErrNoOutage says that the journal holds no outage of that id.
var ErrNoOutage = errors.New("no such outage")

// CreateError says that a journal could not be made.
type CreateError struct {
	Path string
	Err  error
}

func (e *CreateError) Error() string {
	err := e.Err
	if of := (*fs.PathError)(nil); errors.As(err, &of) { // whose path is of a draft
		err = of.Err
	}
	return fmt.Sprintf("cannot create journal %q: %v", e.Path, err)
}

func (e *CreateError) Unwrap() error { return e.Err }

// Hint says what a person can do.
func (e *CreateError) Hint() string {
	return fmt.Sprintf("make the directory %q, where the user that runs ebbtide may write, or set journal to another path", filepath.Dir(e.Path))
}

// DamagedError says that a journal cannot be believed. The file was not changed.
type DamagedError struct {
	Path   string
	Outage string // where the damage is in one outage, else ""
	Seq    uint64 // where the damage is in one record, else 0
	What   string
	// Foreign says that nothing in the file speaks for its ever having been a journal: somebody else may need it.
	Foreign bool
}

func (e *DamagedError) Error() string {
	switch {
	case e.Foreign:
		return fmt.Sprintf("%q is not a journal: %s", e.Path, e.What)
	case e.Outage == "":
		return fmt.Sprintf("journal %q is damaged: %s", e.Path, e.What)
	case e.Seq == 0:
		return fmt.Sprintf("journal %q is damaged: outage %q: %s", e.Path, e.Outage, e.What)
	}
	return fmt.Sprintf("journal %q is damaged: outage %q, record %d: %s", e.Path, e.Outage, e.Seq, e.What)
}

// Hint says what a person can do.
func (e *DamagedError) Hint() string {
	if e.Foreign {
		return "give the path of a journal, or of one that is to be made: this file was left untouched"
	}
	return fmt.Sprintf("save what can still be read with \"ebbtide journal export %s\"; a daemon that can't use it at startup keeps it "+
		"under another name and starts an empty one", e.Path)
}

// VersionError says that a journal, or a record in it, was written by a newer program. The file was not changed.
type VersionError struct {
	Path  string
	Thing string // "format" or "record"
	Found int
	Known int
	By    string // the program that created the file, "" if not known
}

func (e *VersionError) Error() string {
	by := ""
	if e.By != "" {
		by = " (created by " + e.By + ")"
	}
	return fmt.Sprintf("cannot use journal %q: its %s version is %d%s, but this program supports %d", e.Path, e.Thing, e.Found, by, e.Known)
}

// Hint says what a person can do.
func (e *VersionError) Hint() string {
	return "run the newer ebbtide that wrote it, or give this one another journal"
}

// InUseError says that another process has the journal open.
type InUseError struct {
	Path string
	PID  int // the process that holds it, 0 if not known
}

func (e *InUseError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("journal %q is in use by another process", e.Path)
	}
	return fmt.Sprintf("journal %q is in use by another process (pid %d)", e.Path, e.PID)
}

// Hint says what a person can do.
func (e *InUseError) Hint() string {
	return "only one daemon at a time: query the running one with \"ebbtide status\", or stop it, or give this one another journal"
}
