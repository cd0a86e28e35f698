// Package ipmitest is a management controller in this process: the server half of go-ipmi on a loopback port of its own,
// over a chassis that does what a test wants.
package ipmitest

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/clock"
	"github.com/bougou/go-ipmi/pkg/hal"
	"github.com/bougou/go-ipmi/pkg/hal/mock"
	"github.com/bougou/go-ipmi/pkg/server"
	"github.com/bougou/go-ipmi/pkg/transport/udp"
)

// User and Password are what a controller lets in, as an operator.
const (
	User     = "ebbtide"
	Password = "planted-ipmi-pw" // 16 bytes at most
)

// Controller is a running controller. Its methods may be called at the same time.
type Controller struct {
	Address string // 127.0.0.1:port

	*mock.Chassis
	takes time.Duration
	bmc   *bmc.BMC
	conn  *gate
	stop  context.CancelFunc
	done  chan struct{}

	mu       sync.Mutex
	machine  Machine // nil: none
	on       bool
	off      time.Time // with on: when it will be off; zero: never
	deaf     bool
	commands []string
}

// Machine is what a controller powers. It does not hear a soft shutdown.
type Machine interface {
	On() bool
	PowerOn()
	PowerOff()
}

// Wire puts a machine on the chassis: its power is the chassis' from now on.
func (c *Controller) Wire(m Machine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.machine, c.deaf = m, true
}

// New starts a controller whose chassis is on, and takes so long to shut down.
func New(takes time.Duration) (*Controller, error) {
	c := &Controller{Chassis: &mock.Chassis{}, takes: takes, on: true, done: make(chan struct{})}
	c.bmc = bmc.New(bmc.DeviceInfo{DeviceID: 32, IPMIVersion: 0x20}, [16]byte{1}, &board{mock.New(), c}, bmc.WithClock(clock.Real))
	u, err := c.bmc.Users.Add(2, User)
	if err != nil {
		return nil, err
	}
	u.SetPassword([]byte(Password))
	u.Enabled = true
	u.ChannelAccess[1] = bmc.UserChannelAccess{MaxPrivilege: bmc.PrivilegeLevelOperator, Enabled: true}
	socket, err := (&net.ListenConfig{}).ListenPacket(context.Background(), "udp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	udpSocket, ok := socket.(*net.UDPConn)
	if !ok {
		return nil, errors.New("no UDP socket")
	}
	c.Address = udpSocket.LocalAddr().String()
	c.conn = &gate{Conn: udp.Wrap(udpSocket, udp.WithReadTimeout(200*time.Millisecond))}
	ctx, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	go func() {
		defer close(c.done)
		_ = server.NewServer(c.bmc, c.conn).Serve(ctx) // it ends with Close
	}()
	return c, nil
}

// Close ends the controller. Nobody listens on its port any more.
func (c *Controller) Close() {
	c.stop()
	_ = c.conn.Close()
	<-c.done
}

// Freeze makes it take packets and answer none.
func (c *Controller) Freeze() { c.conn.freeze() }

// Set presses the chassis' button.
func (c *Controller) Set(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on, c.off = on, time.Time{}
}

// Deafen makes what runs on the chassis not hear a soft shutdown.
func (c *Controller) Deafen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaf = true
}

// On tells the chassis' power as it is now.
func (c *Controller) On() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.machine != nil {
		return c.machine.On()
	}
	c.settle()
	return c.on
}

// Commands lists what was commanded.
func (c *Controller) Commands() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.commands...)
}

func (c *Controller) settle() {
	if !c.off.IsZero() && !time.Now().Before(c.off) {
		c.on, c.off = false, time.Time{}
	}
}

// PowerState is the chassis' half of Get Chassis Status.
func (c *Controller) PowerState(context.Context) (bool, error) { return c.On(), nil }

// SetPower is the chassis' half of Chassis Control: power up and power down.
func (c *Controller) SetPower(_ context.Context, on bool) error {
	c.Set(on)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commands = append(c.commands, map[bool]string{true: "up", false: "down"}[on])
	switch {
	case c.machine == nil:
	case on:
		c.machine.PowerOn()
	default:
		c.machine.PowerOff()
	}
	return nil
}

// WarmReset is what the library makes of a soft shutdown.
func (c *Controller) WarmReset(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commands = append(c.commands, "soft")
	if !c.deaf && c.off.IsZero() {
		c.off = time.Now().Add(c.takes)
	}
	return nil
}

// board is the hardware that a controller sits on.
type board struct {
	*mock.HAL
	c *Controller
}

// Chassis gives the chassis.
func (b *board) Chassis() hal.ChassisHAL { return b.c }

// gate lets answers out, or not.
type gate struct {
	*udp.Conn
	mu     sync.Mutex
	frozen bool
}

func (g *gate) freeze() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.frozen = true
}

// WriteTo sends an answer.
func (g *gate) WriteTo(b []byte, to net.Addr) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.frozen {
		return len(b), nil
	}
	return g.Conn.WriteTo(b, to)
}
