package engine

import (
	"ebbtide/internal/foresight"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// Event is something that happened: the only input of the engine. The set is closed.
type Event interface{ event() }

type (
	// Started is the first event of every run. A resumed engine asks what became of all that its journal left open.
	Started struct{}
	// Read is one poll of one supply.
	Read struct{ Reading power.Reading }
	// Finished answers a Do or a Probe effect. Each gets exactly one, a cancelled one too.
	Finished struct {
		Op      ledger.Op
		Outcome ledger.Outcome
		Seen    plan.Observation // of a Probe with outcome Done
		Detail  string           // why, for people; never a secret
	}
	// Observed is what a watch saw by itself.
	Observed struct {
		Node string
		Seen plan.Observation
	}
	// Woke says that the time of a Wake effect has come. A late or spurious one does no harm.
	Woke struct{}
	// Order is an operator's command.
	Order struct {
		Verb ledger.OrderVerb
		Node string // of Confirm and Skip: a person's step; of Confirm also a supply that fails and is not heard: its power is back
		By   string // who gave it, for the record
	}
	// Drill asks for a rehearsal for real: of nodes, of a shed stage, or of a supply's battery. Exactly one of Nodes,
	// Stage and Supply is given.
	Drill struct {
		Nodes  []string   // ids of nodes and of selectors, and labels: "tier=lab"
		Stage  plan.Stage // a shed stage: the nodes that it takes
		Supply string     // whose battery is discharged under its load
		Floor  float64    // with Supply: down to this charge, in percent
		By     string     // who asked for it, for the record
	}
	// Estimated answers an Estimate effect.
	Estimated foresight.Estimate
	// JournalLost says that an append could not be made durable. A shutdown goes on; a power-up does not begin.
	JournalLost struct{ Detail string }
	// JournalBack says that appends are durable again; what was appended meanwhile has been written.
	JournalBack struct{}
	// Reload replaces the estate and the policy. It is ignored while an outage is open: the caller checks Open first.
	Reload struct {
		Estate   *plan.Estate
		Policy   power.Policy
		Supplies []power.Supply
		Members  map[string][]plan.Member
	}
)

func (Started) event() {}

func (Read) event() {}

func (Finished) event() {}

func (Observed) event() {}

func (Woke) event() {}

func (Order) event() {}

func (Drill) event() {}

func (Estimated) event() {}

func (JournalLost) event() {}

func (JournalBack) event() {}

func (Reload) event() {}
