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
	sureKept  = time.Minute // what was told longer ago, and not since, is of another failure
)

// Sure is whether a supply has told something for long enough to be believed. A reading that tells nothing of it, for want of an answer, or since the
// mains are there for a moment and what is measured would be as bad without them, denies nothing.
type Sure struct {
	since time.Time // of the first of its words that told it, of those in a row; zero: the newest does not
	read  time.Time // of the newest
	words int       // how many
}

// Hear takes whether a reading of that time tells it. Several events of one reading are one word.
func (s *Sure) Hear(read time.Time, told bool) {
	switch {
	case !told:
		*s = Sure{}
	case s.since.IsZero() || read.Sub(s.read) > sureKept:
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

// Hear takes what a reading of that time tells.
func (s *Short) Hear(read time.Time, told want.Pressure) {
	if read.Sub(s.read) > sureKept {
		*s = Short{}
	}
	if s.read = read; told <= s.By {
		*s = Short{By: told, read: read}
		return
	}
	if s.of == (Sure{}) || told < s.to {
		s.to = told
	}
	if s.of.Hear(read, true); s.of.Is() {
		*s = Short{By: s.to, read: read}
	}
}

// Deny takes what a reading on line would mean without the mains: where that is less than was told, it was a slip.
func (s *Short) Deny(told want.Pressure) {
	if told < s.By || told < s.to {
		*s = Short{By: min(s.By, told), read: s.read}
	}
}

// IsIdle reports whether there is nothing to deny.
func (s *Short) IsIdle() bool { return s.By == want.NoPressure && s.to == want.NoPressure }

// Pass takes what is reckoned where there is no word: it is believed when the supply has been silent for long, and where it is less.
func (s *Short) Pass(reckoned want.Pressure, silentForLong bool) {
	if silentForLong || reckoned < s.By {
		s.By, s.of = reckoned, Sure{}
	}
}
