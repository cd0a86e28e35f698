package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ebbtide/internal/english"
	"ebbtide/internal/journal"
	"ebbtide/internal/ledger"
)

func (a *app) journal() *cobra.Command {
	c := &cobra.Command{Use: "journal", GroupID: "after", Short: "inspect the journal of outages"}
	mustChoose(c)
	c.AddCommand(
		&cobra.Command{
			Use: "verify FILE", Short: "read every record and report any damage", Args: exactly(1, "one journal file"),
			RunE: func(_ *cobra.Command, args []string) error { return a.verifyJournal(args[0]) },
		},
		&cobra.Command{
			Use: "export FILE [OUTAGE]", Short: "write the records of one outage or of all, one JSON document per line",
			Args: between(1, 2, "a journal file and at most one outage"),
			RunE: func(_ *cobra.Command, args []string) error { return a.exportJournal(args[0], args[1:]) },
		},
	)
	return c
}

// openJournal opens a journal to read it.
func openJournal(path string) (*journal.Journal, error) {
	j, err := journal.Open(path, journal.Options{ReadOnly: true})
	var inUse *journal.InUseError
	switch {
	case errors.As(err, &inUse):
		return nil, fail(exitFailed, "the daemon has it open: use `ebbtide report` or `ebbtide status` with --config FILE, "+
			"which ask the daemon, or stop the daemon first; a copy of a file in use may be damaged", "%w", err)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail(exitFailed, "the setting journal says where the daemon's journal is", "%w", err)
	}
	return j, err
}

// verified is what verify says of a journal.
type verified struct {
	Error   string           `json:"error,omitempty"`
	Hint    string           `json:"hint,omitempty"`
	Outages []journal.Outage `json:"outages"` // that can be summed up
	Records int              `json:"records"` // of those
	Damage  []string         `json:"damage,omitempty"`
}

func (a *app) verifyJournal(path string) error {
	j, err := openJournal(path)
	if err != nil {
		return err
	}
	defer func() { _ = j.Close() }() // nothing was written
	damage := j.Verify()
	v := verified{Outages: []journal.Outage{}}
	outages, err := j.Outages()
	if err != nil && damage == nil {
		return err
	}
	for _, o := range outages {
		v.Outages = append(v.Outages, o)
		v.Records += o.Records
	}
	if damage != nil {
		return a.tellDamage(v, damage)
	}
	if a.format == "json" {
		return a.json(v)
	}
	_, err = fmt.Fprintf(a.Stdout, "%s, %s, no damage\n", english.Count(len(outages), "outage"), english.Count(v.Records, "record"))
	return err
}

// tellDamage tells each fault that Verify found.
func (a *app) tellDamage(v verified, damage error) error {
	_, v.Hint, _ = explain(damage)
	v.Damage = strings.Split(damage.Error(), "\n")
	if a.format == "json" {
		v.Error = v.Damage[0]
		return errors.Join(ended(exitFailed), a.json(v))
	}
	for _, one := range v.Damage {
		fmt.Fprintln(a.Stderr, "ebbtide: error:", one)
	}
	fmt.Fprintln(a.Stderr, "ebbtide: hint:", v.Hint)
	return ended(exitFailed)
}

// exportJournal writes all that can be read, and then says what is wrong, if anything is.
func (a *app) exportJournal(path string, only []string) error {
	records, err := readJournal(path, only)
	var damaged *journal.DamagedError
	if errors.As(err, &damaged) && !damaged.Foreign {
		found, lost := journal.Salvage(path)
		if lost != nil {
			return errors.Join(err, lost)
		}
		records = slices.DeleteFunc(found, func(r ledger.Record) bool { return len(only) > 0 && r.Outage != only[0] })
		err = fail(exitFailed, "damaged records are left out: some may be missing, most likely the last ones",
			"%w; recovered %s from it", err, english.Count(len(records), "record"))
	}
	out := json.NewEncoder(a.Stdout)
	for i := range records {
		if err := out.Encode(records[i]); err != nil {
			return fmt.Errorf("cannot write record %d of outage %q: %w", records[i].Seq, records[i].Outage, err)
		}
	}
	if err == nil || a.format != "json" {
		return err
	}
	code, hint, _ := explain(err)
	return errors.Join(ended(code), out.Encode(fault{err.Error(), hint})) // a line of its own in the stream
}

// readJournal reads the records of one outage or all. With an error it gives those that were read before.
func readJournal(path string, ids []string) ([]ledger.Record, error) {
	j, err := openJournal(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = j.Close() }() // nothing was written
	outages, err := j.Outages()
	var known []string
	for _, o := range outages {
		known = append(known, o.ID)
	}
	if len(ids) == 0 {
		ids = known
	}
	var all []ledger.Record
	for _, id := range ids {
		records, e := j.Records(id)
		if errors.Is(e, journal.ErrNoOutage) {
			hint := "it has no outages yet"
			if len(known) > 0 {
				hint = "it has: " + strings.Join(known, ", ")
			}
			return nil, fail(exitFailed, hint, "%w", e)
		}
		all = append(all, records...)
		err = errors.Join(err, e)
	}
	if err == nil {
		_, _, err = j.Latest() // does it end where it was written to?
	}
	return all, err
}
