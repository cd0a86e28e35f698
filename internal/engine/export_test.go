package engine

import (
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"
	"unsafe"

	"ebbtide/internal/belief"
	"ebbtide/internal/effect"
	"ebbtide/internal/ledger"
	"ebbtide/internal/power"
	"ebbtide/internal/want"
	"ebbtide/internal/work"
)

// leftOut are the fields that do not decide what an engine will do, and why.
var leftOut = map[string]string{
	"Engine.settings":    "never changes",
	"Estate.Graph":       "never changes",
	"Estate.Policy":      "never changes",
	"past.AwayFrom":      "counts after a crash alone, and every explored one takes too long for that",
	"past.Life":          "compared with the number of the last command alone: see ranks",
	"Estate.Protectors":  "never changes",
	"grid.watchesMains":  "never changes",
	"grid.watchesSag":    "never changes",
	"grid.losses":        "never changes",
	"desk.DrillEnds":     "words for people",
	"Ledger.estate":      "never changes",
	"Ledger.Stages":      "never changes",
	"Ledger.SupplyNodes": "never changes",
	"Ledger.SupplyOf":    "never changes",
	"Ledger.Newest":      "a name like any other",
	"Ledger.Op":          "a number like any other",
	"Outage.ID":          "a name like any other",
	"Outage.Seq":         "a number like any other",
	"Standing.Reason":    "words for people",
	"Command.Op":         "compared with the other numbers of its node alone: see ranks",
	"Belief.Look":        "likewise",
	"Belief.Epoch":       "likewise",
	"Course.down":        "never changes",
	"Course.up":          "never changes",
	"Course.Steps":       "never changes",
	"Course.Of":          "never changes",
	"Course.ofNoNode":    "never changes",
	"Estate.users":       "is worked out when it is first asked for, and never changes then",
	"Estate.grounds":     "likewise",
	"Course.WaitsAt":     "where to look first",
	"Course.Dirty":       "empty between two events",
	"Course.Todo":        "likewise",
	"Estate.Now":         "what all times are told from",
	"desk.Out":           "empty between two events",
	"desk.NextOp":        "a number like any other",
	"Engine.said":        "words for people",
	"desk.refused":       "what was told of already",
	"desk.strays":        "empty between two events",
	"inquiry.serial":     "estimates are answered before the next is asked for",
	"Foresight.raced":    "room to reckon in",
	"Estimate.Serial":    "likewise",
	"delays.OnDelay":     "never changes",
	"delays.StaysOff":    "never changes",
	"Supply.State":       "read off the tracker at the last reading",
	"Supply.InVain":      "read off the records at the last reading",
	"voice.feeding":      "read off the tracker at the last reading",
	"absence.lasts":      "of the runtime, as absence.charge",
	"node.timer":         "voids timers, which is seen there",

	"Observation.Detail":  "words for people",
	"Observation.Caution": "words for people",
	"Tracker.id":          "never changes",
	"Tracker.watts":       "never changes",
	"Tracker.feigns":      "of a rehearsal, which no explored UPS does",
	"Tracker.volts":       "of the input, which no explored UPS tells",
	"watch.lineAt":        "of what is unfit, which no explored policy watches",
	"battery.curve":       "never changes",
	"battery.capacity":    "changes with the charge, which no explored UPS tells",
	"battery.burnt":       "likewise",
	"battery.lasted":      "likewise",
	"battery.since":       "likewise",
	"battery.spent":       "likewise",
	"given.burn":          "for the record, as is all but whether there is one",
	"given.loaded":        "likewise",
	"stretch.charged":     "likewise",
	"stretch.from":        "likewise",
	"stretch.to":          "likewise",
	"stretch.low":         "likewise",
	"stretch.drill":       "likewise",
	"battery.recharge":    "never changes",
	"battery.refilled":    "of the charge, which no explored UPS tells",
	"slip.last":           "likewise",
	"slip.told":           "likewise",
	"slip.words":          "likewise",
	"slip.by":             "likewise",
	"slip.at":             "likewise",
	"slip.since":          "likewise",
	"slip.least":          "likewise",
	"battery.fell":        "likewise",
	"battery.drop":        "likewise",
	"battery.steps":       "likewise",
	"Short.read":          "likewise",
	"battery.runtime":     "likewise: compared with the next, which differs",
	"battery.doubted":     "likewise",
	"Standing.Charge":     "likewise",
	"Standing.Charges":    "likewise",
	"Standing.Passed":     "of the recharge, for which no explored policy waits, and of crashes that are shorter than every explored one",
	"Battery.Carried":     "counts after a crash alone, and every explored one takes too long for that",
	"Battery.At":          "likewise",
	"Battery.SetBack":     "likewise",
	"Outage.clock":        "likewise",
	"absence.heard":       "told by how long the tracker has not heard it, and after a crash likewise",
	"Supply.fullest":      "of the charge, which no explored UPS tells",
	"absence.charge":      "of the charge, which no explored UPS tells",
	"absence.load":        "of the load, as absence.charge",
	"Tracker.carried":     "likewise",
	"Tracker.carriedAt":   "likewise",
	"watch.still":         "likewise",
	"battery.kept":        "of the sheet, which no explored UPS has",
	"watch.word":          "of the slack, which no explored policy asks for",
	"Time.Ahead":          "likewise",
	"Short.By":            "of what is left of the charge, which no explored UPS tells",
	"Short.announced":     "likewise",
	"watch.stages":        "of what is measured, which no explored policy asks for",
	"watch.stuck":         "of what people are told",
	"once.back":           "likewise",
	"once.cried":          "likewise",
	"once.ending":         "likewise",
	"once.shut":           "likewise",
	"Discharge.At":        "for the record",
	"Dispatcher.estate":   "never changes",
	"Dispatcher.nodes":    "never changes",
	"Dispatcher.rank":     "never changes",
	"Dispatcher.byRank":   "never changes",

	"referee.Referee.Violations": "the way ends at the first",
	"referee.Referee.Avoidable":  "is counted alone",
	"referee.supply.triggeredAt": "for Avoidable alone",
	"referee.Referee.estate":     "never changes",
	"referee.Referee.clockSet":   "no explored world sets one",
	"referee.Referee.newest":     "for an excuse of rule 21 alone, that no explored estate has a use for",
	"referee.Referee.policy":     "never changes",
	"referee.Referee.clock":      "the time of the last poll, which is now",
	"referee.Referee.sight":      "never changes",
	"referee.Referee.began":      "words for people",
	"referee.Referee.place":      "never changes",
	"referee.Referee.protectors": "never changes",
	"referee.Referee.asking":     "room to ask in",
	"referee.Referee.users":      "is worked out when it is first asked for, and never changes then",
	"referee.Referee.life":       "compared with that of intents alone",
	"referee.intent.op":          "compared with that of the command that follows it at once",
	"referee.flights.nodes":      "those of flights.at",
	"referee.flights.total":      "follows from flights.at",
	"referee.flights.lanes":      "follows from flights.at",
}

