package vspheresim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// sessionMethods go before the simulator's own methods of its session manager.
type sessionMethods struct {
	*simulator.SessionManager

	server *Server
}

// Logout waits until nobody reads what is in a session: the simulator's own takes the locks of a session's objects while it
// holds that of their registry, and who reads does it the other way round.
func (m *sessionMethods) Logout(ctx *simulator.Context, r *types.Logout) soap.HasFault {
	m.server.reading.Lock()
	defer m.server.reading.Unlock()
	return m.SessionManager.Logout(ctx, r)
}
