package chart

import (
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"ebbtide/internal/effect"
	"ebbtide/internal/ledger"
)

// mark is a moment that goes through both panels.
type mark struct {
	at    time.Duration
	text  string
	left  vg.Length
	level int // of its label, from 0 next to the panel
}

// marks are the mains, the stages, the point of no return, the turn and the end.
func (c *Course) marks() []mark {
	var marks []mark
	add := func(at time.Duration, text string) { marks = append(marks, mark{at: at, text: text}) }
	for _, away := range c.Away {
		add(away.From, "mains power out")
		add(away.To, "mains power back")
	}
	for i := range c.Outages {
		o := &c.Outages[i]
		for _, s := range o.Stages {
			add(s.At.Sub(c.Start), string(s.Name))
		}
		for _, m := range o.Marks {
			switch m.Kind {
			case ledger.NoReturn:
				add(m.At.Sub(c.Start), "no return")
			case ledger.Turned:
				going, _, _ := strings.Cut(strings.TrimPrefix(m.Text, effect.Observing), ":")
				add(m.At.Sub(c.Start), going)
			case ledger.Closed:
				add(m.At.Sub(c.Start), "over")
			default:
			}
		}
	}
	slices.SortStableFunc(marks, func(a, b mark) int { return int(a.at - b.at) })
	var told []mark // a stage that begins for one supply after the other is one
	for _, m := range marks {
		if !slices.ContainsFunc(told, func(before mark) bool { return before.text == m.text && m.at-before.at < time.Minute }) {
			told = append(told, m)
		}
	}
	return told
}

// placeMarks gives each label its level, and tells how many levels there are. A label stands to the right of its line,
// and above all lines that begin under it: so no line goes through a label.
func (p *page) placeMarks() int {
	const apart = 6
	p.marks = slices.DeleteFunc(p.marks, func(m mark) bool { return m.at < p.from || m.at > p.to })
	levels := 0
	for i := range slices.Backward(p.marks) {
		m := &p.marks[i]
		m.left = p.x(m.at)
		end := m.left + bodyText.Width(m.text) + apart
		for _, later := range p.marks[i+1:] {
			if later.left < end {
				m.level = max(m.level, later.level+1)
			}
		}
		levels = max(levels, m.level+1)
	}
	return levels
}

func (p *page) drawMarks(c draw.Canvas) {
	for _, m := range p.marks {
		bottom := p.top + 4 + markHeight*vg.Length(m.level)
		c.StrokeLine2(markLine, m.left, p.middle, m.left, bottom+markHeight-2)
		c.StrokeLine2(markLine, m.left, p.lower, m.left, p.upper)
		c.FillText(bodyText, vg.Point{X: m.left + 3, Y: bottom + markHeight/2}, m.text)
	}
}
