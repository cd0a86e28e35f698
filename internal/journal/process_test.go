package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/ledger"
)

const theOutage = "20260131T031415Z"

// appendForEver appends batches of changing size and prints the last number of each once it is acknowledged.
func appendForEver(path string) error {
	j, err := Open(path, Options{})
	if err != nil {
		return err
	}
	latest, found, err := j.Latest()
	if err != nil {
		return err
	}
	if !found {
		if err := j.Append(opened(theOutage)); err != nil {
			return err
		}
		latest.Records = 1
	}
	for seq := uint64(latest.Records) + 1; ; {
		batch := make([]ledger.Record, 1+seq%7)
		for i := range batch {
			batch[i] = step(seq)
			seq++
		}
		if err := j.Append(batch...); err != nil {
			return err
		}
		fmt.Println(seq - 1)
	}
}

func TestKilledInTheMiddle(t *testing.T) {
	path := tempJournal(t)
	for round := range 8 {
		c := child(t, "append for ever", path)
		out, err := c.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		acknowledged := 0
		lines := bufio.NewScanner(out)
		for n := 0; n < 3+5*round && lines.Scan(); n++ {
			acknowledged, err = strconv.Atoi(lines.Text())
			require.NoError(t, err)
		}
		require.NoError(t, c.Process.Kill())
		for lines.Scan() { // what it acknowledged before the kill reached it
			if n, err := strconv.Atoi(lines.Text()); err == nil { // the last line may be cut
				acknowledged = max(acknowledged, n)
			}
		}
		require.Error(t, c.Wait())
		require.Positive(t, acknowledged)

		j := open(t, path, Options{})
		require.NoError(t, j.Verify())
		got, err := j.Records(theOutage)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(got), acknowledged)
		require.Equal(t, outage(theOutage, len(got)), got)
		require.NoError(t, j.Close())
	}
}

// holdOpen opens the journal, says so, and keeps it until its standard input ends.
func holdOpen(path string) error {
	j, err := Open(path, Options{})
	if err != nil {
		return err
	}
	fmt.Println("open")
	bufio.NewScanner(os.Stdin).Scan()
	return j.Close()
}

func TestSecondProcessIsRefused(t *testing.T) {
	path := tempJournal(t)
	c := child(t, "hold", path)
	in, err := c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	require.True(t, bufio.NewScanner(out).Scan())

	for _, readOnly := range []bool{false, true} {
		before := time.Now()
		_, err = Open(path, Options{ReadOnly: readOnly, Timeout: 100 * time.Millisecond})
		require.Less(t, time.Since(before), 5*time.Second)
		var inUse *InUseError
		require.ErrorAs(t, err, &inUse)
		require.Equal(t, InUseError{Path: path, PID: c.Process.Pid}, *inUse)
		require.ErrorContains(t, err, "in use by another process (pid "+strconv.Itoa(c.Process.Pid)+")")
		require.NotEmpty(t, inUse.Hint())
	}
	require.NoError(t, in.Close()) // it lets go, and a patient one gets it
	open(t, path, Options{Timeout: 30 * time.Second})
	require.NoError(t, c.Wait())
}

// fillLimited appends until the file may not grow further, shows that the journal can still be used, and goes on when
// there is room again.
func fillLimited(path string) error {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	limit := syscall.Rlimit{Cur: 3 << 19, Max: old.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	return fill(path, syscall.EFBIG, func() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old) })
}

