package dst_test

const (
	adapterPowered  = "internal/adapter/powered.go"
	engineBelief    = "internal/engine/belief.go"
	engineCondition = "internal/engine/condition.go"
	engineCorrect   = "internal/engine/correct.go"
	engineCycle     = "internal/engine/cycle.go"
	engineDrill     = "internal/engine/drill.go"
	engineEngine    = "internal/engine/engine.go"
	engineEvaluate  = "internal/engine/evaluate.go"
	engineFeed      = "internal/engine/feed.go"
	engineGuard     = "internal/engine/guard.go"
	engineLadder    = "internal/engine/ladder.go"
	engineLook      = "internal/engine/look.go"
	engineOutage    = "internal/engine/outage.go"
	enginePermit    = "internal/engine/permit.go"
	engineRefuse    = "internal/engine/refuse.go"
	engineStep      = "internal/engine/step.go"
	engineSupply    = "internal/engine/supply.go"
	engineTrigger   = "internal/engine/trigger.go"
	engineWant      = "internal/engine/want.go"
	engineWork      = "internal/engine/work.go"
	ledgerDrill     = "internal/ledger/drill.go"
	ledgerNode      = "internal/ledger/node.go"
	ledgerSupply    = "internal/ledger/supply.go"
	planEstate      = "internal/plan/estate.go"
	planStep        = "internal/plan/step.go"
	runnerEffects   = "internal/runner/effects.go"
	runnerRunner    = "internal/runner/runner.go"
)

