// Package powershell runs PowerShell on Windows machines: over WinRM, a connection of its own, or over the SSH server that
// Windows has, through a connection of type ssh. It is what the families share whose systems are worked with by cmdlets.
package powershell

import (
	"ebbtide/internal/adapter"
	"ebbtide/internal/manual"
	"ebbtide/internal/schema"
)

// Via are the types of connection that are a Shell.
func Via() []string { return []string{"winrm", "ssh"} }

// Family serves connections of type "winrm".
func Family() adapter.Family {
	return adapter.Family{
		Connections: []schema.AnyConnectionType{schema.ConnectionType[ConnSpec]{
			Name: "winrm", Doc: "a Windows machine's remote management (WinRM) over HTTPS",
			Check:    checkConn,
			Endpoint: func(s *ConnSpec) manual.Endpoint { return manual.Endpoint{Address: s.URL, User: s.Username} },
		}.Any()},
		Connect: adapter.Connecting(connect),
	}
}
