package mixed_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/digitalocean/go-libvirt"
	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/libvirt/libvirttest"
	"ebbtide/internal/adapter/snmp/snmptest"
	"ebbtide/test/host"
	"ebbtide/test/site"
)

// machine is a real host whose life goes into the chronicle. Its controller knows of its power by the same word, so that
// nothing can be done upon what is not told yet.
type machine struct {
	*host.Host
	told *site.Chronicle

	mu sync.Mutex
	on bool
}

func boot(t *testing.T, told *site.Chronicle, name string, binds map[string]string) *machine {
	t.Helper()
	m := &machine{told: told, on: true}
	m.Host = host.Boot(t, name, host.Options{Binds: binds, Ended: func(string) { m.note(false) }})
	return m
}

func (m *machine) note(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if on != m.on {
		m.on = on
		m.told.Tell(onOff("host "+m.Name, on))
	}
}

// On reports whether it has power, as its controller does.
func (m *machine) On() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.on
}

// PowerOn boots it.
func (m *machine) PowerOn() {
	m.note(true)
	m.Host.PowerOn()
}

func onOff(what string, on bool) string {
	if on {
		return what + " on"
	}
	return what + " off"
}

// outlet is an outlet of a PDU, what is plugged into it, and how it was set up: dark when its own power comes back.
type outlet struct {
	pdu  *snmptest.PDU
	oid  string
	told *site.Chronicle
	feed *machine
}

const (
	outletOn  = 1
	outletOff = 2
)

// lose is the PDU's own loss of power.
func (o outlet) lose() {
	o.pdu.Set(o.oid, outletOff)
	o.told.Tell("outlet dark")
}

// follow powers what is plugged in once the outlet is on, until ctx ends.
func (o outlet) follow(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if o.pdu.Get(ctx, o.oid) == strconv.Itoa(outletOn) {
			o.told.Tell("outlet on")
			o.feed.PowerOn()
			return
		}
	}
}

// domains tells of every domain that libvirt starts and stops.
func domains(t *testing.T, d *libvirttest.Daemon, told *site.Chronicle) {
	t.Helper()
	events, err := d.Client().LifecycleEvents(context.Background()) // ends with the daemon
	require.NoError(t, err)
	go func() {
		for e := range events {
			switch libvirt.DomainEventType(e.Event) {
			case libvirt.DomainEventStarted:
				told.Tell("domain " + e.Dom.Name + " on")
			case libvirt.DomainEventStopped:
				told.Tell("domain " + e.Dom.Name + " off")
			default:
			}
		}
	}()
}
