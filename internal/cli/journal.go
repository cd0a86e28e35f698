package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"ebbtide/internal/journal"
)

func (a *app) journal() *cobra.Command {
	c := &cobra.Command{Use: "journal", GroupID: "after", Short: "look at the journal of outages"}
	mustChoose(c)
	c.AddCommand(
		&cobra.Command{
			Use: "verify FILE", Short: "read every record and tell of any damage", Args: exactly(1, "one journal file"),
			RunE: func(_ *cobra.Command, args []string) error { return a.verifyJournal(args[0]) },
		},
		&cobra.Command{
			Use: "export FILE [OUTAGE]", Short: "write the records of one outage or all, one JSON document a line",
			Args: between(1, 2, "a journal file and at most one outage"),
			RunE: func(_ *cobra.Command, args []string) error { return a.exportJournal(args[0], args[1:]) },
		},
	)
	return c
}

func (a *app) verifyJournal(path string) error {
	j, err := journal.Open(path, journal.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = j.Close() }() // nothing was written
	if err := j.Verify(); err != nil {
		return err
	}
	outages, err := j.Outages()
	if err != nil {
		return err
	}
	records := 0
	for _, o := range outages {
		records += o.Records
	}
	if a.format == "json" {
		return a.json(struct {
			Outages []journal.Outage `json:"outages"`
			Records int              `json:"records"`
		}{outages, records})
	}
	_, err = fmt.Fprintf(a.Stdout, "%s, %s, no damage\n", count(len(outages), "outage"), count(records, "record"))
	return err
}

func (a *app) exportJournal(path string, only []string) error {
	j, err := journal.Open(path, journal.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = j.Close() }() // nothing was written
	ids := only
	if len(ids) == 0 {
		outages, err := j.Outages()
		if err != nil {
			return err
		}
		for _, o := range outages {
			ids = append(ids, o.ID)
		}
	}
	out := json.NewEncoder(a.Stdout)
	for _, id := range ids {
		records, err := j.Records(id)
		if err != nil {
			return err
		}
		for i := range records {
			if err := out.Encode(records[i]); err != nil {
				return fmt.Errorf("cannot write record %d of outage %q: %w", records[i].Seq, id, err)
			}
		}
	}
	return nil
}
