package engine

import (
	"slices"
	"time"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/power"
)

// How often it goes on record what has become of a supply that is on battery, and how soon at first.
const (
	stillEvery = 30 * time.Second
	stillFirst = 10 * time.Second
)

// keepStill puts on record what has become of a supply that is on battery, for a restart: from time to time, and at once where it failed
// for another reason before, or a stage begins.
func (e *Engine) keepStill(k int) {
	s, w, st := &e.Supplies[k], &e.watch[k], e.Standing(k)
	onLine := s.State.Mains == power.MainsOnline && s.State.SilentFor == 0
	switch {
	case !onLine:
		w.lineAt = time.Time{}
	case w.lineAt.IsZero():
		w.lineAt = e.Now
	}
	switch {
	case !st.IsOut() || e.JournalLost:
		return
	case onLine && st.On && e.IsUnfit(s) && e.Now.Sub(w.lineAt) >= power.ReturnAfter: // it fails still, but not for want of its mains
		e.Record(ledger.Record{Kind: ledger.Still, Power: ledger.Power{Supplies: []string{e.ID(s.Node)}}})
		return
	case st.On && e.Now.Sub(w.still) < stillEvery && (!st.At.IsZero() || !slices.Contains(st.Stages, true)), st.Cycle.IsDark():
		return
	}
	if carried, is := s.Tracker.Carry(); is {
		carried.Lasts, carried.Charge = s.State.Left.Value, s.State.Charge.Value // 0: not known
		w.still = e.Now
		e.Record(ledger.Record{Kind: ledger.Still, Power: ledger.Power{Supplies: []string{e.ID(s.Node)}, Carried: &carried}})
	}
}

// heardAfter is for how long a supply that was not heard must be again until that goes on record: some fall silent every minute.
const heardAfter = 5 * time.Minute

// keepUnheard puts on record, for a restart, that a supply whose recharge gate was passed is not heard, and that it is again and its gate
// is open.
func (e *Engine) keepUnheard(k int) {
	s, st := &e.Supplies[k], e.Standing(k)
	cause := ledger.Unheard
	switch {
	case e.JournalLost:
		return
	case s.State.SilentFor > belief.DeafAfter && st.Passed == ledger.PassedNow:
	case s.Gate && st.Passed == ledger.PassedBefore && e.watch[k].turned && s.State.SilentFor == 0 && s.State.OnlineFor >= heardAfter:
		cause = ledger.HeardAgain
	default:
		return
	}
	e.Record(ledger.Record{Kind: ledger.Still, Cause: cause, Power: ledger.Power{Supplies: []string{e.ID(s.Node)}}})
}
