package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/english"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/timeline"
)

// Tree is a view for a terminal: the estate as a tree with what is done to each node, drawn over itself.
type Tree struct {
	w      io.Writer
	color  bool
	began  time.Time
	told   timeline.Timeline
	turned int // steps of the way down
	latest []string
	drawn  int // lines
	ups    string
}

// NewTree makes a view that draws to w, a terminal of at least 80 by 24.
func NewTree(w io.Writer, color bool) *Tree { return &Tree{w: w, color: color, began: time.Now()} }

// Says adds a line below the tree.
func (t *Tree) Says(text string) { t.add(time.Now(), text) }

// Recorded takes records into the tree.
func (t *Tree) Recorded(records []ledger.Record) {
	for i := range records {
		t.told.Add(records[i])
		if records[i].Kind == ledger.Turned {
			t.turned = len(t.told.Steps)
		}
		if text := t.told.Phrase(&records[i]); text != "" {
			t.add(records[i].At, text)
		}
	}
	t.draw()
}

// Power shows how the UPS is.
func (t *Tree) Power(mains, output bool, charge, left float64) {
	state, color := "on line", green
	switch {
	case !output:
		state, color = "output off", red
	case !mains:
		state, color = "on battery", yellow
	}
	bar := strings.Repeat("█", int(charge/5)) + strings.Repeat("░", 20-int(charge/5))
	t.ups = fmt.Sprintf("%s  %s %3.0f%%  %s left", t.paint(color, fmt.Sprintf("%-10s", state)), bar, charge,
		english.Span(time.Duration(left)*time.Second))
	t.draw()
}

// logged is how many of the latest lines stand below the tree.
const logged = 3

func (t *Tree) add(at time.Time, text string) {
	t.latest = append(t.latest, fmt.Sprintf("%6.1fs  %s", max(0, at.Sub(t.began).Seconds()), cut(text, 70)))
	t.latest = t.latest[max(0, len(t.latest)-logged):]
}

// draw writes the whole picture over the one before.
func (t *Tree) draw() {
	lines := []string{fmt.Sprintf("%6.1fs  %s", time.Since(t.began).Seconds(), t.ups), ""}
	lines = append(lines, t.node("", upsName), t.node("└─ ", nasName))
	for i, host := range hostNames {
		branch, below := "├─ ", "│  "
		if i == len(hostNames)-1 {
			branch, below = "└─ ", "   "
		}
		lines = append(lines, t.node("   "+branch, host))
		var here []string
		for _, m := range machines {
			if m.Host == i {
				here = append(here, m.Name)
			}
		}
		for k, name := range here {
			branch := "├─ "
			if k == len(here)-1 {
				branch = "└─ "
			}
			lines = append(lines, t.node("   "+below+branch, name))
		}
	}
	lines = append(append(lines, ""), t.latest...)
	var b strings.Builder
	if t.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", t.drawn)
	}
	for _, line := range lines {
		b.WriteString(line + "\x1b[K\n")
	}
	t.drawn = len(lines)
	_, _ = io.WriteString(t.w, b.String()) // a terminal that has gone misses nothing
}

// node writes one line of the tree.
func (t *Tree) node(branch, name string) string {
	var parts []string
	for i := range t.told.Steps {
		s := &t.told.Steps[i]
		if i >= t.turned && short(s.Node) == name {
			parts = append(parts, t.step(s))
		}
	}
	return branch + fmt.Sprintf("%-*s", 20-len([]rune(branch)), name) + strings.Join(parts, ", ")
}

const (
	red    = "31"
	green  = "32"
	yellow = "33"
)

// step says where a step stands.
func (t *Tree) step(s *timeline.Step) string {
	end, color := s.Ended, yellow
	if end.IsZero() {
		end = time.Now()
	}
	word := doing[s.Verb]
	switch s.State {
	case timeline.Proven:
		word, color = done[s.Verb], green
	case timeline.Stopped:
		word, color = "powered off", red
	case timeline.Failed:
		word, color = "not proven", red
	case timeline.Running, timeline.Pending, timeline.Open:
		if s.Rung == plan.Force {
			word, color = "powering off", red
		}
	}
	if s.Attempts == 0 {
		return t.paint(color, word)
	}
	return t.paint(color, fmt.Sprintf("%s %.1fs", word, end.Sub(s.Started).Seconds()))
}

var (
	doing = map[plan.Verb]string{
		plan.Protect: "to write-through", plan.Flush: "flushing", plan.Stop: "shutting down", plan.Force: "powering off",
		plan.Cut: "cutting", plan.Start: "starting", plan.Unprotect: "to write-back",
	}
	done = map[plan.Verb]string{
		plan.Protect: "write-through", plan.Flush: "clean", plan.Stop: "off", plan.Force: "off",
		plan.Cut: "cut", plan.Start: "on", plan.Unprotect: "write-back",
	}
)

func (t *Tree) paint(color, text string) string {
	if !t.color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// WriteTable writes what became of each node: when it was off and on again, and how long its steps took.
func WriteTable(w io.Writer, records []ledger.Record) error {
	told := timeline.Fold(records)
	type ends struct{ down, up *timeline.Step }
	nodes := map[string]*ends{}
	for i := range told.Steps {
		s := &told.Steps[i]
		name := short(s.Node)
		if nodes[name] == nil {
			nodes[name] = &ends{}
		}
		switch s.Verb {
		case plan.Stop, plan.Cut:
			nodes[name].down = s
		case plan.Start:
			nodes[name].up = s
		case plan.Protect, plan.Flush, plan.Force, plan.Unprotect, plan.Discharge, plan.EndDischarge:
		}
	}
	cell := func(s *timeline.Step) string {
		if s == nil {
			return "-"
		}
		text := "not proven"
		if s.State == timeline.Proven || s.State == timeline.Stopped {
			text = fmt.Sprintf("%5.1fs  in %4.1fs", s.Ended.Sub(told.Start).Seconds(), s.Took().Seconds())
		}
		if s.Rung == plan.Force {
			text += ", forced"
		}
		return text
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-10s%-26s%s\n", "", "off", "on again")
	order := nodeNames()
	slices.Reverse(order)
	for _, name := range order {
		if n := nodes[name]; n != nil {
			fmt.Fprintf(&b, "%-10s%-26s%s\n", name, cell(n.down), cell(n.up))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cut shortens a text to width characters.
func cut(text string, width int) string {
	if runes := []rune(text); len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return text
}
