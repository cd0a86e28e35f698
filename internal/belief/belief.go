package belief

import (
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// Belief is the evidence about a node. It is of the node's present epoch: what was known before its power was lost or came
// back, before what carries it did, before a start of it, and before Ebbtide itself was away, is forgotten. Nothing of it
// outlives a crash.
type Belief struct {
	newest
	Seen      plan.Observation // the newest answer that said something; State is Unknown before there is one
	SeenAt    time.Time        // when that was asked
	Look      ledger.Op        // its number: a look with a lower number than a command was made before it
	Looks     int              // how many looks in a row have said the same
	Since     time.Time        // when the first of them was asked
	Proof     Proof            // what its being off rests on
	Epoch     ledger.Op        // the highest number of an operation from before this epoch
	Silent    time.Time        // since when it has not answered; zero: it answers, or nobody asked
	Settled   plan.State       // on or off, as it was last proven to be; Unknown: nobody knows what became of it
	OnAt      time.Time        // when it was last seen on, in this epoch or before it; zero: it was told to go off, or seen to, since
	Belied    bool             // an outlet that is off, and on which something has answered since
	Departure Departure
	motion
	hesitation
}

// newest is what the newest look at a node came to, whether it said something or not.
type newest struct {
	Answer     plan.State // what the newest look made of it, Unknown and Unreachable included
	AskedAt    time.Time  // when that was asked; zero: not yet in this epoch
	before     time.Time  // and the one before it
	answeredAt time.Time  // when that answer came
	// when the first of the looks in a row was asked that had no answer, or one that said nothing; zero: the newest says something
	blank   time.Time
	Asked   bool // it has been asked in this epoch
	Unasked bool // the newest look did not get as far as the node
}

// obedience is until when a node may be on its way down by a stop that it took, or may have.
type obedience struct {
	Obeying time.Time     // until it is off it may show as on; zero: it took none
	Told    time.Time     // when that was sent
	Adrift  time.Duration // by how much both are later than the clock had it, as that may have been set while Ebbtide was away
}

// motion is until when a node may be on its way, whatever it shows.
type motion struct {
	obedience
	Rising  time.Time // up: neither silence nor one "off" says otherwise
	Falling time.Time // down: that it shows as on proves nothing
	Going   time.Time // down, and since then, as was seen, whatever it was told meanwhile; zero: it was not seen to
	Boots   time.Time // up by itself, while nobody looked: its silence proves nothing
	Hosted  time.Time // up with its host, while nobody looked; what its host says of it counts
	Undoing time.Time // back to how it was set: that it shows as protected proves nothing of after that
	Late    time.Time // so, by a command of an earlier outage that nobody waits for any more
}

// UpUntil is until when a node may be on its way up by itself, or with its host: its silence proves nothing.
func (m *motion) UpUntil() time.Time { return later(m.Boots, m.Hosted) }

// HostIsUp ends what its host took of the time in which a node may be on its way up: the rest is until then at the latest.
func (m *motion) HostIsUp(until time.Time) {
	m.Rising, m.Boots = earlier(m.Rising, until), earlier(m.Boots, until)
}

// Departure is how far a node has gone since it was told to stop, where its silence after that may prove it off.
type Departure uint8

// How far it has gone.
const (
	NotSeen  Departure = iota
	Relit              // it was on while its power may have come back, and its stop may have been on its way still
	Leaving            // it was seen on its way down, or fell silent
	Coming             // and once on its way up
	Returned           // and on again: somebody started it, or its power did
)

// next is where a departure is after an answer, which was the same for so many looks. Of what may have got its power back one look is
// enough: its silence after that says that the network is gone. But one look that comes so early that its stop may be on its way is not:
// the next one is.
func (d Departure) next(state plan.State, looks int, powered, obeyed bool) Departure {
	again := looks >= ProofLooks
	switch {
	case state == plan.Stopping:
		return max(d, Leaving)
	case state == plan.Starting && !again && d < Coming:
		return Coming
	case state == plan.Starting:
		return Returned
	case state == plan.On:
		return d.isOn(again, powered, obeyed)
	}
	return d
}

// isOn is next after an answer that says on.
func (d Departure) isOn(again, powered, obeyed bool) Departure {
	switch {
	case again && d == Leaving, d == Coming, (powered || d == Relit) && obeyed:
		return Returned
	case powered && d == NotSeen:
		return Relit
	}
	return d
}

// hesitation is an answer that is asked for again before it is believed.
type hesitation struct {
	Doubt  plan.State // Unknown: none is
	Doubts int        // how many such answers came in a row
	Twice  bool       // the newest answer was asked for again, and said the same
	Wavers bool       // its answers disagree, however often it is asked
}

// Proof is what the belief that a node is off rests on, weakest first.
type Proof uint8

// The proofs.
const (
	NoProof   Proof = iota
	OneLook         // one look said so
	TwoLooks        // two looks in a row did
	BySilence       // it has not answered for as long as the runbook asks, after a stop that it had accepted
)

func (p Proof) String() string {
	return [...]string{"nothing", "one look", "two looks in a row", "its silence after an accepted stop"}[p]
}

// Renew begins a new epoch of a node. What was sent to it before may still be on its way.
func (b *Belief) Renew(before ledger.Op) {
	*b = Belief{
		Epoch: before, OnAt: b.OnAt, Settled: b.Settled, Departure: b.Departure, hesitation: hesitation{Doubt: plan.Unknown},
		motion: motion{obedience: b.obedience, Falling: b.Falling, Undoing: b.Undoing, Hosted: b.Hosted, Late: b.Late},
	}
}

// IsOutlived reports whether the time of a command is over, and the newest look is from before that: whether it did what it was told no
// look has shown.
func (b *Belief) IsOutlived(now time.Time) bool {
	by := func(end time.Time) bool { return b.AskedAt.Before(end) && !now.Before(end) }
	return by(b.Falling) || by(b.Obeying) || by(b.Undoing)
}

// Commanded forgets what was seen of a node before a command that changes it: a look from before proves nothing of it.
func (b *Belief) Commanded(node *plan.Node, verb plan.Verb, op ledger.Op, now time.Time) {
	switch verb {
	case plan.Start:
		boots := b.Boots
		b.Renew(op)
		b.Obeying, b.Boots = time.Time{}, boots // by itself, whatever becomes of the command
	case plan.Stop, plan.Force, plan.Cut:
		b.Seen.State, b.Answer, b.Doubt = plan.Unknown, plan.Unknown, plan.Unknown
		b.AskedAt, b.answeredAt, b.Looks, b.Proof, b.Epoch = time.Time{}, time.Time{}, 0, NoProof, op
		b.OnAt = time.Time{}
		if node.SuspendsItself() {
			b.Seen.Protected = plan.NotKnown
		}
	case plan.Flush: // nor does an adapter that can't tell now go on saying so
		b.Seen.Clean = plan.NotKnown
	case plan.Protect, plan.Unprotect, plan.Discharge, plan.EndDischarge:
	}
	if verb.TakesDown() {
		b.Falling = now.Add(ProofStands)
	}
}
