package cli

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"ebbtide/internal/daemon"
	"ebbtide/internal/journal"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// makeLearned makes a journal of an outage 100 days ago and a drill ten days ago. In both nas went down in 40 s and came
// back in 80 s, and lab/web in 20 s; in the outage lab/db hung and was powered off. The battery gave 300 of 500 s at full
// load, and in the drill all of 480 s. An outage is open.
func makeLearned(ts *testscript.TestScript, _ bool, args []string) {
	j, err := journal.Open(ts.MkAbs(args[0]), journal.Options{CreatedBy: "ebbtide 1.2.3"})
	ts.Check(err)
	now := time.Now()
	ts.Check(j.Append(learnedFrom(now.Add(-100*24*time.Hour-time.Hour), "run", power.Discharge{Burn: 300, From: 100, To: 40})...))
	ts.Check(j.Append(learnedFrom(now.Add(-10*24*time.Hour-time.Hour), "drill",
		power.Discharge{Burn: 480, From: 100, To: 0, Empty: true})...))
	ts.Check(j.Append(ledger.Record{
		Seq: 1, At: now, Kind: ledger.Opened, Outage: now.UTC().Format("20060102T150405Z"),
		Opening: ledger.Opening{Mode: "run"},
	}))
	ts.Check(j.Close())
}

// makeHolding has a journal open, as a daemon at $DAEMON that tells of its outages.
func makeHolding(ts *testscript.TestScript, _ bool, args []string) {
	j, err := journal.Open(ts.MkAbs(args[0]), journal.Options{})
	ts.Check(err)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/outages", func(w http.ResponseWriter, _ *http.Request) {
		list, err := j.Outages()
		tell(w, daemon.Outages{Outages: list}, err)
	})
	mux.HandleFunc("GET /v1/outages/{id}", func(w http.ResponseWriter, r *http.Request) {
		records, err := j.Records(r.PathValue("id"))
		tell(w, daemon.Records{ID: r.PathValue("id"), Records: records}, err)
	})
	serveAt(ts, mux)
	ts.Defer(func() { _ = j.Close() })
}

func tell(w http.ResponseWriter, answer any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(answer) // a client that has gone fails the script by itself
}

func learnedFrom(at time.Time, mode ledger.Mode, gave power.Discharge) []ledger.Record {
	stop, force, start := plan.Stop, plan.Force, plan.Start
	id := at.UTC().Format("20060102T150405Z")
	var records []ledger.Record
	add := func(after time.Duration, r ledger.Record) {
		at = at.Add(after)
		r.Seq, r.At, r.Outage = uint64(len(records)+1), at, id
		records = append(records, r)
	}
	add(0, ledger.Record{
		Kind: ledger.Opened, Opening: ledger.Opening{
			Mode: mode,
			Members: map[string][]plan.Member{"lab": {
				{ID: "vm-1", Name: "web"},
				{ID: "vm-2", Name: "db"},
				{ID: "vm-3", Name: "ci"},
				{ID: "vm-4", Name: "git"},
			}},
		}, Power: ledger.Power{Supplies: []string{"ups"}},
	})
	for node, took := range map[string]time.Duration{"nas": 40 * time.Second, "lab/web": 20 * time.Second} {
		add(0, ledger.Record{Kind: ledger.Intent, Step: ledger.Step{Node: node, Verb: &stop}})
		add(took, ledger.Record{Kind: ledger.Proven, Step: ledger.Step{Node: node, Verb: &stop}})
	}
	if mode == "run" {
		add(0, ledger.Record{Kind: ledger.Intent, Step: ledger.Step{Node: "lab/db", Verb: &stop}})
		add(3*time.Minute, ledger.Record{
			Kind: ledger.Intent, Step: ledger.Step{Node: "lab/db", Verb: &force}, Cause: ledger.Overtime,
			Reason: "not proven within 3m0s",
		})
		add(time.Second, ledger.Record{Kind: ledger.Proven, Step: ledger.Step{Node: "lab/db", Verb: &stop}})
	}
	gave.At, gave.Took = at, 10*time.Minute
	add(0, ledger.Record{Kind: ledger.Spent, Power: ledger.Power{Supplies: []string{"ups"}, Discharge: &gave}})
	add(0, ledger.Record{Kind: ledger.Turned, Power: ledger.Power{Goal: plan.Up}})
	add(0, ledger.Record{Kind: ledger.Intent, Step: ledger.Step{Node: "nas", Verb: &start}})
	add(80*time.Second, ledger.Record{Kind: ledger.Proven, Step: ledger.Step{Node: "nas", Verb: &start}})
	add(0, ledger.Record{Kind: ledger.Closed, Reason: "everything that was on is on again"})
	return records
}
