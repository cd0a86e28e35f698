// Package pernixsim is a contract fake of a PernixData FVP management server: windowssim, with the cmdlets of the module
// PrnxCli that our scripts use, as published scripts show them. No FVP was at hand: what it does not know, no test can find.
package pernixsim

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"sync"
	"time"

	"ebbtide/internal/adapter/powershell/windowssim"
)

// Who is let in to FVP.
const (
	User     = `LAB\fvp`
	Password = "Planted-FVP-9!"
)

// VM is a VM as FVP knows it.
type VM struct {
	UUID, Name string
	WriteBack  bool
	Peers      string
	External   string // "": no such number, as without a licence for fault domains
	Dirty      bool   // it has writes that are not destaged, until Takes after it went to write-through
	Says       string // what -Effective prints, instead of the words for its mode
	NoStats    bool   // Get-PrnxObjectStats has no sample of it
	Refuses    bool   // Set-PrnxAccelerationPolicy fails
	Set        int    // how often its policy was set
}

// FVP is a fake management server.
type FVP struct {
	*windowssim.Machine
	Takes time.Duration // to destage

	mu  sync.Mutex
	vms []*VM
}

// New starts a server.
func New(vms ...*VM) *FVP {
	f := &FVP{Takes: 20 * time.Millisecond, vms: vms}
	f.Machine = windowssim.New(f.answer)
	return f
}

// State tells how VMs are set, one after the other.
func (f *FVP) State() (state string) {
	f.with(func() {
		for _, m := range f.vms {
			state += fmt.Sprintf("%s wb=%t %s/%s; ", m.Name, m.WriteBack, m.Peers, m.External)
		}
	})
	return state
}

// Of gives a copy of a VM.
func (f *FVP) Of(name string) (found VM) {
	f.with(func() {
		for _, m := range f.vms {
			if m.Name == name {
				found = *m
			}
		}
	})
	return found
}

func (f *FVP) with(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

type object = map[string]any

// asked is the input of a script.
type asked struct {
	Server, User, Password, Name string
	Exclude                      []string
	VMs                          []struct{ ID, Name, Peers, External string }
}

// answer does what a script's cmdlets do.
func (f *FVP) answer(script string, _, input json.RawMessage) any {
	var a asked
	if err := json.Unmarshal(input, &a); err != nil {
		return windowssim.Failed(err.Error(), "")
	}
	if !strings.HasPrefix(script, "Import-Module PrnxCli;") || !strings.Contains(script, "Connect-PrnxServer") {
		return windowssim.Failed("Get-PrnxVM is not recognized", "CommandNotFoundException")
	}
	if a.Server != "localhost" || a.User != User || a.Password != Password {
		return windowssim.Failed("no login to FVP: invalid credentials", "RuntimeException")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case strings.Contains(script, "WriteBack=$true"):
		return object{"failed": f.writeBack(a)}
	case strings.Contains(script, "-WriteThrough"):
		return object{"failed": f.writeThrough(a)}
	default:
		return object{"vms": f.look(a)}
	}
}

// selected are the VMs that a script means. The lock is held.
func (f *FVP) selected(a asked) (found []*VM, writing bool) {
	fits := func(glob, name string) bool { ok, _ := path.Match(glob, name); return ok }
	for _, m := range f.vms {
		meant := fits(a.Name, m.Name)
		for _, glob := range a.Exclude {
			meant = meant && !fits(glob, m.Name)
		}
		if meant {
			found = append(found, m)
			writing = writing || m.WriteBack
		}
	}
	return found, writing
}

func (f *FVP) look(a asked) []object {
	found, writing := f.selected(a)
	list := []object{}
	for _, m := range found {
		o := object{"id": m.UUID, "name": m.Name, "policy": "3", "peers": m.Peers, "external": m.External}
		if m.WriteBack {
			o["policy"] = "7"
		}
		if !writing {
			says, left := "WRITE_THROUGH", "0"
			if m.Dirty {
				left = "12"
			}
			if m.Says != "" {
				says = m.Says
			}
			if m.NoStats {
				left = ""
			}
			o["effective"], o["left"] = says+"\r\n", left
		}
		list = append(list, o)
	}
	return list
}

func (f *FVP) writeThrough(a asked) []string {
	failed := []string{}
	found, _ := f.selected(a)
	for _, m := range found {
		switch {
		case !m.WriteBack:
		case m.Refuses:
			failed = append(failed, m.Name+": the operation timed out")
		default:
			m.WriteBack, m.Set = false, m.Set+1
			time.AfterFunc(f.Takes, func() { f.with(func() { m.Dirty = m.Dirty && m.WriteBack }) })
		}
	}
	return failed
}

func (f *FVP) writeBack(a asked) []string {
	failed := []string{}
	for _, want := range a.VMs {
		for _, m := range f.vms {
			switch {
			case m.UUID != want.ID:
			case m.External == "" && want.External != "":
				failed = append(failed, m.Name+": no licence for fault domains")
			default:
				m.WriteBack, m.Dirty, m.Set = true, true, m.Set+1
				m.Peers, m.External = want.Peers, want.External
			}
		}
	}
	return failed
}
