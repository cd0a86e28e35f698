package nuttest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ebbtide/internal/nut/wire"
)

// Command is an instant command or a SET that reached a driver.
type Command struct {
	At    time.Time
	Words []string // "INSTCMD", "shutdown.return" or "SET", "ups.delay.shutdown", "60"
}

// Driver plays a NUT driver: it owns the socket that upsd looks for and speaks the driver's side of the socket protocol
// (NUT's docs/sock-protocol.txt). Its methods may be called at any time.
type Driver struct {
	t      testing.TB
	socket string

	mu       sync.Mutex
	listener net.Listener // nil while it is killed
	conns    []net.Conn
	vars     []driverVar
	commands []string
	stale    bool
	mute     bool
	result   int
	log      []Command
	obeyed   func(words []string) int // carries commands and SETs out; nil: a SET holds, a command does nothing
	all      sync.WaitGroup
}

type driverVar struct {
	name, value string
	extras      []string // lines that describe it further
}

func newDriver(t testing.TB, socket string) *Driver {
	t.Helper()
	d := &Driver{t: t, socket: socket}
	d.Revive()
	t.Cleanup(d.Kill)
	return d
}

// Revive starts a killed driver again.
func (d *Driver) Revive() {
	d.t.Helper()
	if err := os.Remove(d.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		d.t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", d.socket)
	if err != nil {
		d.t.Fatalf("cannot play a driver at %q: %v", d.socket, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listener = listener
	d.all.Go(func() { d.accept(listener) })
}

// Kill ends the driver as kill -9 does: upsd sees its socket close. It may be killed twice.
func (d *Driver) Kill() {
	d.die()
	d.all.Wait()
}

// die is Kill for who may be called by a reader, which can't be waited for.
func (d *Driver) die() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.listener != nil {
		_ = d.listener.Close() // it is ours and open
	}
	d.listener = nil
	for _, c := range d.conns {
		_ = c.Close() // upsd may have closed it
	}
	d.conns = nil
}

// Set gives variables values, as pairs of name and value.
func (d *Driver) Set(pairs ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := 0; i+1 < len(pairs); i += 2 {
		v := d.variable(pairs[i])
		v.value = pairs[i+1]
		d.tell(v.line())
	}
}

// Del takes a variable away.
func (d *Driver) Del(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.vars = slices.DeleteFunc(d.vars, func(v driverVar) bool { return v.name == name })
	d.tell("DELINFO " + name)
}

// Writable lets clients set a variable, to at most length characters, or to one of the values where some are given.
func (d *Driver) Writable(name string, length int, values ...string) {
	lines := []string{fmt.Sprintf("SETFLAGS %s RW STRING", name), fmt.Sprintf("SETAUX %s %d", name, length)}
	for _, value := range values {
		lines = append(lines, fmt.Sprintf("ADDENUM %s %s", name, wire.Quote(value)))
	}
	d.describe(name, lines...)
}

// Range lets clients set a variable to a number between two bounds.
func (d *Driver) Range(name string, low, high int) {
	d.describe(name, fmt.Sprintf("SETFLAGS %s RW NUMBER", name), fmt.Sprintf("ADDRANGE %s %d %d", name, low, high))
}

func (d *Driver) describe(name string, lines ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.variable(name)
	v.extras = append(v.extras, lines...)
	d.tell(v.line()) // upsd describes only what it knows
	d.tell(lines...)
}

// AddCommands offers instant commands.
func (d *Driver) AddCommands(names ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range names {
		d.commands = append(d.commands, name)
		d.tell("ADDCMD " + name)
	}
}

// Stale says that the driver has lost its UPS.
func (d *Driver) Stale() { d.setStale(true) }

// OK says that the driver has its UPS again.
func (d *Driver) OK() { d.setStale(false) }

func (d *Driver) setStale(stale bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stale = stale
	d.tell(d.health())
}

func (d *Driver) health() string {
	if d.stale {
		return "DATASTALE"
	}
	return "DATAOK"
}

// Mute makes the driver hang: it keeps its socket, and neither answers nor obeys.
func (d *Driver) Mute(mute bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mute = mute
}

// Result sets how commands end from now on, by NUT's STAT numbers: 0 handled, 1 unknown, 2 invalid, 3 failed.
func (d *Driver) Result(code int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.result = code
}

// Commands gives what has reached the driver so far.
func (d *Driver) Commands() []Command {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.log)
}

// Sent gives the commands so far, each as one line: "SET ups.delay.shutdown 60".
func (d *Driver) Sent() []string {
	var lines []string
	for _, c := range d.Commands() {
		lines = append(lines, strings.Join(c.Words, " "))
	}
	return lines
}

func (d *Driver) variable(name string) *driverVar {
	for i := range d.vars {
		if d.vars[i].name == name {
			return &d.vars[i]
		}
	}
	d.vars = append(d.vars, driverVar{name: name})
	return &d.vars[len(d.vars)-1]
}

func (v *driverVar) line() string { return fmt.Sprintf("SETINFO %s %s", v.name, wire.Quote(v.value)) }

// tell sends lines to every upsd that is connected. It needs d.mu.
func (d *Driver) tell(lines ...string) {
	for _, c := range d.conns {
		write(c, lines...)
	}
}

// write sends lines whole. A connection that does not take them is closed; its reader then ends.
func write(c net.Conn, lines ...string) {
	err := c.SetWriteDeadline(time.Now().Add(time.Second))
	if err == nil {
		_, err = c.Write([]byte(strings.Join(lines, "\n") + "\n"))
	}
	if err != nil {
		_ = c.Close() // the error that matters is the one before
	}
}

func (d *Driver) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return // killed
		}
		d.mu.Lock()
		if d.listener != listener {
			_ = conn.Close() // killed meanwhile
		} else {
			d.conns = append(d.conns, conn)
			d.all.Go(func() { d.serve(conn) })
		}
		d.mu.Unlock()
	}
}

