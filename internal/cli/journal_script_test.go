package cli

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"ebbtide/internal/journal"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

const journalPage = 4096

// damages are what can happen to a journal's file.
var damages = map[string]func(b []byte) []byte{
	"empty":   func([]byte) []byte { return nil },
	"zeros":   func(b []byte) []byte { return make([]byte, len(b)) },
	"cut":     func(b []byte) []byte { return b[:len(bytes.TrimRight(b, "\x00"))-journalPage] },
	"headers": func(b []byte) []byte { clear(b[100 : 2*journalPage]); b[20] ^= 1; return b },
	"record":  func(b []byte) []byte { b[bytes.LastIndex(b, []byte("vm-7"))] ^= 1; return b },
	"older":   func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("vm-3"), []byte("vm-x")) },
	"records": func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("vm-7"), []byte("vm-8")) },
	"page": func(b []byte) []byte { // the root of the tree, in both its copies
		for at := 2 * journalPage; at < len(b); at += journalPage {
			if bytes.Contains(b[at:at+journalPage], []byte("created-by")) {
				clear(b[at : at+16])
			}
		}
		return b
	},
}

// makeJournal makes a journal of two outages, the second open and of 40 records, and damages it.
func makeJournal(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	j, err := journal.Open(path, journal.Options{CreatedBy: "ebbtide 1.2.3"})
	ts.Check(err)
	for _, id := range []string{"20260131T031415Z", "20260201T031415Z"} {
		at := time.Date(2026, 2, 1, 3, 14, 15, 0, time.UTC)
		ts.Check(j.Append(ledger.Record{
			Seq: 1, At: at, Kind: ledger.Opened, Outage: id, Opening: ledger.Opening{Mode: "run"},
			Power: ledger.Power{Supplies: []string{"ups-a"}},
		}))
		verb, state := plan.Stop, plan.Off
		for seq := uint64(2); seq <= 40; seq++ {
			r := ledger.Record{
				Seq: seq, At: at.Add(time.Duration(seq) * time.Second), Outage: id, Kind: ledger.Proven,
				Step: ledger.Step{Node: fmt.Sprint("vm-", seq), Verb: &verb, State: &state},
			}
			if seq == 5 && id == "20260131T031415Z" {
				r = ledger.Record{Seq: seq, At: r.At, Outage: id, Kind: ledger.Closed, Reason: "everything that was on is on again"}
			}
			ts.Check(j.Append(r))
			if r.Kind == ledger.Closed {
				break
			}
		}
	}
	ts.Check(j.Close())
	for _, damage := range args[1:] {
		b, err := os.ReadFile(path)
		ts.Check(err)
		ts.Check(os.WriteFile(path, damages[damage](b), 0o600))
	}
}
