package power

import "time"

// slip follows a figure that may fall by a wrong word of a driver. What lasts, of a fall by far between two readings a few seconds apart, counts only when
// it has been told for long enough: a battery that breaks down goes on telling it.
type slip struct {
	last  float64   // that was believed
	told  time.Time // when any was told last; zero: none was
	since time.Time // when it fell so; zero: it has not
	least float64   // of what it has told since then
}

// believes reports whether a figure is believed. After a silence the first word is, since nobody knows what went on meanwhile.
func (s *slip) believes(now time.Time, is float64, fellFar func(was, is float64) bool) bool {
	fell := !s.told.IsZero() && now.Sub(s.told) <= lineGap && fellFar(s.last, is)
	s.told = now
	switch {
	case fell && s.since.IsZero():
		s.since, s.least = now, is
		return false
	case fell && now.Sub(s.since) < lowAfter:
		s.least = min(s.least, is)
		return false
	}
	s.last, s.since = is, time.Time{}
	return true
}

// A charge that falls by so much, or a runtime that halves, between two readings, is no load's doing.
func chargeFell(was, is float64) bool  { return is < was-snapDrop }
func runtimeFell(was, is float64) bool { return is < was/2 }
