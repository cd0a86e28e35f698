package libvirt

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/digitalocean/go-libvirt/socket/dialers"
)

// client is one open connection to a daemon.
type client struct {
	*libvirt.Libvirt
	wire *wire
	bad  atomic.Bool // somebody is finding out whether it still works

	hear  sync.Once
	deaf  error // why the daemon tells of no changes; valid once hear is done
	mu    sync.Mutex
	ears  map[int]ear
	count int
}

// ear is somebody who wants to know of changes of one domain.
type ear struct {
	of     func(libvirt.Domain) bool
	change chan struct{} // has room for one
}

func newClient(raw net.Conn) *client {
	w := &wire{Conn: raw, in: bufio.NewReader(raw), ended: make(chan struct{})}
	return &client{Libvirt: libvirt.NewWithDialer(dialers.NewAlreadyConnected(w)), wire: w, ears: map[int]ear{}}
}

// close ends it and every call over it. The library's own way of disconnecting asks the daemon first.
func (cl *client) close() { _ = cl.wire.Close() }

func (cl *client) lost() bool {
	select {
	case <-cl.wire.ended:
		return true
	default:
		return false
	}
}

// suspect finds out whether the daemon is there at all, after a call got no answer. One that works on for long, because
// a domain hangs, does not take the others' calls with it.
func (cl *client) suspect() {
	if !cl.bad.CompareAndSwap(false, true) {
		return
	}
	late := time.AfterFunc(aliveWithin, cl.close)
	if _, err := cl.ConnectGetLibVersion(); err != nil {
		cl.close()
	}
	late.Stop()
	cl.bad.Store(false)
}

// listen calls for changes of a domain until stop.
func (cl *client) listen(of func(libvirt.Domain) bool) (change <-chan struct{}, stop func(), err error) {
	// One registration for all lasts as long as the connection: the library may hang when one is taken back while
	// events arrive.
	cl.hear.Do(func() {
		events, err := cl.LifecycleEvents(context.Background())
		if err != nil {
			cl.deaf = explainRead(err)
			return
		}
		go func() {
			for e := range events {
				cl.tell(e.Dom)
			}
		}()
	})
	if cl.deaf != nil {
		return nil, nil, cl.deaf
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.count++
	id, e := cl.count, ear{of, make(chan struct{}, 1)}
	cl.ears[id] = e
	return e.change, func() {
		cl.mu.Lock()
		defer cl.mu.Unlock()
		delete(cl.ears, id)
	}, nil
}

func (cl *client) tell(d libvirt.Domain) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	for _, e := range cl.ears {
		if e.of(d) {
			select {
			case e.change <- struct{}{}:
			default: // it has not looked since the last one, and will see both
			}
		}
	}
}

// Bounds of a message on the wire: libvirt's own (virnetprotocol.x).
const (
	lengthBytes     = 4
	shortestMessage = 28
	longestMessage  = 32<<20 + lengthBytes
)

// wire lets only messages of a sound length through: the library believes any length that a daemon names.
type wire struct {
	net.Conn
	in    *bufio.Reader
	head  []byte // of the length of the message at hand: what was not handed on yet
	left  int    // of the message at hand: what was not read yet
	ended chan struct{}
	once  sync.Once
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.read(p)
	if err != nil {
		w.once.Do(func() { close(w.ended) })
		_ = w.Close()
	}
	return n, err
}

func (w *wire) read(p []byte) (int, error) {
	if len(w.head) == 0 && w.left == 0 {
		var length [lengthBytes]byte
		if _, err := io.ReadFull(w.in, length[:]); err != nil {
			return 0, err
		}
		size := binary.BigEndian.Uint32(length[:])
		if size < shortestMessage || size > longestMessage {
			return 0, fmt.Errorf("a message of %d bytes: this is not libvirt", size)
		}
		w.head, w.left = length[:], int(size)-lengthBytes
	}
	if len(w.head) > 0 {
		n := copy(p, w.head)
		w.head = w.head[n:]
		return n, nil
	}
	n, err := w.in.Read(p[:min(len(p), w.left)])
	w.left -= n
	return n, err
}
