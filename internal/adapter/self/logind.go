package self

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"ebbtide/internal/adapter/process"
)

const (
	askedWithin = 2 * time.Second // a bus that hangs must not hold up what a probe says: that this machine is on
	askedEach   = time.Minute     // a rule that was installed meanwhile is seen after this
)

// canPowerOff asks logind, as our user, whether it would power this machine off: org.freedesktop.login1(5), CanPowerOff.
var canPowerOff = []string{
	"busctl", "call", "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager", "CanPowerOff",
}

// logind keeps what it last said about powering this machine off.
type logind struct {
	ask []string

	mu    sync.Mutex
	asked time.Time
	said  string
}

// caution tells what stands in the way of powering this machine off, and what to do about it; "": nothing does.
func (l *logind) caution(ctx context.Context) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.asked.IsZero() && time.Since(l.asked) < askedEach {
		return l.said
	}
	bound, cancel := context.WithTimeoutCause(ctx, askedWithin, fmt.Errorf("no answer within %s", askedWithin))
	defer cancel()
	res, err := process.Run(bound, l.ask, "")
	if ctx.Err() != nil { // it was not given its time
		return l.said
	}
	l.asked, l.said = time.Now(), judge(res, err)
	return l.said
}

// judge words an answer of CanPowerOff: it says "yes"; "no", or "challenge" where somebody would have to enter a password;
// "na" where the machine can't.
func judge(res process.Result, err error) string {
	const rule = "install polkitd, and 50-ebbtide-poweroff.rules in /usr/share/polkit-1/rules.d (the Debian package has it); the service has to run as the user ebbtide"
	switch answer := strings.TrimSpace(res.Stdout); {
	case err != nil:
		return fmt.Sprintf("it is unknown whether it can power this machine off: %v", err)
	case res.Code != 0:
		return "it is unknown whether it can power this machine off: " + strings.TrimSpace(res.Stderr)
	case answer == `s "yes"`:
		return ""
	case answer == `s "na"`:
		return "logind says that this machine can't power itself off: set stop to a program that can"
	default:
		return fmt.Sprintf("logind will not let the user that Ebbtide runs as power this machine off (CanPowerOff: %s): %s",
			strings.TrimPrefix(answer, "s "), rule)
	}
}
