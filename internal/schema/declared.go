package schema

import "time"

// Connection is what a runbook says of a connection: how a system is reached.
type Connection struct {
	Name string
	Type string
	Spec any // a *S of its ConnectionType[S], filled in
}

// Node is what a runbook says of a node to its adapter.
type Node struct {
	ID      string
	Type    string
	Via     string        // connection name, "" if none
	Spec    any           // a *S of its NodeType[S], filled in
	Wake    *Wake         // up.wake: how it is started when its own system can't
	Healthy []HealthCheck // up.healthy
}

// Supply is what a runbook says of a supply to what cuts its output: a UPS as NUT knows it.
type Supply struct {
	ID       string
	UPS      string    // its name in NUT
	Address  string    // host:port of its NUT server
	Username string    // for commands; "" reads only
	Password SecretRef // of Username
	TLS      *TLS      // nil: plain text
	Cut      Cut
	OffDelay time.Duration // from the command to the cut (NUT's offdelay); 0: as the UPS is set
	OnDelay  time.Duration // from mains back to output on (NUT's ondelay); 0: as the UPS is set
}

// NUT gives the supply's name as NUT's own tools take it: ups@host:port.
func (s *Supply) NUT() string { return s.UPS + "@" + s.Address }

// TLS says that a NUT server is spoken to with STARTTLS, and how it is trusted.
type TLS struct {
	CAFile     string `yaml:"ca_file" json:"ca_file,omitempty"`         // PEM; "": the system's
	ServerName string `yaml:"server_name" json:"server_name,omitempty"` // in its certificate; "": the host of nut
}

// Cut says how a supply's output is cut when all is down.
type Cut string

// The ways to cut.
const (
	CutShutdownReturn Cut = "shutdown.return"  // NUT's command: off after its delay, on again with the mains
	CutLoadOff        Cut = "load.off.delay"   // off after its delay; with load.on.delay, where the UPS has it, on again with the mains
	CutStayOff        Cut = "shutdown.stayoff" // off after its delay, until a person switches it on
	CutNone           Cut = "none"             // left on: it drops when the battery is empty
)

// UsualOffDelay is what a UPS takes from a cut until it makes it where nothing says otherwise: NUT's own default (ups.conf(5), offdelay).
const UsualOffDelay = 20 * time.Second
