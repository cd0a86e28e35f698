package sshsim

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"ebbtide/internal/plan"
)

// The command lines of a NAS, as the keys of a node of type "ssh" give them. Its probe prints its state, its cache's
// mode and the bytes that are dirty.
const (
	Probe     = "nas-state"
	Protect   = "nas-cache write-through"
	Flush     = "nas-cache flush"
	Unprotect = "nas-cache write-back"
	Stop      = "nas-poweroff"
	Force     = "nas-poweroff --now"
)

// NASConfig says what a NAS is like. Times may be 0.
type NASConfig struct {
	Dirty     int64         // bytes in its write-back cache at first
	FlushTime time.Duration // that a flush of these takes; the bytes fall evenly
	StopTime  time.Duration // from the accepted stop to off
	BootTime  time.Duration // from power on to the first answer
	// OnChange is told each time that it goes off, with the bytes that are lost thereby, or is on again. It must not
	// call the NAS.
	OnChange func(on bool, lost int64)
}

// NAS is a file server with a write-back cache, reached by SSH. When it is off it is really off: nobody listens. Its
// methods may be called at the same time.
type NAS struct {
	*Server
	config NASConfig

	mu        sync.Mutex
	state     plan.State
	timer     *time.Timer // of the change of state that is under way
	protected bool
	dirty     int64     // as of flushFrom, or now if no flush is under way
	flushTill time.Time // zero: no flush is under way
	lost      int64
	cards     []net.PacketConn // that wake it
}

// StartNAS makes a NAS that is on, in write-back mode.
func StartNAS(config NASConfig) (*NAS, error) {
	n := &NAS{config: config, state: plan.On, dirty: config.Dirty}
	server, err := Start(map[string]Handler{
		Probe:     n.handle(n.report),
		Protect:   n.handle(func() string { n.protected = true; return "" }),
		Flush:     n.handle(n.flush),
		Unprotect: n.handle(func() string { n.protected = false; return "" }),
		Stop:      n.handle(func() string { n.leave(n.config.StopTime); return "" }),
		Force:     n.handle(func() string { n.leave(0); return "" }),
	})
	if err != nil {
		return nil, err
	}
	n.Server = server
	return n, nil
}

// handle makes a handler of a function that runs with the state locked and settled.
func (n *NAS) handle(do func() string) Handler {
	return func(context.Context, io.Reader) (string, int) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.settle()
		return do(), 0
	}
}

// settle ends a flush whose time is over.
func (n *NAS) settle() {
	if !n.flushTill.IsZero() && !time.Now().Before(n.flushTill) {
		n.dirty, n.flushTill = 0, time.Time{}
	}
}

// left tells the bytes that are dirty now. During a flush there is at least one.
func (n *NAS) left() int64 {
	if n.flushTill.IsZero() {
		return n.dirty
	}
	part := float64(time.Until(n.flushTill)) / float64(n.config.FlushTime)
	return max(1, int64(float64(n.dirty)*part))
}

func (n *NAS) report() string {
	mode := "no"
	if n.protected {
		mode = "yes"
	}
	return fmt.Sprintf("%s\nprotected=%s\ndirty=%d\n", n.state, mode, n.left())
}

func (n *NAS) flush() string {
	if n.dirty > 0 && n.flushTill.IsZero() {
		n.flushTill = time.Now().Add(n.config.FlushTime)
	}
	return ""
}

// leave begins the way down. A forced one does not wait for the one that is under way.
func (n *NAS) leave(takes time.Duration) {
	if n.state == plan.Off || n.state == plan.Stopping && takes > 0 {
		return
	}
	n.state = plan.Stopping
	n.after(takes, n.off)
}

// after lets a change happen later. The state is locked, here and when it happens.
func (n *NAS) after(takes time.Duration, change func()) {
	if n.timer != nil {
		n.timer.Stop()
	}
	var timer *time.Timer
	timer = time.AfterFunc(takes, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.timer == timer { // nothing else has been decided since
			n.settle()
			change()
		}
	})
	n.timer = timer
}

func (n *NAS) off() {
	lost := n.left()
	n.lost += lost
	n.state, n.flushTill = plan.Off, time.Time{}
	n.tell(false, lost) // before anybody can see it
	n.Down()
}

// Cut takes its power away. What was dirty is lost.
func (n *NAS) Cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.timer != nil {
		n.timer.Stop()
		n.timer = nil
	}
	n.settle()
	if n.state != plan.Off {
		n.off()
	}
}

// PowerOn presses its power button. A NAS that is not off takes no notice.
func (n *NAS) PowerOn() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state != plan.Off {
		return
	}
	n.state, n.dirty = plan.Starting, 0
	n.after(n.config.BootTime, n.boot)
}

func (n *NAS) boot() {
	if n.Up() != nil { // somebody else has taken its port for the moment
		n.after(50*time.Millisecond, n.boot)
		return
	}
	n.state = plan.On
	n.tell(true, 0)
}

func (n *NAS) tell(on bool, lost int64) {
	if n.config.OnChange != nil {
		n.config.OnChange(on, lost)
	}
}

// State tells the truth: On, Off, Starting or Stopping.
func (n *NAS) State() plan.State {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state
}

// Protected reports whether the cache is in write-through mode.
func (n *NAS) Protected() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.protected
}

// Dirty tells the bytes in the cache that are not on disk.
func (n *NAS) Dirty() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.settle()
	return n.left()
}

// Lost tells the bytes that were dirty whenever it went off: what a bad plan has cost.
func (n *NAS) Lost() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lost
}

// Close ends it.
func (n *NAS) Close() {
	n.mu.Lock()
	if n.timer != nil {
		n.timer.Stop()
		n.timer = nil
	}
	for _, card := range n.cards {
		_ = card.Close()
	}
	n.mu.Unlock()
	n.Server.Close()
}
