package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/timeline"
)

// liveView draws the demo as a table that is drawn over again: a row a node, what was done to it on the way down and on
// the way up, with times.
type liveView struct {
	out   *os.File
	color bool

	mu     sync.Mutex
	began  time.Time
	nodes  []string // in the order of the snapshot
	tl     timeline.Timeline
	turned time.Time // when it began to go up
	power  string
	last   string
	drawn  int // lines that stand on the screen
	tick   *time.Ticker
	done   chan struct{}
}

func newLiveView(out *os.File, color bool) *liveView {
	v := &liveView{out: out, color: color, began: time.Now(), tick: time.NewTicker(150 * time.Millisecond), done: make(chan struct{})}
	go func() {
		for {
			select {
			case <-v.done:
				return
			case <-v.tick.C:
				v.draw()
			}
		}
	}()
	return v
}

func (v *liveView) Says(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last = text
}

func (v *liveView) Recorded(records []engine.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range records {
		r := &records[i]
		v.tl.Add(*r)
		if r.Kind == engine.Snapshot {
			for _, n := range r.Nodes {
				v.nodes = append(v.nodes, n.Node)
			}
		}
		if r.Kind == engine.Turned && r.Goal == plan.Up {
			v.turned = r.At
		}
		switch r.Kind {
		case engine.Triggered, engine.NoReturn, engine.Turned, engine.Closed, engine.Opened:
			v.last = recordLine(r)
		default:
		}
	}
}

func (v *liveView) Power(mains, output bool, charge, left float64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	state := v.paint("mains", 32)
	if !mains {
		state = v.paint("battery", 33)
	}
	if !output {
		state += ", " + v.paint("output cut", 31)
	}
	bar := strings.Repeat("█", int(charge/5)) + strings.Repeat("·", 20-int(charge/5))
	v.power = fmt.Sprintf("ups on %s  %s %3.0f %%  about %.0f s left", state, bar, charge, left)
}

func (v *liveView) paint(text string, code int) string {
	if !v.color {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", code, text)
}

// draw puts the table over the one before.
func (v *liveView) draw() {
	v.mu.Lock()
	defer v.mu.Unlock()
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", v.drawn)
	}
	lines := append([]string{fmt.Sprintf("%5.1f s  %s", time.Since(v.began).Seconds(), v.power), "         " + v.last, ""}, v.table()...)
	for _, line := range lines {
		b.WriteString("\r\x1b[2K" + line + "\n")
	}
	v.drawn = len(lines)
	fmt.Fprint(v.out, b.String())
}

func (v *liveView) table() []string {
	rows := []string{fmt.Sprintf("%-16s %-52s %s", "", "DOWN", "UP")}
	for _, id := range slices.Backward(v.nodes) { // users above what they use

		down, up := v.cells(id)
		rows = append(rows, fmt.Sprintf("%-16s %s %s", id, pad(down, 52), up))
	}
	return rows
}

// cells says what was and is being done to a node in each direction.
func (v *liveView) cells(id string) (down, up string) {
	var d, u []string
	for i := range v.tl.Steps {
		s := &v.tl.Steps[i]
		if s.Node != id {
			continue
		}
		if !v.turned.IsZero() && !s.Started.Before(v.turned) {
			u = append(u, v.cell(s))
		} else {
			d = append(d, v.cell(s))
		}
	}
	return strings.Join(d, "  "), strings.Join(u, "  ")
}

// cell is one step: what, how it stands, and how long it took.
func (v *liveView) cell(s *timeline.Step) string {
	took := fmt.Sprintf("%.1fs", stepSeconds(s))
	switch s.State {
	case timeline.Proven:
		return v.paint("✓ "+provenCell(s.Verb)+" "+took, 32)
	case timeline.Stopped:
		return v.paint("! forced off "+took, 33)
	case timeline.Failed:
		return v.paint("✗ "+s.Verb.String()+" not proven", 31)
	case timeline.Running, timeline.Pending, timeline.Open:
		return v.paint("… "+s.Verb.String()+" "+took, 36)
	default:
		return s.Verb.String()
	}
}

func provenCell(verb plan.Verb) string {
	switch verb {
	case plan.Protect:
		return "write-through"
	case plan.Flush:
		return "flushed"
	case plan.Unprotect:
		return "write-back"
	case plan.Stop, plan.Force, plan.Cut, plan.Start:
		return provenShort[verb]
	default:
		return verb.String()
	}
}

var provenShort = map[plan.Verb]string{plan.Stop: "off", plan.Force: "off", plan.Cut: "cut", plan.Start: "on"}

func stepSeconds(s *timeline.Step) float64 {
	end := s.Ended
	if end.IsZero() {
		end = time.Now()
	}
	return end.Sub(s.Started).Seconds()
}

// pad fills a cell, not counting colours.
func pad(text string, width int) string {
	n, escape := 0, false
	for _, r := range text {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		default:
			n++
		}
	}
	return text + strings.Repeat(" ", max(0, width-n))
}

func (v *liveView) end() {
	v.tick.Stop()
	close(v.done)
	v.draw()
}
