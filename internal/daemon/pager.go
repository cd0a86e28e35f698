package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/adapter/process"
	"ebbtide/internal/english"
)

const (
	pagesWaiting = 64               // messages that may wait for the program
	pageWithin   = 30 * time.Second // for the program to end
)

// pager tells people through a program of theirs, one message at a time. Nobody ever waits for it.
type pager struct {
	argv  []string
	log   *slog.Logger
	queue chan string
}

func newPager(argv []string, log *slog.Logger) *pager {
	return &pager{argv: argv, log: log, queue: make(chan string, pagesWaiting)}
}

// send hands a message over. Where too many wait it is left to the log, which has it already.
func (p *pager) send(urgent bool, text string) {
	if len(p.argv) == 0 {
		return
	}
	if urgent {
		text = "urgent: " + text
	}
	select {
	case p.queue <- text:
	default:
		p.log.Error("the notification program is too slow: a message was dropped", "message", text)
	}
}

// run gives messages to the program until ctx ends. What it is saying then is cut short.
func (p *pager) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case text := <-p.queue:
			p.page(ctx, text)
		}
	}
}

func (p *pager) page(ctx context.Context, text string) {
	ctx, cancel := context.WithTimeoutCause(ctx, pageWithin, fmt.Errorf("it did not end within %s", english.Span(pageWithin)))
	defer cancel()
	res, err := process.Run(ctx, p.argv, "ebbtide: "+text+"\n")
	if err == nil && res.Code != 0 {
		err = fmt.Errorf("exit status %d: %s", res.Code, printable.Text(strings.TrimSpace(res.Stderr), 200))
	}
	if err != nil {
		p.log.Error("people were not notified", "program", p.argv[0], keyError, err, "message", text)
	}
}
