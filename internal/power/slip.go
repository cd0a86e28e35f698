package power

import "time"

// slip follows a figure that may fall by a wrong word of a driver. What lasts, of a fall by far between two words, counts only when it has been told for
// long enough: a battery that breaks down goes on telling it.
type slip struct {
	last  float64   // that was believed
	at    time.Time // when any was told last
	words uint8     // that were believed since it was not told for long, as far as it matters: none, one, or more
	ever  uint8     // and of all, likewise
	since time.Time // when it fell so; zero: it has not
	least float64   // of what it has told since then
	told  uint8     // how often, likewise
}

// isAlone reports whether one word alone is believed so far: of all, or, on battery, since it was not told for long. On line a gauge that goes by the
// voltage rises at once when nothing draws on it any more.
func (s *slip) isAlone(f flow) bool { return s.ever == 1 || s.words == 1 && f == draining }

// isDoubted reports whether it fell by far not long ago, and is not believed yet.
func (s *slip) isDoubted(now time.Time) bool { return !s.since.IsZero() && now.Sub(s.at) < longAgo }

const (
	several = 2           // words are as good as many
	longAgo = time.Minute // is what nothing is held against: a battery may have given out since
)

// believes reports whether a figure is believed. It has fallen by far where even a small battery would not in that time.
func (s *slip) believes(now time.Time, is float64, fellFar func(was, is float64, in time.Duration) bool) bool {
	in := now.Sub(s.at)
	if s.at = now; in >= longAgo {
		s.words, s.since = 0, time.Time{}
	}
	if s.words > 0 && fellFar(s.last, is, in) {
		if s.since.IsZero() {
			s.since, s.least, s.told = now, is, 0
		}
		s.least, s.told = min(s.least, is), min(s.told+1, several)
		if now.Sub(s.since) < lowAfter {
			return false
		}
	}
	s.last, s.since, s.words = is, time.Time{}, min(s.words+1, several)
	s.ever = min(s.ever+1, several)
	return true
}

// chargeFell reports whether a charge fell by more than all of it in a minute, and than gauges do at once.
func chargeFell(was, is float64, in time.Duration) bool {
	return is < was-snapDrop-in.Minutes()
}

// runtimeFell reports whether a runtime fell to less than half of what is left of it.
func runtimeFell(was, is float64, in time.Duration) bool { return is < (was-in.Seconds())/2 }
