package journal

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lockRetry is how often a lock that another process holds is asked for again.
const lockRetry = 20 * time.Millisecond

// openLocked opens an existing file and takes the lock that bbolt takes too: alone for writing, shared for reading.
// It is taken here, before bbolt, so that the file can be inspected while nobody changes it.
func openLocked(path string, readOnly bool, timeout time.Duration) (*os.File, error) {
	flag, how := os.O_RDWR, syscall.LOCK_EX
	if readOnly {
		flag, how = os.O_RDONLY, syscall.LOCK_SH
	}
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(timeout); ; time.Sleep(lockRetry) {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("cannot lock %q: %w", path, err), f.Close())
		}
		if !time.Now().Before(deadline) {
			return nil, errors.Join(&InUseError{Path: path, PID: holder(f)}, f.Close())
		}
	}
}

// holder finds the process that holds a lock on f in the kernel's list of locks, or returns 0.
func holder(f *os.File) int {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer locks.Close() //nolint:errcheck // only read
	inode := ":" + strconv.FormatUint(st.Ino, 10)
	for s := bufio.NewScanner(locks); s.Scan(); {
		// 1: FLOCK  ADVISORY  WRITE 4711 08:01:131077 0 EOF
		w := strings.Fields(s.Text())
		if len(w) < 6 || w[1] != "FLOCK" || !strings.HasSuffix(w[5], inode) {
			continue
		}
		if pid, err := strconv.Atoi(w[4]); err == nil && pid > 0 {
			return pid
		}
	}
	return 0
}
