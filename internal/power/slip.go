package power

import "time"

// slip follows a figure that may fall by a wrong word of a driver. What lasts, of a fall by far between two words, counts only when it has
// been told for long enough: a battery that breaks down goes on telling it.
type slip struct {
	last  float64   // that was believed
	by    flow      // when the battery did that
	words uint8     // that were believed, as far as it matters: none, one, or more
	at    time.Time // when any was told last
	since time.Time // when it fell so; zero: it has not
	least float64   // of what it has told since then
	told  uint8     // how often it has told any
}

// several words are as good as many.
const several = 2

// believes reports whether a figure is believed. It has fallen by far where it would not in that time.
func (s *slip) believes(now time.Time, is float64, f flow, fellFar func(was, is float64, in time.Duration) bool) bool {
	in := now.Sub(s.at)
	if f == refilling { // in which it gives nothing
		in = 0
	}
	s.at = now
	if s.words > 0 && fellFar(s.last, is, in) {
		if s.since.IsZero() {
			s.since, s.least, s.told = now, is, 0
		}
		s.least, s.told = min(s.least, is), min(s.told+1, several)
		if now.Sub(s.since) < lowAfter {
			return false
		}
	}
	s.last, s.by, s.since, s.words = is, f, time.Time{}, min(s.words+1, several)
	return true
}

// chargeFell reports whether a charge fell by more than gauges do at once, and than a small battery gives in that time, or by more than
// half of all.
func chargeFell(was, is float64, in time.Duration) bool {
	return is < was-snapDrop-min(in.Minutes(), wholeFall)
}

// wholeFall is the most of a charge that is believed to be gone by one word, after however long a silence, and to be back by the second
// word of all.
const wholeFall = 0.5

// runtimeFell reports whether a runtime fell to less than half of what is left of it.
func runtimeFell(was, is float64, in time.Duration) bool { return is < (was-in.Seconds())/2 }
