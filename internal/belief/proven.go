package belief

import (
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// ProvenOff reports whether a node is off beyond doubt: what can't be undone may rest on it. One look is not enough, and an
// old proof is none, unless the node was asked since and did not answer: silence contradicts nothing.
func (e *Estate) ProvenOff(i int) bool {
	age := ProofStands
	if e.MayHaveCome(i) { // it may come up with its host at any moment
		age = ProofAge
	}
	return e.WasProvenOff(i) && !e.IsOld(i, age)
}

// WasProvenOff reports whether a node was off beyond doubt when it last answered, however long ago that was.
func (e *Estate) WasProvenOff(i int) bool {
	b := &e.Beliefs[i]
	return b.Proof >= TwoLooks && b.Doubt == plan.Unknown && (IsDown(b.Answer) || !e.MayHaveCycled(i))
}

// InDoubt reports whether a node has to be asked before a command rests on its being off.
func (e *Estate) InDoubt(i int) bool {
	b := &e.Beliefs[i]
	switch {
	case !Probed(e.Graph.Node(i)):
		return false
	case b.Doubt != plan.Unknown:
		return true
	}
	return e.IsOld(i, ProofAge) || b.Proof == OneLook
}

// ProofOf gives what the last look at a node rests on, for the record.
func (e *Estate) ProofOf(i int) ledger.Cause {
	if e.Beliefs[i].Proof == BySilence {
		return ledger.Silence
	}
	return ""
}

// IsOld reports whether the newest answer of a node came longer ago than so. It counts from when it came, and not from the question:
// what takes seconds to answer would always be too old.
func (e *Estate) IsOld(i int, age time.Duration) bool {
	return e.Now.Sub(e.Beliefs[i].answeredAt) > age
}

// AnswersOff reports whether the newest look at a node says that it is off, which it may say by its silence.
func (e *Estate) AnswersOff(i int) bool {
	b := &e.Beliefs[i]
	return IsDown(b.Answer) || b.Proof == BySilence && b.Answer == plan.Unreachable
}

// Rounds is when others were asked for a command that rests on their being off. In each round all are asked that answer.
type Rounds struct {
	Begun time.Time // the first one; zero: nobody was
	Anew  time.Time // the last one: what was asked since is as fresh as can be had
	Last  bool      // the command is a stop of what loses its power soon: harm that may be done by it is less than that
}

// IsAnew reports whether a node was asked in the last of some rounds, or in vain in any of them. That some take longer for it than others
// makes none of them too old: it would be so in the next round again.
func (e *Estate) IsAnew(i int, asked Rounds) bool {
	since := asked.Anew
	if !since.IsZero() && (!e.AnswersOff(i) || e.CannotAnswer(i)) {
		since = asked.Begun
	}
	return !since.IsZero() && !e.Beliefs[i].AskedAt.Before(since)
}

// ProvenOffTo reports whether a node is off beyond doubt, for a command for which it was asked in some rounds. That its power may have come
// back since, while nobody heard what feeds it, keeps no last command.
func (e *Estate) ProvenOffTo(i int, asked Rounds) bool {
	b := &e.Beliefs[i]
	if asked.Last && b.Proof >= TwoLooks && b.Doubt == plan.Unknown && e.IsMute(i) {
		return !e.IsOld(i, ProofStands)
	}
	return e.ProvenOff(i) || e.WasProvenOff(i) && e.IsAnew(i, asked)
}
