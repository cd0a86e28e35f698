package engine

import (
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"
	"unsafe"
)

// leftOut are the fields that do not decide what an engine will do, and why.
var leftOut = map[string]string{
	"Engine.settings":   "never changes",
	"Engine.estate":     "never changes",
	"Engine.down":       "never changes",
	"Engine.up":         "never changes",
	"Engine.now":        "what all times are told from",
	"Engine.out":        "empty between two events",
	"Engine.nextOp":     "a number like any other",
	"Engine.lastOutage": "a name like any other",
	"Engine.serial":     "estimates are answered before the next is asked for",
	"Estimated.Serial":  "likewise",
	"supply.state":      "read off the tracker at the last reading",
	"node.gen":          "voids timers, which is seen there",
	"run.id":            "a name like any other",
	"run.seq":           "a number like any other",
	"run.told":          "words for people",

	"Observation.Detail": "words for people",
	"Tracker.id":         "never changes",
	"battery.curve":      "never changes",
	"battery.capacity":   "changes with the charge, which no explored UPS tells",
	"battery.burnt":      "likewise",
	"battery.lasted":     "likewise",
	"battery.since":      "likewise",
	"battery.spent":      "likewise",
	"stretch.burn":       "for the record, as is all but whether there is one",
	"stretch.loaded":     "likewise",
	"stretch.charged":    "likewise",
	"stretch.from":       "likewise",
	"stretch.to":         "likewise",
	"stretch.low":        "likewise",
	"stretch.drill":      "likewise",
	"battery.recharge":   "never changes",
	"supply.readAt":      "of the slack, which no explored policy asks for",
	"supply.ahead":       "likewise",
	"Discharge.At":       "for the record",
	"exec.since":         "of the estimate, which is of whole steps there",
	"stage.reason":       "words for people",
	"Dispatcher.estate":  "never changes",
	"Dispatcher.nodes":   "goes with progress.plan",
	"Dispatcher.byRank":  "never changes",
}

// ages are how far back each time matters: an age beyond it decides nothing more. 0: whether it has come is all.
var ages = map[string]time.Duration{
	"node.seenAt":       lookAge, // trustLast asks further back, after a quarter of an hour without any sweep
	"node.asked":        lookAge,
	"node.told":         proofAge,
	"node.silent":       time.Hour, // a node's own OffAfter
	"node.heldAt":       firstRetry,
	"node.nextLook":     0,
	"exec.deadline":     0,
	"exec.next":         0,
	"run.lookAt":        0,
	"discharge.since":   beginWithin,
	"discharge.toldAt":  giveUpEnding,
	"discharge.nextTry": 0,
	"run.movedAt":       stalledFor,
	"Engine.wakeAt":     0,
	"Engine.asked":      askEstimate,
	"Engine.resumedAt":  time.Minute, // twice what the explored estate's nodes take to start
	"Engine.sweepAt":    0,
	"Tracker.heardAt":   time.Minute,      // the longest silence that a policy asks for
	"Tracker.since":     20 * time.Second, // what the explored policy asks for; the slope's minute is left out with it
	"span.from":         time.Minute,
	"held.at":           2 * time.Minute, // figures are kept for so long
	"gauge.at":          2 * time.Minute,
	"battery.at":        time.Minute,
}

// caps are the counts beyond which it makes no difference how many.
var caps = map[string]int{"node.offs": proofLooks, "exec.attempt": 3, "stretch.took": 1}

// words are of people: all that is decided by them is whether there are any.
var words = map[string]bool{"exec.reason": true}

// idleOnly are fields that an outage makes nothing of, and that its end sets anew.
var idleOnly = map[string]bool{"Engine.sweepAt": true}

// bags are slices whose order means nothing.
var bags = map[string]bool{"progress.parked": true}

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
func (e *Engine) Fingerprint(b []byte, now time.Time) (out []byte, place func(Op) int) {
	w := print{now: now, bytes: b, ops: slices.Sorted(maps.Keys(e.ops)), gens: func(i int) int { return e.nodes[i].gen }, idle: e.run == nil}
	_, write := walks()
	write(&w, unsafe.Pointer(e))
	return w.bytes, w.Place
}

// Unmet lists what the tables above speak of and no engine has.
func Unmet() []string {
	walks()
	named := slices.Concat(slices.Collect(maps.Keys(leftOut)), slices.Collect(maps.Keys(ages)), slices.Collect(maps.Keys(caps)), slices.Collect(maps.Keys(words)), slices.Collect(maps.Keys(bags)))
	return slices.DeleteFunc(slices.Sorted(slices.Values(named)), func(name string) bool { return met[name] })
}

// Fold takes a record as Restored does.
func (e *Engine) Fold(rec Record) error { return e.fold(&rec) }

// Blocked tells whether a step waits for good for something that was not proven: people were told so.
func (e *Engine) Blocked() bool {
	return e.run != nil && slices.Contains(e.run.progress.status, blocked)
}

// NextSweep is when an idle engine looks at everything again.
func (e *Engine) NextSweep() time.Time { return e.sweepAt }