// bugs are the seeded bugs, named by what they answer wrongly: a rule of the permit, a question of a belief, a change of the
// ledger, a want, a condition, a way of a step. Where a rule has a second line of defence, the bug takes both away: of a rule of
// the permit what comes before it is taken away as well, since a refusal alone is a violation.
var bugs = []bug{
	{name: "rule 1: storage is stopped while what uses it is on", edits: []edit{
		{enginePermit, "\treturn e.notProvenOff(i, e.usersOf(i), \"uses it\")\n", "\treturn \"\"\n"},
		{engineGuard, "\tcase doubtful:\n\t\te.holdBack(i, \"what uses it is not proven off\")", "\tcase doubtful && decl.Kind != plan.Other:\n\t\te.holdBack(i, \"what uses it is not proven off\")"},
		{engineGuard, "\tcase len(on) == 0:\n\tcase decl.Kind == plan.VM", "\tcase len(on) == 0, decl.Kind == plan.Other:\n\tcase decl.Kind == plan.VM"},
		{engineWant, "\t\treturn kind == plan.Host && worst == unproven", "\t\treturn kind == plan.Host && worst == unproven || kind == plan.Other"},
	}},
	{name: "rule 2: a host is stopped with VMs on it", edits: []edit{
		{enginePermit, "\t}), \"runs on it\")", "\t})[:0], \"runs on it\")"},
		{engineGuard, "\t\te.takeAlong(i, on)\n", ""},
	}},
	{name: "rule 3: an output is cut with what was given up on it", edits: []edit{
		{enginePermit, "\treturn e.notProvenOff(i, e.usersOf(i), \"hangs on it\")", "\treturn \"\""},
		{engineGuard, "\tcase len(on) == 0:\n\tcase decl.Kind == plan.VM", "\tcase len(on) == 0, w.verb == plan.Cut:\n\tcase decl.Kind == plan.VM"},
		{engineGuard, "\tcase doubtful:\n\t\te.holdBack(i, \"what uses it is not proven off\")", "\tcase doubtful && w.verb != plan.Cut:\n\t\te.holdBack(i, \"what uses it is not proven off\")"},
		{engineWant, "\tcase worst == pending || s.Verb != plan.Stop:\n\t\treturn false", "\tcase worst == pending || s.Verb != plan.Stop:\n\t\treturn worst != pending && s.Verb == plan.Cut"},
	}},
	{name: "rule 4: what was off is started too", edits: []edit{
		{enginePermit, "e.entry(i).Snap.On() {\n\t\treturn \"\"", "e.entry(i).Snap.Taken() {\n\t\treturn \"\""},
		{engineWant, "\tcase !e.entry(i).Snap.On():\n\t\treturn true\n", "\tcase !e.entry(i).Snap.Taken():\n\t\treturn true\n"},
	}},
	{name: "rule 5: the gate is not asked when something is started", edits: []edit{
		{enginePermit, "\tif !fed {\n\t\treturn \"none of its", "\tif !fed && rung == plan.Cut {\n\t\treturn \"none of its"},
		{engineCondition, "{ return c == mains || c == ready }", "{ return c == mains || c == ready || c == charging }"},
	}},
	{name: "rule 6: a stop is sent to what starts", edits: []edit{
		{enginePermit, "\tcase rung.TakesDown() && e.rises(i) && probed(e.estate.Node(i)):", "\tcase false:"},
		{engineStep, "(e.rises(i) || !e.looked(i) || e.mayHaveRisen(i) ||", "(!e.looked(i) || e.mayHaveRisen(i) ||"},
	}},
	{name: "rule 6: a start is sent to what stops", edits: []edit{
		{enginePermit, "\tcase rung == plan.Start && e.isStopping(i):", "\tcase false:"},
		{engineStep, "\t\treturn e.isStopping(i) || e.isLeaving(i) || !e.looked(i) || n.belief.doubt != plan.Unknown\n", "\t\treturn false\n"},
	}},
	{name: "rule 7: the command goes out before its intent", edits: []edit{
		{engineStep, "\te.out = append(e.out, do)\n", "\te.out = append(e.out[:len(e.out)-1:len(e.out)-1], do, e.out[len(e.out)-1])\n"},
	}},
	{name: "rule 9: who gave its place back goes on without one", edits: []edit{
		{enginePermit, "\tif !e.nodes[i].work.placed {", "\tif false {"},
		{engineStep, "\tcase !w.placed:\n", "\tcase false:\n"},
	}},
	{name: "rule 9: limits are forgotten after a crash", edits: []edit{
		{engineEngine, "\t\tw.placed = true\n\t\te.course.slots.Take(i)\n", "\t\tw.placed = true\n"},
	}},
	{name: "rule 10: a VM is stopped before its users", edits: []edit{
		{enginePermit, "\t\t\tif !e.isOff(u) && !o.Nodes[u].GivenUp.Has(plan.Stop) && !e.hasNoPower(u) {", "\t\t\tif !e.isOff(u) && o == nil {"},
		{engineGuard, "\tcase decl.Kind == plan.VM && guestsOnly:", "\tcase decl.Kind == plan.VM:"},
		{engineWant, "\tcase worst == pending || s.Verb != plan.Stop:\n", "\tcase worst == pending && kind != plan.VM || s.Verb != plan.Stop:\n"},
	}},
	{name: "rule 10: something is started before what it needs", edits: []edit{
		{enginePermit, "\t\t\tif !e.isOn(d) {\n\t\t\t\treturn \"it needs \"", "\t\t\tif false {\n\t\t\t\treturn \"it needs \""},
		{engineWant, "\tif worst := e.worst(id); worst != proven {\n\t\treturn Why{Code: whyBefore(worst), node: e.firstBefore(id, worst)}\n\t}\n\treturn Why{Code: NothingElse}\n}\n\n// unfedBy", "\treturn Why{Code: NothingElse}\n}\n\n// unfedBy"},
		{engineGuard, "\t\tif !e.isOn(d) || e.nodes[d].belief.answer != plan.On {", "\t\tif false {"},
	}},
	{name: "rule 12: VMs are stopped before caches are in write-through", edits: []edit{
		{enginePermit, "\t\treturn decl.Kind == plan.VM\n", "\t\treturn false\n"},
		{planStep, "return b.step(i, Stop, n.Stage, withStep(after, protected)...)", "return b.step(i, Stop, n.Stage, after...)"},
	}},
	{name: "rule 12: storage is stopped with dirty blocks", edits: []edit{
		{enginePermit, "Can.Has(plan.Flush) && !e.isClean(i) {", "Can.Has(plan.Flush) && false {"},
		{engineBelief, "\t\treturn e.isClean(i) && b.seen.Protected != plan.No", "\t\treturn b.seen.Protected != plan.No"},
	}},
	{name: "rule 12: what was set aside before the outage is put back", edits: []edit{
		{engineWant, "return n.IsChanged() && (n.Snap.CacheWas == plan.No || n.Snap.CacheWas == plan.NotKnown && e.nodes[i].belief.seen.Protected != plan.No)", "return n.changed()"},
	}},
	{name: "rule 17: A and B feeds are treated as one", edits: []edit{
		{planEstate, "!slices.ContainsFunc(e.feeds[i], func(j int) bool { return !scope[j] })", "slices.ContainsFunc(e.feeds[i], func(j int) bool { return scope[j] })"},
	}},
	{name: "rule 18: something is forced without a reason", edits: []edit{
		{engineLadder, "pace: pace{since: w.since}, force: force{cause, why}}", "pace: pace{since: w.since}, force: force{cause, \"\"}}"},
	}},
	{name: "rule 18: what matters more is forced first", edits: []edit{
		{engineLadder, "\t\treturn e.estate.Node(j).Risk < decl.Risk && e.nodes[j].belief.answer != plan.Off && e.goesWith(j, i)", "\t\treturn false && e.goesWith(j, i)"},
	}},
	{name: "rule 21: what keeps its power is stopped", edits: []edit{
		{enginePermit, "|| e.goesDown(i) || e.isHung(i) {\n\t\treturn \"\"\n\t}\n\treturn \"it keeps its power\"", "|| true {\n\t\treturn \"\"\n\t}\n\treturn \"it keeps its power\""},
		{enginePermit, "\tif !rung.TakesDown() || e.inDrill(i) || e.isHung(i) {", "\tif true {"},
		{engineWant, "\treturn o.Lost[i] || o.Drill.Phase == ledger.DrillDown", "\treturn o.Lost[i] || o.Scope[i] && e.committedSupply() >= 0 && len(e.estate.Feeds(i)) > 1 || o.Drill.Phase == ledger.DrillDown"},
		{engineWant, "\treturn o.Lost[s.Node] && o.Due[s.stage][s.Node]", "\treturn (o.Lost[s.Node] || len(e.estate.Feeds(s.Node)) > 1) && (o.Due[s.stage][s.Node] || len(e.estate.Feeds(s.Node)) > 1)"},
	}},
	{name: "rule 11: the reserve is spent on waiting", edits: []edit{
		{engineTrigger, "\tcase left.Value <= reserve:\n", "\tcase left.Value <= 0:\n"},
		{engineTrigger, "\tcase e.known && left.Value <= reserve+e.estimate.Hosts.Seconds():", "\tcase false:"},
	}},
	{name: "belief: one look proves a node off", edits: []edit{
		{engineEngine, "proofLooks   = 2 ", "proofLooks   = 1 "},
		{engineLook, "return state == plan.On || isDown(state) || state == plan.Stopping && e.ledger.SupplyOf[i] < 0", "return false"},
		{engineGuard, "w.guard.rounds <= guardRounds && e.inDoubt(u) ||", "false ||"},
	}},
	{name: "belief: silence proves a node off that took no stop", edits: []edit{
		{engineBelief, "|| !e.acceptedStop(i) || e.cutOff(i)", "|| e.cutOff(i)"},
	}},
	{name: "belief: silence proves a node off that may be booting", edits: []edit{
		{engineBelief, "e.rises(i) || e.now.Before(b.boots) || !e.accepted", "!e.accepted"},
		{engineBelief, "|| e.mayHaveCycled(i) || e.feedOf(i) == unfed\n", "\n"},
		{ledgerSupply, "n.Last.Taken, n.Lit, n.Snap.Past = false, max(n.Lit, PoweredAgain), true", "n.Lit, n.Snap.Past = max(n.Lit, PoweredAgain), true"},
	}},
	{name: "belief: silence behind a dark switch proves a node off", edits: []edit{
		{engineBelief, "|| e.cutOff(i) || e.mayHaveCycled(i) ||", "|| e.mayHaveCycled(i) ||"},
	}},
	{name: "belief: what was told to stop is on while it shows so", by: "./internal/engine TestAStopThatNobodyAnsweredMayArriveStill", edits: []edit{
		{engineBelief, "\treturn !e.isLeaving(i) && b.seen.State == plan.On", "\treturn b.seen.State == plan.On"},
	}},
	{name: "belief: a cluster that is being given back is set aside", by: "./test/dst TestRegressions", edits: []edit{
		{engineBelief, "return !released && (b.seen", "return (b.seen"},
		{engineBelief, "\treleased := w != nil && w.verb == plan.Unprotect && e.given(i)\n", "\t_ = w\n"},
	}},
	{name: "belief: a VM stays off while its host comes up", by: "./internal/engine TestAVMThatMayComeUpWithItsHostIsNotOff", edits: []edit{
		{engineBelief, "\tif decl.Kind == plan.VM && (e.mayHaveCome(i) || e.mayHaveCycled(i) && !e.hostIsOff(i)) {", "\tif false {"},
	}},
	{name: "belief: an old proof stands", edits: []edit{
		{engineEngine, "proofStands  = 15 * time.Second", "proofStands  = time.Hour"},
		{engineEngine, "proofAge     = 2 * time.Second", "proofAge     = time.Hour"},
	}},
	{name: "belief: a look from before the command proves it", by: "./internal/engine TestStories", edits: []edit{
		{engineBelief, "\tif b.look <= since {\n", "\tif false {\n"},
		{engineLook, "\tif question <= n.belief.epoch || e.asksAgain", "\tif e.asksAgain"},
		{engineBelief, "\treturn !e.isLeaving(i) && b.seen.State == plan.On", "\treturn b.seen.State == plan.On"},
		{engineBelief, "b.seen.State, b.answer, b.askedAt, b.answeredAt, b.looks, b.proof, b.epoch, b.doubt = plan.Unknown, plan.Unknown, time.Time{}, time.Time{}, 0, noProof, op, plan.Unknown", "b.epoch = op"},
		{engineBelief, "\t\tb.renew(op)\n", "\t\tb.epoch = op\n"},
	}},
	{name: "belief: a return of power leaves what was known", edits: []edit{
		{engineFeed, "\t\tif dark[i] {\n\t\t\te.renew(i)\n\t\t\trenewed", "\t\tif dark[i] {\n\t\t\trenewed"},
	}},
	{name: "belief: an accepted command is a proof", edits: []edit{
		{engineStep, "\t\tif e.holds(i, w.verb, e.last(i).Op) { // a watch", "\t\tif true { // a watch"},
	}},
	{name: "belief: what is put back by half is back", edits: []edit{
		{engineBelief, "b.seen.Protected == plan.No && e.setAsBefore(i)", "b.seen.Protected == plan.No"},
	}},
	{name: "belief: a host that came up says nothing of its VMs", by: "./internal/engine TestStories", edits: []edit{
		{engineLook, "\tcase kind == plan.Host:\n\t\te.renewGuests(i)\n", ""},
	}},
	{name: "ledger: a crash forgets what was under way", edits: []edit{
		{engineEngine, "\t\tif last.Open {\n", "\t\tif false {\n"},
	}},
	{name: "ledger: the point of no return is forgotten", edits: []edit{
		{ledgerSupply, "{ return s.IsOut() || s.Cycle != Uncut }", "{ return s.out }"},
	}},
	{name: "ledger: a supply that was cut stays cut for ever", edits: []edit{
		{ledgerSupply, "\t\t\t\ts.Cycle, s.Missed = Uncut, 0\n\t\t\t}\n\t\t\ts.Fails", "\t\t\t\ts.missed = 0\n\t\t\t}\n\t\t\ts.failed"},
	}},
	{name: "ledger: the snapshot is taken again", edits: []edit{
		{ledgerNode, "func (n *Node) take(ns *NodeState) {\n", "func (n *Node) take(ns *NodeState) {\n\tn.GivenUp = 0\n"},
		{engineOutage, "if entry := &o.Nodes[i]; o.Scope[i] && !entry.Snap.Taken() && probed", "if entry := &o.Nodes[i]; o.Scope[i] && probed"},
	}},
	{name: "ledger: what a cache was set to is forgotten", edits: []edit{
		{ledgerNode, "CacheWas: ns.Protected, Set: ns.Settings}", "cacheWas: ns.Protected}"},
	}},
	{name: "ledger: a failed step is on record as proven", edits: []edit{
		{engineStep, "failed := ledger.Record{Kind: ledger.Failed, Step: ledger.Step{Node: e.id(i), Verb", "failed := Record{Kind: Proven, Step: Step{Node: e.id(i), Verb"},
	}},
	{name: "ledger: a drill goes on when the mains fail", edits: []edit{
		{ledgerSupply, "\tl.Outage.Drill.leave()\n", ""},
	}},
	{name: "ledger: what was stopped by a drill is not brought back", edits: []edit{
		{ledgerDrill, "\t\to.Drill.In[i], o.Scope[i] = true, true\n", "\t\to.Drill.In[i] = true\n"},
	}},
	{name: "ledger: what came back by itself is not shown as back", edits: []edit{
		{engineCorrect, "\te.writeDown(i, ledger.Proven, plan.Start, \"it came back by itself\", ledger.Already)\n", ""},
	}},
	{name: "ledger: a cut that was not made counts as made", edits: []edit{
		{engineLook, "\tcase s.output.offSeen || e.standing(k).Cycle.IsDark():", "\tcase true:"},
	}},
	{name: "want: a cluster is not put back", edits: []edit{
		{engineWant, "\t\treturn !e.toPutBack(i)\n", "\t\treturn !e.toPutBack(i) || node.Kind == plan.Cluster\n"},
	}},
	{name: "want: a drill takes what others still need", edits: []edit{
		{engineDrill, "\tif why := e.needed(d.In); why != \"\" {", "\tif why := e.needed(d.In); why == \"never\" {"},
		{engineRefuse, "e.notSeen, e.needed}", "e.notSeen}"},
		{engineGuard, "\tcase len(on) == 0:\n\tcase decl.Kind == plan.VM", "\tcase len(on) == 0, e.inDrill(i):\n\tcase decl.Kind == plan.VM"},
		{enginePermit, "\tif !rung.TakesDown() || e.estate.Node(i).Kind != plan.Host {", "\tif !rung.TakesDown() || e.inDrill(i) || e.estate.Node(i).Kind != plan.Host {"},
	}},
	{name: "want: a step goes on when the first of those before it has ended", edits: []edit{
		{engineWant, "\t\tif st == pending {\n\t\t\tc.waitsAt[id] = at\n\t\t\treturn pending\n\t\t}\n", "\t\tif st == pending && len(before) == 1 {\n\t\t\tc.waitsAt[id] = at\n\t\t\treturn pending\n\t\t}\n"},
		{engineWant, "\t\tworst = max(worst, st)\n", "\t\tif st != pending {\n\t\t\tworst = max(worst, st)\n\t\t}\n"},
		{engineWant, "c.stands[base+before[at]] == pending {", "c.stands[base+before[at]] == pending && len(before) == 1 {"},
	}},
	{name: "want: what waits for its turn again is not woken", edits: []edit{
		{engineStep, "[]time.Time{n.pause, n.belief.falling}", "[]time.Time{n.belief.falling}"},
	}},
	{name: "condition: on line again counts at once", by: "./internal/engine TestStories", edits: []edit{
		{engineEngine, "returnAfter  = 5 * time.Second", "returnAfter  = 0 * time.Second"},
		{engineCondition, "\tcase s.OnlineFor < returnAfter:\n", "\tcase false:\n"},
	}},
	{name: "condition: a silent supply counts as on line", edits: []edit{
		{engineCondition, "\tcase s.SilentFor > 0:\n\t\treturn wentSilent\n", ""},
		{engineSupply, "!s.state.OutputOff && s.state.SilentFor == 0 && s.state.Mains == power.MainsOnline\n}", "!s.state.OutputOff && s.state.Mains == power.MainsOnline\n}"},
	}},
	{name: "condition: on battery counts as on line again", by: "./internal/engine TestStories", edits: []edit{
		{engineCondition, "saysBattery: onBattery,", "saysBattery: returning,"},
	}},
	{name: "work: a step that backs off does not look before it commands again", edits: []edit{
		{engineWork, "\t{backingOff, proving, \"the pause is over: it is looked at before it is told again\"},\n", ""},
	}},
	{name: "work: a step that ends keeps its place", edits: []edit{
		{engineStep, "\tif w.placed {\n\t\te.course.slots.Release(i)\n\t}\n", ""},
	}},
	{name: "guard: who did not answer is not asked again", by: "./internal/engine TestStories", edits: []edit{
		{engineEngine, "guardRounds  = 3 ", "guardRounds  = 0 "},
	}},
	{name: "guard: an old look says what is to be put back", by: "./internal/engine TestWhatIsToBePutBackIsLookedAt", edits: []edit{
		{engineGuard, "\t\tif e.isOld(i, proofAge) {\n\t\t\te.await(i, i)\n", "\t\tif false {\n\t\t\te.await(i, i)\n"},
	}},
	{name: "guard: a protection that a late command took off is not looked at", by: "./internal/engine TestStories", edits: []edit{
		{engineGuard, "\t\t\te.awaitLate(i)\n", ""},
	}},
	{name: "cycle: our own machine goes before another cut is seen to be made", by: "./internal/engine TestStories", edits: []edit{
		{engineGuard, "(e.mayBeMade(i) || e.mayBeDeaf(i))", "e.mayBeMade(i)"},
	}},
	{name: "cycle: what may be booting proves a cut that nobody saw", by: "./test/dst TestFoundWorlds", edits: []edit{
		{engineCycle, "!slices.ContainsFunc(e.cycledBy(i), e.showsUp)", "len(e.cycledBy(i)) == 0"},
	}},
	{name: "outlet: it is switched off under its load", edits: []edit{
		{planStep, "after := slices.Concat(users, b.aside[i])\n", "after := slices.Concat(users, b.aside[i])\n\tif n.Kind == Outlet {\n\t\tafter = nil\n\t}\n"},
		{enginePermit, "\treturn e.notProvenOff(i, e.usersOf(i), \"uses it\")\n", "\tif decl.Kind == plan.Outlet {\n\t\treturn \"\"\n\t}\n\treturn e.notProvenOff(i, e.usersOf(i), \"uses it\")\n"},
		{engineGuard, "\tcase len(on) == 0:\n\tcase decl.Kind == plan.VM", "\tcase len(on) == 0, decl.Kind == plan.Outlet:\n\tcase decl.Kind == plan.VM"},
	}},
	{name: "outlet: an output is cut before its outlets", edits: []edit{
		{planStep, "if i != except && b.in(i) && b.last[i] >= 0 {", "if i != except && b.in(i) && b.last[i] >= 0 && b.estate.Node(i).Kind != Outlet {"},
	}},
	{name: "adapter: two proofs that disagree are one", edits: []edit{
		{adapterPowered, "course := p.course\n", "course := p.course\n\tif err == nil && power.State == plan.On {\n\t\treturn seen, nil\n\t}\n"},
	}},
	{name: "runner: it commands before the record is durable", by: "./internal/runner TestIntentsAreDurableBeforeTheirCommands", edits: []edit{
		{runnerRunner, "\tlost := r.record(records)\n", ""},
		{runnerRunner, "\tif lost != nil {\n", "\tif lost := r.record(records); lost != nil {\n"},
	}},
	{name: "runner: things are started without a journal", by: "./internal/runner TestAJournalThatIsLostAndComesBack", edits: []edit{
		{runnerEffects, "case r.appender.lost && (", "case false && ("},
		{enginePermit, "\tif rung.BringsUp() && e.journalLost {", "\tif false {"},
		{engineWant, "\tcase e.journalLost:\n\t\treturn Why{Code: NoJournal}\n", ""},
		{engineGuard, "(!e.fed[i] || e.journalLost)", "!e.fed[i]"},
		{engineStep, "(!e.fed[i] || e.journalLost)", "!e.fed[i]"},
	}},
	{name: "place: what nobody can reach keeps its place", by: "./test/dst TestSilentNodesHoldNobodyUp", edits: []edit{
		{engineStep, "limit < 0 || e.last(i).Earlier != ledger.NotReached || !w.placed {", "true || limit < 0 || e.last(i).Earlier != ledger.NotReached || !w.placed {"},
	}},
	{name: "place: what nobody can reach has its turn first", by: "./test/dst TestSilentNodesHoldNobodyUp", edits: []edit{
		{engineEvaluate, "\t\tlast = last || probed(e.estate.Node(s.Node))", "\t\tlast = false && probed(e.estate.Node(s.Node))"},
	}},
	{name: "place: what may be at work gives its place back", edits: []edit{
		{engineStep, "limit < 0 || e.last(i).Earlier != ledger.NotReached || !w.placed {", "limit < 0 || !w.placed {"},
	}},
}
