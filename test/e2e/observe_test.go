package e2e_test

import (
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/daemon"
	"ebbtide/internal/effect"
	"ebbtide/internal/engine"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/report/retrospect"
	"ebbtide/test/paper"
	"ebbtide/test/site"
)

// happened are the words for what was done, which nothing may use that is told of an outage without commands; a line that
// says that it is only observed may.
var happened = regexp.MustCompile(`went down|came back|did not come|has come back|output cut|was cut|is off\b|\d off\b|nodes down|steps running|is proven|powering off|is asked|please|is passed|going (up|down)|taking the|bringing (the|back)|Ended as|TOOK|start it by hand`)

// requireWould: no line of a text reads as if it had happened.
func requireWould(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		told := strings.NewReplacer("Would-be outcome", "", "would be going down", "", "would be going up", "", "would be taking the",
			"", "would be bringing the", "").Replace(line)
		if strings.HasPrefix(line, "observing; ") { // several sentences in a line
			told = strings.ReplaceAll(regexp.MustCompile(`\(observing\) [^;]*`).ReplaceAllString(told, ""), effect.Observing, "")
			line = told
		}
		if strings.Contains(line, effect.Observing) || strings.HasPrefix(line, "Nodes (as they would be): ") {
			continue
		}
		require.Empty(t, happened.FindString(told), "%s: %s", what, line)
	}
}

// TestAnUnarmedOutageReadsAsOne plays a whole outage with armed: false, with a step for a person in it, and reads all that
// comes of it: what people are told, the log, the status, and the report in every form.
func TestAnUnarmedOutageReadsAsOne(t *testing.T) {
	t.Parallel()
	s := newRoom(t, nil)
	settings := s.Files(false)
	change := func(file, old, by string) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), old)
		require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), old, by, 1)), 0o600))
	}
	pages := filepath.Join(s.Dir, "pages.txt")
	change(filepath.Join(s.Dir, "runbook.yaml"), "policy:",
		"  vent: {type: manual, fed_by: [ups], notes: open it, down: {within: 2s}, up: {within: 1s}}\n"+
			"  me: {type: self, fed_by: [ups], stop: [/bin/false]}\npolicy:")
	change(settings, "armed: false\n", "armed: false\nlog: {level: debug}\nnotify: {command: [/bin/sh, -c, \"cat >>"+pages+"\"]}\n")
	p := start(t, settings)
	s.Until("daemon that knows its estate", time.Minute, func() bool {
		st, ok := s.Status()
		return ok && len(st.Blind) == 0 && !slices.ContainsFunc(st.View.Nodes, func(n engine.NodeView) bool {
			return !slices.Contains([]string{site.Spare, "switch", "vent", "me"}, n.ID) && n.Seen.State != plan.On
		})
	})
	s.SetMains(false)
	read := func() *daemon.Status {
		text, _, code := run(t, "status", "--config", settings)
		require.Zero(t, code)
		requireWould(t, "status", text)
		st, ok := s.Status()
		require.True(t, ok)
		require.False(t, st.Armed)
		told := []string{st.View.Waiting}
		for _, v := range st.View.Supplies {
			told = append(told, v.Why)
		}
		for _, n := range st.View.Nodes {
			told = append(told, n.Why)
		}
		if st.Outage != nil {
			for _, m := range st.Outage.Marks {
				told = append(told, m.Text)
			}
			for i := range st.Outage.Steps {
				told = append(told, st.Outage.Steps[i].Reason)
			}
			for _, text := range told {
				require.Regexp(t, `^(\(observing\) |rehearsed|$)`, text)
			}
		}
		return st
	}
	s.Until("first step", time.Minute, func() bool { st, ok := s.Status(); return ok && st.Outage != nil && len(st.Outage.Steps) > 0 })
	read()
	s.Until("rehearsed cut", 90*time.Second, func() bool {
		st, ok := s.Status()
		return ok && st.Outage != nil && slices.ContainsFunc(st.View.Supplies, func(v engine.SupplyView) bool { return v.Cut })
	})
	require.NotEmpty(t, read().Outage.Steps)
	cut := time.Now()
	s.Until("readings after the rehearsed cut", 10*time.Second, func() bool {
		st, ok := s.Status()
		require.True(t, !ok || slices.ContainsFunc(st.View.Supplies, func(v engine.SupplyView) bool { return v.Cut }),
			"on battery, an output that would be cut stays off")
		return time.Since(cut) > 2*time.Second
	})
	s.SetMains(true)
	s.Until("end of the outage", 90*time.Second, func() bool { st, ok := s.Status(); return ok && st.View.Outage == "" })
	s.Until("last page", 10*time.Second, func() bool {
		text, err := os.ReadFile(pages)
		return err == nil && strings.Contains(string(text), "the outage is over (observed only): not brought back: vent")
	})
	p.Signal(syscall.SIGTERM)
	<-p.Ended()
	require.Equal(t, []string{"mains off", "mains on"}, s.Told(), "no peer was told to do anything")

	text, err := os.ReadFile(pages)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		require.Regexp(t, `^ebbtide: (urgent: )?\(observing\) `, line)
		require.NotContains(t, line, "please")
	}
	require.Contains(t, string(text), "would ask for this to be done by hand: vent (open it); nothing needs to be done")
	requireObservedLog(t, p.Log())
	requireObservedReport(t, s)
}

