package power

import "time"

// stretch is the account of one time on battery, from which the capacity is learned.
type stretch struct {
	given          // up to the last word
	unheard  given // since then: counted once the supply says that it is on battery still
	charged  bool
	from, to float64  // charge, as fractions
	low      *lowMark // nil: the UPS does not call its battery low
	drill    bool     // it was on purpose
	onRecord bool     // it has gone on record
}

// learnsFrom is a fall of the charge from which the capacity of the moment is believed, if it is less than what was.
const learnsFrom = 0.20

// given is what a battery has given.
type given struct {
	burn   float64
	took   time.Duration
	loaded float64 // load times seconds
}

func (s *stretch) pass(burn float64, took time.Duration, load float64) {
	s.unheard.add(given{burn, took, load * took.Seconds()})
}

func (g *given) add(more given) {
	g.burn += more.burn
	g.took += more.took
	g.loaded += more.loaded
}

// heard tells that the supply was heard, and whether it was on battery until now. Else it may have given nothing for as long as it was
// silent.
func (s *stretch) heard(still bool) {
	if still {
		s.add(s.unheard)
	}
	s.unheard = given{}
}

func (s *stretch) charge(c float64) {
	if !s.charged {
		s.charged, s.from = true, c
	}
	s.to = c
}

// lowMark is what a battery had given, and its charge, when its UPS began to call it low.
type lowMark struct {
	given
	to float64
}

// callsLow notes whether the UPS calls its battery low: what it has given until it began to is what it is counted on for. One that calls it
// low no more, as when its load has fallen, or was wrong once, has said nothing.
func (s *stretch) callsLow(low bool) {
	switch {
	case !low:
		s.low = nil
	case s.low == nil:
		s.low = &lowMark{s.given, s.to}
	}
}

// discharge gives the account so far; false where there is none, or it has been told.
func (s *stretch) discharge(at time.Time) (Discharge, bool) {
	if s.onRecord || s.took <= 0 {
		return Discharge{}, false
	}
	given, to := s.given, s.to
	if s.low != nil {
		given, to = s.low.given, s.low.to
	}
	d := Discharge{
		At: at, Burn: given.burn, Took: given.took, Load: 100 * s.loaded / s.took.Seconds(), Empty: s.low != nil, Drill: s.drill,
	}
	if s.charged {
		d.From, d.To = 100*s.from, 100*to
	}
	return d, true
}

// account ends a stretch: what it shows of the capacity counts at once where it is less than what was known, so that a
// battery is not believed again only because its gauge says full.
func (b *battery) account() {
	s := b.stretch
	b.stretch = stretch{}
	fall := s.from - s.to
	if !s.charged || fall < learnsFrom || s.drill && s.low != nil {
		return
	}
	burn, sigma := s.burn/fall, fallSigma+fallGrain/fall
	if full, was, _ := b.full(); full > 0 && full*lowFactor(was) <= burn*lowFactor(sigma) {
		return
	}
	b.spent = min(burn, (1-s.to)*burn)
	b.capacity.Burn, b.capacity.Sigma = burn, sigma
}
