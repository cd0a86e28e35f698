package sim

// What a run may meet of what real estates do, as Result.Met counts it.
const (
	MetUnreachable    = "looks answered unreachable before a stop was accepted"
	MetFailedLook     = "looks that failed for want of an answer"
	MetSelfTestLook   = "looks at a machine in its self-test"
	MetSelfTestOrder  = "commands to a machine in its self-test"
	MetRefusedLook    = "looks refused by a machine that boots"
	MetDarkLook       = "looks at what is on behind a dark switch"
	MetDarkOrder      = "commands to what is on behind a dark switch"
	MetTestEnded      = "tests that a weak battery ended with the mains there"
	MetTimerAnew      = "return timers that a new failure stopped"
	MetSupplyLook     = "looks at the output of a silent supply"
	MetSupplyOrder    = "commands to a silent supply or its outlets"
	MetOldLook        = "looks that showed what was before a command"
	MetOppositeLook   = "looks answered with the opposite"
	MetGoneLook       = "looks answered as if there were no such thing"
	MetBMCSilent      = "questions that a BMC did not answer"
	MetBMCOutOfDate   = "answers of a BMC that were out of date"
	MetBMCWrong       = "answers of a BMC that were wrong"
	MetSlowLook       = "looks that took their time"
	MetSlowOrder      = "commands that took seconds to arrive"
	MetSlowOrderLate  = "commands that found their node in another state than when they left"
	MetBootedWithHost = "VMs that came up by themselves with their host"
	MetBootedLate     = "machines that came up long after their power was back"
)

// Mets lists all that a run may meet.
var Mets = []string{
	MetUnreachable, MetFailedLook, MetSelfTestLook, MetSelfTestOrder, MetRefusedLook, MetDarkLook, MetDarkOrder, MetTestEnded, MetTimerAnew,
	MetSupplyLook, MetSupplyOrder, MetOldLook, MetOppositeLook, MetGoneLook, MetBMCSilent, MetBMCOutOfDate, MetBMCWrong, MetSlowLook,
	MetSlowOrder, MetSlowOrderLate,
	MetBootedWithHost, MetBootedLate,
}

// meet counts one thing that was met.
func (s *simulation) meet(what string) {
	if s.result.Met == nil {
		s.result.Met = map[string]int{}
	}
	s.result.Met[what]++
}
