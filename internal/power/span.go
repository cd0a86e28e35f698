package power

import "time"

// span is how long something has been so without interruption.
type span struct {
	on   bool
	from time.Time
}

func (s *span) set(now time.Time, on bool) {
	if on && !s.on {
		s.from = now
	}
	s.on = on
}

// until gives the length up to a time; 0 when it is not so.
func (s span) until(t time.Time) time.Duration {
	if !s.on {
		return 0
	}
	return max(0, t.Sub(s.from))
}

// kept is how long a figure outlives readings that lack it, on line. On battery the last word stands until the next.
const kept = 2 * time.Minute

// held is the last figure that was reported.
type held struct {
	figure Figure
	at     time.Time
}

func (h *held) tell(now time.Time, f Figure) {
	if f.Known {
		h.figure, h.at = f, now
	}
}

func (h held) get(now time.Time, m Mains) Figure {
	if h.figure.Known && m != MainsOnBattery && h.at.Before(now.Add(-kept)) {
		return Figure{}
	}
	return h.figure
}
