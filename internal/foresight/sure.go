package foresight

import (
	"time"

	"ebbtide/internal/want"
)

// How long a supply must tell what something is begun for, and in how many of its readings, until that is believed: what is stopped, powered off or cut
// for one wrong word of a driver is harmed for nothing. Of two readings the worse one counts, so that a wrong word may stand in two.
const (
	sureAfter = 5 * time.Second
	sureWords = 3
)

// Sure is whether a supply has told something for long enough to be believed.
type Sure struct {
	since time.Time // of the first of its readings that did, of those in a row; zero: the newest does not
	read  time.Time // of the newest
	words int       // how many
}

// Hear takes whether the newest reading, which is of that time, tells it, and reports whether it is believed.
func (s *Sure) Hear(read time.Time, told bool) bool {
	switch {
	case !told:
		*s = Sure{}
		return false
	case s.since.IsZero():
		*s = Sure{since: read, read: read, words: 1}
	case read.After(s.read):
		s.read = read
		s.words++
	}
	return s.words >= sureWords && read.Sub(s.since) >= sureAfter
}

// Short is how short the time of a supply's battery is, by what it has told of late. It rises when it is sure, and falls at once.
type Short struct {
	By want.Pressure // what is believed
	to want.Pressure // the least of what it has told since it told more than that
	of Sure
}

// Hear takes what the newest reading, which is of that time, tells.
func (s *Short) Hear(read time.Time, told want.Pressure) {
	if told <= s.By {
		*s = Short{By: told}
		return
	}
	if s.of == (Sure{}) || told < s.to {
		s.to = told
	}
	if s.of.Hear(read, true) {
		*s = Short{By: s.to}
	}
}
