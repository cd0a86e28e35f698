package crash_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"ebbtide/test/site"
)

// A sentry stands between the daemon and the disk: the kernel stops the daemon at every fsync and fdatasync, before it
// is carried out, and asks the test whether it may go on (seccomp's user notification). What the journal has written by
// then outlives the process, and what waits for the record to be durable has not begun: the moment for a SIGKILL. The
// daemon is the binary that ships, and knows nothing of it.

// become is set in the environment of the process that puts itself under a sentry and then becomes the daemon.
const become = "CRASH_TEST_BECOME"

// startUnder starts a command under a sentry. At each sync, may reports whether the daemon lives; otherwise it is killed
// on the spot.
func startUnder(t *testing.T, cmd *exec.Cmd, may func() bool) *site.Process {
	t.Helper()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	theirs := os.NewFile(uintptr(ends[1]), "sentry")
	self, err := os.Executable()
	require.NoError(t, err)
	cmd.Path = self // its arguments stay: they say what to become
	cmd.Env = append(os.Environ(), become+"="+cmd.Args[0])
	cmd.ExtraFiles = []*os.File{theirs}
	stood := make(chan struct{})
	t.Cleanup(func() { <-stood }) // it ends with the daemon, which the clean-up registered next stops
	p := site.Start(t, cmd)
	require.NoError(t, theirs.Close())
	post, err := receive(ends[0])
	if err != nil {
		close(stood)
		t.Fatalf("cannot stand sentry over the daemon: %v\n%s", err, p.Log())
	}
	go func() {
		defer close(stood)
		if err := stand(post, may, p); err != nil {
			t.Error(err)
		}
	}()
	return p
}

// receive takes the sentry's post, a file descriptor, from the process that becomes the daemon.
func receive(socket int) (post int, err error) {
	defer func() { err = errors.Join(err, unix.Close(socket)) }()
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return 0, errors.Join(errors.New("no post was handed over"), err)
	}
	posts, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return posts[0], nil
}

// notice and reply are the kernel's struct seccomp_notif and struct seccomp_notif_resp.
type notice struct {
	id         uint64
	pid, flags uint32
	call       struct {
		number   int32
		arch     uint32
		at       uint64
		argument [6]uint64
	}
}

type reply struct {
	id     uint64
	result int64
	errno  int32
	flags  uint32
}

// stand answers every sync of the daemon until the daemon has ended.
func stand(post int, may func() bool, p *site.Process) (err error) {
	defer func() { err = errors.Join(err, unix.Close(post)) }()
	for {
		poll := []unix.PollFd{{Fd: int32(post), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("cannot wait for the daemon's syncs: %w", err)
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			if poll[0].Revents&unix.POLLHUP != 0 {
				return nil // it has ended
			}
			continue
		}
		var n notice
		if gone, err := ask(post, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); gone {
			continue
		} else if err != nil {
			return fmt.Errorf("cannot take the daemon's sync: %w", err)
		}
		if !may() {
			p.Signal(syscall.SIGKILL)
			continue
		}
		r := reply{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if gone, err := ask(post, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)); err != nil && !gone {
			return fmt.Errorf("cannot let the daemon sync: %w", err)
		}
	}
}

// ask makes one call on the post; gone says that the thread that syncs is no more.
func ask(post int, request uintptr, with unsafe.Pointer) (gone bool, err error) {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(post), request, uintptr(with))
	if errno == 0 {
		return false, nil
	}
	return errno == unix.ENOENT || errno == unix.EINTR, errno
}

// becomeDaemon puts this process under a sentry and replaces it by the daemon. It does not return.
func becomeDaemon(binary string) {
	runtime.LockOSThread() // the filter is the thread's, and an exec leaves no other
	err := func() error {
		post, err := filter()
		if err != nil {
			return fmt.Errorf("the kernel lets no sentry stand: %w", err)
		}
		const socket = 3 // the first of ExtraFiles
		if err := unix.Sendmsg(socket, []byte{0}, unix.UnixRights(post), nil, 0); err != nil {
			return err
		}
		unix.CloseOnExec(socket)
		var env []string
		for _, v := range os.Environ() {
			if !strings.HasPrefix(v, become+"=") {
				env = append(env, v)
			}
		}
		return syscall.Exec(binary, append([]string{binary}, os.Args[1:]...), env)
	}()
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// filter makes every fsync and fdatasync of this thread, and of all that comes from it, a question to the post.
func filter() (post int, err error) {
	const load, equal, give = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	program := []unix.SockFilter{
		{Code: load, K: 0}, // the call's number
		{Code: equal, K: unix.SYS_FDATASYNC, Jt: 2},
		{Code: equal, K: unix.SYS_FSYNC, Jt: 1},
		{Code: give, K: unix.SECCOMP_RET_ALLOW},
		{Code: give, K: unix.SECCOMP_RET_USER_NOTIF},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
		uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}
