package cache

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// DriveSpec are the keys of a node of type "drive.cache".
type DriveSpec struct {
	// Drives are device files, best those of /dev/disk/by-id, which stay the same across boots.
	Drives []string `yaml:"drives" check:"required" json:"drives"`
	// SCSI takes sdparm, for SAS drives, instead of hdparm.
	SCSI bool `yaml:"scsi" json:"scsi,omitempty"`
}

var driveName = regexp.MustCompile(`^/dev/[A-Za-z0-9_.:/-]+$`)

func (s *DriveSpec) mistakes() []error {
	var errs []error
	for _, d := range s.Drives {
		if !driveName.MatchString(d) || strings.Contains(d, "..") {
			errs = append(errs, &schema.KeyError{
				Key: "drives",
				Err: fmt.Errorf("%q is not a device file such as /dev/disk/by-id/ata-…", d),
			})
		}
	}
	return errs
}

func (s *DriveSpec) verbs() plan.Verbs { return caching }

func (s *DriveSpec) system() system {
	if s.SCSI {
		return drives{
			names: s.Drives, ask: []string{"sdparm", "--get=WCE"}, on: []string{"sdparm", "--set=WCE"},
			off: []string{"sdparm", "--clear=WCE"}, flush: []string{"sdparm", "--command=sync"}, line: scsiCache,
		}
	}
	return drives{
		names: s.Drives, ask: []string{"hdparm", "-W"}, on: []string{"hdparm", "-W1"},
		off: []string{"hdparm", "-W0"}, flush: []string{"hdparm", "-F"}, line: ataCache,
	}
}

func (s *DriveSpec) typed() typed {
	d := s.system().(drives)
	line := func(argv []string) []string {
		return []string{schema.Command{Argv: append(append([]string(nil), argv...), s.Drives...)}.Shell()}
	}
	return typed{
		do: map[plan.Verb][]string{
			plan.Protect: line(d.off), plan.Flush: line(d.flush), plan.Unprotect: line(d.on),
		},
		look: line(d.ask)[0],
		clean: "Its write cache is off (hdparm: write-caching = 0; sdparm: WCE 0) for every drive; a drive writes back what is in it " +
			"before it says so",
	}
}

// drives are drives with caches of their own. A drive whose write cache is off has nothing in it: both standards let the
// switch end only when everything is on the medium.
type drives struct {
	names               []string
	ask, on, off, flush []string
	line                *regexp.Regexp // finds the answer of each drive, in their order: 0 or 1
}

var (
	ataCache  = regexp.MustCompile(`(?m)^\s*write-caching\s*=\s*([01])\s`)
	scsiCache = regexp.MustCompile(`(?m)^\s*WCE\s+([01])\b`)
)

func (d drives) look(ctx context.Context, at host) (plan.Observation, settings, error) {
	text, err := at.must(ctx, append(append([]string(nil), d.ask...), d.names...)...)
	if err != nil {
		return plan.Observation{}, nil, err
	}
	answers := d.line.FindAllStringSubmatch(text, -1)
	if len(answers) != len(d.names) {
		return plan.Observation{}, nil, fmt.Errorf("%d of %d drives tell whether their write cache is on: %w", len(answers), len(d.names),
			errors.ErrUnsupported)
	}
	seen := plan.Observation{State: plan.On, Protected: plan.Yes, Clean: plan.Yes}
	var was settings
	cached := 0
	for i, a := range answers {
		was = append(was, setting{d.names[i], a[1]})
		if a[1] == "1" {
			seen.Protected, seen.Clean = plan.No, plan.No
			cached++
		}
	}
	seen.Detail = fmt.Sprintf("the write cache of %d of %d drives is on", cached, len(answers))
	return seen, was, nil
}

func (d drives) do(ctx context.Context, at host, v plan.Verb, was settings) error {
	switch v {
	case plan.Protect:
		return d.each(ctx, at, d.off, d.names)
	case plan.Flush:
		return d.each(ctx, at, d.flush, d.names)
	default:
		var names []string
		for _, name := range d.names {
			if was.get(name, "1", number) == "1" {
				names = append(names, name)
			}
		}
		return d.each(ctx, at, d.on, names)
	}
}

func (d drives) each(ctx context.Context, at host, argv, names []string) error {
	if len(names) == 0 {
		return nil
	}
	_, err := at.must(ctx, append(append([]string(nil), argv...), names...)...)
	return err
}
