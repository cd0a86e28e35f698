// Package process runs local programs: no shell, bounded output, and nothing left running when the time is up.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// MaxOutput bounds what is kept of each of a program's outputs, in bytes. The rest is read and dropped.
const MaxOutput = 64 << 10

// Result is what a program that ran to its end left.
type Result struct {
	Code   int    // exit status; 128 plus the signal's number if one ended it
	Stdout string //
	Stderr string //
}

// Run runs a program with its arguments, gives it stdin, and waits for its end. Of our environment it gets what inherited
// lists and nothing else: the rest may be secret. When ctx ends, the program and all
// that it started are killed, and the context's cause is the error. Any other error means that it did not run.
func Run(ctx context.Context, argv []string, stdin string) (Result, error) {
	if len(argv) == 0 {
		return Result{}, errors.New("cannot run a program: none is named")
	}
	var out, errs Output
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	cmd.Env = environment(os.Environ())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	// A program that left something running behind, with its outputs open, has ended all the same.
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	res := Result{Stdout: out.String(), Stderr: errs.String()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && err != nil:
		return res, fmt.Errorf("%s was killed: %w", argv[0], context.Cause(ctx))
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return res, nil
	case errors.As(err, &exit):
		res.Code = exit.ExitCode()
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			res.Code = 128 + int(ws.Signal())
		}
		return res, nil
	default:
		return res, fmt.Errorf("cannot run %q: %w", argv[0], err)
	}
}

// inherited are the variables of ours that programs get, and all of the locale's (LC_…).
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM",
	"XDG_RUNTIME_DIR", "DBUS_SYSTEM_BUS_ADDRESS", // for systemctl and its like
	"CREDENTIALS_DIRECTORY", // where it is; who may read it is the file system's matter
}

func environment(ours []string) []string {
	theirs := []string{} // not nil: that would be all of ours
	for _, v := range ours {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_") {
			theirs = append(theirs, v)
		}
	}
	return theirs
}

// Output keeps the first MaxOutput bytes written to it and drops the rest, so that the writer never blocks or fails.
type Output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf.Write(p[:min(len(p), MaxOutput-o.buf.Len())])
	return len(p), nil
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