func (d *Driver) serve(c net.Conn) {
	defer func() {
		_ = c.Close() // may be closed already
		d.mu.Lock()
		defer d.mu.Unlock()
		d.conns = slices.DeleteFunc(d.conns, func(other net.Conn) bool { return other == c })
	}()
	in := bufio.NewScanner(c)
	for in.Scan() {
		words, err := wire.Split(in.Text())
		if err != nil || len(words) == 0 {
			continue // a driver ignores what it does not understand
		}
		d.hear(c, words)
	}
}

func (d *Driver) hear(c net.Conn, words []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mute {
		return
	}
	switch words[0] {
	case "PING":
		write(c, "PONG")
	case "DUMPALL":
		write(c, d.dump()...)
	case "INSTCMD", "SET":
		d.obey(c, words)
	}
}

// get reads a variable; "" if it is not there.
func (d *Driver) get(name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.vars {
		if d.vars[i].name == name {
			return d.vars[i].value
		}
	}
	return ""
}

func (d *Driver) dump() []string {
	var lines []string
	for i := range d.vars {
		lines = append(lines, d.vars[i].line())
		lines = append(lines, d.vars[i].extras...)
	}
	for _, name := range d.commands {
		lines = append(lines, "ADDCMD "+name)
	}
	return append(lines, d.health(), "DUMPDONE")
}

// obey logs a command, carries it out, and tells the result if upsd tracks it. It has d.mu, and is without it while the
// machine behind the driver acts.
func (d *Driver) obey(c net.Conn, words []string) {
	id := ""
	if n := len(words); n > 2 && words[n-2] == "TRACKING" {
		id, words = words[n-1], words[:n-2]
	}
	d.log = append(d.log, Command{At: time.Now(), Words: words})
	result := d.result
	switch do := d.obeyed; {
	case result != 0:
	case do != nil:
		d.mu.Unlock()
		result = do(words)
		d.mu.Lock()
	case words[0] == "SET" && len(words) == 3:
		v := d.variable(words[1])
		v.value = words[2]
		d.tell(v.line())
	}
	if id != "" {
		write(c, fmt.Sprintf("TRACKING %s %d", id, result))
	}
}