// ages are how far back each time matters: an age beyond it decides nothing more. 0: whether it has come is all.
var ages = map[string]time.Duration{
	"Belief.SeenAt":      belief.LookAge, // TrustLast asks further back, after a quarter of an hour without any sweep
	"newest.AskedAt":     belief.LookAge,
	"Belief.OnAt":        belief.LookAge, // as belief.seenAt
	"Belief.Since":       belief.ProofStands,
	"newest.answeredAt":  belief.LookAge,
	"newest.before":      belief.LookAge, // compared with AskedAt
	"Rounds.Begun":       belief.LookAge,
	"Rounds.Anew":        belief.LookAge, // compared with belief.answeredAt
	"newest.blank":       belief.ProofStands + 1,
	"Belief.Silent":      time.Minute, // more than the explored OffAfter
	"motion.Rising":      0,
	"motion.Boots":       0,
	"motion.Hosted":      0,
	"motion.Falling":     0,
	"obedience.Obeying":  0,
	"obedience.Told":     belief.LookAge,  // compared with when a supply was heard last
	"Command.At":         0,               // Obeying is reckoned from it after a crash
	"Standing.Failed":    belief.LookAge,  // compared with when it is heard again, after a crash
	"Command.Asked":      0,               // and from this
	"motion.Going":       2 * time.Minute, // compared with what a stop may take
	"motion.Undoing":     0,
	"motion.Late":        0,
	"voice.OffSince":     3 * time.Second,
	"voice.OffUntil":     3 * time.Second,
	"question.asked":     belief.LookAge,
	"question.told":      belief.ProofAge,
	"Wants.Pause":        0,
	"clock.NextLook":     0,
	"pace.deadline":      0,
	"pace.next":          0,
	"pace.from":          0,
	"pace.since":         0,               // whether there is one: how long ago is of the estimate, which is of whole steps there
	"pace.sent":          2 * time.Minute, // compared with what a stop may take
	"Supply.CutDue":      cutMargin,
	"Output.OnAt":        cutMargin + belief.Unwatched,
	"test.since":         beginWithin,
	"test.toldAt":        giveUpEnding,
	"retry.at":           0,
	"inquiry.asked":      askEstimate,
	"clock.wakeAt":       0,
	"timetable.sweepAt":  0,
	"timetable.lookAt":   0,
	"clock.MovedAt":      5 * stalledFor,
	"timetable.settleBy": 0,
	"past.ResumedAt":     time.Minute, // twice what the explored estate's nodes take to start
	"timetable.closing":  0,
	"Tracker.heardAt":    time.Minute,      // the longest silence that a policy asks for
	"Tracker.since":      20 * time.Second, // what the explored policy asks for; the slope's minute is left out with it
	"Tracker.out":        20 * time.Second, // as Tracker.since
	"span.from":          time.Minute,
	"held.at":            2 * time.Minute, // figures are kept for so long
	"gauge.at":           2 * time.Minute,
	"battery.at":         time.Minute,

	"referee.Referee.heldUntil":     time.Minute,
	"referee.Referee.moved":         2 * time.Minute, // standstill
	"referee.Referee.resumed":       time.Minute,     // listens, and compared with node.roused
	"referee.Referee.resumedBefore": time.Minute,     // compared with node.saidAt
	"referee.intent.at":             time.Minute,     // slowness
	"referee.node.toldAt":           time.Minute,     // more than the explored stops may take
	"referee.node.toldAtBefore":     time.Minute,
	"referee.node.stopAt":           time.Minute,
	"referee.node.fell":             time.Minute, // freshLook
	"referee.node.roused":           time.Minute, // more than the explored starts may take
	"referee.node.rousedBefore":     time.Minute,
	"referee.node.started":          time.Minute,
	"referee.node.changed":          0, // compared with node.saidAt
	"referee.node.began":            time.Minute,
	"referee.node.meddled":          time.Minute,                                                                             // closing
	"referee.node.plain":            time.Minute,                                                                             // proves
	"referee.node.vain":             time.Minute, "referee.node.vainSince": time.Minute, "referee.node.spokeAt": time.Minute, // guarded
	"referee.node.saidAt":        time.Minute,      // compared with node.toldAt
	"referee.node.cameAt":        time.Minute,      // compared with node.toldAt
	"referee.node.liedAt":        time.Minute,      // freshLook
	"referee.node.wentAt":        time.Minute,      // compared with Referee.resumed
	"referee.supply.offAt":       time.Minute,      // slowness
	"referee.supply.litAt":       time.Minute,      // missedPoll
	"referee.supply.dueAt":       time.Minute,      // likewise
	"referee.supply.since":       20 * time.Second, // what the explored policy asks for
	"referee.supply.onlineAt":    time.Minute,      // compared with node.roused
	"referee.supply.heardOn":     10 * time.Second, // settles
	"referee.supply.heardOut":    10 * time.Second, // sinksIn
	"referee.supply.heardAt":     time.Minute,      // compared with node.roused
	"referee.supply.committedAt": time.Minute,      // compared with node.meddled
	"referee.supply.speaks":      time.Minute,      // slowness
	"referee.supply.uncutAt":     0,                // compared with what our own machine was told, which is in no explored estate
	"referee.supply.spent":       time.Minute,      // slowSilence
}

