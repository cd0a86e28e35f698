package nutsim

import (
	"cmp"
	"slices"
	"strings"
)

// UPS is one UPS of a Server. Its methods may be called at any time.
type UPS struct {
	server      *Server
	name        string
	description string

	// Guarded by server.mu.
	vars      []variable // by name
	commands  []string
	onCommand func(command, parameter string) error
	forced    bool // FSD
	stale     bool
	gone      bool
}

type variable struct {
	name, value string
	writable    bool
}

// Add offers a UPS. It must not be there yet.
func (s *Server) Add(name, description string) *UPS {
	u := &UPS{server: s, name: name, description: description}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.supplies = append(s.supplies, u)
	return u
}

func (u *UPS) find(name string) (at int, found bool) {
	return slices.BinarySearchFunc(u.vars, name, func(v variable, name string) int { return cmp.Compare(v.name, name) })
}

// Set gives variables values, as pairs of name and value. All change at once.
func (u *UPS) Set(pairs ...string) {
	u.server.mu.Lock()
	defer u.server.mu.Unlock()
	for i := 0; i+1 < len(pairs); i += 2 {
		u.set(pairs[i], pairs[i+1])
	}
}

func (u *UPS) set(name, value string) {
	at, found := u.find(name)
	if !found {
		u.vars = slices.Insert(u.vars, at, variable{name: name})
	}
	u.vars[at].value = value
}

// Get reads a variable; "" if it is not there.
func (u *UPS) Get(name string) string {
	u.server.mu.Lock()
	defer u.server.mu.Unlock()
	if at, found := u.find(name); found {
		return u.vars[at].value
	}
	return ""
}

// Delete takes a variable away.
func (u *UPS) Delete(name string) {
	u.server.mu.Lock()
	defer u.server.mu.Unlock()
	if at, found := u.find(name); found {
		u.vars = slices.Delete(u.vars, at, at+1)
	}
}

// Writable lets clients set variables that are there.
func (u *UPS) Writable(names ...string) {
	u.server.mu.Lock()
	defer u.server.mu.Unlock()
	for _, name := range names {
		if at, found := u.find(name); found {
			u.vars[at].writable = true
		}
	}
}

// OnCommand offers instant commands. Each is carried out by do, whose error makes it fail.
func (u *UPS) OnCommand(do func(command, parameter string) error, commands ...string) {
	u.server.mu.Lock()
	defer u.server.mu.Unlock()
	u.onCommand, u.commands = do, slices.Sorted(slices.Values(commands))
}

// SetStale makes the driver lose the UPS, or find it again.
func (u *UPS) SetStale(stale bool) {
	u.server.mu.Lock()
	defer u.server.mu.Unlock()
	u.stale = stale
}

// SetConnected ends or starts the driver.
func (u *UPS) SetConnected(connected bool) {
	u.server.mu.Lock()
	defer u.server.mu.Unlock()
	u.gone = !connected
}

// status is what clients see: FSD is added by the server.
func (u *UPS) shown(v variable) string {
	if v.name == "ups.status" && u.forced {
		return "FSD " + v.value
	}
	return v.value
}

// ready reports whether the driver has data.
func (u *UPS) ready() error {
	switch {
	case u.gone:
		return refusal("DRIVER-NOT-CONNECTED")
	case u.stale:
		return refusal("DATA-STALE")
	}
	return nil
}

func (s *Server) lookup(name string) (*UPS, error) {
	for _, u := range s.supplies {
		if strings.EqualFold(u.name, name) {
			return u, nil
		}
	}
	return nil, refusal("UNKNOWN-UPS")
}
