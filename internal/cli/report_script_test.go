package cli

import (
	"os"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"ebbtide/internal/journal"
	"ebbtide/internal/ledger"
)

// makeJournaled makes a journal of the records in a file, of the first N alone if that is given, as if a daemon had
// written them in a mode.
func makeJournaled(ts *testscript.TestScript, _ bool, args []string) {
	text, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	records, _, err := readRecords(text)
	ts.Check(err)
	if len(args) > 3 {
		n, err := strconv.Atoi(args[3])
		ts.Check(err)
		records = records[:n]
	}
	j, err := journal.Open(ts.MkAbs(args[0]), journal.Options{CreatedBy: "ebbtide 1.2.3"})
	ts.Check(err)
	for _, r := range records {
		if r.Kind == ledger.Opened {
			r.Mode = ledger.Mode(args[2])
		}
		ts.Check(j.Append(r))
	}
	ts.Check(j.Close())
}