// lives are numbers of lives of the controller: what matters is whether it is the present one.
var lives = map[string]bool{"referee.intent.life": true}

// caps are the counts beyond which it makes no difference how many.
var caps = map[string]int{
	"Belief.Looks": belief.ProofLooks, "hesitation.Doubts": mostDoubts, "Command.Attempt": 3, "given.took": 1,
	"referee.flights.at": 0,                            // whether it flies
	"referee.node.looks": 2, "referee.supply.looks": 2, // looksLater
}

// words are of people: all that is decided by them is whether there are any.
var words = map[string]bool{"force.reason": true, "Command.Reason": true}

// sweptOnly are fields that an outage of everything makes nothing of, and that its end sets anew.
var sweptOnly = map[string]bool{"timetable.sweepAt": true}

// inCommon are the fields whose values copies of an engine share, since they never change.
var inCommon = map[string]bool{
	"Estate.Protectors": true, "Estate.hosts": true, "Estate.hostOf": true, "grid.losses": true, "Ledger.Stages": true, "Ledger.SupplyNodes": true, "Ledger.SupplyOf": true, "Course.Steps": true, "Course.Of": true,
	"Course.ofNoNode": true, "Estate.users": true, "Estate.grounds": true, "Dispatcher.nodes": true, "Dispatcher.rank": true, "Dispatcher.byRank": true,
	"referee.Referee.place": true, "referee.Referee.protectors": true, "referee.Referee.users": true,
}

