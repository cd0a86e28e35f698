package vspheresim

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
)

// Direct is a host's own endpoint, as after vCenter is gone. It is made when it is first asked for. It knows the
// same VMs by other references, and the host by another name.
func (s *Sim) Direct(hostName string) (*Server, error) {
	h := s.host(hostName)
	if h == nil {
		return nil, fmt.Errorf("cannot reach host %q: no such host", hostName)
	}
	h.making.Lock()
	defer h.making.Unlock()
	s.mu.Lock()
	made := h.direct
	s.mu.Unlock()
	if made != nil {
		return made, nil
	}
	making.Lock()
	defer making.Unlock()
	model := simulator.ESX()
	model.Machine = 0
	if err := model.Create(); err != nil {
		return nil, fmt.Errorf("cannot make an endpoint for host %q: %w", hostName, err)
	}
	srv := newServer(s, model, h)
	srv.hosts[model.Map().Any("HostSystem").Reference()] = h
	var here []*machine
	for _, m := range s.all() {
		if s.hostOf(m) == h {
			m.move.Lock() // its power stays as it is until it is shown here too
			defer m.move.Unlock()
			if !m.gone {
				here = append(here, m)
			}
		}
	}
	if err := srv.populate(here); err != nil {
		model.Remove()
		return nil, fmt.Errorf("cannot make an endpoint for host %q: %w", hostName, err)
	}
	if err := srv.serve(); err != nil {
		model.Remove()
		return nil, fmt.Errorf("cannot make an endpoint for host %q: %w", hostName, err)
	}
	s.mu.Lock()
	h.direct = srv
	s.mu.Unlock()
	if !s.HostOn(hostName) {
		return srv, srv.Vanish()
	}
	return srv, nil
}
