package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"

	_ "embed"

	"ebbtide/internal/adapter/ssh/sshsim"
	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/adapter/wol"
)

//go:embed runbook.yaml.tmpl
var runbookTemplate string

const (
	upsName = "ups"
	nasName = "nas"
	block   = 4096 // bytes
)

var hostNames = []string{"esx01", "esx02"}

// machines are the VMs of the demo.
var machines = []struct {
	vspheresim.VM
	needs []string      // beside its host
	takes time.Duration // to shut down
}{
	{vspheresim.VM{Name: "dc01"}, nil, 600 * time.Millisecond},
	{vspheresim.VM{Name: "sql01", Host: 1}, []string{"dc01"}, 900 * time.Millisecond},
	{vspheresim.VM{Name: "files01"}, []string{"dc01"}, 700 * time.Millisecond},
	{vspheresim.VM{Name: "app01", Tags: []string{"tier/app"}}, []string{"sql01"}, 500 * time.Millisecond},
	{vspheresim.VM{Name: "app02", Host: 1, Tags: []string{"tier/app"}}, []string{"sql01"}, 800 * time.Millisecond},
	{vspheresim.VM{Name: "app03", Tags: []string{"tier/app"}}, []string{"sql01"}, 600 * time.Millisecond},
	{vspheresim.VM{Name: "app04", Host: 1, Tags: []string{"tier/app"}}, []string{"sql01"}, 700 * time.Millisecond},
	{vspheresim.VM{Name: "lab01", Folder: "Lab"}, []string{"dc01"}, 400 * time.Millisecond},
	{vspheresim.VM{Name: "lab02", Host: 1, Folder: "Lab"}, []string{"dc01"}, 600 * time.Millisecond},
	{vspheresim.VM{Name: "lab03", Folder: "Lab"}, []string{"dc01"}, 500 * time.Millisecond},
	{vspheresim.VM{Name: "lab04", Host: 1, Folder: "Lab"}, []string{"dc01"}, 300 * time.Millisecond},
	{vspheresim.VM{Name: "lab05", Host: 1, Folder: "Lab", Off: true}, []string{"dc01"}, 0},
}

// nodeNames lists all that can fail.
func nodeNames() []string {
	names := append([]string{upsName, nasName}, hostNames...)
	for _, m := range machines {
		names = append(names, m.Name)
	}
	return names
}

// estate is the server room: a UPS, a NAS and two hosts with a dozen VMs, all in this process, all on loopback.
type estate struct {
	ups     *ups
	nas     *sshsim.NAS
	vsphere *vspheresim.Sim
	witness *witness
	cards   []net.PacketConn // of the hosts
	addrs   addresses
	all     sync.WaitGroup
	undo    []func()
}

// addresses fill in the runbook.
type addresses struct {
	NUT, VCenter, User, Thumbprint string
	NAS, SSHUser, HostKey          string
	NASMAC, NASWake                string
	Hosts                          []hostAddress
	Probe, Protect, Unprotect      string
	Flush, Stop, Force             string
	GateOnline, Reserve            time.Duration
	GateCharge                     float64
}

type hostAddress struct{ Name, Rack, MAC, Wake string }

// openEstate switches everything on. Close ends it.
func openEstate() (_ *estate, err error) {
	e := &estate{witness: newWitness()}
	defer func() {
		if err != nil {
			e.close()
			err = fmt.Errorf("cannot set up the demo's estate: %w", err)
		}
	}()
	e.ups, err = startUPS(e.witness, e.powered)
	if err != nil {
		return nil, err
	}
	e.undo = append(e.undo, func() { _ = e.ups.server.Close() }) // nothing is left behind, whatever it says
	e.nas, err = sshsim.StartNAS(sshsim.NASConfig{
		Dirty: 4800 * block, FlushTime: 1500 * time.Millisecond, StopTime: 700 * time.Millisecond, BootTime: nasBoot,
		OnChange: func(on bool, lost int64) {
			e.witness.lost((lost + block - 1) / block)
			e.witness.changed(nasName, on)
		},
	})
	if err != nil {
		return nil, err
	}
	e.undo = append(e.undo, e.nas.Close)
	e.witness.ask = func() cache { return cache{e.nas.Protected(), e.nas.Dirty() > 0} }
	options := vspheresim.Options{
		HostsPerCluster: len(hostNames), HostOff: 1200 * time.Millisecond, HostBoot: hostBoot,
		OnChange: func(_, name string, on bool) { e.witness.changed(name, on) },
		Guest: func(name string) vspheresim.GuestBehaviour {
			return vspheresim.GuestBehaviour{Delay: shutdownTime(name)}
		},
	}
	for _, m := range machines {
		options.VMs = append(options.VMs, m.VM)
	}
	if e.vsphere, err = vspheresim.New(options); err != nil {
		return nil, err
	}
	e.undo = append(e.undo, e.vsphere.Close)
	return e, e.wire()
}

