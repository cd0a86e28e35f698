package demo

import (
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/adapter/ssh/sshsim"
	"ebbtide/internal/adapter/vsphere/vspheresim"
)

// failure is what goes wrong with a node.
type failure string

// The failures. What each means for a VM, a host, the NAS and the UPS is told by apply.
const (
	hang   failure = "hang"
	refuse failure = "refuse"
	vanish failure = "vanish"
)

// Fail is one thing that goes wrong in a demo.
type Fail struct {
	Node string
	how  failure
}

// ParseFail reads NODE=hang, NODE=refuse or NODE=vanish.
func ParseFail(text string) (Fail, error) {
	node, how, _ := strings.Cut(text, "=")
	if i := strings.LastIndexByte(node, '/'); i >= 0 {
		node = node[i+1:] // lab/lab01 is the VM lab01
	}
	f := Fail{Node: node, how: failure(how)}
	switch {
	case !slices.Contains(nodeNames(), node):
		return f, fmt.Errorf("the demo has no node %q: it has %s", node, strings.Join(nodeNames(), ", "))
	case f.how != hang && f.how != refuse && f.how != vanish:
		return f, fmt.Errorf("a node can't fail with %q: write %s=hang, %s=refuse or %s=vanish", how, node, node, node)
	}
	return f, nil
}

// apply makes a node fail.
//
//	        hang                            refuse                          vanish (a second into the outage)
//	VM      ignores its shutdown            runs no Tools to shut it down   is deleted
//	host    takes its shutdown, stays on    may not be shut down            loses its power with all on it
//	NAS     its stop never ends             its stop is not permitted       loses its power
//	UPS     takes the cut, does not make it refuses to cut                  falls silent
func (e *estate) apply(f Fail) error {
	switch {
	case f.Node == upsName:
		e.ups.mu.Lock()
		defer e.ups.mu.Unlock()
		if e.ups.failure = f.how; f.how == vanish {
			e.ups.shown.SetStale(true)
		}
		return nil
	case f.Node == nasName:
		switch f.how {
		case hang:
			e.nas.Hang(sshsim.Stop)
		case refuse:
			e.nas.Refuse(sshsim.Stop)
		case vanish:
			e.witness.pardon(nasName)
			e.nas.Cut()
		}
		return nil
	case slices.Contains(hostNames, f.Node):
		if f.how != vanish {
			return e.vsphere.SetHost(f.Node, vspheresim.HostBehaviour{Hang: f.how == hang, Refuse: f.how == refuse})
		}
		e.witness.pardon(f.Node)
		return e.vsphere.CutHost(f.Node)
	}
	if f.how == vanish {
		e.witness.pardon(f.Node)
		return e.vsphere.DeleteVM(f.Node)
	}
	return e.vsphere.SetGuest(f.Node, vspheresim.GuestBehaviour{Hang: f.how == hang, NoTools: f.how == refuse})
}

// later reports whether a failure comes in the middle of the outage.
func (f Fail) later() bool { return f.how == vanish }
