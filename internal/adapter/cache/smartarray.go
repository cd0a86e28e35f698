package cache

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// SmartArraySpec are the keys of a node of type "smartarray".
type SmartArraySpec struct {
	Slot    int    `yaml:"slot" json:"slot"`                 // of the controller; 0 is the embedded one
	Program string `yaml:"program" json:"program,omitempty"` // ssacli if not given; hpssacli and hpacucli are its older names
}

func (s *SmartArraySpec) mistakes() []error {
	var errs []error
	if s.Slot < 0 {
		errs = append(errs, &schema.KeyError{Key: "slot", Err: errors.New("slots are counted from 0")})
	}
	if s.Program != "" && !oneOf("ssacli", "hpssacli", "hpacucli")(s.Program) {
		errs = append(errs, &schema.KeyError{Key: "program", Err: errors.New("it must be ssacli, hpssacli or hpacucli")})
	}
	return errs
}

func (s *SmartArraySpec) verbs() plan.Verbs { return caching }

func (s *SmartArraySpec) system() system {
	program := s.Program
	if program == "" {
		program = "ssacli"
	}
	return smartArray{[]string{program, "ctrl", "slot=" + strconv.Itoa(s.Slot)}}
}

func (s *SmartArraySpec) typed() typed {
	ctrl := strings.Join(s.system().(smartArray).ctrl, " ")
	off := ctrl + " ld all modify arrayaccelerator=disable forced"
	return typed{
		do: map[plan.Verb][]string{
			plan.Protect: {off}, plan.Flush: {off},
			plan.Unprotect: {ctrl + " ld all modify arrayaccelerator=enable"},
		},
		look:  ctrl + " ld all show detail",
		clean: "Caching says Disabled for every logical drive, and \"" + ctrl + " show\" reports no data in the cache",
	}
}

// smartArray is a controller of HPE's Smart Array family, as the beginning of a command to it. It has no counter of dirty
// bytes: switching a drive's accelerator off writes back what is in it, and a controller that could not do so says that
// its cache holds data.
type smartArray struct{ ctrl []string }

func (a smartArray) say(words ...string) []string {
	return append(append([]string(nil), a.ctrl...), words...)
}

// logicalDrive is one of the controller's drives.
type logicalDrive struct {
	number string
	cached bool
}

// readLogicalDrives reads "ld all show detail". An SSD with Smart Path has no cache in the controller: "Caching: Disabled".
func readLogicalDrives(text string) ([]logicalDrive, error) {
	var drives []logicalDrive
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch {
		case key == "Logical Drive" && number(value):
			drives = append(drives, logicalDrive{number: value, cached: true}) // until it says otherwise
		case key == "Caching" && len(drives) > 0:
			drives[len(drives)-1].cached = value != "Disabled"
		}
	}
	if len(drives) == 0 {
		return nil, errors.New("the controller lists no logical drive")
	}
	return drives, nil
}

// holds tells of a line by which the controller says that data is in its cache; "" if there is none.
func holds(text string) string {
	for line := range strings.Lines(text) {
		for _, word := range []string{"unflushed", "dirty", "data in cache", "valid data"} {
			if strings.Contains(strings.ToLower(line), word) {
				return printable.Text(strings.TrimSpace(line), 120)
			}
		}
	}
	return ""
}

func (a smartArray) look(ctx context.Context, at host) (plan.Observation, settings, error) {
	text, err := at.must(ctx, a.say("ld", "all", "show", "detail")...)
	if err != nil {
		return plan.Observation{}, nil, err
	}
	drives, err := readLogicalDrives(text)
	if err != nil {
		return plan.Observation{}, nil, err
	}
	seen := plan.Observation{State: plan.On, Protected: plan.Yes, Detail: "no drive is cached"}
	var was settings
	for _, d := range drives {
		value := "disable"
		if d.cached {
			value, seen.Protected, seen.Clean = "enable", plan.No, plan.No
			seen.Detail = "drive " + d.number + " is cached"
		}
		was = append(was, setting{"ld" + d.number, value})
	}
	if seen.Protected == plan.No {
		return seen, was, nil
	}
	if text, err = at.must(ctx, a.say("show", "detail")...); err != nil {
		return plan.Observation{}, nil, err
	}
	seen.Clean = plan.Yes
	if line := holds(text); line != "" {
		seen.Clean, seen.Detail = plan.No, "the controller says: "+line
	}
	return seen, was, nil
}

func (a smartArray) do(ctx context.Context, at host, v plan.Verb, was settings) error {
	if v != plan.Unprotect {
		was = nil
		text, err := at.must(ctx, a.say("ld", "all", "show", "detail")...)
		if err != nil {
			return err
		}
		drives, err := readLogicalDrives(text)
		if err != nil {
			return err
		}
		for _, d := range drives {
			if d.cached {
				was = append(was, setting{"ld" + d.number, "disable"})
			}
		}
		return a.accelerate(ctx, at, was)
	}
	if len(was) == 0 {
		_, err := at.must(ctx, a.say("ld", "all", "modify", "arrayaccelerator=enable")...)
		return err
	}
	return a.accelerate(ctx, at, was)
}

// accelerate sets the accelerators as they are to be: "ld1=enable".
func (a smartArray) accelerate(ctx context.Context, at host, to settings) error {
	for _, d := range to {
		n, ok := strings.CutPrefix(d.key, "ld")
		if !ok || !number(n) || !oneOf("enable", "disable")(d.value) {
			continue
		}
		argv := a.say("ld", n, "modify", "arrayaccelerator="+d.value)
		if d.value == "disable" {
			argv = append(argv, "forced") // it asks for a yes otherwise
		}
		if _, err := at.must(ctx, argv...); err != nil {
			return err
		}
	}
	return nil
}