var walks = sync.OnceValues(func() (copyWalk, printWalk) {
	return copying(reflect.TypeFor[Engine]()), printing(reflect.TypeFor[Engine](), "")
})

// Clone gives an engine that does what this one will do, and shares nothing with it that changes.
func (e *Engine) Clone() *Engine {
	c := *e
	mend, _ := walks()
	mend(unsafe.Pointer(&c))
	return &c
}

// Fingerprint appends what decides what the engine will do from now on: two engines that write the same do the same,
// but for the times, the numbers and the words that they use. Place tells operations of it apart.
func (e *Engine) Fingerprint(b []byte, now time.Time) (out []byte, place func(ledger.Op) int) {
	w := print{
		now: now, bytes: b, ops: slices.Sorted(maps.Keys(*hidden[map[ledger.Op]int](&e.Works, opsAt))),
		timers: func(i int) int { return *hidden[int](e.node(i), timerAt) },
		sweeps: e.Ledger.Outage == nil || slices.Contains(e.Ledger.Outage.Scope, false),
	}
	_, write := walks()
	write(&w, unsafe.Pointer(e))
	for i := range e.Beliefs {
		e.ranks(i, &w)
	}
	return w.bytes, w.Place
}

// Walks are what copies a value of another package, and writes down what matters of it: of its life, which is the field of that
// name, only whether another is the same.
func Walks[T any]() (copied func(*T) *T, printed func(v *T, b []byte, now time.Time) []byte) {
	t := reflect.TypeFor[T]()
	mend, write := copying(t), printing(t, "")
	copied = func(v *T) *T {
		c := *v
		mend(unsafe.Pointer(&c))
		return &c
	}
	life, _ := t.FieldByName("life")
	printed = func(v *T, b []byte, now time.Time) []byte {
		w := print{now: now, bytes: b, life: int64(*(*int)(unsafe.Add(unsafe.Pointer(v), life.Offset)))}
		write(&w, unsafe.Pointer(v))
		return w.bytes
	}
	return copied, printed
}

