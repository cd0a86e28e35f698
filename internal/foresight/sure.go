package foresight

import (
	"time"

	"ebbtide/internal/want"
)

// How long a supply must tell what something is begun for, and in how many of its readings in a row, until that is believed: what is
// stopped, powered off or cut for one wrong word of a driver is harmed for nothing. Of two readings the worse one counts, so that a wrong
// word may stand in two. One that is never on battery for so long has told it in so many spells.
const (
	sureAfter  = 5 * time.Second
	sureWords  = 3
	sureSpells = 3
	toldKept   = 3 * time.Minute // what was told longer ago, or four readings, is of another failure
	spellsKept = 2 * toldKept    // so long the spells may take together, until it is believed
	slowest    = time.Minute     // of the polls that are waited for
)

// Sure is whether a supply has told something for long enough to be believed. A reading that tells nothing of it, for want of an answer, or
// since the mains are there for a moment, denies nothing, and ends a spell.
type Sure struct {
	since  time.Time // of the first of its words that told it, of those in a row; zero: the newest does not
	began  time.Time // of the first of this spell
	read   time.Time // of the newest
	words  int       // how many of this spell
	spells int
}

// Word is when a reading was made.
type Word struct {
	At     time.Time
	After  time.Duration // how long after the one before, lost or not
	Before time.Time     // when the last was made before it that was heard
}

// Next is the word after it, which is made at a time. It may not have been heard itself.
func (w Word) Next(now time.Time, wasHeard bool) Word {
	next := Word{At: now, After: max(0, now.Sub(w.At)), Before: w.Before}
	if wasHeard {
		next.Before = w.At
	}
	return next
}

// SureIn is how long it takes, from a first word on, to be sure, at the pace at which the supply is polled.
func (w Word) SureIn() time.Duration { return max(sureAfter, (sureWords-1)*min(w.After, slowest)) }

// isLongAfter reports whether it was made longer after an earlier one, so that this says nothing any more.
func (w Word) isLongAfter(earlier time.Time, kept time.Duration) bool {
	return w.At.Sub(earlier) > max(kept, 4*min(w.After, time.Hour))
}

// Hear takes whether a reading tells it. Several events of one reading are one word.
func (s *Sure) Hear(word Word, told bool) {
	switch {
	case !told:
		*s = Sure{}
	case s.read.IsZero() || s.isOver(word):
		*s = Sure{since: word.At, began: word.At, read: word.At, words: 1, spells: 1}
	case !word.At.After(s.read):
	case word.Before.After(s.read): // there were others between
		if s.spells++; s.Is() { // and stays so
			s.spells = max(s.spells, sureSpells)
		}
		s.began, s.read, s.words = word.At, word.At, 1
	default:
		s.read = word.At
		s.words++
	}
}

// Rest takes that what was told has had its effect, or none: it counts as one spell less than it takes, and is believed when it is told
// again.
func (s *Sure) Rest() {
	s.began, s.words, s.spells = s.read, 0, min(s.spells, sureSpells-1)
}

// isOver reports whether what it has told says nothing any more when a word is heard.
func (s *Sure) isOver(word Word) bool {
	return word.isLongAfter(s.read, toldKept) || !s.Is() && word.isLongAfter(s.since, spellsKept)
}

// Is reports whether it is believed.
func (s *Sure) Is() bool {
	inRow := s.words >= sureWords && s.read.Sub(s.began) >= sureAfter
	return inRow || s.spells >= sureSpells && s.read.Sub(s.since) >= sureAfter
}

// Short is how short the time of a supply's battery is, by what it has told of late. It rises when it is sure, and falls at once.
type Short struct {
	By        want.Pressure         // what is believed
	announced [want.CutNow + 1]Sure // of each, whether it has told that or more
	read      time.Time             // of its newest word
}

// Hear takes what a reading tells.
func (s *Short) Hear(word Word, told want.Pressure) {
	if word.isLongAfter(s.read, toldKept) {
		s.By = want.NoPressure
	}
	s.read, s.By = word.At, min(s.By, told)
	for p := range s.announced {
		by := want.Pressure(p)
		if s.announced[p].Hear(word, told >= by); s.announced[p].Is() {
			s.By = max(s.By, by)
		}
	}
}

// Pass takes what is reckoned where there is no word: it is believed when the supply has been silent for long, and where it is less.
func (s *Short) Pass(reckoned want.Pressure, silentForLong bool) {
	if silentForLong || reckoned < s.By {
		*s = Short{By: reckoned, read: s.read}
	}
}
