package e2e_test

import (
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter/vsphere/vspheresim"
	"ebbtide/internal/ledger"
	"ebbtide/internal/nut/nuttest"
	"ebbtide/internal/report/retrospect"
	"ebbtide/test/paper"
	"ebbtide/test/site"
)

// TestTheReportOfAnOutage writes the report of a real outage, in which a guest hung, in every form: each tells of every
// node, every stage and what was forced, with the same facts, and of no secret.
func TestTheReportOfAnOutage(t *testing.T) {
	t.Parallel()
	s := newRoom(t, func(name string) vspheresim.GuestBehaviour {
		return vspheresim.GuestBehaviour{Delay: 100 * time.Millisecond, Hang: name == "app1"}
	})
	secrets := planted{"NUT password": nuttest.AdminPassword, "vSphere password": vspheresim.Password}
	secrets.key("SSH key", s.SSHD.Key)
	p := start(t, s.Files(true))
	s.Ready()
	s.untilDown(90 * time.Second)
	s.SetMains(true)
	s.untilRestored(120 * time.Second)
	p.Signal(syscall.SIGTERM)
	<-p.Ended()

	forms := map[string]string{}
	for _, form := range []string{"json", "md", "html", "pdf"} {
		file := filepath.Join(t.ArtifactDir(), "report."+form)
		_, errs, code := run(t, "report", "--journal", filepath.Join(s.Dir, "journal.db"), "--runbook",
			filepath.Join(s.Dir, "runbook.yaml"), "-o", file)
		require.Zero(t, code, errs)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Empty(t, secrets.in(t, string(text)), form)
		switch form {
		case "md":
			forms[form] = strings.ReplaceAll(string(text), `\`, "")
		case "html":
			forms[form] = html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(string(text), " "))
		case "pdf":
			forms[form] = paper.Text(t, text)
			require.Empty(t, secrets.in(t, forms[form]), "in the PDF's text")
		default:
			forms[form] = string(text)
		}
	}

	var r retrospect.Retrospective
	require.NoError(t, json.Unmarshal([]byte(forms["json"]), &r))
	require.Equal(t, ledger.ModeRun, r.Mode)
	require.False(t, r.Open)
	require.Empty(t, r.Notes)
	require.Equal(t, []string{"ups"}, r.Supplies)
	require.Empty(t, r.NotRestored)
	require.Equal(t, r.Proof.WasOn, r.Proof.Off+r.Proof.Forced, "all that was on is proven off")
	require.Equal(t, r.Proof.WasOn, r.Proof.Back)
	require.Len(t, r.Forced, 1)
	require.Equal(t, "app1", r.Forced[0].Node)
	require.Equal(t, ledger.Overtime, r.Forced[0].Cause)
	require.Len(t, r.Chains, 2)

	var facts []string
	for _, vm := range site.VMs {
		if strings.HasPrefix(vm, "lab") {
			vm = "lab/" + vm
		}
		facts = append(facts, "stop "+vm, "start "+vm)
	}
	for i := range r.Steps {
		require.NotContains(t, r.Steps[i].Node, site.Spare, "what was off is no part of it")
	}
	facts = append(facts, "stop esx01", "stop esx02", "stop nas", "flush nas", "protect nas", "unprotect nas", "cut ups", "force app1",
		r.Forced[0].Reason)
	facts = append(facts, r.Sentences...)
	for _, d := range r.Decisions {
		facts = append(facts, d.Text)
	}
	for _, b := range r.Batteries {
		facts = append(facts, b.Text)
	}
	for _, x := range r.Suggestions {
		facts = append(facts, x.What, x.Evidence)
	}
	stages := map[string]bool{}
	for _, m := range r.Timeline {
		facts = append(facts, m.Text)
		if m.Kind == ledger.Triggered {
			stages[strings.Fields(m.Text)[1]] = true
		}
	}
	require.Equal(t, map[string]bool{"protect": true, "lab": true, "shutdown": true}, stages)
	letters := func(s string) string { return strings.Join(strings.Fields(s), "") }
	for form, text := range forms {
		if form == "json" {
			continue // where the facts are from
		}
		text = letters(text)
		for _, fact := range facts {
			require.Contains(t, text, letters(fact), form)
		}
	}
}
