package script

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/adapter/process"
	"ebbtide/internal/plan"
)

// The exit statuses that mean something of their own.
const (
	exitOn         = 0   // of a probe
	exitOff        = 3   // of a probe: as "systemctl is-active" and the init scripts of the LSB have it
	exitTempFail   = 75  // of any command: not now, try again (EX_TEMPFAIL of sysexits.h)
	exitCannotExec = 126 // of a shell
	exitNoCommand  = 127 // of a shell
)

// words are the states as a probe may name them; those of systemctl are among them.
var words = map[string]plan.State{
	"on": plan.On, "off": plan.Off, "starting": plan.Starting, "stopping": plan.Stopping, "unknown": plan.Unknown,
	"active": plan.On, "reloading": plan.On, "inactive": plan.Off, "failed": plan.Off,
	"activating": plan.Starting, "deactivating": plan.Stopping,
}

// Read turns what a probe left into an observation.
//
// An exit status of 0 means on and 3 means off, as "systemctl is-active" has it; any other is no answer. A first line
// that is one of the words on, off, starting, stopping, unknown, or one of systemctl's (active, inactive, failed,
// activating, deactivating, reloading), says it more exactly and goes before the exit status. Further lines may be
//
//	state=on          the same words
//	protected=yes     or no: whether the cache is in write-through mode
//	dirty=4096        bytes that are not yet on the backing store; 0 is clean
//	clean=yes         or no, where the bytes can't be told
//	detail=resyncing  for people
//
// All other lines are ignored. What contradicts itself is no answer.
func Read(res process.Result) (plan.Observation, error) {
	var seen plan.Observation
	switch res.Code {
	case exitOn:
		seen.State = plan.On
	case exitOff:
		seen.State = plan.Off
	default:
		return seen, fmt.Errorf("it exited with %d%s; a probe exits with 0 for on and 3 for off", res.Code, said(res))
	}
	bytes := false // it has said how many are dirty
	for i, line := range strings.Split(strings.TrimSpace(res.Stdout), "\n") {
		line = strings.TrimSpace(line)
		if state, ok := words[line]; ok && i == 0 {
			seen.State = state
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		bytes = bytes || key == "dirty"
		if err := take(&seen, key, value); err != nil {
			return plan.Observation{}, fmt.Errorf("it printed %q: %w", plain(line), err)
		}
	}
	if seen.State == plan.On && res.Code == exitOff {
		return plan.Observation{}, fmt.Errorf("it printed that it is on, and exited with %d for off", exitOff)
	}
	if bytes {
		if seen.Clean == plan.Yes && seen.Dirty > 0 {
			return plan.Observation{}, fmt.Errorf("it printed clean=yes and dirty=%d", seen.Dirty)
		}
		if seen.Clean == plan.NotKnown {
			seen.Clean = plan.FactOf(seen.Dirty == 0)
		}
	}
	return seen, nil
}

// take takes one word of a probe. A key that is not known is none.
func take(seen *plan.Observation, key, value string) (err error) {
	switch key {
	case "state":
		state, known := words[value]
		if !known {
			return errors.New("it must be on, off, starting, stopping or unknown")
		}
		seen.State = state
	case "protected":
		seen.Protected, err = fact(value)
	case "clean":
		seen.Clean, err = fact(value)
	case "dirty":
		seen.Dirty, err = strconv.ParseInt(value, 10, 64)
		if err != nil || seen.Dirty < 0 {
			return errors.New("it must be a whole number of bytes")
		}
	case "detail":
		seen.Detail = plain(value)
	}
	return err
}

func fact(s string) (plan.Fact, error) {
	switch s {
	case "yes":
		return plan.Yes, nil
	case "no":
		return plan.No, nil
	}
	return plan.NotKnown, errors.New("it must be yes or no")
}

// said gives the first line that a command complained with, for an error.
func said(res process.Result) string {
	text := strings.TrimSpace(res.Stderr)
	if text == "" {
		text = strings.TrimSpace(res.Stdout)
	}
	line, _, _ := strings.Cut(text, "\n")
	if line = plain(line); line == "" {
		return ""
	}
	return fmt.Sprintf(" and said %q", line)
}

// plain makes a foreign text fit for a message.
func plain(s string) string { return printable.Text(strings.TrimSpace(s), 200) }
