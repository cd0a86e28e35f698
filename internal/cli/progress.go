package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	progressAfter = 2 * time.Second // what is done before needs no bar
	progressEvery = 100 * time.Millisecond
	progressCells = 24
)

// progress draws how far long work has come, over itself on one line, without colour.
type progress struct {
	to     io.Writer
	what   string
	of     int
	began  time.Time
	drawn  time.Time
	length int // of the line that stands there
}

// newProgress begins a bar for so many things. On anything but a terminal nothing is drawn.
func newProgress(to io.Writer, of int, what string) *progress {
	now := time.Now()
	if !isTerminal(to) {
		to = io.Discard
	}
	return &progress{to: to, what: what, of: of, began: now, drawn: now}
}

func (p *progress) done(n int) {
	now := time.Now()
	if now.Sub(p.began) < progressAfter || now.Sub(p.drawn) < progressEvery {
		return
	}
	p.drawn = now
	p.draw(progressLine(n, p.of, p.what, now.Sub(p.began)))
}

// clear takes the bar away.
func (p *progress) clear() {
	if p.length > 0 {
		p.draw("")
		_, _ = io.WriteString(p.to, "\r")
	}
}

func (p *progress) draw(line string) {
	_, _ = fmt.Fprintf(p.to, "\r%-*s", p.length, line) // whoever does not read it misses nothing
	p.length = len(line)
}

func progressLine(n, of int, what string, spent time.Duration) string {
	full := progressCells * n / max(1, of)
	left := time.Duration(float64(spent) / float64(max(1, n)) * float64(of-n))
	return fmt.Sprintf("[%s%s] %d of %d %s, about %s left", strings.Repeat("#", full), strings.Repeat(".", progressCells-full), n,
		of, what, brief(left))
}
