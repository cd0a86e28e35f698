package daemon

import (
	"fmt"
	"time"

	"ebbtide/internal/engine"
)

// OpenOutageError says that a real outage is open in the journal, but the daemon is not armed: it could neither go on
// with it nor forget what has to be brought back.
type OpenOutageError struct{ Outage string }

func (e *OpenOutageError) Error() string {
	return fmt.Sprintf("cannot observe: outage %q began armed and is still open in the journal", e.Outage)
}

// Hint says what a person can do.
func (e *OpenOutageError) Hint() string {
	return "start with armed: true to finish it; or, if everything is as it should be, give the daemon another journal"
}

// openOutage reads the outage that the journal left open; nil if there is none. One that was only observed is no reason
// to act: it is closed when the daemon is armed by now, and a real look decides whether there is an outage.
func (d *Daemon) openOutage() ([]engine.Record, error) {
	id, open, err := d.journal.OpenOutage()
	if err != nil || !open {
		return nil, err
	}
	records, err := d.journal.Records(id)
	if err != nil {
		return nil, err
	}
	switch was := records[0].Mode; {
	case was == d.mode():
		return records, nil
	case was == ModeRun:
		return nil, &OpenOutageError{Outage: id}
	}
	return nil, d.journal.Append(engine.Record{
		Seq: records[len(records)-1].Seq + 1, At: time.Now(), Outage: id, Kind: engine.Closed,
		Reason: "it was only observed, and Ebbtide has been armed since",
	})
}
