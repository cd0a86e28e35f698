package engine

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	tests "testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/belief"
	"ebbtide/internal/ledger"
	"ebbtide/internal/power"
	"ebbtide/internal/want"
	"ebbtide/internal/work"
	"ebbtide/test/golden"
)

// docs/ENGINE.md is written from the tables of the engine and from the comments of its questions: -rewrite makes it anew.
func TestTheTablesAreTheDocumentation(t *tests.T) {
	const path = "../../docs/ENGINE.md"
	golden.Equal(t, path, tables(t))
}

var readingTexts = [belief.Readings]string{
	"nothing yet", "on line", "on line, for less than " + power.ReturnAfter.String(), "testing its battery", "on battery, or output off", "on line, unfit", "silent",
}

func tables(t *tests.T) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("# The engine in tables")
	p("")
	p("Written from the code by a test (`internal/engine/tables_test.go`): what stands here is what runs, and")
	p("`go test ./internal/engine -run TheTables -args -rewrite` writes it. Why it has this shape is in")
	p("[adr/0016](adr/0016-the-engine-made-anew.md), where to read what in [ARCHITECTURE.md](ARCHITECTURE.md).")
	p("")
	p("## A supply")
	p("")
	p("Its condition follows from what this outage has done with its output, from its newest reading and from its recharge gate.")
	p("")
	p("| its reading says | it fails, on record | it has not failed | gate shut | gate open |")
	p("|---|---|---|---|---|")
	for says := range belief.Readings {
		row := "| " + readingTexts[says] + " | " + belief.ConditionOf(&ledger.Standing{Fails: ledger.IsFailing}, says, false, belief.NoGate).String()
		for g := belief.NoGate; g <= belief.GateOpen; g++ {
			row += " | " + belief.ConditionOf(&ledger.Standing{}, says, false, g).String()
		}
		p("%s |", row)
	}
	p("")
	p("| its power cycle, on record | condition |")
	p("|---|---|")
	p("| something was stopped that only its power cycle starts again | %s |", belief.ConditionOf(&ledger.Standing{Cycle: ledger.Committed}, belief.SaysOnline, false, belief.NoGate))
	p("| its cut was commanded | %s |", belief.ConditionOf(&ledger.Standing{Cycle: ledger.CutSent}, belief.SaysOnline, false, belief.NoGate))
	p("| its cut was proven: it counts down | %s |", belief.ConditionOf(&ledger.Standing{Cycle: ledger.CutProven}, belief.SaysOnline, false, belief.NoGate))
	p("| and its output is off, or was | %s |", belief.ConditionOf(&ledger.Standing{Cycle: ledger.WentDark}, belief.SaysOnline, true, belief.NoGate))
	p("| its output is off, and nobody has cut it | %s |", belief.ConditionOf(&ledger.Standing{Cycle: ledger.GaveOut}, belief.SaysOnline, true, belief.NoGate))
	p("")
	p("| condition | it goes on carrying its load | things may be started on it |")
	p("|---|---|---|")
	for c := range belief.Conditions {
		p("| %s | %s | %s |", c, yes(c.Carries()), yes(c.Starts()))
	}
	p("")
	p("What a reading says about its output is checked in this order; the first case that applies decides.")
	p("")
	for k, h := range hearings {
		p("%d. %s", k+1, h.when)
	}
	p("")
	p("## A step")
	p("")
	p("A step on a node is in one phase, and goes from one to another in these ways only.")
	p("")
	p("| from | to | when |")
	p("|---|---|---|")
	for _, m := range work.Moves {
		p("| %s | %s | %s |", m.From, m.To, m.When)
	}
	p("")
	p("## What is believed of a node")
	p("")
	p("That a node is off rests on one of these, weakest first. The first two prove nothing.")
	p("")
	for pr := belief.NoProof; pr <= belief.BySilence; pr++ {
		p("%d. %s", pr+1, pr)
	}
	p("")
	p("| question | what it asks |")
	p("|---|---|")
	for _, f := range slices.Concat(documented(t, "../belief/questions.go"), documented(t, "../belief/proven.go"), documented(t, "../belief/belief.go"),
		documented(t, "../belief/silence.go"), documented(t, "../belief/feed.go"), documented(t, "../belief/absence.go")) {
		if asks, ok := strings.CutPrefix(f.says, f.name+" reports whether "); ok {
			p("| `%s` | %s |", f.name, asks)
		}
	}
	p("")
	p("Where no step is under way, and a look shows a node otherwise than the records show it, the first of these that is so goes on record.")
	p("")
	for k, c := range corrections {
		p("%d. %s", k+1, c.when)
	}
	p("")
	p("## What a command must pass")
	p("")
	p("Each command is held against these rules as it leaves, over the records and the beliefs alone. The numbers are those of")
	p("[ARCHITECTURE.md](ARCHITECTURE.md#what-must-always-hold). A refusal is a record (`forbidden`), and a fault of what came before it.")
	p("")
	p("| rule | promise |")
	p("|---|---|")
	said := documented(t, "../permit/permit.go")
	for _, rule := range permitRules(t) {
		for _, f := range said {
			if f.name == rule.name {
				p("| %s | %s |", rule.number, strings.TrimPrefix(f.says, f.name+": "))
			}
		}
	}
	p("")
	p("## What a step may wait for")
	p("")
	p("Each is a node, a supply, a person or a time: `status`, the log and the pages show it for each node that waits.")
	p("")
	p("| code | who or what ends it |")
	p("|---|---|")
	for _, c := range codes(t) {
		p("| %s | %s |", c.name, c.says)
	}
	return b.String()
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// saying is a name of the code and what its comment says.
type saying struct{ name, number, says string }

func parsed(t *tests.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	require.NoError(t, err)
	return f
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// documented lists the functions of a file with their comments, in the order of the file.
func documented(t *tests.T, file string) (list []saying) {
	for _, d := range parsed(t, file).Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Doc != nil {
			list = append(list, saying{name: f.Name.Name, says: oneLine(f.Doc.Text())})
		}
	}
	require.NotEmpty(t, list)
	return list
}

// permitRules lists the rules in the order in which they are asked.
func permitRules(t *tests.T) (list []saying) {
	ast.Inspect(parsed(t, "../permit/permit.go"), func(n ast.Node) bool {
		if lit, ok := n.(*ast.CompositeLit); ok && len(lit.Elts) == 2 {
			number, isNumber := lit.Elts[0].(*ast.BasicLit)
			name, isName := lit.Elts[1].(*ast.Ident)
			if isNumber && isName {
				list = append(list, saying{name: name.Name, number: number.Value})
			}
		}
		return true
	})
	require.NotEmpty(t, list)
	return list
}

// codes lists what a step may wait for.
func codes(t *tests.T) (list []saying) {
	ast.Inspect(parsed(t, "../want/why.go"), func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && spec.Comment != nil {
			list = append(list, saying{name: spec.Names[0].Name, says: oneLine(spec.Comment.Text())})
		}
		return true
	})
	require.Len(t, list, int(want.WhyCodes))
	return list
}
