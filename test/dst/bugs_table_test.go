package dst_test

const (
	beliefSilence     = "internal/belief/silence.go"
	beliefSnapshot    = "internal/belief/snapshot.go"
	workProof         = "internal/work/proof.go"
	workCycle         = "internal/work/cycle.go"
	workTogether      = "internal/work/together.go"
	engineSupply      = "internal/engine/supply.go"
	beliefFeed        = "internal/belief/feed.go"
	workDesk          = "internal/work/desk.go"
	workWorks         = "internal/work/works.go"
	workWork          = "internal/work/work.go"
	workEpoch         = "internal/work/epoch.go"
	workHaste         = "internal/work/haste.go"
	workLadder        = "internal/work/ladder.go"
	workResume        = "internal/work/resume.go"
	engineItself      = "internal/engine/engine.go"
	workStep          = "internal/work/step.go"
	workGuard         = "internal/work/guard.go"
	workPass          = "internal/work/pass.go"
	foresightPressure = "internal/foresight/pressure.go"
	foresightSure     = "internal/foresight/sure.go"
	powerSlip         = "internal/power/slip.go"
	beliefBelieve     = "internal/belief/believe.go"
	adapterPowered    = "internal/adapter/wake/powered.go"
	beliefBelief      = "internal/belief/belief.go"
	beliefQuestions   = "internal/belief/questions.go"
	beliefCondition   = "internal/belief/condition.go"
	beliefEstate      = "internal/belief/estate.go"
	beliefGoal        = "internal/belief/goal.go"
	beliefGraph       = "internal/belief/graph.go"
	beliefSupply      = "internal/belief/supply.go"
	engineCorrect     = "internal/engine/correct.go"
	engineDrill       = "internal/engine/drill.go"
	engineRelease     = "internal/engine/release.go"
	engineLook        = "internal/engine/look.go"
	engineOutage      = "internal/engine/outage.go"
	powerCharge       = "internal/power/charge.go"
	engineSurvey      = "internal/engine/survey.go"
	engineRefuse      = "internal/engine/refuse.go"
	ledgerCommand     = "internal/ledger/command.go"
	ledgerDrill       = "internal/ledger/drill.go"
	ledgerNode        = "internal/ledger/node.go"
	ledgerSupply      = "internal/ledger/supply.go"
	permitPermit      = "internal/permit/permit.go"
	planEstate        = "internal/plan/estate.go"
	planStep          = "internal/plan/step.go"
	powerTracker      = "internal/power/tracker.go"
	runnerEffects     = "internal/runner/effects.go"
	runnerRunner      = "internal/runner/runner.go"
	wantCourse        = "internal/want/course.go"
	wantWant          = "internal/want/want.go"
	wantUp            = "internal/want/up.go"
)

