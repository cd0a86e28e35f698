package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/decorate"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/adapter/secrets"
	"ebbtide/internal/english"
	"ebbtide/internal/estate"
	"ebbtide/internal/families"
	"ebbtide/internal/nut"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/runbook"
	"ebbtide/internal/schema"
)

// surveyWithin bounds how long an estate is asked.
const surveyWithin = 2 * time.Minute

// survey is what the estate of a runbook has said.
type survey struct {
	Runbook string `json:"runbook"` // its file
	*estate.Survey
}

// ask opens the estate of a runbook and asks all of it. No command can reach it: every node is rehearsed.
func (a *app) ask(ctx context.Context, file string, rb *runbook.Runbook, credentials string) (_ survey, err error) {
	if err := keepMemorySecret(); err != nil {
		fmt.Fprintf(a.Stderr, "ebbtide: warning: secrets could get into a core dump: %v\n", err)
	}
	e, err := estate.Open(rb, estate.Options{
		Families: families.All(false), Secrets: secrets.New(credentials), Firmware: estate.Firmware(),
		Over: func(_ string, n adapter.Node) adapter.Node { return decorate.Rehearse(n) },
	})
	if err != nil {
		return survey{}, fail(exitFailed, "fix this first; the daemon would not start either", "%w", err)
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if isTerminal(a.console) {
		fmt.Fprintf(a.Stderr, "querying the estate of %s, for %s at most; no commands are sent\n", rb.Name, brief(surveyWithin))
	}
	asked, err := e.Survey(ctx, surveyWithin)
	return survey{file, asked}, err
}

// write writes what an estate has said for people, the worst first.
func (s *survey) write(w io.Writer) {
	fmt.Fprintf(w, "\n%s: what its estate reports now (queried for %s, no commands sent):\n\n", s.Runbook,
		brief(max(time.Second, time.Duration(s.Seconds*float64(time.Second)))))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SUPPLY\tHEALTH\tREPORTS\tCUT BY\tDELAYS\tUSER")
	for i := range s.Supplies {
		one := &s.Supplies[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", one.Supply, one.Is, supplySays(one.Reading), cutBy(one), delays(one.Delays), letIn(one))
	}
	if len(s.Selectors) > 0 {
		fmt.Fprintln(t, "\nSELECTOR\tHEALTH\tMEMBERS\tON\tHOSTS\tSTORAGE")
	}
	for i := range s.Selectors {
		one := &s.Selectors[i]
		members, on := fmt.Sprint(one.Members), fmt.Sprint(one.On)
		if one.Error != "" {
			members, on = "-", "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", one.Node, one.Is, members, on, dash(english.List(one.Hosts, 6)),
			dash(english.List(one.Storage, 6)))
	}
	if len(s.Nodes) > 0 {
		fmt.Fprintln(t, "\nNODE\tHEALTH\tSTATE\tDETAIL\tSTARTED BY")
	}
	for _, row := range foldedNodes(s.Nodes) {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", row.name, row.Is, row.State, dash(seenAs(row.Node)), startedBy(row.Wake))
	}
	_ = t.Flush() // to where the rest goes
	if len(s.Unasked) > 0 {
		fmt.Fprintf(w, "\nNothing to query: %s\n", english.List(s.Unasked, 6))
	}
	if n := len(s.Uncovered); n > 0 {
		fmt.Fprintf(w, "\nRunning, but covered by no node: %s\n", uncovered(s.Uncovered))
	}
	fmt.Fprintln(w)
}

func uncovered(strays []estate.Stray) string {
	names := make([]string, len(strays))
	for i := range strays {
		names[i] = strays[i].Name
		if strays[i].Host != "" {
			names[i] += " (on " + strays[i].Host + ")"
		}
	}
	return english.List(names, 6)
}

// supplySays puts a reading on one line.
func supplySays(r *power.Reading) string {
	if r == nil {
		return "no answer"
	}
	text := r.Status.String()
	if r.Charge.Known {
		text += ", " + percent(r.Charge)
	}
	if r.Load.Known {
		text += ", load " + percent(r.Load)
	}
	if r.Runtime.Known {
		text += ", " + seconds(r.Runtime) + " left"
	}
	return text
}

// cutBy says how a supply would be cut, and what it could be tried by after that.
func cutBy(s *estate.Supply) string {
	switch {
	case s.Reading == nil:
		return "-"
	case s.Cut == schema.CutNone:
		return "not to be cut"
	case len(s.Ways) == 0:
		return "can't cut: lacks " + string(s.Cut)
	case len(s.Ways) == 1:
		return s.Ways[0]
	}
	return s.Ways[0] + ", else " + strings.Join(s.Ways[1:], ", ")
}

// delays says after how many seconds the output goes off and on, and which of these nobody can set.
func delays(all []nut.Delay) string {
	parts := make([]string, len(all))
	for i, d := range all {
		parts[i] = strings.TrimPrefix(d.Name, "ups.delay.") + " " + d.Value + "s"
		if !d.Settable {
			parts[i] += " (fixed)"
		}
	}
	return dash(strings.Join(parts, ", "))
}

func letIn(s *estate.Supply) string {
	switch {
	case s.User == "":
		return "none"
	case s.UserMay == "yes":
		return s.User + ", accepted"
	case s.UserMay == "no":
		return s.User + ", refused"
	}
	return s.User + ", unknown"
}

// nodeRow is a node, or several members of a selector that say the same.
type nodeRow struct {
	name string
	*estate.Node
	alike int
}

// foldedNodes makes one row of those members of a selector that are well in the same state.
func foldedNodes(nodes []estate.Node) []nodeRow {
	type like struct {
		selector string
		state    plan.State
	}
	var rows []nodeRow
	first := map[like]int{}
	for i := range nodes {
		n := &nodes[i]
		key := like{n.Selector, n.State}
		at, known := first[key]
		switch {
		case known && n.Selector != "" && n.Is == estate.Well:
			rows[at].alike++
			rows[at].name = fmt.Sprintf("%s ×%d", n.Selector, rows[at].alike)
			continue
		case n.Is == estate.Well:
			first[key] = len(rows)
		}
		rows = append(rows, nodeRow{n.Node, n, 1})
	}
	return rows
}

// mostSeen bounds in characters what stands of a node in its row. The rest is in the problems and in the JSON.
const mostSeen = 80

// seenAs says in what a node was seen, and what shows of its cache and its checks.
func seenAs(n *estate.Node) string {
	if n.Error != "" {
		return "no answer: see above"
	}
	parts := []string{printable.Text(n.Detail, mostSeen)}
	switch n.Protected {
	case "yes":
		parts = append(parts, "protected")
	case "no":
		parts = append(parts, "not protected")
	}
	if n.Dirty > 0 {
		parts = append(parts, english.Count(n.Dirty, "dirty byte"))
	} else if n.Clean == "no" {
		parts = append(parts, "not clean")
	}
	if n.Settings != "" && n.Settings != n.Detail {
		parts = append(parts, "now "+printable.Text(n.Settings, mostSeen))
	}
	if n.Healthy == "no" {
		parts = append(parts, "health check fails")
	}
	if parts[0] == "" {
		parts = parts[1:]
	}
	return strings.Join(parts, "; ")
}

// startedBy says what starts a node, and what that says of it.
func startedBy(w *estate.Wake) string {
	switch {
	case w == nil:
		return "its own system"
	case w.Error != "":
		return w.By + ": no answer"
	case w.Detail == "" && w.State == plan.Unknown:
		return w.By
	case w.State == plan.Unknown:
		return w.By + ": " + printable.Text(w.Detail, mostSeen)
	}
	return w.By + ": " + w.State.String()
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
