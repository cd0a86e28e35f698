// Package journal is the durable log of outages: a bbolt file in which each outage is a bucket of numbered records.
// What Append has acknowledged is there after a crash of the program, the kernel or the power. A file that is damaged,
// newer than this program or in use by another one is refused and left as it was found.
//
// The file's layout, format 1:
//
//	meta/format        "1"
//	meta/created-by    the program that made the file
//	meta/id            a random id of the file, hexadecimal
//	meta/commit        the number of the last commit, and the last record of it: see stamp
//	outages/<id>/<seq> one record; seq is big endian, so that keys sort as numbers do
package journal

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
)

// Format is the version of the file's layout that this program reads and writes.
const Format = 1

// DefaultTimeout is how long Open waits for another process to let go of the file.
const DefaultTimeout = time.Second

// mapping is the address space taken for the file at once. It costs no memory; it saves the remapping of a growing
// file, the only step of a write that can fail for good.
const mapping = 256 << 20

// growth is by how much the file grows at a time.
const growth = 1 << 20

var (
	metaBucket    = []byte("meta")
	outagesBucket = []byte("outages")
)

const (
	formatKey    = "format"
	createdByKey = "created-by"
	idKey        = "id"
	commitKey    = "commit"
)

// Options say how a journal is opened. The zero Options open it for reading and writing.
type Options struct {
	ReadOnly  bool          // the file must be there; several readers may have it open, but none beside a writer
	Timeout   time.Duration // how long to wait for another process to let go of the file; 0: DefaultTimeout
	CreatedBy string        // program and version, written into a new file
}

// Journal is an open journal. Its methods may be called from several goroutines.
type Journal struct {
	path   string
	id     string
	db     *bbolt.DB
	file   *os.File                     // bbolt's own
	broken atomic.Pointer[DamagedError] // bbolt panicked: its locks may be held for ever, so that it must not be called again

	mu    sync.Mutex // one Append at a time; guards what follows
	end   tail
	known bool // end is what the file says
	doubt bool // a commit failed: nobody knows whether it reached the disk
}

// Open opens the journal at path, and makes a new one if there is no file and it is not opened read-only. Errors that
// a caller may look for: *DamagedError, *VersionError, *InUseError, fs.ErrNotExist, fs.ErrPermission.
func Open(path string, o Options) (*Journal, error) {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if !o.ReadOnly {
		if err := create(path, o.CreatedBy); err != nil {
			return nil, err
		}
	}
	j := &Journal{path: path}
	var meta map[string]string
	bo := *bbolt.DefaultOptions
	bo.ReadOnly = o.ReadOnly
	bo.Timeout = o.Timeout // the lock is ours by the time bbolt asks for it; this only keeps it from waiting for ever
	bo.InitialMmapSize = mapping
	bo.OpenFile = func(name string, _ int, _ os.FileMode) (*os.File, error) {
		f, err := openLocked(name, o.ReadOnly, o.Timeout)
		if err != nil {
			return nil, err
		}
		if meta, err = inspect(f, path); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		j.file = f
		return f, nil
	}
	err := j.guard(func() (err error) {
		j.db, err = bbolt.Open(path, 0o600, &bo)
		return err
	})
	if err != nil {
		if j.broken.Load() != nil {
			_ = j.file.Close()
		}
		if hinted := (interface{ Hint() string })(nil); errors.As(err, &hinted) {
			return nil, err // it names the journal already
		}
		return nil, fmt.Errorf("cannot open journal %q: %w", path, err)
	}
	j.db.AllocSize = growth
	j.id = meta[idKey]
	return j, nil
}

// create makes an empty journal at path unless there is a file already. The new file appears under its name only when
// it is whole and durable, so that an empty or half-made file is always damage.
func create(path, by string) (err error) {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // there is a file, or opening it will say why it can't be told
	}
	defer func() {
		if err != nil {
			err = &CreateError{path, err}
		}
	}()
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	draft := f.Name()
	defer func() { err = errors.Join(err, os.Remove(draft)) }()
	if err := f.Close(); err != nil {
		return err
	}
	if err := writeEmpty(draft, by); err != nil {
		return err
	}
	// A link, unlike a rename, does not replace what another process has put there in the meantime.
	if err := os.Link(draft, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(dir)
}

// writeEmpty fills an empty file with a journal that holds no outage.
func writeEmpty(path, by string) error {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: DefaultTimeout})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		meta, err := tx.CreateBucket(metaBucket)
		if err != nil {
			return err
		}
		var id [16]byte
		rand.Read(id[:])
		for _, kv := range [...][2]string{{formatKey, strconv.Itoa(Format)}, {createdByKey, by}, {idKey, hex.EncodeToString(id[:])}} {
			if err := meta.Put([]byte(kv[0]), []byte(kv[1])); err != nil {
				return err
			}
		}
		if _, err := tx.CreateBucket(outagesBucket); err != nil {
			return err
		}
		return stamp(tx, tail{})
	})
	return errors.Join(err, db.Close())
}

// syncDir makes a directory's entries durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Path gives the file's name as it was opened.
func (j *Journal) Path() string { return j.path }

// ID gives the file's random id: two journals never share one, a copy keeps it.
func (j *Journal) ID() string { return j.id }

// Close lets go of the file. It may be called twice.
func (j *Journal) Close() error {
	if j.broken.Load() != nil {
		_ = j.file.Close() // lets go of the lock; a second time it is an error that means nothing
		return nil
	}
	if err := j.db.Close(); err != nil {
		return fmt.Errorf("cannot close journal %q: %w", j.path, err)
	}
	return nil
}

// guard runs f, which uses bbolt. bbolt answers some damage by a panic, and its memory map by a fault where the file
// ends early or its disk gives an error: both become a *DamagedError, from then on for every call.
func (j *Journal) guard(f func() error) (err error) {
	if b := j.broken.Load(); b != nil {
		return b
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			b := &DamagedError{Path: j.path, What: fmt.Sprint(p)}
			j.broken.Store(b)
			err = b
		}
	}()
	return f()
}