const (
	nasBoot  = 800 * time.Millisecond
	hostBoot = 1200 * time.Millisecond
)

func shutdownTime(name string) time.Duration {
	for _, m := range machines {
		if m.Name == name {
			return m.takes
		}
	}
	return 0
}

// wire gives everything its address.
func (e *estate) wire() error {
	a := addresses{
		NUT: e.ups.server.Addr(), VCenter: e.vsphere.VCenter().URL(), User: vspheresim.User, Thumbprint: e.vsphere.VCenter().Thumbprint(),
		NAS: e.nas.Address(), SSHUser: sshsim.User, HostKey: e.nas.HostKey(), NASMAC: "02:00:00:00:00:10",
		Probe: sshsim.Probe, Protect: sshsim.Protect, Unprotect: sshsim.Unprotect, Flush: sshsim.Flush, Stop: sshsim.Stop,
		Force:      sshsim.Force,
		GateOnline: gateOnline, GateCharge: gateCharge, Reserve: reserve,
	}
	var err error
	if a.NASWake, err = e.nas.Wakes(a.NASMAC); err != nil {
		return err
	}
	for i, name := range hostNames {
		h := hostAddress{Name: name, Rack: fmt.Sprintf("U%d", 20+2*i), MAC: fmt.Sprintf("02:00:00:00:00:2%d", i)}
		if h.Wake, err = e.card(h); err != nil {
			return err
		}
		a.Hosts = append(a.Hosts, h)
	}
	e.addrs = a
	return nil
}

// card gives a host a network card that wakes it, and tells where its packets must go.
func (e *estate) card(h hostAddress) (wakes string, err error) {
	magic, err := wol.Packet(h.MAC)
	if err != nil {
		return "", err
	}
	card, err := (&net.ListenConfig{}).ListenPacket(context.Background(), "udp4", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("cannot listen for wake packets: %w", err)
	}
	e.cards = append(e.cards, card)
	e.all.Go(func() {
		buf := make([]byte, 256)
		for {
			n, _, err := card.ReadFrom(buf)
			if err != nil {
				return // it was closed
			}
			if bytes.Contains(buf[:n], magic) && e.ups.truth().output {
				_ = e.vsphere.PowerOnHost(h.Name) // it exists
			}
		}
	})
	return card.LocalAddr().String(), nil
}

// powered follows the UPS's output: when it goes off, so does everything behind it.
func (e *estate) powered(now truth, commanded bool) {
	if now.output {
		return
	}
	e.witness.cut(now, commanded)
	e.all.Go(func() { // not under the UPS's lock
		e.nas.Cut()
		for _, h := range hostNames {
			_ = e.vsphere.CutHost(h) // it exists
		}
	})
}

// runbook writes the runbook of this estate.
func (e *estate) runbook() ([]byte, error) {
	var b bytes.Buffer
	t, err := template.New("runbook").Parse(runbookTemplate)
	if err == nil {
		err = t.Execute(&b, e.addrs)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write the demo's runbook: %w", err)
	}
	return b.Bytes(), nil
}

// secrets are the credentials that the runbook refers to.
func (e *estate) secrets() map[string]string {
	return map[string]string{"upsd": upsPassword, "vcenter": vspheresim.Password, "nas_key": e.nas.ClientKey()}
}

func (e *estate) close() {
	for _, card := range e.cards {
		_ = card.Close()
	}
	for _, v := range slices.Backward(e.undo) {
		v()
	}
	e.all.Wait()
}

// fail applies those failures whose time has come.
func (e *estate) fail(fails []Fail, later bool) error {
	var errs []error
	for _, f := range fails {
		if f.later() == later {
			errs = append(errs, e.apply(f))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cannot make things fail: %s", strings.TrimSpace(err.Error()))
	}
	return nil
}