func fill(path string, full error, makeRoom func() error) error {
	j, err := Open(path, Options{})
	if err != nil {
		return err
	}
	seq, batch := uint64(0), 0
	next := func() []ledger.Record { // batches of 1 to 50 records, given again until they are taken
		recs := []ledger.Record{opened(theOutage)}
		if seq > 0 {
			recs = recs[:0]
			for i := range uint64(1 + batch%50) {
				recs = append(recs, step(seq+1+i))
			}
		}
		return recs
	}
	failures := 0
	for batch = range 100_000 {
		recs := next()
		if err = j.Append(recs...); err == nil {
			seq += uint64(len(recs))
			continue
		}
		// bbolt hides the cause when it is the growing that fails.
		if !errors.Is(err, full) && !strings.Contains(err.Error(), full.Error()) {
			return fmt.Errorf("another error than that of a full disk: %w", err)
		}
		if failures++; failures == 20 {
			break
		}
	}
	if failures < 20 {
		return errors.New("it never got full")
	}
	if got, err := j.Records(theOutage); err != nil || uint64(len(got)) != seq {
		return fmt.Errorf("%d records acknowledged, %d there while full: %w", seq, len(got), err)
	}
	if err := makeRoom(); err != nil {
		return err
	}
	recs := next()
	if err := j.Append(recs...); err != nil {
		return fmt.Errorf("there is room again: %w", err)
	}
	seq += uint64(len(recs))
	if err := errors.Join(j.Verify(), j.Close()); err != nil {
		return err
	}
	if j, err = Open(path, Options{}); err != nil {
		return err
	}
	if got, err := j.Records(theOutage); err != nil || uint64(len(got)) != seq {
		return fmt.Errorf("%d records acknowledged, %d there afterwards: %w", seq, len(got), err)
	}
	return errors.Join(j.Verify(), j.Close())
}

func TestFileMayNotGrow(t *testing.T) {
	out, err := child(t, "fill", tempJournal(t)).CombinedOutput()
	require.NoErrorf(t, err, "%s", out)
}

func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("ebbtide-test", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("cannot mount a small file system (that needs root), TestFileMayNotGrow stands in: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	ballast := filepath.Join(dir, "ballast")
	require.NoError(t, os.WriteFile(ballast, make([]byte, 1<<20), 0o600))
	require.NoError(t, fill(filepath.Join(dir, "journal.db"), syscall.ENOSPC, func() error { return os.Remove(ballast) }))
}

// On a disk that can't be written a journal can be read, and the error says what the matter is.
func TestReadOnlyDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("ebbtide-test", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("cannot mount a file system (that needs root), TestDirectoryThatMayNotBeWritten stands in: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	path, recs := filepath.Join(dir, "journal.db"), outage(theOutage, 20)
	j := open(t, path, Options{})
	require.NoError(t, j.Append(recs...))
	require.NoError(t, j.Close())
	require.NoError(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))

	_, err := Open(path, Options{})
	require.ErrorIs(t, err, syscall.EROFS)
	require.ErrorContains(t, err, path)
	_, err = Open(path+"2", Options{})
	require.ErrorIs(t, err, syscall.EROFS)
	_, err = Quarantine(path, start)
	require.ErrorIs(t, err, syscall.EROFS)
	j = open(t, path, Options{ReadOnly: true})
	got, err := j.Records(theOutage)
	require.NoError(t, err)
	require.Equal(t, recs, got)
	require.Error(t, j.Append(step(21)))
	require.NoError(t, j.Close())
}

// openClose opens the journal and closes it.
func openClose(path string) error {
	j, err := Open(path, Options{})
	if err != nil {
		return err
	}
	return j.Close()
}

func TestDirectoryThatMayNotBeWritten(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) //nolint:gosec // for another user to reach it
	require.NoError(t, os.Chmod(dir, 0o555))               //nolint:gosec // that is the test
	try := func(path string) (string, error) {
		c := child(t, "open", path)
		if os.Getuid() == 0 { // to whom modes mean nothing
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := c.CombinedOutput()
		return string(out), err
	}
	path := filepath.Join(dir, "journal.db")
	out, err := try(path)
	var failed *exec.ExitError
	require.ErrorAs(t, err, &failed)
	require.Contains(t, out, fmt.Sprintf("cannot create journal %q", path))
	require.Contains(t, out, fs.ErrPermission.Error())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)

	// A journal that may not be written is refused too; it may be read.
	path, _, _ = filled(t, 10)
	require.NoError(t, os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755)) //nolint:gosec // for another user to reach it
	require.NoError(t, os.Chmod(path, 0o444))                             //nolint:gosec // that is the test
	out, err = try(path)
	require.ErrorAs(t, err, &failed)
	require.Contains(t, out, fmt.Sprintf("cannot open journal %q", path))
	require.Contains(t, out, fs.ErrPermission.Error())
}