// What package work keeps to itself, by where it stands in memory.
var (
	worksType           = reflect.TypeFor[work.Works]()
	nodesAt, nodesField = where(worksType, "nodes")
	opsAt, _            = where(worksType, "ops")
	nodeType            = nodesField.Elem()
	timerAt, _          = where(nodeType, "timer")
	workAt, workField   = where(nodeType, "work")
	opAt, _             = where(workField.Elem(), "op")
	timerType           = timersField.Field(0).Type.Elem()
	_, timersField      = where(worksType, "timers")
)

// timer is what package work has under that name.
type timer struct {
	at     time.Time
	node   int
	number int
}

// where finds a field of a struct, or of one that it embeds.
func where(t reflect.Type, name string) (offset uintptr, field reflect.Type) {
	f, found := t.FieldByName(name)
	if !found {
		panic("no " + name + " in " + t.String())
	}
	for depth := range f.Index {
		offset += t.FieldByIndex(f.Index[:depth+1]).Offset
	}
	return offset, f.Type
}

func hidden[T, In any](in *In, at uintptr) *T { return (*T)(unsafe.Add(unsafe.Pointer(in), at)) }

// node is what package work knows of a node.
func (e *Engine) node(i int) *byte {
	nodes := *hidden[[]byte](&e.Works, nodesAt)
	return (*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(nodes)), uintptr(i)*nodeType.Size()))
}

// ranks writes what is ever asked of the numbers of a node's looks, commands and epoch: which came first.
func (e *Engine) ranks(i int, w *print) {
	question, last := e.Asked(i), ledger.Op(0)
	if o := e.Ledger.Outage; o != nil {
		last = o.Nodes[i].Last.Op
	}
	w.flag(e.Beliefs[i].Look == 0)
	w.flag(e.Beliefs[i].Look <= last)
	w.flag(question <= e.Beliefs[i].Epoch)
	under := *hidden[unsafe.Pointer](e.node(i), workAt)
	w.flag(under != nil && *(*ledger.Op)(unsafe.Add(under, opAt)) == last)
	w.flag(last <= e.Life)
}

// Unmet lists what the tables above speak of and no engine has.
func Unmet() []string {
	walks()
	named := slices.Concat(slices.Collect(maps.Keys(leftOut)), slices.Collect(maps.Keys(ages)), slices.Collect(maps.Keys(caps)),
		slices.Collect(maps.Keys(words)), slices.Collect(maps.Keys(inCommon)))
	return slices.DeleteFunc(slices.Sorted(slices.Values(named)), func(name string) bool { return met[name] })
}

// ForgetStretches takes that Ebbtide was away for longer than what is on record of a stretch on battery counts.
func (e *Engine) ForgetStretches() {
	if o := e.Ledger.Outage; o != nil {
		for k := range o.Supplies {
			o.Supplies[k].Carried, o.Supplies[k].At = power.Carried{}, time.Time{}
		}
	}
}

// Fold takes a record as Restored does.
func (e *Engine) Fold(rec ledger.Record) error {
	err := e.Ledger.Apply(&rec)
	e.NextOp = e.Ledger.Op
	return err
}

// Blocked reports whether a step waits for good for something that was not proven: people were told so.
func (e *Engine) Blocked() bool {
	for id := range e.Course.Steps {
		if why := e.WaitsFor(id).Code; why == want.NotProven || why == want.GivenUp {
			return true
		}
	}
	return false
}

// Write has the engine write a record as its own, and gives what comes of it.
func (e *Engine) Write(rec ledger.Record) (effects []effect.Effect, stands bool) {
	e.Out = nil
	stands = e.Record(rec)
	return e.Out, stands
}

// NextSweep is when an idle engine looks at everything again.
func (e *Engine) NextSweep() time.Time { return e.sweepAt }
