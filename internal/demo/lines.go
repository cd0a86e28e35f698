package demo

import (
	"fmt"
	"io"
	"time"

	"ebbtide/internal/ledger"
	"ebbtide/internal/timeline"
)

// Lines is a view that writes a line for each thing that happens, with the time since the demo began.
type Lines struct {
	w     io.Writer
	began time.Time
	told  timeline.Timeline
}

// NewLines makes a view that writes to w.
func NewLines(w io.Writer) *Lines { return &Lines{w: w, began: time.Now()} }

// Says writes a line.
func (l *Lines) Says(text string) { l.line(time.Now(), text) }

// Recorded writes a line for each record that people want to see.
func (l *Lines) Recorded(records []ledger.Record) {
	for i := range records {
		l.told.Add(records[i])
		if text := l.told.Phrase(&records[i]); text != "" {
			l.line(records[i].At, text)
		}
	}
}

// Power writes nothing: the records tell what matters.
func (*Lines) Power(bool, bool, float64, float64) {}

func (l *Lines) line(at time.Time, text string) {
	_, _ = fmt.Fprintf(l.w, "%6.1fs  %s\n", max(0, at.Sub(l.began).Seconds()), text) // a reader that has gone misses nothing
}
