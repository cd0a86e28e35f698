package want

// Pressure is how short a battery's time is: a level, found anew at each reading.
type Pressure uint8

// How short it is.
const (
	NoPressure     Pressure = iota
	ForceVMs                // VMs are powered off, lowest data risk first
	ReserveReached          // hosts too, and caches are flushed before their users are off
	LastCall                // and nothing waits any more for what was given up
	CutNow                  // outputs are cut with what is not proven off
	GoesDark                // of what hangs on an output: that is being cut, whatever is left in the battery
)

// pressures has what each means, and what it would mean where nothing is commanded.
var pressures = [...]struct{ is, wouldBe string }{
	{"battery time is enough", "battery time is enough"},
	{"the battery may not last for the rest of the plan: VMs that are still on are powered off", "the battery may not last for the rest of the plan: VMs that are still on would be powered off"},
	{"only the reserve is left: hosts are powered off, caches flushed", "only the reserve is left: hosts would be powered off, caches flushed"},
	{"the battery is nearly empty: steps that were given up no longer hold anything up", "the battery is nearly empty: steps that were given up would no longer hold anything up"},
	{"the battery is about to give out: outputs are cut even if not everything is proven off", "the battery is about to give out: outputs would be cut even if not everything is proven off"},
	{"the output that feeds it is being cut, and it is not proven off", "the output that feeds it would be cut, and it is not proven off"},
}

func (p Pressure) String() string { return pressures[p].is }

// WouldBe says the same where nothing is commanded.
func (p Pressure) WouldBe() string { return pressures[p].wouldBe }