// requireObservedLog: from the mains' end to the outage's each line that is not about a question says that it is observed.
func requireObservedLog(t *testing.T, log string) {
	t.Helper()
	_, log, began := strings.Cut(log, "power failure at ups")
	log, _, over := strings.Cut(log, "the outage is over")
	require.True(t, began && over)
	waits := 0
	for line := range strings.Lines(log[strings.Index(log, "\n")+1:]) {
		if !strings.Contains(line, "component=runner") && !strings.Contains(line, "component=daemon") ||
			strings.Contains(line, "a probe got no answer") || strings.Contains(line, "a watch failed") {
			continue
		}
		require.Contains(t, line, `msg="(observing) `)
		if strings.Contains(line, ": waiting for ") { // for what depends on how quick this machine is
			waits++
		}
	}
	require.Positive(t, waits, "the log tells what nodes wait for")
}

func requireObservedReport(t *testing.T, s *room) {
	t.Helper()
	journal, book := filepath.Join(s.Dir, "journal.db"), filepath.Join(s.Dir, "runbook.yaml")
	forms := map[string]string{}
	for _, form := range []string{"json", "md", "html", "pdf"} {
		file := filepath.Join(t.ArtifactDir(), "report."+form)
		_, errs, code := run(t, "report", "--journal", journal, "--runbook", book, "-o", file)
		require.Zero(t, code, errs)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		switch form {
		case "md":
			forms[form] = strings.ReplaceAll(string(text), `\`, "")
			requireWould(t, "report", forms[form])
		case "html":
			forms[form] = html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(string(text), " "))
		case "pdf":
			forms[form] = paper.Text(t, text)
		default:
			forms[form] = string(text)
		}
	}
	var r retrospect.Retrospective
	require.NoError(t, json.Unmarshal([]byte(forms["json"]), &r))
	require.Equal(t, ledger.ModeObserve, r.Mode)
	require.Equal(t, []string{"vent"}, r.NotRestored)
	facts := slices.Concat(r.Notes, r.Sentences, []string{"Observed outage", "Would-be outcome", "What would have waited, and for what"})
	for _, m := range r.Timeline {
		require.True(t, strings.HasPrefix(m.Text, effect.Observing), m.Text)
		facts = append(facts, m.Text)
	}
	for _, d := range r.Decisions {
		require.Contains(t, d.What, "would have")
		facts = append(facts, d.What, d.Text)
	}
	for _, x := range r.Suggestions {
		facts = append(facts, x.What, x.Evidence)
	}
	letters := func(s string) string { return strings.Join(strings.Fields(s), "") }
	for _, form := range []string{"md", "html", "pdf"} {
		text := letters(forms[form])
		for _, fact := range facts {
			require.Contains(t, text, letters(fact), form)
		}
	}
	for _, told := range []string{"blame", "critical-chain", "plot"} {
		text, errs, code := run(t, told, "--journal", journal, "--runbook", book)
		require.Zero(t, code, errs)
		require.Contains(t, text, "Observed outage")
		requireWould(t, told, strings.ReplaceAll(text, ": would have ended as", ""))
	}
}
