package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/charmbracelet/x/term"

	"ebbtide/internal/daemon"
	"ebbtide/internal/engine"
	"ebbtide/internal/timeline"
)

// watch shows the status as it changes, until it is interrupted or the daemon is lost: drawn over itself on a terminal,
// a line a change elsewhere, a document a line for machines.
func (a *app) watch(ctx context.Context, client *daemon.Client) error {
	show := a.statusLine()
	switch {
	case a.format == "json":
		show = a.statusDocument
	case isTerminal(a.Stdout):
		show = a.statusScreen()
	}
	err := client.Watch(ctx, func(s *daemon.Status) error {
		if err := show(s); err != nil {
			return fail(exitFailed, "", "cannot show the status: %w", err)
		}
		return nil
	})
	if ours := (*failure)(nil); errors.As(err, &ours) {
		return err
	}
	return asked(err)
}

func (a *app) statusDocument(s *daemon.Status) error { return a.jsonLine(s) }

// jsonLine prints one document of a stream.
func (a *app) jsonLine(v any) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// statusLine writes the time and the status in one line when that has changed.
func (a *app) statusLine() func(*daemon.Status) error {
	last := ""
	return func(s *daemon.Status) error {
		if s.Text == last {
			return nil
		}
		last = s.Text
		_, err := fmt.Fprintf(a.Stdout, "%s %s\n", time.Now().Format(time.TimeOnly), s.Text)
		return err
	}
}

// statusScreen draws the status over the one before.
func (a *app) statusScreen() func(*daemon.Status) error {
	const home, restOfLine, restOfScreen = "\x1b[H", "\x1b[K", "\x1b[J"
	return func(s *daemon.Status) error {
		width, height := screenSize(a.Stdout)
		var text bytes.Buffer
		text.WriteString(home)
		for _, line := range screenful(s, width, height) {
			text.WriteString(line + restOfLine + "\n")
		}
		text.WriteString(restOfScreen)
		_, err := a.Stdout.Write(text.Bytes())
		return err
	}
}

// screenSize is a terminal's size; the usual one where it does not say.
func screenSize(w io.Writer) (width, height int) {
	if f, ok := w.(*os.File); ok {
		if width, height, err := term.GetSize(f.Fd()); err == nil && width > 0 && height > 0 {
			return width, height
		}
	}
	return 80, 24
}

// screenful is the part of the status that matters now, in lines that fit.
func screenful(s *daemon.Status, width, height int) []string {
	var text bytes.Buffer
	writeStatus(&text, urgent(s, height))
	lines := []string{}
	for line := range bytes.Lines(text.Bytes()) {
		runes := []rune(string(bytes.TrimRight(line, " \n")))
		lines = append(lines, string(runes[:min(len(runes), width)]))
	}
	if room := max(2, height-1); len(lines) > room { // the last line is the cursor's
		more := len(lines) - room + 1
		lines = append(lines[:room-1], fmt.Sprintf("… %d more lines: ebbtide status", more))
	}
	return lines
}

// urgent is the status with what fits on a screen: the supplies that are not simply on line, and the steps that have
// failed, the first of those that are under way, and those that ended last.
func urgent(s *daemon.Status, height int) *daemon.Status {
	short := *s
	const plenty = 8
	if len(s.View.Supplies) > plenty {
		short.View.Supplies = slices.DeleteFunc(slices.Clone(s.View.Supplies), func(v engine.SupplyView) bool { return daemon.Well(&v) })
		short.View.Supplies = short.View.Supplies[:min(len(short.View.Supplies), max(plenty, height/3))]
	}
	if s.Outage == nil {
		return &short
	}
	outage := *s.Outage
	var failed, running, ended []timeline.Step
	for _, st := range s.Outage.Steps {
		switch st.State {
		case timeline.Failed:
			failed = append(failed, st)
		case timeline.Pending, timeline.Running:
			running = append(running, st)
		case timeline.Proven, timeline.Stopped, timeline.Open:
			ended = append(ended, st)
		}
	}
	slices.SortStableFunc(ended, func(a, b timeline.Step) int { return b.Ended.Compare(a.Ended) })
	outage.Steps = slices.Concat(failed, running[:min(len(running), height/3)], ended[:min(len(ended), height/3)])
	short.Outage = &outage
	return &short
}
