package foresight

import (
	"time"

	"ebbtide/internal/want"
)

// How long a supply must tell what something is begun for, and in how many of its readings on battery, until that is believed: what is stopped, powered
// off or cut for one wrong word of a driver is harmed for nothing. Of two readings the worse one counts, so that a wrong word may stand in two.
const (
	sureAfter = 5 * time.Second
	sureWords = 3
	sureKept  = time.Minute     // what was believed longer ago, or four readings, is of another failure
	toldKept  = 3 * time.Minute // and so is what was told, and not believed
)

// Sure is whether a supply has told something for long enough to be believed. A reading that tells nothing of it, for want of an answer, or since the
// mains are there for a moment, denies nothing.
type Sure struct {
	since time.Time // of the first of its words that told it, of those in a row; zero: the newest does not
	read  time.Time // of the newest
	words int       // how many
}

// Word is when a reading was made, and how long after the one before.
type Word struct {
	At    time.Time
	After time.Duration
}

// SureIn is how long it takes, from a first word on, to be sure, at the pace at which the supply is polled.
func (w Word) SureIn() time.Duration { return max(sureAfter, (sureWords-1)*min(w.After, sureKept)) }

// isLongAfter reports whether it was made longer after an earlier one, so that this says nothing any more.
func (w Word) isLongAfter(earlier time.Time, kept time.Duration) bool {
	return w.At.Sub(earlier) > max(kept, 4*w.After)
}

// Hear takes whether a reading tells it. Several events of one reading are one word.
func (s *Sure) Hear(word Word, told bool) {
	read := word.At
	switch {
	case !told:
		*s = Sure{}
	case s.since.IsZero(), s.Is() && word.isLongAfter(s.read, sureKept), word.isLongAfter(s.read, toldKept):
		*s = Sure{since: read, read: read, words: 1}
	case read.After(s.read):
		s.read = read
		s.words++
	}
}

// Is reports whether it is believed.
func (s *Sure) Is() bool { return s.words >= sureWords && s.read.Sub(s.since) >= sureAfter }

// Short is how short the time of a supply's battery is, by what it has told of late. It rises when it is sure, and falls at once.
type Short struct {
	By   want.Pressure // what is believed
	to   want.Pressure // the least of what it has told since it told more than that
	of   Sure
	read time.Time // of its newest word
}

// Hear takes what a reading tells.
func (s *Short) Hear(word Word, told want.Pressure) {
	switch {
	case word.isLongAfter(s.read, toldKept):
		*s = Short{}
	case word.isLongAfter(s.read, sureKept):
		s.By = want.NoPressure
	}
	if s.read = word.At; told <= s.By {
		*s = Short{By: told, read: s.read}
		return
	}
	if s.of == (Sure{}) || told < s.to {
		s.to = told
	}
	if s.of.Hear(word, true); s.of.Is() {
		*s = Short{By: s.to, read: s.read}
	}
}

// Pass takes what is reckoned where there is no word: it is believed when the supply has been silent for long, and where it is less.
func (s *Short) Pass(reckoned want.Pressure, silentForLong bool) {
	if silentForLong || reckoned < s.By {
		s.By, s.of = reckoned, Sure{}
	}
}
