package dst_test

const (
	engineEngine   = "internal/engine/engine.go"
	engineExec     = "internal/engine/exec.go"
	engineGuard    = "internal/engine/guard.go"
	enginePlace    = "internal/engine/place.go"
	engineDrill    = "internal/engine/drill.go"
	engineRefuse   = "internal/engine/refuse.go"
	engineLadder   = "internal/engine/ladder.go"
	engineProgress = "internal/engine/progress.go"
	engineResume   = "internal/engine/resume.go"
	engineRun      = "internal/engine/run.go"
	engineSupply   = "internal/engine/supply.go"
	engineSurvey   = "internal/engine/survey.go"
	engineSee      = "internal/engine/see.go"
	engineCycle    = "internal/engine/cycle.go"
	adapterPowered = "internal/adapter/powered.go"
	planEstate     = "internal/plan/estate.go"
	planStep       = "internal/plan/step.go"
	runnerRunner   = "internal/runner/runner.go"
	runnerEffects  = "internal/runner/effects.go"
)

// bugs are the seeded bugs. Where a rule has a second line of defence, the bug takes both away.
var bugs = []bug{
	{name: "a drill goes on when the mains fail", edits: []edit{
		{engineDrill, "\te.run.drill = nil\n\te.endDischarge(", "\te.endDischarge("},
		{engineDrill, "if e.run.drill != nil && e.run.goal == plan.Down {", "if e.run.drill != nil {"},
	}},
	{name: "a drill is forgotten in a crash", edits: []edit{
		{engineDrill, "r.drill[i], r.scope[i] = true, true", "r.drill[i] = true"},
	}},
	{name: "a drill takes what others still need", edits: []edit{
		{engineRefuse, "[]func([]bool) string{e.cannotComeBack, e.notSeen, e.needed}", "[]func([]bool) string{e.cannotComeBack, e.notSeen}"},
		{engineDrill, "if why := e.needed(r.drill); why != \"\" {", "if why := e.needed(r.drill); why == \"never\" {"},
		{engineGuard, "\t\tif un.down {\n", "\t\tif un.down || e.inDrill() {\n"},
	}},
	{name: "an accepted command counts as a proof", edits: []edit{
		{engineExec, "if e.holds(i, x.verb) { // a watch was faster", "if true { // a watch was faster"},
	}},
	{name: "the journal is believed about what is off", edits: []edit{
		{engineResume, "\tcase Proven:\n", "\tcase Proven:\n\t\te.nodes[at].surveyed = *rec.Verb == plan.Stop || *rec.Verb == plan.Cut\n\t\te.nodes[at].down = e.nodes[at].surveyed\n"},
		{engineEngine, "\tfor i := range e.nodes {\n\t\te.probeNode(i)\n\t}\n\te.sweepAt", "\tfor i := range e.nodes {\n\t\tif !e.nodes[i].surveyed {\n\t\t\te.probeNode(i)\n\t\t}\n\t}\n\te.sweepAt"},
	}},
	{name: "outputs are cut on intents", edits: []edit{
		{engineGuard, "if un.down {", "if un.down || decl.Kind == plan.Supply && un.touched {"},
		{engineProgress, "case s.Verb != plan.Stop:\n", "case s.Verb == plan.Cut:\n\t\treturn true\n\tcase s.Verb != plan.Stop:\n"},
	}},
	{name: "no recharge gate", edits: []edit{
		{engineSupply, "if !restore.Holds(e.facts(s)) {", "if false && !restore.Holds(e.facts(s)) {"},
	}},
	{name: "the snapshot is taken again", edits: []edit{
		{engineSurvey, "if n.snapped {\n", "if n.snapped && r.goal == plan.Down {\n"},
	}},
	{name: "what was off is started too", edits: []edit{
		{engineProgress, "return proven, !n.wasOn && (node.Kind != plan.Passive || !node.Healthy) || n.up && !n.down", "return proven, n.up && !n.down"},
	}},
	{name: "a resume repeats what had settled", edits: []edit{
		{engineResume, "e.nodes[at].did(*rec.Verb)\n\t\te.nodes[at].open = nil\n", "e.nodes[at].did(*rec.Verb)\n"},
	}},
	{name: "limits are forgotten after a crash", edits: []edit{
		{engineProgress, "\t\t\tif !x.away {\n", "\t\t\tif !x.away && x.op != 0 {\n"},
	}},
	{name: "who gave its place back goes on without one", edits: []edit{
		{engineExec, "\tif x.away {\n", "\tif false {\n"},
	}},
	{name: "what may be at work gives its place back", edits: []edit{
		{enginePlace, "limit < 0 || x.heard {", "limit < 0 {"},
		{engineResume, "rec.Outcome == Unreached && !n.open.heard:", "rec.Outcome == Unreached:"},
	}},
	{name: "what nobody can reach keeps its place", by: "./test/dst TestSilentNodesHoldNobodyUp", edits: []edit{
		{enginePlace, "limit < 0 || x.heard {", "limit < 0 || x.heard || x.phase == commanding {"},
	}},
	{name: "what nobody can reach has its turn first", by: "./test/dst TestSilentNodesHoldNobodyUp", edits: []edit{
		{enginePlace, "\tif last {\n", "\tif last && e.run.goal == plan.Up {\n"},
	}},
	{name: "forced without a reason", edits: []edit{
		{engineLadder, "rung: plan.Force, cause: cause, reason: why,", "rung: plan.Force, cause: cause,"},
	}},
	{name: "A and B feeds treated as one", edits: []edit{
		{planEstate, "!slices.ContainsFunc(e.feeds[i], func(j int) bool { return !scope[j] })", "slices.ContainsFunc(e.feeds[i], func(j int) bool { return scope[j] })"},
	}},
	{name: "storage is stopped without its guard", edits: []edit{
		{engineGuard, "if x.verb != plan.Cut && x.verb != plan.Stop {\n", "if x.verb != plan.Cut && x.verb != plan.Stop || kind != plan.VM && kind != plan.Host && kind != plan.Supply {\n"},
	}},
	{name: "a host is stopped with VMs on it", edits: []edit{
		{engineGuard, "x.rung, x.reason = plan.Force, ", "x.reason = "},
	}},
	{name: "a stop is sent to what starts", edits: []edit{
		{engineExec, "return n.seen.State == plan.Starting && e.now.Before(n.exec.deadline)", "return false"},
	}},
	{name: "a start is sent to what stops", edits: []edit{
		{engineExec, "case plan.Start:\n\t\treturn n.seen.State == plan.Stopping", "case plan.Start:\n\t\treturn false"},
	}},
	{name: "VMs are stopped before caches are in write-through", edits: []edit{
		{planStep, "return b.step(i, Stop, n.Stage, withStep(after, protected)...)", "return b.step(i, Stop, n.Stage, after...)"},
	}},
	{name: "a step goes on when the first of those before it has ended", edits: []edit{
		{engineProgress, "if cascade && pr.left[next] == 0 &&", "if cascade &&"},
		{engineGuard, "case decl.Kind == plan.VM && taken:", "case decl.Kind == plan.VM:"},
	}},
	{name: "a failed step is shown as proven", edits: []edit{
		{engineExec, "e.record(Record{Kind: Failed, Node: decl.ID,", "e.record(Record{Kind: Proven, Node: decl.ID,"},
	}},
	{name: "a power-up on battery", edits: []edit{
		{engineSupply, "return s != nil && e.live(s) && (!s.failed || s.gate)", "return s != nil"},
	}},
	{name: "what a cache was set to is forgotten in a crash", edits: []edit{
		{engineResume, "e.nodes[i].snapshot(&ns)\n", "e.nodes[i].snapshot(&ns)\n\t\t\te.nodes[i].settings = \"\"\n"},
	}},
	{name: "what is put back by half counts as back", edits: []edit{
		{engineExec, "return n.seen.Protected == plan.No && n.setAsBefore()", "return n.seen.Protected == plan.No"},
	}},
	{name: "write-back before the gate", edits: []edit{
		{engineProgress, "return !e.journalLost && e.fed(s.Node) && e.poweredDeps(s.Node)", "return !e.journalLost && (s.Verb == plan.Unprotect || e.fed(s.Node) && e.poweredDeps(s.Node))"},
		{engineRun, "case !anyGate:", "case false && !anyGate:"},
	}},
	{name: "time is won by reordering", edits: []edit{
		{engineLadder, "if step.Verb == plan.Flush && !step.Milestone", "if step.Verb != plan.Cut && !step.Milestone"},
		{engineGuard, "\tdefault:\n\t\te.holdBack(i, \"not off,", "\tcase e.run.pressure != noPressure:\n\tdefault:\n\t\te.holdBack(i, \"not off,"},
	}},
	{name: "one lying probe is believed", edits: []edit{
		{engineEngine, "proofLooks   = 2 ", "proofLooks   = 1 "},
		{engineSee, "odd := (state == plan.On", "odd := false && (state == plan.On"},
	}},
	{name: "the point of no return is forgotten", edits: []edit{
		{engineRun, "case r.noReturn && !e.finishedDown()", "case false && !e.finishedDown()"},
	}},
	{name: "silence proves a node off that took no stop", edits: []edit{
		{engineSee, "!n.accepted || decl.OffAfter == 0", "decl.OffAfter == 0"},
	}},
	{name: "what keeps its power is stopped", edits: []edit{
		{engineProgress, "\treturn r.dark[s.Node]\n", "\treturn true\n"},
		{engineLadder, "return !e.run.dark[i] }", "return false }"},
	}},
	{name: "the command goes out before its intent", edits: []edit{
		{engineExec, "\te.record(Record{Kind: Intent, Op: x.op, Node: decl.ID, Verb: &verb, Attempt: x.attempt, State: e.unanswered(i), Reason: x.reason, Cause: x.cause})\n", "\tdefer e.record(Record{Kind: Intent, Op: x.op, Node: decl.ID, Verb: &verb, Attempt: x.attempt, State: e.unanswered(i), Reason: x.reason, Cause: x.cause})\n"},
	}},
	{name: "a crash forgets what was under way", edits: []edit{
		{engineResume, "if x == nil || n.exec != nil {", "if true {"},
	}},
	{name: "the reserve is spent", edits: []edit{
		{engineSupply, "case left.Value <= reserve:", "case left.Value <= 0:"},
		{engineSupply, "case e.estimated && left.Value <= reserve+e.estimate.Hosts.Seconds():", "case false:"},
	}},
	{name: "what matters more is forced first", edits: []edit{
		{engineLadder, "if e.run.pressure == noPressure && e.lowerRiskWaits(i) {", "if false && e.lowerRiskWaits(i) {"},
	}},
	{name: "what stands on a cluster is stopped before that is set aside", edits: []edit{
		{planStep, "if e.Node(i).Stage == \"shutdown\" {", "if e.Node(i).Stage == \"\" {"},
	}},
	{name: "a cluster is not put back", edits: []edit{
		{engineProgress, "return proven, n.cacheWas != plan.No && !blindly\n", "return proven, n.cacheWas != plan.No && !blindly || node.Kind == plan.Cluster\n"},
	}},
	{name: "what was set aside before the outage is put back", edits: []edit{
		{engineProgress, "return proven, n.cacheWas != plan.No && !blindly\n", "return proven, n.cacheWas == plan.NotKnown && !blindly\n"},
	}},
	{name: "an old look says what is to be put back", edits: []edit{
		{engineGuard, "if x.verb == plan.Unprotect {\n\t\te.guardPutBack(i)\n", "if x.verb == plan.Unprotect {\n\t\te.command(i)\n"},
	}},
	{name: "an outlet is switched off under its load", edits: []edit{
		{planStep, "after := slices.Concat(users, b.aside[i])\n", "after := slices.Concat(users, b.aside[i])\n\tif n.Kind == Outlet {\n\t\tafter = nil\n\t}\n"},
		{engineGuard, "if un.down {", "if un.down || decl.Kind == plan.Outlet {"},
	}},
	{name: "an output is cut before its outlets", edits: []edit{
		{planStep, "if i != except && b.in(i) && b.last[i] >= 0 {", "if i != except && b.in(i) && b.last[i] >= 0 && b.estate.Node(i).Kind != Outlet {"},
	}},
	{name: "what hangs on an outlet is started before it", edits: []edit{
		{planStep, "\t\t\tdefault:\n\t\t\t\tafter = append(after, b.last[j])\n", "\t\t\tcase e.Node(j).Kind != Outlet:\n\t\t\t\tafter = append(after, b.last[j])\n"},
		{engineGuard, "n.Can.Has(plan.Stop) && probed(n) && e.run.scope[d]", "n.Can.Has(plan.Stop) && n.Kind != plan.Outlet && probed(n) && e.run.scope[d]"},
	}},
	{name: "a cut that was not made counts as made", edits: []edit{
		{engineCycle, "if n.seen.Uncut && !s.offSeen && e.cutAgain(i) {", "if false && e.cutAgain(i) {"},
	}},
	{name: "two proofs that disagree are one", edits: []edit{
		{adapterPowered, "course := p.course\n", "course := p.course\n\tif err == nil && power.State == plan.On {\n\t\treturn seen, nil\n\t}\n"},
	}},
	{name: "what came back by itself is not shown as back", edits: []edit{
		{engineProgress, "\t\t\t\te.cameBack(s.Node)\n", ""},
	}},
	{name: "the runner commands before the record is durable", by: "./internal/runner TestIntentsAreDurableBeforeTheirCommands", edits: []edit{
		{runnerRunner, "\tlost := r.record(records)\n", ""},
		{runnerRunner, "\tif lost != nil {\n", "\tif lost := r.record(records); lost != nil {\n"},
	}},
	{name: "the runner starts things without a journal", by: "./internal/runner TestAJournalThatIsLostAndComesBack", edits: []edit{
		{runnerEffects, "case r.ledger.lost && (", "case false && ("},
		{engineProgress, "return !e.journalLost && e.fed", "return e.fed"},
		{engineRun, "case e.journalLost:", "case false:"},
	}},
	{name: "silence renews a proof", by: "./internal/engine TestStories", edits: []edit{
		{engineEngine, "guardRounds  = 3 ", "guardRounds  = 1 "},
	}},
	{name: "a stop that reached nobody counts after a crash", by: "./internal/engine TestStories", edits: []edit{
		{engineResume, "x.verb == plan.Stop && !x.blind", "x.verb == plan.Stop"},
	}},
}