// bugs are the seeded bugs, named by what they answer wrongly: a rule of the permit, a question of a belief, a change of the
// ledger, a want, a condition, a way of a step. Where a rule has a second line of defence, the bug takes both away: of a rule of
// the permit what comes before it is taken away as well, since a refusal alone is a violation.
var bugs = []bug{
	{name: "rule 1: storage is stopped while what uses it is on", edits: []edit{
		{permitPermit, "\treturn notProvenOff(e, c, slices.DeleteFunc(slices.Clone(e.UsersOf(c.Node)), func(u int) bool { return c.passesOver(e, u) }), \"uses it\")\n", "\treturn \"\"\n"},
		{workPass, "\tcase doubtful:\n\t\te.doubts(i)", "\tcase doubtful && e.Graph.Node(i).Kind != plan.Other:\n\t\te.doubts(i)"},
		{workPass, "(len(on) == 0 || kind == plan.VM && guestsOnly):", "(len(on) == 0 || kind == plan.Other || kind == plan.VM && guestsOnly):"},
		{wantWant, "\t\treturn kind == plan.Host && worst == Unproven", "\t\treturn kind == plan.Other || kind == plan.Host && worst == Unproven"},
	}},
	{name: "rule 2: a host is stopped with VMs on it", edits: []edit{
		{permitPermit, "\t}), \"runs on it\")", "\t})[:0], \"runs on it\")"},
		{workPass, "\t\te.takeAlong(i, on)\n", ""},
	}},
	{name: "rule 3: an output is cut with what was given up on it", edits: []edit{
		{permitPermit, "\treturn notProvenOff(e, c, e.UsersOf(c.Node), \"is fed by it\")", "\treturn \"\""},
		{workPass, "(len(on) == 0 || kind == plan.VM && guestsOnly):", "(len(on) == 0 || w.verb == plan.Cut || kind == plan.VM && guestsOnly):"},
		{workPass, "\tcase doubtful:\n\t\te.doubts(i)", "\tcase doubtful && w.verb != plan.Cut:\n\t\te.doubts(i)"},
		{wantWant, "\tcase worst == Pending || s.Verb != plan.Stop:\n\t\treturn false", "\tcase worst == Pending || s.Verb != plan.Stop:\n\t\treturn worst != Pending && s.Verb == plan.Cut"},
	}},
	{name: "rule 4: what was off is started too", edits: []edit{
		{permitPermit, "e.Entry(c.Node).Snap.On() {\n\t\treturn \"\"", "e.Entry(c.Node).Snap.Taken() {\n\t\treturn \"\""},
		{wantUp, "\tcase !e.Entry(i).Snap.On():\n\t\treturn true\n", "\tcase !e.Entry(i).Snap.Taken():\n\t\treturn true\n"},
	}},
	{name: "rule 5: the gate is not asked when something is started", edits: []edit{
		{permitPermit, "\tif !fed {\n\t\treturn \"none of its", "\tif !fed && len(feeds) < 0 {\n\t\treturn \"none of its"},
		{beliefCondition, "{ return c == Mains || c == Ready }", "{ return c == Mains || c == Ready || c == Charging }"},
	}},
	{name: "rule 6: a stop is sent to what starts", edits: []edit{
		{permitPermit, "\tcase c.Rung.TakesDown() && e.Rises(c.Node) && belief.Probed(e.Graph.Node(c.Node)) && !c.CutsShort(e):", "\tcase false:"},
		{workStep, "\t\trises = !e.leaving(i).CutsShort(&e.Estate)\n", "\t\trises = e.MayHaveRisen(i)\n"},
	}},
	{name: "rule 6: a start is sent to what stops", edits: []edit{
		{permitPermit, "\tcase c.Rung == plan.Start && e.IsStopping(c.Node):", "\tcase false:"},
		{workStep, "\t\treturn e.IsStopping(i) || e.IsLeaving(i) || !e.Looked(i) || e.Beliefs[i].Doubt != plan.Unknown\n", "\t\treturn false\n"},
	}},
	{name: "rule 7: the command goes out before its intent", edits: []edit{
		{workStep, "\te.Out = append(e.Out, do)\n", "\te.Out = append(e.Out[:len(e.Out)-1:len(e.Out)-1], do, e.Out[len(e.Out)-1])\n"},
	}},
	{name: "rule 9: who gave its place back goes on without one", edits: []edit{
		{permitPermit, "\tif !c.Placed {", "\tif false {"},
		{workStep, "\tcase !w.placed:\n", "\tcase false:\n"},
	}},
	{name: "rule 9: limits are forgotten after a crash", edits: []edit{
		{workResume, "\t\tw.placed = true\n\t\te.Course.Slots.Take(i)\n", "\t\tw.placed = true\n"},
	}},
	{name: "rule 10: a VM is stopped before its users", edits: []edit{
		{permitPermit, "\t\t\tif !e.IsOff(u) && !o.Nodes[u].GivenUp.Has(plan.Stop) && !e.HasNoPower(u) {", "\t\t\tif !e.IsOff(u) && o == nil {"},
		{workPass, "kind == plan.VM && guestsOnly):", "kind == plan.VM):"},
		{wantWant, "\tcase worst == Pending || s.Verb != plan.Stop:\n", "\tcase worst == Pending && kind != plan.VM || s.Verb != plan.Stop:\n"},
	}},
	{name: "rule 10: something is started before what it needs", edits: []edit{
		{permitPermit, "\t\t\tif !e.IsOn(d) {\n\t\t\t\treturn \"it needs \"", "\t\t\tif false {\n\t\t\t\treturn \"it needs \""},
		{wantUp, "\tif worst := e.Worst(id); worst != Proven {\n\t\treturn Why{Code: whyBefore(worst), Node: e.firstBefore(id, worst), step: id + 1}\n\t}\n", ""},
		{workPass, "\t\tif !e.IsOn(d) || e.Beliefs[d].Answer != plan.On || e.fallsSoon(d) {", "\t\tif false {"},
	}},
	{name: "rule 12: VMs are stopped before caches are in write-through", edits: []edit{
		{beliefGraph, "\t\treturn decl.Kind == plan.VM\n", "\t\treturn false\n"},
		{planStep, "return b.step(i, Stop, n.Stage, withStep(after, protected)...)", "return b.step(i, Stop, n.Stage, after...)"},
	}},
	{name: "rule 12: storage is stopped with dirty blocks", edits: []edit{
		{permitPermit, "Can.Has(plan.Flush) && !e.IsClean(c.Node) && !c.leavesDirty(e, c.Node) {", "Can.Has(plan.Flush) && false {"},
		{beliefQuestions, "\t\treturn e.IsClean(i) && b.Seen.Protected != plan.No", "\t\treturn b.Seen.Protected != plan.No"},
	}},
	{name: "rule 12: what was suspended before the outage is put back", edits: []edit{
		{beliefGoal, "return n.IsChanged() && (n.Snap.CacheWas == plan.No || n.Snap.CacheWas == plan.NotKnown && e.Beliefs[i].Seen.Protected != plan.No)", "return n.Protection != ledger.PutBack"},
		{permitPermit, "if c.Rung == plan.Unprotect && !e.Entry(c.Node).IsChanged() {", "if false {"},
	}},
	{name: "rule 17: A and B feeds are treated as one", edits: []edit{
		{planEstate, "!slices.ContainsFunc(e.feeds[i], func(j int) bool { return !scope[j] })", "slices.ContainsFunc(e.feeds[i], func(j int) bool { return scope[j] })"},
	}},
	{name: "rule 18: something is forced without a reason", edits: []edit{
		{workLadder, "pace: pace{since: w.since}, force: force{cause, why},", "pace: pace{since: w.since}, force: force{cause, \"\"},"},
	}},
	{name: "rule 18: what matters more is forced first", edits: []edit{
		{beliefGraph, "return e.Graph.Node(j).Risk < decl.Risk && isWaitedFor && e.GoesWith(j, i)", "return false && isWaitedFor && e.GoesWith(j, i)"},
	}},
	{name: "rule 21: what keeps its power is stopped", edits: []edit{
		{permitPermit, "|| e.GoesDown(c.Node) || isHung(e, c) {\n\t\treturn \"\"\n\t}\n\treturn \"it keeps its power\"", "|| true {\n\t\treturn \"\"\n\t}\n\treturn \"it keeps its power\""},
		{permitPermit, "\tif !c.Rung.TakesDown() || e.InDrill(c.Node) || isHung(e, c) {", "\tif true {"},
		{beliefGoal, "\treturn o.Lost[i] || o.Drill.Phase == ledger.DrillDown", "\treturn o.Lost[i] || o.Scope[i] && e.CommittedSupply() >= 0 && len(e.Graph.Feeds(i)) > 1 || o.Drill.Phase == ledger.DrillDown"},
		{wantWant, "\treturn o.Lost[s.Node] && o.Due[s.stage][s.Node]", "\treturn (o.Lost[s.Node] || len(e.Graph.Feeds(s.Node)) > 1) && (o.Due[s.stage][s.Node] || len(e.Graph.Feeds(s.Node)) > 1)"},
	}},
	{name: "rule 11: the reserve is spent on waiting", edits: []edit{
		{workHaste, "short := decl.Kind == plan.VM && e.Press[i] >= want.ForceVMs ||", "short :="},
	}},
	{name: "belief: one look proves a node off", edits: []edit{
		{beliefEstate, "ProofLooks    = 2 ", "ProofLooks    = 1 "},
		{beliefQuestions, "return state == plan.On || IsDown(state) || state == plan.Stopping && e.Ledger.SupplyOf[i] < 0", "return false"},
		{workGuard, "w.guard.rounds <= guardRounds && e.InDoubt(u) ||", "false ||"},
	}},
	{name: "belief: silence proves a node off that took no stop", edits: []edit{
		{beliefSilence, "|| !e.AcceptedStop(i) ||", "||"},
	}},
	{name: "belief: silence proves a node off that may be booting", edits: []edit{
		{beliefSilence, "e.Rises(i) || e.Now.Before(b.UpUntil()) || !e.Accepted", "b == nil || !e.Accepted"},
		{beliefSilence, "|| e.MayHaveCycled(i) || e.feedOf(i) == unfed\n", "\n"},
		{ledgerSupply, "n.Last.Taken, n.Lit, n.Snap.Past = n.Last.Taken && !comes && l.estate.HostOf(i) < 0, max(n.Lit, PoweredAgain), true", "n.Lit, n.Snap.Past = max(n.Lit, PoweredAgain), true"},
	}},
	{name: "belief: silence behind a dark switch proves a node off", edits: []edit{
		{beliefSilence, "until := e.wayKnown(i, asked)", "until := asked"},
	}},
	{name: "belief: what was told to stop is on while it shows so", by: "./internal/engine TestAStopThatNobodyAnsweredMayArriveStill", edits: []edit{
		{beliefQuestions, "\treturn !e.IsLeaving(i) && !b.SeenAt.Before(later(b.Falling, b.Obeying)) && b.Seen.State == plan.On", "\treturn b.Seen.State == plan.On"},
	}},
	{name: "belief: a cluster that is being given back is suspended", by: "./internal/engine TestStories", edits: []edit{
		{beliefQuestions, "return !e.isUnderWay(i, plan.Unprotect) && (b.Seen", "return (b.Seen"},
		{wantWant, " && (s.Verb != plan.Protect || !e.LateMayCome(i))", ""},
	}},
	{name: "belief: a VM stays off while its host comes up", by: "./internal/engine TestAVMThatMayComeUpWithItsHostIsNotOff", edits: []edit{
		{beliefSilence, "\tif e.mayHaveComeWithHost(i) {", "\tif false {"},
	}},
	{name: "belief: an old proof stands", edits: []edit{
		{beliefEstate, "ProofStands   = 15 * time.Second", "ProofStands   = time.Hour"},
		{beliefEstate, "ProofAge      = 2 * time.Second", "ProofAge      = time.Hour"},
	}},
	{name: "belief: a look from before the command proves it", by: "./internal/engine TestStories", edits: []edit{
		{beliefQuestions, "\tif b.Look <= since {\n", "\tif false {\n"},
		{engineLook, "if isPast || e.asksAgain", "if isPast && false || e.asksAgain"},
		{beliefQuestions, "\treturn !e.IsLeaving(i) && !b.SeenAt.Before(later(b.Falling, b.Obeying)) && b.Seen.State == plan.On", "\treturn b.Seen.State == plan.On"},
		{beliefBelief, "b.Seen.State, b.Answer, b.Doubt = plan.Unknown, plan.Unknown, plan.Unknown\n\t\tb.AskedAt, b.answeredAt, b.Looks, b.Proof, b.Epoch = time.Time{}, time.Time{}, 0, NoProof, op", "b.Epoch = op"},
		{beliefBelief, "\t\tb.Renew(op)\n", "\t\tb.Epoch = op\n"},
	}},
	{name: "belief: a return of power leaves what was known", edits: []edit{
		{workEpoch, "\t\tif dark[i] {\n\t\t\te.renew(i)\n\t\t\te.voidStart(i)\n\t\t\trenewed", "\t\tif dark[i] {\n\t\t\trenewed"},
	}},
	{name: "belief: an accepted command is a proof", by: "./internal/engine TestAStopThatWasTakenAndNotObeyedProvesNothing", edits: []edit{
		{workStep, "\t\tif e.Holds(i, w.verb, e.Last(i).Op) { // a watch", "\t\tif true { // a watch"},
	}},
	{name: "belief: what is put back by half is back", edits: []edit{
		{beliefQuestions, "b.Seen.Protected == plan.No && e.setAsBefore(i)", "b.Seen.Protected == plan.No"},
	}},
	{name: "belief: a host that came up says nothing of its VMs", by: "./internal/engine TestStories", edits: []edit{
		{workEpoch, "\tcase plan.Host, plan.Other:\n\t\te.RenewGuests(i, was == plan.Off)\n", ""},
	}},
	{name: "ledger: a crash forgets what was under way", edits: []edit{
		{workResume, "\t\tif entry.Last.Open {\n", "\t\tif false {\n"},
	}},
	{name: "ledger: the point of no return is forgotten", edits: []edit{
		{ledgerSupply, "{ return s.IsOut() || s.Cycle != Uncut }", "{ return s.IsOut() }"},
	}},
	{name: "ledger: a supply that was cut stays cut for ever", edits: []edit{
		{ledgerSupply, "\t\t\t\ts.Cycle, s.Missed = Uncut, 0\n\t\t\t}\n\t\t\ts.Fails", "\t\t\t\ts.Missed = 0\n\t\t\t}\n\t\t\ts.Fails"},
	}},
	{name: "ledger: the snapshot is taken again", edits: []edit{
		{ledgerNode, "func (n *Node) take(ns *NodeState) {\n", "func (n *Node) take(ns *NodeState) {\n\tn.GivenUp = 0\n"},
		{engineSurvey, "if entry := &o.Nodes[i]; o.Scope[i] && !entry.Snap.Taken() && belief.Probed", "if entry := &o.Nodes[i]; entry != nil && o.Scope[i] && belief.Probed"},
	}},
	{name: "ledger: what a cache was set to is forgotten", edits: []edit{
		{ledgerNode, "CacheWas: ns.Protected, Set: ns.Settings}", "CacheWas: ns.Protected}"},
	}},
	{name: "ledger: a failed step is on record as proven", edits: []edit{
		{workProof, "failed := ledger.Record{\n\t\tKind: ledger.Failed,", "failed := ledger.Record{\n\t\tKind: ledger.Proven,"},
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
		{engineLook, "\tcase s.Output.OffSeen || e.Standing(k).Cycle.IsDark():", "\tcase true:"},
	}},
	{name: "want: a cluster is not put back", edits: []edit{
		{wantUp, "\t\treturn !e.ToPutBack(i)\n", "\t\treturn !e.ToPutBack(i) || node.Kind == plan.Cluster\n"},
	}},
	{name: "want: a drill takes what others still need", edits: []edit{
		{engineDrill, "\tif why := e.needed(d.In); why != \"\" {", "\tif why := e.needed(d.In); why == \"never\" {"},
		{engineRefuse, "e.notSeen, e.needed}", "e.notSeen}"},
		{workPass, "(len(on) == 0 || kind == plan.VM && guestsOnly):", "(len(on) == 0 || e.InDrill(i) || kind == plan.VM && guestsOnly):"},
		{permitPermit, "\tif !c.Rung.TakesDown() || e.Graph.Node(c.Node).Kind != plan.Host {", "\tif !c.Rung.TakesDown() || e.InDrill(c.Node) || e.Graph.Node(c.Node).Kind != plan.Host {"},
	}},
	{name: "want: a step goes on when the first of those before it has ended", edits: []edit{
		{wantWant, "\t\tif st == Pending {\n\t\t\tc.WaitsAt[id] = at\n\t\t\treturn Pending\n\t\t}\n", "\t\tif st == Pending && len(before) == 1 {\n\t\t\tc.WaitsAt[id] = at\n\t\t\treturn Pending\n\t\t}\n"},
		{wantWant, "\t\tworst = max(worst, st)\n", "\t\tif st != Pending {\n\t\t\tworst = max(worst, st)\n\t\t}\n"},
		{wantWant, "c.Stands[base+before[at]] == Pending {", "c.Stands[base+before[at]] == Pending && len(before) == 1 {"},
	}},
	{name: "want: what waits for its turn again is not woken", by: "./test/dst TestRegressions/what-waits-for-its-turn-again-is-woken", edits: []edit{
		{workProof, "[]time.Time{e.Pause[i], e.Beliefs[i].Falling, e.Beliefs[i].Obeying, e.Beliefs[i].Undoing}", "[]time.Time{e.Beliefs[i].Falling, e.Beliefs[i].Obeying, e.Beliefs[i].Undoing}"},
	}},
	{name: "condition: on line again counts at once", by: "./internal/engine TestStories", edits: []edit{
		{powerTracker, "ReturnAfter = 5 * time.Second", "ReturnAfter = 0 * time.Second"},
		{beliefCondition, "\tcase s.OnlineFor < power.ReturnAfter:\n", "\tcase false:\n"},
	}},
	{name: "condition: a silent supply counts as on line", edits: []edit{
		{beliefCondition, "\tcase s.SilentFor > 0:\n\t\treturn WentSilent\n", ""},
		{beliefSupply, "!s.State.OutputOff && s.State.SilentFor == 0 && s.State.Mains == power.MainsOnline\n}", "!s.State.OutputOff && s.State.Mains == power.MainsOnline\n}"},
	}},
	{name: "condition: on battery counts as on line again", by: "./internal/engine TestStories", edits: []edit{
		{beliefCondition, "SaysBattery: OnBattery,", "SaysBattery: Returning,"},
	}},
	{name: "work: a step that backs off does not look before it commands again", edits: []edit{
		{workWork, "\t{backingOff, proving, \"the pause is over: it is looked at before it is told again\"},\n", ""},
	}},
	{name: "work: a step that ends keeps its place", edits: []edit{
		{workProof, "\tif w.placed {\n\t\te.Course.Slots.Release(i)\n\t}\n", ""},
	}},
	{name: "guard: who did not answer is not asked again", by: "./internal/engine TestStories", edits: []edit{
		{workWorks, "guardRounds  = 3 ", "guardRounds  = 1 "},
	}},
	{name: "guard: an old look says what is to be put back", by: "./internal/engine TestWhatIsToBePutBackIsLookedAt", edits: []edit{
		{workGuard, "\tcase plan.Unprotect:\n\t\treturn e.IsOld(i, age)\n", "\tcase plan.Unprotect:\n\t\treturn false\n"},
	}},
	{name: "guard: a protection that a late command took off is not looked at", by: "./internal/engine TestStories", edits: []edit{
		{workGuard, "\t\t\te.awaitLate(i)\n", ""},
	}},
	{name: "cycle: our own machine goes before another cut is seen to be made", by: "./internal/engine TestStories", edits: []edit{
		{workCycle, "\tcase e.mayBeDeaf(i):", "\tcase false:"},
	}},
	{name: "charge: a gauge in steps is never measured by its fall", by: "./internal/power TestScripts", edits: []edit{
		{powerCharge, "b.stepped, b.anchor, b.burnt = true, charge, 0", "b.anchor, b.burnt = charge, 0"},
	}},
	{name: "supply: blinks of the mains do not count together", by: "./internal/engine TestStories", edits: []edit{
		{engineOutage, "e.watch[k].rest()", "e.watch[k].forget()"},
	}},
	{name: "work: a start that is refused keeps its place", by: "./internal/engine TestStories", edits: []edit{
		{workStep, "e.releaseSlot(i, ledger.InVain)", "_ = ledger.InVain"},
	}},
	{name: "cycle: what may be booting proves a cut that nobody saw", by: "./internal/engine TestStories", edits: []edit{
		{workCycle, "!slices.ContainsFunc(e.CycledBy(i), e.ShowsUp)", "len(e.CycledBy(i)) == 0"},
	}},
	{name: "outlet: it is switched off under its load", edits: []edit{
		{planStep, "after := slices.Concat(users, b.protects[i])\n", "after := slices.Concat(users, b.protects[i])\n\tif n.Kind == Outlet {\n\t\tafter = nil\n\t}\n"},
		{permitPermit, "\treturn notProvenOff(e, c, slices.DeleteFunc(slices.Clone(e.UsersOf(c.Node)), func(u int) bool { return c.passesOver(e, u) }), \"uses it\")\n", "\tif decl.Kind == plan.Outlet {\n\t\treturn \"\"\n\t}\n\treturn notProvenOff(e, c, e.UsersOf(c.Node), \"uses it\")\n"},
		{workPass, "(len(on) == 0 || kind == plan.VM && guestsOnly):", "(len(on) == 0 || kind == plan.Outlet || kind == plan.VM && guestsOnly):"},
	}},
	{name: "outlet: an output is cut before its outlets", edits: []edit{
		{planStep, "if i != except && b.in(i) && b.last[i] >= 0 {", "if i != except && b.in(i) && b.last[i] >= 0 && b.estate.Node(i).Kind != Outlet {"},
		{workGuard, "\tcase w.verb == plan.Cut && e.outletsFirst(i):", "\tcase w.verb == plan.Cut && e.outletsFirst(i) && false:"},
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
		{permitPermit, "\tif c.Rung.BringsUp() && c.Unsafe {", "\tif false {"},
		{wantUp, "\tcase e.JournalLost:\n\t\treturn Why{Code: NoJournal}\n", ""},
		{workPass, "(!e.Fed[i] || e.JournalLost)", "!e.Fed[i]"},
		{workStep, "(!e.Fed[i] || e.JournalLost)", "!e.Fed[i]"},
	}},
	{name: "sure: one word of a UPS is enough", by: "./internal/foresight TestSure", edits: []edit{
		{foresightSure, "s.words >= sureWords && s.read.Sub(s.began) >= sureAfter", "s.words >= 1"},
	}},
	{name: "slip: what lasts is made of one word", by: "./internal/power TestASuddenDropIsNotBelieved", edits: []edit{
		{powerSlip, "if s.words > 0 && fellFar(s.last, is, in) {", "if false && fellFar(s.last, is, in) {"},
	}},
	{name: "place: what nobody can reach keeps its place", by: "./test/dst TestSilentNodesHoldNobodyUp", edits: []edit{
		{workStep, "limit < 0 || e.Last(i).Earlier > earlier || !w.placed {", "true || limit < 0 || e.Last(i).Earlier > earlier || !w.placed {"},
	}},
	{name: "place: what nobody can reach has its turn first", by: "./test/dst TestSilentNodesHoldNobodyUp", edits: []edit{
		{wantCourse, "\t\tlast = last || belief.Probed(e.Graph.Node(s.Node))", "\t\tlast = false && belief.Probed(e.Graph.Node(s.Node))"},
	}},
	{name: "place: what may be at work gives its place back", edits: []edit{
		{workStep, "limit < 0 || e.Last(i).Earlier > earlier || !w.placed {", "limit < 0 || !w.placed {"},
	}},
	{name: "stop: a crash forgets that what took it was seen to come up", by: "./test/dst TestRegressions/guest-of-a-host-that-came-again-unproven", edits: []edit{
		{beliefSilence, "isOn || e.HasReturned(i)", "isOn"},
	}},
	{name: "stop: a crash forgets the one look that showed it on with its power", by: "./test/dst TestRegressions/one-look-of-a-host-that-a-crash-forgot", edits: []edit{
		{beliefSilence, "(isOn || e.HasReturned(i))", "(isOn || e.HasReturned(i) && (b.Answer == plan.On || b.Answer == plan.Starting))"},
	}},
	{name: "stop: doubt of what uses it begins its time anew", by: "./test/dst TestRegressions/refused-stop-beside-slower-looks", edits: []edit{
		{workPass, "if w := e.nodes[i].work; !w.deadline.IsZero() && (w.rung == plan.Stop || e.wasSent(i)) {", "if w := e.nodes[i].work; false && w.rung == plan.Stop {"},
	}},
	{name: "guest: a host that came again unproven says nothing of what runs on it", by: "./test/dst TestRegressions/guest-of-a-host-that-came-again-unproven", edits: []edit{
		{engineOutage, "\te.saw(i, e.Beliefs[i].Seen.State, ledger.CameAgain)\n\te.RenewGuests(i, true)\n", "\te.saw(i, e.Beliefs[i].Seen.State, \"\")\n"},
	}},
	{name: "resume: a vm whose start was lost keeps its storage on for as long as it may boot", by: "./test/dst TestStorageIsStopped/a-start-is-lost-with-ebbtide", edits: []edit{
		{workResume, "return min(boots, shownWithin)", "return boots"},
		{workLadder, "soon.Before(b.Rising)", "false"},
	}},
	{name: "silence: a service that answers voids the proof of the host that it is asked on", by: "./internal/cli TestScripts", edits: []edit{
		{beliefSilence, "\t\treturn e.hosts\n\tdefault:\n\t\treturn nil\n", "\t\treturn e.hosts\n\tdefault:\n\t\treturn []int{e.HostOf(i)}\n"},
	}},
	{name: "resume: what was protected before it was unprotected proves that it is", by: "./test/dst TestRegressions/a-look-of-before-an-unprotect-proves-no-protection", edits: []edit{
		{workResume, "last.Verb == plan.Protect && e.Entry(i).Late", "false"},
	}},
	{name: "ledger: what its guest disproves stays shown as off", by: "./internal/ledger TestWhatItsGuestDisprovesIsNotShownOff", edits: []edit{
		{"internal/ledger/ledger.go", "\t\t\t\tn.disproved()\n", ""},
	}},
	{name: "belief: what misses an answer begins to start anew", by: "./internal/belief TestWhatHangsAsItStartsDoesNotStartForEver", edits: []edit{
		{"internal/belief/believe.go", "earlier(e.Now.Add(boots), b.Since.Add(2*boots))", "e.Now.Add(boots)"},
	}},
	{name: "belief: clean of before a flush proves it", by: "./internal/belief TestAFlushIsNotProvenByWhatWasSaidBefore", edits: []edit{
		{"internal/belief/belief.go", "\t\tb.Seen.Clean = plan.NotKnown\n", ""},
	}},
	{name: "cut: what has just said that it is on is off for a cut after all", by: "./test/dst TestRegressions/a-filer-is-on-by-one-look-as-a-cut-is-decided", edits: []edit{
		{workTogether, " && e.Beliefs[i].Doubt == plan.Unknown", ""},
	}},
	{name: "resume: a power-off that came to nobody is obeyed", by: "./test/dst TestRegressions/a-power-off-that-came-to-nobody-and-a-crash", edits: []edit{
		{workResume, "last.Answer != ledger.WasUnreached || last.Asked.IsZero()", "true"},
	}},
	{name: "ledger: an outlet that somebody switched on gives no power", by: "./test/dst TestRegressions/an-outlet-is-switched-on-and-a-bmc-says-off", edits: []edit{
		{"internal/ledger/node.go", " || r.Kind == Reopened && verb != plan.Start && wasOff", ""},
	}},
	{name: "silence: a guest that is up says nothing of hosts whose silence is being counted", by: "./internal/belief TestAGuestThatIsUpEndsTheSilenceOfItsHost", edits: []edit{
		{beliefSilence, "b.Looks >= ProofLooks && !on.Silent.IsZero()", "false && !on.Silent.IsZero()"},
	}},
	{name: "rule 2: what answers at last is passed over as it does", by: "./test/dst TestRegressions/it-answers-as-its-host-is-passed", edits: []edit{
		{beliefQuestions, "isTold := e.AnswersAtLast(i) &&", "isTold := false &&"},
	}},
	{name: "wants: what an outlet gives its power back is not judged anew", by: "./test/dst TestRegressions/an-outlet-comes-on-and-what-was-given-up-is-due", edits: []edit{
		{"internal/work/desk.go", "e.Graph.Node(outlet).Kind != plan.Outlet", "outlet >= 0"},
	}},
	{name: "silence: a guest that came up on hosts that go says nothing of them", by: "./internal/belief TestAGuestThatBeganToStartIsNotOnAHostThatGoes", edits: []edit{
		{beliefSilence, "b.Looks < ProofLooks || !e.AcceptedStop(host) {", "b.Looks < ProofLooks || !e.AcceptedStop(host) || host >= 0 {"},
	}},
	{name: "ledger: what comes up with its power was never off", by: "./test/dst TestKeptOn/the-battery-made-the-cycle-and-machines-are-booting", edits: []edit{
		{"internal/ledger/ledger.go", "\t\t\tcase r.Cause == CameAgain:\n", "\t\t\tcase r.Cause == CameAgain:\n\t\t\t\tn.disproved()\n"},
	}},
	{name: "silence: a guest that misses answers has come up since", by: "./test/dst TestStopped/a-guest-that-is-taken-along-misses-answers", edits: []edit{
		{beliefSilence, "b.Seen.State != plan.Starting || b.Looks", "b.Looks"},
	}},
	{name: "gate: the time that it was shut in counts for the next night", by: "./internal/engine TestAGateThatSilencesKeepShutIsToldOf", edits: []edit{
		{engineOutage, "e.watch[k].announced, e.watch[k].once = false, want.NoPressure, once{}", "e.watch[k].announced = false, want.NoPressure"},
	}},
	{name: "force: what hung before a restart hangs for good", by: "./test/dst TestRegressions/a-vm-that-hung-is-up-after-a-restart", edits: []edit{
		{workStep, "w.force.cause == ledger.Hung && !e.wasSent(i) && e.ShowsUp(i)", "false"},
	}},
	{name: "reserve: a guest whose host only its BMC answers for is waited for", by: "./test/dst TestRegressions/what-a-mute-host-keeps-from-its-guest-is-not-waited-for", edits: []edit{
		{"internal/belief/graph.go", "silent && (e.IsMute(host) ||", "silent && (e.Beliefs[host].Answer == plan.Unreachable ||"},
	}},
	{name: "hear: an output that came on in a silence was on after what it feeds was stopped", by: "./test/dst TestRegressions/off-on-battery-ceases-in-a-silence", edits: []edit{
		{"internal/engine/hear.go", "st.Cycle == ledger.Committed && s.Anew", "s == nil"},
	}},
	{name: "reserve: a vm that is gone is waited for as if it rose with its host", by: "./test/dst TestRegressions/a-vm-that-is-gone-has-risen-with-no-host", edits: []edit{
		{workStep, "e.MayHaveRisen(i) && !e.isLastResort(i)", "e.MayHaveRisen(i)"},
	}},
	{name: "cut: one that stays off is made for what its return starts", by: "./internal/engine TestWhatKeptItsPowerIsCutAfterAll", edits: []edit{
		{workTogether, "Can.Has(plan.Cut) && !s.StaysOff", "Can.Has(plan.Cut)"},
	}},
	{name: "cut: a worn battery is cut on good mains", by: "./internal/engine TestWhatKeptItsPowerIsCutAfterAll", edits: []edit{
		{workTogether, " && !s.State.ReplaceBattery", ""},
	}},
	{name: "cut: one from before a crash waits for nothing", by: "./test/dst TestAllIsBack/a-cut-of-before-a-crash-waits-for-what-goes", edits: []edit{
		{workTogether, "(!w.resumed || e.Goes(u))", "!w.resumed"},
	}},
	{name: "cut: it waits for what was told to stop alone", by: "./test/dst TestCalm/a-vm-takes-longer-than-a-cut-can-wait", edits: []edit{
		{workTogether, "(!w.resumed || e.Goes(u))", "(w.phase == ended || e.Goes(u))"},
	}},
	{name: "cut: of three that go together one is made alone", by: "./test/dst TestCalm/three-outputs-are-cut-together", edits: []edit{
		{workTogether, "for n := 0; n < len(all); n++ {", "for n := 0; n < 1; n++ {"},
	}},
	{name: "feeds: one that comes back as the other goes off came too late", by: "./test/dst TestRegressions/a-feed-is-back-as-the-other-goes-off", edits: []edit{
		{engineSupply, " && !other.OffSince.After(e.Supplies[k].OffUntil)", ""},
	}},
	{name: "cut: those that wait for each other count as work", by: "./test/dst TestRegressions/two-cuts-that-wait-for-each-other-are-given-up", edits: []edit{
		{workDesk, " && e.PutOff(i).Code != want.CutTogether", ""},
	}},
	{name: "cut: it is given up between two tries of what it waits for", by: "./test/dst TestAllIsBack/a-cut-is-not-given-up-while-a-machine-is-starting", edits: []edit{
		{workDesk, "(e.IsAtWork(i) || !w.deadline.IsZero())", "e.IsAtWork(i)"},
	}},
	{name: "guard: what can't answer keeps the last round waiting", by: "./test/dst TestRegressions/a-guest-of-a-dead-host-keeps-no-guard-waiting", edits: []edit{
		{workGuard, "return !e.CannotAnswer(user) && (", "return ("},
	}},
	{name: "ladder: what nothing reaches is waited for to the end of the battery", by: "./test/dst TestNotLost/an-output-was-cut-before-a-restart-and-its-ups-is-silent-since", edits: []edit{
		{workHaste, "case e.isInVain(i), e.isPastHelp(i) && e.isInLastCall(i):", "case e.isInVain(i):"},
	}},
	{name: "ladder: what hangs on an output that was cut has no last call", by: "./test/dst TestNotLost/an-output-was-cut-before-a-restart-and-its-ups-is-silent-since", edits: []edit{
		{workHaste, "e.Graph.Node(d).Kind != plan.Supply && e.isInLastCall(d)", "d < 0"},
	}},
	{name: "ladder: what is off by its BMC, and may boot, is waited for to the end", by: "./test/dst TestNotLost/a-second-failure-while-hosts-whose-bmc-says-off-may-boot", edits: []edit{
		{workHaste, " || e.Beliefs[i].Answer == plan.Off && e.Rises(i)", ""},
	}},
	{name: "ladder: a guest that does not answer is given up though its host may be told", by: "./test/dst TestRegressions/a-guest-that-does-not-answer-while-its-host-does", edits: []edit{
		{workHaste, "return isMute && (e.IsMute(host) || e.IsOff(host))", "return e.IsMute(i)"},
	}},
	{name: "permit: storage below a flush that was given up has no last call", by: "./test/dst TestNotLost/a-flush-under-way-in-the-last-call", edits: []edit{
		{permitPermit, "e.Entry(cache).GivenUp.Has(plan.Flush)", "e.Entry(cache).GivenUp.Has(plan.Cut)"},
	}},
	{name: "ladder: a flush is waited for past the last call", by: "./test/dst TestNotLost/a-flush-under-way-in-the-last-call", edits: []edit{
		{workHaste, "return e.IsLastCall(d) && e.IsTooLate(d)", "return e.IsLastCall(d) && d < 0"},
	}},
	{name: "ladder: a power-off that does not show is waited for past the last call", by: "./test/dst TestStopped/a-power-off-that-its-bmc-denies", edits: []edit{
		{workHaste, "w.force.cause != ledger.Hung && !e.MayGoYet(i)", "w.force.cause == ledger.Hung && !e.MayGoYet(i)"},
	}},
	{name: "pass: a stop that is told anew has the haste of before", by: "./test/dst TestRegressions/a-last-call-that-is-over-with-the-cut", edits: []edit{
		{workPass, "\tc.Cause, c.Reason = \"\", \"\"\n", ""},
	}},
	{name: "believe: what was shutting down when it was powered off stays on", by: "./internal/belief TestWhatShutsDownGoesOnAfterItsPowerOff", edits: []edit{
		{beliefQuestions, "e.Now.Before(e.Beliefs[i].Going.Add(", "e.Last(i).Rung != plan.Force && e.Now.Before(e.Beliefs[i].Going.Add("},
	}},
	{name: "ladder: a flush is given up with minutes left for it", by: "./test/dst TestAllDone/a-flush-that-is-told-late", edits: []edit{
		{workHaste, "return e.IsLastCall(d) && e.IsTooLate(d)", "return e.IsLastCall(d)"},
	}},
	{name: "questions: a power-off is done at once, or does nothing", by: "./test/dst TestAllDone/a-host-whose-power-off-takes-a-minute-and-a-half", edits: []edit{
		{beliefQuestions, "\t\tif last.Attempt > 1 {\n", "\t\tif last.Attempt > 0 {\n"},
	}},
	{name: "pass: a storage VM that is not forced is told nothing over a dirty cache", by: "./test/dst TestRegressions/a-storage-vm-that-is-never-forced-under-a-cache-that-can-not-be-flushed", edits: []edit{
		{workPass, "case len(dirty) == 0 && (len(on) == 0", "case (len(on) == 0"},
	}},
	{name: "ladder: a flush ends for a switch whose battery gives out", by: "./test/dst TestNotLost/storage-with-an-hour-behind-a-switch-with-minutes", edits: []edit{
		{workHaste, "keepsIt := func(d int) bool { return e.IsLastCall(d) && e.IsTooLate(d) }", "keepsIt := func(d int) bool { return e.isInLastCall(d) }"},
	}},
	{name: "power: one word that says zero is the end", by: "./internal/power TestScripts", edits: []edit{
		{"internal/power/tracker.go", "t.empty && !was && hadEnough", "t.empty && !was && !hadEnough"},
	}},
	{name: "ladder: what may be a plug keeps the storage below it on", by: "./test/dst TestStorageIsStopped/a-guest-of-a-machine-driven-by-a-program-refuses-its-stop", edits: []edit{
		{workHaste, "return e.isBeyondReach(i) || isPlug && slices", "return e.isBeyondReach(i) || isPlug && i < 0 && slices"},
	}},
	{name: "want: a cache whose storage is off keeps our own machine on", by: "./test/dst TestNotLost/our-own-machine-after-a-flush-that-came-to-nothing", edits: []edit{
		{"internal/want/want.go", "s.Verb != plan.Protect && e.IsCutOff(i) && !e.RunsOn(i, s.stage),\n\t\ts.Verb == plan.Flush && e.isGroundOff(i)", "s.Verb == plan.Stop && e.IsCutOff(i) && !e.RunsOn(i, s.stage)"},
	}},
	{name: "goal: our own machine, which runs, needs the power cycle", by: "./test/dst TestSoonBack/our-own-machine-on-an-output-that-is-never-cut", edits: []edit{
		{beliefGoal, "\t\treturn n.Shown == ledger.ShownOff\n\tcase n.Last.Taken:", "\t\treturn true\n\tcase n.Last.Taken:"},
	}},
	{name: "ledger: what could not be told before is not told when its UPS speaks again", by: "./internal/ledger TestWhatCouldNotBeToldIsToldWhenItsSupplySpeaks", edits: []edit{
		{"internal/ledger/supply.go", "\t\tif n.Untried.Has(plan.Stop) {", "\t\tif n.Untried.Has(plan.Cut) {"},
	}},
	{name: "ladder: a guest that was just told to start is given up as beyond reach", by: "./test/dst TestRegressions/a-guest-that-starts-in-the-last-call", edits: []edit{
		{workHaste, "\tcase e.Graph.Node(i).Kind != plan.VM:\n", "\tcase e.Graph.Node(i).Kind != plan.VM || e.Rises(i):\n"},
	}},
	{name: "pressure: the last call leaves storage the reserve alone", by: "./test/dst TestNotLost/storage-takes-longer-than-the-reserve", edits: []edit{
		{foresightPressure, "last := max(reserve, e.lastTakes(k).Seconds())", "last := reserve"},
	}},
	{name: "pressure: storage on another supply is counted with that of this one", by: "./internal/foresight TestLastTakes", edits: []edit{
		{foresightPressure, "for _, i := range graph.Dependents(supply) {", "for i := range graph.Len() {"},
	}},
	{name: "snapshot: the first look that shows a node off before the failure is nothing", by: "./internal/belief TestOneLookThatShowsOffEndsThatItWasOn", edits: []edit{
		{beliefSnapshot, " && !IsDown(b.Doubt)", ""},
	}},
	{name: "supply: the gate opens though two outputs may yet be cut at once", by: "./test/dst TestAllIsBack/each-of-two-outputs-is-off-while-the-other-is-on", edits: []edit{
		{engineSupply, " && !e.MayMeet(k)", ""},
	}},
	{name: "together: a cut leaves on good mains though another output is about to come on", by: "./internal/engine TestWhatKeptItsPowerIsCutAfterAll", edits: []edit{
		{workCycle, "case e.earlyFor(i) >= 0, e.meetsLater(i):", "case e.earlyFor(i) >= 0:"},
	}},
	{name: "together: what hangs on its way down keeps a gate shut for ever", by: "./test/dst TestRegressions/storage-hangs-while-two-outputs-might-be-cut-at-once", edits: []edit{
		{workTogether, "e.IsLeavingStill(u) || e.mayTellYet(u)", "e.Goes(u) || e.mayTellYet(u)"},
	}},
	{name: "together: one that is on, and not sure to be back, is not waited for", by: "./test/dst TestAllIsBack/each-of-two-outputs-is-off-while-the-other-is-on", edits: []edit{
		{workTogether, "st.IsOut() && s.State.Mains == power.MainsOnline && s.State.OnlineFor < belief.DeafAfter", "s.Lapse == belief.JustBack"},
	}},
	{name: "outage: what is silent behind an unheard UPS was not on before that failed", by: "./test/dst TestAllIsBack/storage-behind-a-ups-that-was-never-heard", edits: []edit{
		{engineOutage, ">= belief.TrustLast && !e.FeedIsUnheard(i)", ">= belief.TrustLast"},
	}},
	{name: "cut: what was proven off a while ago is told as not proven off", by: "./internal/engine TestStories", edits: []edit{
		{workPass, "!e.WasProvenOff(u) && ", ""},
	}},
	{name: "belief: one look at what came back behind a silent UPS leaves its silence a proof", by: "./test/dst TestRegressions/shows-once-that-it-is-back-behind-a-silent-ups", edits: []edit{
		{beliefSilence, " || e.FeedIsUnheard(i)", ""},
	}},
	{name: "belief: what refuses a connection after a silence is on as before that", by: "./internal/belief TestWhatAnswersAndSaysNothingAfterASilence", edits: []edit{
		{beliefBelieve, "if wasMute && b.Seen.State == plan.On {", "if false {"},
	}},
	{name: "permit: what refused its stop counts as stopped before", by: "./test/dst TestRegressions/a-refused-stop-waits-for-its-cluster-again", edits: []edit{
		{permitPermit, "c.Again && e.Last(c.Node).Reach() > ledger.InVain {", "c.Again {"},
	}},
	{name: "self: a battery that rests is thought to be empty before its output is off", by: "./internal/work TestABatteryThatRestsIsNotEmptied", edits: []edit{
		{workCycle, "\tif s.State.Mains != power.MainsOnBattery {\n\t\treturn latest, on", "\tif false {\n\t\treturn latest, on"},
	}},
	{name: "cut: it is given up before its partner's load has told by its silence", by: "./test/dst TestAllIsBack/a-cut-waits-for-its-partners-slow-load-to-tell-by-silence", edits: []edit{
		{engineRelease, "slices.ContainsFunc(e.CutAtOnce(supply), mayTell)", "mayTell(supply)"},
	}},
	{name: "cut: it is given up as what it waits for gets its next try", by: "./test/dst TestAllIsBack/a-cut-is-not-given-up-as-a-power-off-gets-its-second-try", edits: []edit{
		{workLadder, "\te.MovedAt = e.Now\n", ""},
	}},
	{name: "feeds: one whose cut counts down has given nothing", by: "./test/dst TestAllIsBack/the-other-output-comes-on-as-the-first-is-cut", edits: []edit{
		{beliefFeed, "(cycle < ledger.CutSent || countsDown)", "(cycle < ledger.CutSent || countsDown && false)"},
	}},
	{name: "hold: a cut that is put off is made all the same", by: "./test/dst TestCalm/a-cut-that-waits-is-not-made-in-a-hold", edits: []edit{
		{workStep, "e.Last(i).Reach() <= ledger.InVain) && e.Ledger.Outage.Orders.Hold:", "e.Last(i).Reach() <= ledger.InVain) && false:"},
	}},
	{name: "hold: what it kept from being done counts as what can't come", by: "./test/dst TestCalm/a-hold-outlasts-the-gate", edits: []edit{
		{workDesk, "\t\tif r.Reason == \"\" {\n\t\t\te.MovedAt", "\t\tif false {\n\t\t\te.MovedAt"},
	}},
	{name: "cut: what feeds one thing is cut one after the other", by: "./internal/engine TestCutsOfWhatFeedsOneThingAreMadeAtOnce", edits: []edit{
		{workCycle, "\tcase e.earlyFor(i) >= 0, e.meetsLater(i):", "\tcase e.meetsLater(i):"},
	}},
	{name: "start: its power may have been off since, and it counts still", by: "./internal/engine TestAStartIsVoidWhereThePowerMayHaveBeenOffSince", edits: []edit{
		{workEpoch, "\t\t\te.voidStart(i)\n", ""},
	}},
	{name: "stop: what was given up is void only once it is looked at again", by: "./internal/engine TestWhatIsGivenUpWhileItAnswersIsNotOffByItsSilence", edits: []edit{
		{engineCorrect, "(*Engine).StopIsVoid, (*Engine).voidStop}", "func(*Engine, int) bool { return false }, (*Engine).voidStop}"},
	}},
	{name: "cut: what has kept its power gets none after all", by: "./test/dst TestAllIsBack/a-second-cut-is-what-a-filer-needs", edits: []edit{
		{workTogether, "\t\tcase e.isIdle(k):\n", "\t\tcase false && e.isIdle(k):\n"},
	}},
	{name: "cut: one that was to come after all comes too late", by: "./test/dst TestLateCuts/a-late-cut-is-called-off", edits: []edit{
		{workTogether, "\t\tcase e.comesTooLate(f):\n", "\t\tcase false:\n"},
		{workLadder, " && (w.verb != plan.Cut || !e.comesTooLate(i))", ""},
	}},
	{name: "cut: what feeds one thing is cut after all while something is on", by: "./internal/engine TestWhatKeptItsPowerIsCutAfterAll", edits: []edit{
		{workTogether, "e.toJoin(u, e.isSurelyOff)", "e.toJoin(u, func(int) bool { return true })"},
	}},
	{name: "look: an answer of before that shows on what counts as off is dropped", by: "./test/dst TestRegressions/an-answer-of-before-says-that-a-user-is-on", edits: []edit{
		{engineLook, "\t\t\tb.Doubt = seen.State\n\t\t\te.Touch(i)\n", ""},
	}},
	{name: "epoch: what runs on a host is up as soon as that may be", by: "./test/dst TestRegressions/what-runs-on-a-host-comes-up-after-it", edits: []edit{
		{beliefBelieve, "\t\tt += e.PowerUpTime(host)\n", "\t\t_ = host\n"},
	}},
	{name: "guard: who answered quickly in its last round is not asked again", by: "./test/dst TestRegressions/who-answered-quickly-is-asked-again-before-a-stop", edits: []edit{
		{workGuard, " || round > lastRound && e.IsOld(user, roundStands)", ""},
	}},
	{name: "belief: a guest comes up after its host, though that is up", by: "./test/dst TestNotLost/a-guest-comes-up-with-a-host-that-was-only-silent", edits: []edit{
		{beliefBelieve, "host >= 0 && e.Beliefs[host].Settled != plan.On {", "host >= 0 {"},
	}},
	{name: "belief: a guest comes up after its host, though that only does not answer", by: "./test/dst TestNotLost/a-guest-comes-up-with-a-host-that-was-only-silent", edits: []edit{
		{beliefBelieve, "host >= 0 && e.Beliefs[host].Settled != plan.On {", "host >= 0 && !e.IsOn(host) {"},
	}},
	{name: "epoch: a guest has its host's time as well, though that has come up", by: "./test/dst TestCalm/a-guest-that-is-off-holds-no-host-that-came-up", edits: []edit{
		{workEpoch, "\t\t\te.Beliefs[u].HostIsUp(until)\n", ""},
	}},
	{name: "ladder: a stop whose answer is not waited for any more was not sent", by: "./test/dst TestRegressions/a-stop-that-was-given-up-may-be-taken", edits: []edit{
		{workLadder, "\te.cancel(i)\n", "\tif w.op != 0 {\n\t\tdelete(e.ops, w.op)\n\t}\n"},
	}},
	{name: "belief: one look after a silence puts a node into the snapshot", by: "./test/dst TestRegressions/one-look-after-a-silence-is-no-word-on-what-was-on", edits: []edit{
		{beliefBelieve, "plan.On && !isAgain && ", "plan.On && "},
	}},
	{name: "rule 18: a host that is up again takes its guests along still", by: "./test/dst TestRegressions/a-host-that-is-up-again-takes-nobody-along", edits: []edit{
		{beliefGraph, "ledger.WasTold && !e.IsUp(host))", "ledger.WasTold)"},
	}},
	{name: "epoch: only what answers for itself is at its stop for as long as that takes", by: "./test/dst TestRegressions/a-power-off-in-vain-forgets-no-stop-that-was-taken", edits: []edit{
		{"internal/work/motion.go", "rung != plan.Cut && until.After", "rung != plan.Cut && e.Graph.Node(i).OffAfter > 0 && until.After"},
	}},
	{name: "self: an output is off before its cut is due, as its battery may be empty", by: "./test/dst TestRegressions/own-machine-goes-for-a-battery-that-lasts-until-a-late-cut", edits: []edit{
		{workCycle, "\temptied := on ", "\tif most := s.State.Outlook.Most(); most.Known && in(most).Before(latest) {\n\t\tlatest = in(most)\n\t}\n\temptied := on "},
	}},
	{name: "resume: what was told to stop has not come up with its host", by: "./internal/belief TestAGuestThatWentWithItsHostMayComeWithIt", edits: []edit{
		{"internal/belief/absence.go", "(e.WasOff(i) || e.WentWithHost(i))", "e.WasOff(i)"},
	}},
	{name: "rule 1: what was given up is passed over with all the time in the world", by: "./test/dst TestRegressions/silent-before-a-restart-in-the-power-up", edits: []edit{
		{wantWant, "\treturn e.Press[i] == LastCall && (n.Kind", "\treturn (n.Kind"},
	}},
	{name: "rule 1: what was not given up is passed over too", edits: []edit{
		{workPass, "\treturn !e.IsPassable(u) || ", "\treturn "},
		{permitPermit, "c.isOfLastCall(e) && e.IsPassable(user)", "c.isOfLastCall(e)"},
	}},
	{name: "want: storage waits for what was given up to the end", by: "./internal/engine TestStories", edits: []edit{
		{wantWant, "worst == Unproven || e.IsLastCall(s.Node)", "worst == Unproven"},
	}},
	{name: "rule 1: the last call switches an outlet of a PDU off under what is on", by: "./test/dst TestRegressions/an-outlet-of-a-pdu-under-what-was-given-up", edits: []edit{
		{wantWant, "n.Kind == plan.Other && !n.Switches", "n.Kind == plan.Other"},
	}},
	{name: "rule 1: the last call is made for a battery that feeds no more than the switch", by: "./test/dst TestRegressions/only-the-switch-is-at-the-end", edits: []edit{
		{foresightPressure, "\tif e.isEnding(i) {\n", "\tif i >= 0 {\n"},
	}},
	{name: "rule 1: a UPS that misses a few polls does not count for the last call", by: "./test/dst TestRegressions/a-ups-whose-last-word-before-a-silence-is-zero", edits: []edit{
		{foresightPressure, "return len(sources) > 0 && !slices.ContainsFunc(sources, lives)", "return len(sources) > 0 && (lives == nil || e.feedPressure(i) >= want.LastCall)"},
	}},
	{name: "rule 1: what refused is passed over while it shuts down", by: "./test/dst TestRegressions/refuses-and-shuts-down-all-the-same", edits: []edit{
		{beliefQuestions, " && !e.MayGoYet(i) && hasShown", " && (hasShown || true)"},
	}},
	{name: "rule 1: storage is powered off in the last call", by: "./test/dst TestRegressions/charged-while-the-output-was-off", edits: []edit{
		{workPass, "asks := e.nodes[i].work.rung == plan.Stop || e.Graph.Node(i).Kind != plan.Other", "asks := true"},
		{permitPermit, "c.Rung != plan.Stop && kind != plan.VM && kind != plan.Host", "c.Rung == plan.Cut && kind == plan.VM"},
	}},
	{name: "rule 1: the last call switches a plug off that a program drives", by: "./internal/families TestWhatMaySwitchPower", edits: []edit{
		{"internal/runbook/traits.go", "t.Switches || t.MaySwitch && n.Risk != plan.Storage", "t.Switches"},
	}},
	{name: "rule 1: storage has its power from the first that it depends on", by: "./test/dst TestRegressions/through-any-of-what-it-depends-on", edits: []edit{
		{foresightPressure, "e.Graph.AllSources(i)", "e.Graph.Sources(i)"},
	}},
	{name: "rule 1: a UPS that is not heard, and had its mains, is no source in the last call", by: "./test/dst TestRegressions/a-silent-ups-had-its-mains", edits: []edit{
		{"internal/belief/absence.go", "case !e.Standing(k).IsOut() || s.State.SilentFor", "case s.State.SilentFor"},
	}},
	{name: "guard: a host that nobody hears of is asked when its guard begins, and has waited when it ends", by: "./test/dst TestRegressions/slow-users-once-more", edits: []edit{
		{workGuard, "(isFirst || mayCycle) && ", "isFirst && "},
		{workGuard, "return w.phase != verifying && w.rung", "return w.rung"},
		{workStep, "wasAsked := e.mayCycleUnheard(i) && ", "wasAsked := i < 0 && "},
	}},
	{name: "guard: a vm whose host nobody hears is told only by a look that its guests outlast", by: "./test/dst TestRegressions/a-vm-under-slow-guests-whose-hosts-nobody-hears", edits: []edit{
		{workGuard, "isUnheard = e.MayHaveCycled(i)", "isUnheard = false"},
	}},
	{name: "ground: what ran on a host that is off by now is still up by its last look", by: "./test/dst TestRegressions/its-ground-falls-with-a-host-that-goes-late", edits: []edit{
		{workPass, "return e.GoesSoon(host) || belief.IsDown(b.Seen.State) && ", "return e.GoesSoon(host) || b == nil && "},
	}},
	{name: "silence: a host is off though its guests come up", by: "./test/dst TestRegressions/guests-up-host-off", edits: []edit{
		{beliefSilence, "(b.Looks >= ProofLooks || !e.WasOff(i))", "b.Looks <= 0"},
		{beliefSilence, "!IsDown(b.Seen.State) && b.SeenAt.After", "b.Seen.State == plan.Gone && b.SeenAt.After"},
	}},
	{name: "silence: a guest that has just come up went with its host", by: "./internal/belief TestAGuestThatWasUpAfterItsHostDidNotGoWithIt", edits: []edit{
		{beliefSilence, "!IsDown(b.Seen.State) && b.SeenAt.After", "b.Seen.State == plan.Gone && b.SeenAt.After"},
	}},
	{name: "epoch: with its power-off a stop that may be at work is forgotten in a crash", by: "./test/dst TestRegressions/a-power-off-that-came-to-nobody-and-a-crash", edits: []edit{
		{ledgerCommand, "case next != plan.Force:", "case next != plan.Flush:"},
	}},
	{name: "cut: what is started by command is stopped when its power came back after a crash", by: "./test/dst TestSoonBack/back-by-power-after-a-crash-in-the-cut", edits: []edit{
		{beliefGoal, "len(feeds) > 0 || e.Now.Before(", "len(feeds) > 0 || false && e.Now.Before("},
	}},
	{name: "cut: a machine that another feed carried may be back by the return of its power", by: "./test/dst TestStopped/carried-by-the-other-feed", edits: []edit{
		{beliefGoal, "MayHaveBeenCut) && !slices.ContainsFunc(feeds, carries)", "MayHaveBeenCut) && carries != nil"},
		{workStep, "e.Press[i] < want.ReserveReached && e.MayBeBack(i)", "e.MayBeBack(i)"},
	}},
	{name: "silence: a crash forgets that a host was disproved", by: "./internal/engine TestStories", edits: []edit{
		{workEpoch, "if e.AcceptedStop(h) { // or", "if h < 0 { // or"},
	}},
	{name: "put-back: a host stays in the maintenance mode that it went down in", by: "./internal/engine TestStories/host-in-maintenance", edits: []edit{
		{"internal/ledger/protection.go", "*r.Verb != plan.Stop || !l.estate.Node(i).SuspendsItself()", "*r.Verb != plan.Stop || true"},
	}},
	{name: "put-back: what a host showed before its stop tells how it was found in the next outage", by: "./internal/belief TestAStopMakesTheModeOfAHostUnknown", edits: []edit{
		{"internal/belief/belief.go", "if node.SuspendsItself() {", "if false {"},
	}},
	{name: "start: what says that it starts after a long silence has said so all the while", by: "./test/dst TestRegressions/it-starts-again-after-a-long-silence", edits: []edit{
		{beliefBelieve, "if isAgain || startsAnew {", "if isAgain || startsAnew && false {"},
	}},
	{name: "cut: an output of which no reading has said so was off at once with another", by: "./test/dst TestRegressions/its-other-output-was-not-said-to-be-off-yet", edits: []edit{
		{"internal/engine/supply.go", "!other.OffSince.IsZero() && !other.OffSince", "!other.OffSince"},
	}},
	{name: "start: what answers though its host is gone goes with it each time anew", by: "./test/dst TestRegressions/a-guest-answers-though-its-host-is-gone", edits: []edit{
		{workPass, "e.Beliefs[i].AskedAt.Before(b.Since.Add(probeWithin))", "e.Beliefs[i].AskedAt.Before(b.SeenAt)"},
	}},
	{name: "put-back: a host that is off shows the mode that it was in before", by: "./internal/belief TestWhatIsOffShowsNoModeOfBefore", edits: []edit{
		{beliefBelieve, "if b.Seen.State != plan.On && e.Graph.Node(i).SuspendsItself() {", "if false {"},
	}},
	{name: "outlet: one that was seen to go off and is on was on all the while", by: "./test/dst TestRegressions/an-outlet-that-went-off-and-was-switched-on", edits: []edit{
		{workEpoch, "case says(plan.Stopping):", "case false:"},
	}},
	{name: "cache: what was off is off though its power may be back unseen", by: "./test/dst TestRegressions/what-was-off-may-have-its-power-back-unheard", edits: []edit{
		{beliefGoal, "return e.IsOff(i) && (!e.IsMute(i) || !e.MayHaveCycled(i))", "return e.IsOff(i)"},
	}},
	{name: "put-back: a stop that came to nobody has put its host into maintenance mode", by: "./internal/engine TestStories/host-that-was-off-in-maintenance", edits: []edit{
		{"internal/ledger/protection.go", "case r.Kind == Accepted && r.Op == n.Last.Op:\n\t\tn.changed(r.Outcome)", "case r.Kind == Accepted && r.Op == n.Last.Op:\n\t\tn.changed(Done)"},
	}},
	{name: "stop: how long ago one was sent is told by a clock that was set meanwhile", by: "./test/dst TestRegressions/a-clock-set-on-while-away", edits: []edit{
		{"internal/work/resume.go", "-max(0, e.AwayFrom.Sub(at))", "-max(0, e.AwayFrom.Sub(at), e.Now.Sub(at))"},
	}},
	{name: "host: what took its stop and was silent has stayed on, and so have its guests", by: "./test/dst TestRegressions/a-host-that-took-its-stop-is-switched-on-again", edits: []edit{
		{"internal/engine/look.go", "if mayBeBack && ", "if false && mayBeBack && "},
	}},
	{name: "cache: an outage forgets what the one before it may still put back", by: "./test/dst TestRegressions/a-late-unprotect-of-an-outage-before", edits: []edit{
		{beliefSnapshot, "Late: e.Now.Before(b.Late)", "Late: false"},
	}},
	{name: "put-back: a host that stays in its maintenance mode is told once", by: "./internal/engine TestStories/host-that-stays-in-maintenance", edits: []edit{
		{"internal/work/ladder.go", "e.Beliefs[i].Seen.Protected != plan.NotKnown", "e.Beliefs[i].Seen.Protected == plan.No"},
	}},
	{name: "put-back: what runs on a host does not wait for its maintenance mode to end", by: "./internal/engine TestStories/host-in-maintenance", edits: []edit{
		{"internal/plan/step.go", "b.last[i] = b.step(i, Unprotect, \"\", b.last[i])", "b.step(i, Unprotect, \"\", b.last[i])"},
	}},
	{name: "bmc: that a machine was off before a crash vouches for its BMC while nobody hears its feeds", by: "./internal/belief TestABMCThatIsAlwaysOffVouchesForNothingUnheard", edits: []edit{
		{beliefBelieve, "(feed == fedUnheard || !e.isShownOff(i) || ", "(!e.isShownOff(i) || "},
	}},
	{name: "hung: a power-off that waits for a host to boot is given up", by: "./test/dst TestAllIsBack/a-guest-hangs-while-the-host-of-its-users-boots", edits: []edit{
		{workProof, " && !e.usersSettle(i)", ""},
	}},
	{name: "put-back: what is off shows how it was set before", by: "./test/dst TestRegressions/storage-is-off-when-a-protect-of-before-shows", edits: []edit{
		{beliefQuestions, "return b.Seen.State == plan.On && b.Answer == plan.On && b.Seen.Protected == plan.No", "return b.Answer == b.Seen.State && b.Seen.Protected == plan.No"},
	}},
	{name: "guard: what was given up keeps the others' proofs from being renewed", by: "./test/dst TestRegressions/a-host-is-switched-on-before-the-last-call-of-its-storage", edits: []edit{
		{workPass, "(guestsOnly || e.goesInLastCall(i)) && e.areOld", "guestsOnly && e.areOld"},
	}},
	{name: "silence: what was on with its power goes by a stop of before all the same", by: "./internal/belief TestWhatIsOnAsItsPowerMayBeBackHasReturned", edits: []edit{
		{"internal/belief/silence.go", " || d == Relit && !e.isGoingDown(i)", ""},
	}},
	{name: "silence: what was sent before an absence is under way for as much longer", by: "./test/dst TestRegressions/a-host-that-came-back-is-silent-after-a-long-absence", edits: []edit{
		{workResume, "		e.Beliefs[i].Adrift = max(0, away)\n", "		_ = away\n"},
	}},
	{name: "resume: what was seen to boot by itself is told to stop after a crash", by: "./test/dst TestRegressions/a-guest-is-seen-to-boot-by-itself-before-a-crash-and-silent-after-it", edits: []edit{
		{"internal/engine/outage.go", "if state := e.ComesUnrecorded(i); state != plan.Unknown {", "if state := plan.Unknown; state != plan.Unknown {"},
	}},
	{name: "cut: an output that was off before a silence was off for what went in it", by: "./test/dst TestRegressions/off-on-battery-before-a-silence-and-on-line-after-it", edits: []edit{
		{"internal/engine/hear.go", "st.Cycle == ledger.Committed && s.Anew", "st.Cycle == ledger.Committed && s.Lapse.IsUnheard()"},
	}},
	{name: "opened: what was seen on before a silence of its UPS is not on its way up", by: "./test/dst TestRegressions/a-host-that-was-seen-on-before-a-silence-of-its-ups-boots-late", edits: []edit{
		{"internal/belief/snapshot.go", "if ns.State = plan.Starting; e.Rises(i) || isBooting {", "if ns.State = plan.Starting; !wasOn && (e.Rises(i) || isBooting) {"},
	}},
	{name: "silence: what says that it is on right after the time of its stop may be going yet", by: "./test/dst TestRegressions/says-once-again-that-it-is-on-after-its-stop-is-over", edits: []edit{
		{"internal/belief/silence.go", "!e.Now.Before(b.Obeying.Add(-b.Adrift))", "!e.Now.Before(b.Obeying.Add(2*time.Minute-b.Adrift))"},
	}},
	{name: "outlet: one that does not answer is off, with its ups silent", by: "./test/dst TestRegressions/an-outlet-whose-silent-ups-came-back-unheard", edits: []edit{
		{"internal/belief/feed.go", "(!e.IsMute(d) || !e.FeedIsUnheard(d))", "(d >= 0)"},
	}},
	{name: "snapshot: a vm that went alone went with its host", by: "./test/dst TestRegressions/switched-off-by-hand-before-its-host-lost-power", edits: []edit{
		{"internal/belief/believe.go", "\te.followAlone(i, seen.State)\n", ""},
	}},
	{name: "outlet: it is off, though what hangs on it answers", by: "./test/dst TestRegressions/switched-on-by-hand-and-answers-as-its-output-is-to-be-cut", edits: []edit{
		{"internal/belief/feed.go", "e.IsOff(i) && !e.Beliefs[i].Belied", "e.IsOff(i)"},
	}},
	{name: "epoch: with a power-off that reaches nobody a start is forgotten", by: "./test/dst TestRegressions/a-power-off-reaches-nobody-while-it-starts", edits: []edit{
		{"internal/ledger/node.go", "*r.Verb == plan.Stop && n.Lit == SeenStarting", "verb == plan.Stop && n.Lit == SeenStarting"},
	}},
	{name: "power: mains that hunt keep all from being told to go", by: "./test/dst TestNotLost/mains-that-hunt-four-seconds-there-two-away", edits: []edit{
		{"internal/belief/supply.go", "s.Condition == Returning && s.hunts < mostHunts", "s.Condition == Returning"},
	}},
	{name: "ladder: what no stop came to is powered off as it answers", by: "./test/dst TestAskedFirst/it-answers-after-its-power-off-came-to-nobody", edits: []edit{
		{workPass, "w.rung == plan.Force && (alone || e.isBackUntold(i))", "w.rung == plan.Force && alone"},
	}},
	{name: "opened: what got its power back before is not on its way up", by: "./test/dst TestRegressions/a-host-that-boots-since-before-an-outage-with-a-crash", edits: []edit{
		{"internal/belief/snapshot.go", "e.Rises(i) || isBooting {", "e.Rises(i) || isBooting && i < 0 {"},
	}},
	{name: "start: a look at a host is of when it was asked", by: "./test/dst TestRegressions/a-host-is-off-by-a-look-that-took-its-time", edits: []edit{
		{workPass, "b.Since.Add(probeWithin)", "b.Since"},
	}},
	{name: "guard: what is asked after all goes by the guard of its power-off", by: "./test/dst TestRegressions/asked-after-all-with-a-cluster-that-came-back-late", edits: []edit{
		{workPass, "\t\te.askFirst(i)\n\t\te.verify(i)\n\t\treturn\n", "\t\te.askFirst(i)\n"},
	}},
	{name: "cut: one that was missed is made again alone", by: "./test/dst TestAllIsBack/one-of-two-feeds-ignores-its-cut", edits: []edit{
		{workTogether, "return can && (e.Standing(k).Cycle == ledger.Committed ||", "return can && e.Standing(k).Missed == 0 && (e.Standing(k).Cycle == ledger.Committed ||"},
	}},
	{name: "clock: of how much of a stop's time is over one that was set back tells", by: "./test/dst TestRegressions/one-answer-of-a-host-after-a-clock-was-set-back", edits: []edit{
		{"internal/work/resume.go", "if away < 0 || last.At.After(e.AwayFrom) {", "if false {"},
	}},
	{name: "stop: a guest that answers waits for what its host's silence tells", by: "./test/dst TestRegressions/a-guest-hangs-under-a-silent-host", edits: []edit{
		{"internal/belief/goal.go", "(e.IsMute(i) || !e.Looked(i))", "e.Beliefs[i].Answer != plan.On"},
	}},
	{name: "crash: a life that heard nobody was there", by: "./internal/engine TestALifeThatHeardNobody", edits: []edit{
		{"internal/engine/engine.go", "if records[i].Kind != ledger.Gap {", "if true {"},
	}},
	{name: "clock: where it was set back for one UPS it is so for all", by: "./test/dst TestRegressions/a-clock-set-back-before-the-newest-record", edits: []edit{
		{"internal/belief/absence.go", "e.Standing(k).SetBack", "e.Standing(0).SetBack"},
	}},
	{name: "silence: what it has shown off may answer once and be off all the same", by: "./test/dst TestRegressions/one-answer-of-a-host-that-silence-has-shown-off", edits: []edit{
		{"internal/belief/silence.go", "if b.Proof == BySilence || b.Proof == NoProof && e.WasOff(i) {", "if false {"},
	}},
	{name: "clock: that it was set back is forgotten with the life that found it", by: "./test/dst TestRegressions/killed-as-it-finds-the-clock-set-back", edits: []edit{
		{"internal/ledger/supply.go", "if at.Before(o.clock) {", "if false {"},
	}},
	{name: "stop: what is on long after it goes by its silence all the same", by: "./test/dst TestRegressions/a-host-that-is-on-long-after-its-stop-falls-silent", edits: []edit{
		{"internal/belief/silence.go", "late := e.Graph.Node(i).OffAfter + ProofStands", "late := time.Hour"},
	}},
	{name: "stop: an absence lasts on for what is on after it", by: "./test/dst TestRegressions/killed-as-a-host-goes-that-somebody-switches-on", edits: []edit{
		{"internal/belief/silence.go", "late-b.Adrift", "late"},
	}},
	{name: "crash: what was shown off by silence may answer once after it", by: "./internal/engine TestOneAnswerOfWhatSilenceHasShownOffAfterACrash", edits: []edit{
		{workResume, "	if entry.Shown == ledger.ShownOff && e.AcceptedStop(i) { // it has gone, on record", "	if false {"},
	}},
	{name: "crash: a guest that is no VM does not boot with its host", by: "./internal/engine TestAGuestThatIsNoVMBootsWithItsHostAfterACrash", edits: []edit{
		{"internal/belief/absence.go", "case host >= 0 && e.WasOff(i) && !e.WasOff(host):", "case host < -1:"},
	}},
	{name: "crash: a UPS was heard until the newest record of anything", by: "./internal/engine TestAUPSThatFellSilentRightAfterItFailed", edits: []edit{
		{"internal/belief/absence.go", "st.On && !st.Failed.IsZero()", "false"},
	}},
	{name: "crash: a flush that is told again leaves the cache clean on record", by: "./internal/engine TestACacheThatIsDirtyAgainAfterItsFlush", edits: []edit{
		{"internal/ledger/node.go", "		n.Clean = NotClean\n	default:", "	default:"},
	}},
	{name: "crash: a UPS that was to be empty before it feeds", by: "./internal/engine TestWhatIsBackBehindAnEmptyUnheardUPS", edits: []edit{
		{beliefFeed, "case !s.Heard && !e.ResumedAt.IsZero() &&", "case false && !e.ResumedAt.IsZero() &&"},
	}},
	{name: "crash: a supply that carried on ends the boot of what it feeds", by: "./internal/engine TestASwitchThatBootsAfterACrash", edits: []edit{
		{"internal/belief/absence.go", " && (e.Ledger.Outage == nil || e.Entry(i).Lit == ledger.Unlit)", ""},
	}},
	{name: "crash: what was off and stops by its BMC does not boot", by: "./internal/engine TestWhatIsOffAndStopsByItsBMC", edits: []edit{
		{beliefQuestions, "n.Shown == ledger.ShownOff && e.Rises(i):", "n.Shown == ledger.ShownOff && false:"},
	}},
	{name: "crash: a battery lasts for two minutes, however little it had left", by: "./internal/engine TestABatteryThatGaveOutWhileEbbtideWasAway", edits: []edit{
		{"internal/belief/absence.go", "(s.absence.lasts == 0 || away.Seconds() < s.absence.lasts)", "true"},
	}},
	{name: "snapshot: a VM that dropped with its host was off", by: "./internal/engine TestAVMGoneWithItsHostAsTheOutageOpens", edits: []edit{
		{"internal/engine/survey.go", "lostOutput[i] || e.HostDropped(i)", "lostOutput[i]"},
	}},
	{name: "silence: a look that learned nothing goes on with it", by: "./internal/engine TestALookThatLearnedNothingIsNoSilence", edits: []edit{
		{beliefBelieve, "	b.Silent = time.Time{}\n	if wasMute", "	if wasMute"},
	}},
	{name: "end: what may go late is left to itself", by: "./internal/engine TestAGuestThatIsSlowToGoIsStartedAgain", edits: []edit{
		{"internal/engine/outage.go", "	case e.MayGoLate() >= 0:\n		return false\n", ""},
	}},
	{name: "unheard: what dropped with a UPS that died without a word is no concern", by: "./internal/engine TestAUPSThatDiesWithoutAWordBesideAnother", edits: []edit{
		{"internal/ledger/supply.go", "l.Outage.Scope[i] || l.SupplyOf[source] >= 0", "l.Outage.Scope[i] || r.Cause == Cycled && l.SupplyOf[source] >= 0"},
	}},
	{name: "stop: its time counts from when it left", by: "./test/dst TestRegressions/storage-counts-as-back-while-it-goes", edits: []edit{
		{workStep, "\tw.sent = e.Now\n", ""},
	}},
	{name: "silence: what is mute while its power may be off goes by its stop alone", by: "./test/dst TestRegressions/a-host-is-mute-with-its-power-and-back-in-the-time-of-its-stop", edits: []edit{
		{beliefBelieve, "		e.followMute(i)\n", ""},
	}},
	{name: "crash: an answer of before an epoch voids a stop in memory alone", by: "./test/dst TestRegressions/killed-between-two-answers-of-a-host-that-came-back", edits: []edit{
		{"internal/engine/look.go", "		e.noteVoid(i)\n", ""},
	}},
	{name: "survey: what was off long ago is off for the snapshot", by: "./internal/engine TestWhatWasOffLongAgoIsAskedOnceMore", edits: []edit{
		{"internal/engine/survey.go", "if !e.askedAgain && isDown", "if false && isDown"},
	}},
	{name: "steer: a start under way keeps the second way down", by: "./internal/engine TestWhatIsNotWellYetIsStopped", edits: []edit{
		{workLadder, "e.Given(i) && e.Course.Steps[w.step].Goal == plan.Down", "e.Given(i)"},
	}},
	{name: "hold: a try comes to its end in it", by: "./internal/engine TestAHoldUsesUpNoTry", edits: []edit{
		{workLadder, "\tcase e.Ledger.Outage.Orders.Hold: // whatever comes next", "\tcase false: // whatever comes next"},
	}},
	{name: "hold: what was refused is told again in it", by: "./internal/engine TestNothingIsToldAgainInAHold", edits: []edit{
		{workStep, "(!e.wasSent(i) || e.Last(i).Reach() <= ledger.InVain)", "!e.wasSent(i)"},
	}},
	{name: "cut: it is told for ever with the mains there", by: "./internal/engine TestACutThatDoesNotGetThroughEnds", edits: []edit{
		{workLadder, "(!e.isToldForLong(i) || e.Supplies", "(true || e.Supplies"},
	}},
	{name: "cut: a partner that comes on meanwhile leaves it at one", by: "./test/dst TestAllIsBack/after-all-against-a-return-timer", edits: []edit{
		{"internal/ledger/supply.go", "\t\tl.meetAnew(r)\n", ""},
	}},
	{name: "power: what hangs on an outlet that is off may be on", by: "./test/dst TestAllIsBack/staggered-and-a-box-on-one", edits: []edit{
		{beliefFeed, "case e.HangsOnNothing(i):", "case false:"},
	}},
	{name: "correct: a start that reached nobody stays given up", by: "./internal/engine TestAStartThatReachedNobodyIsMadeWhenItCanBe", edits: []edit{
		{engineCorrect, "(*Engine).StartsAtLast, ", "func(*Engine, int) bool { return false }, "},
	}},
	{name: "chores: what rests off is not asked after", by: "./internal/engine TestWhatIsSwitchedOnByHandShows", edits: []edit{
		{engineOutage, ">= stalledFor && e.RestsOff(i)", ">= stalledFor && false && e.RestsOff(i)"},
	}},
	{name: "hear: an absence longer than its battery is nothing to what did not fail", by: "./test/dst TestAllIsBack/killed-while-only-a-was-out", edits: []edit{
		{"internal/engine/hear.go", "isWell && isShort()", "isWell && (true || isShort())"},
		{"internal/ledger/supply.go", "l.Outage.Scope[i] || l.SupplyOf[source] >= 0", "l.Outage.Scope[i] || r.Cause == Unseen"},
	}},
	{name: "proof: what boots is off for it, though it says so twice", by: "./internal/engine TestWhatSaysThatItIsOffIsOff", edits: []edit{
		{"internal/belief/believe.go", "b.Boots = e.Now.Add(e.PowerUpTime(i))\n\t}\n}", "b.Rising = e.Now.Add(e.PowerUpTime(i))\n\t}\n}"},
	}},
}
