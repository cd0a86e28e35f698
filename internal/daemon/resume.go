package daemon

import (
	"fmt"
	"time"

	"ebbtide/internal/ledger"
)

// OpenOutageError says that a real outage is open in the journal, but the daemon is not armed: it could neither go on
// with it nor forget what has to be brought back.
type OpenOutageError struct{ Outage string }

func (e *OpenOutageError) Error() string {
	return fmt.Sprintf("cannot observe: outage %q began armed and is still open in the journal", e.Outage)
}

// Hint says what a person can do.
func (e *OpenOutageError) Hint() string {
	return "start with armed: true to finish it; or, if everything is as it should be, give the daemon a different journal"
}

// openOutage gives the newest outage's records if it is open, else nil. One that was only observed is no reason to act:
// it is closed when the daemon is armed by now, and a real look decides whether there is an outage.
func (d *Daemon) openOutage(newest []ledger.Record) ([]ledger.Record, error) {
	if len(newest) == 0 || newest[len(newest)-1].Kind == ledger.Closed {
		return nil, nil
	}
	first, last := newest[0], newest[len(newest)-1]
	switch {
	case d.conduct.takesUp(first.Mode):
		return newest, nil
	case first.Mode == ledger.ModeRun, first.Mode == ledger.ModeDrill:
		return nil, &OpenOutageError{Outage: first.Outage}
	}
	d.log.Warn("the outage that was only observed is closed, because Ebbtide is armed now: what it would have done is not continued",
		"outage", first.Outage)
	return nil, d.journal.Append(ledger.Record{
		Seq: last.Seq + 1, At: time.Now(), Outage: first.Outage, Kind: ledger.Closed, Cause: ledger.Armed,
		Reason: "it was only observed, and Ebbtide has since been armed",
	})
}
