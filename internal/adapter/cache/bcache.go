package cache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// BcacheSpec are the keys of a node of type "bcache".
type BcacheSpec struct {
	// Device is the kernel's name of the cached device ("bcache0"), or the UUID of its backing device, which stays the
	// same across boots and is found at /dev/bcache/by-uuid.
	Device string `yaml:"device" check:"required" json:"device"`
	// Set is the UUID of the cache set that the device is attached to again after it was detached, where no record of
	// the outage says it.
	Set string `yaml:"set" json:"set,omitempty"`
	// StandsStill is how long the dirty data may stand still when a flush is asked for, before the device is detached
	// from its cache: the last means, which writes everything back without waiting for anything. 10 s if not given.
	StandsStill time.Duration `yaml:"stands_still" check:"positive" json:"stands_still,omitempty"`
}

var (
	bcacheName = regexp.MustCompile(`^bcache[0-9]+$`)
	uuid       = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

const standsStill = 10 * time.Second

func (s *BcacheSpec) mistakes() []error {
	var errs []error
	if !bcacheName.MatchString(s.Device) && !uuid.MatchString(s.Device) {
		errs = append(errs, &schema.KeyError{
			Key: "device",
			Err: errors.New(`it must be a name such as bcache0, or the backing device's UUID as "bcache-super-show" prints it (dev.uuid)`),
		})
	}
	if s.Set != "" && !uuid.MatchString(s.Set) {
		errs = append(errs, &schema.KeyError{
			Key: "set",
			Err: errors.New(`it must be the UUID of a cache set, as "ls /sys/fs/bcache" prints it`),
		})
	}
	return errs
}

func (s *BcacheSpec) verbs() plan.Verbs { return caching }

func (s *BcacheSpec) system() system {
	still := s.StandsStill
	if still == 0 {
		still = standsStill
	}
	return &bcache{device: s.Device, set: s.Set, still: still}
}

func (s *BcacheSpec) typed() typed {
	dir := "/sys/block/" + s.Device + "/bcache"
	if uuid.MatchString(s.Device) {
		dir = "/sys/block/$(basename $(readlink -f /dev/bcache/by-uuid/" + s.Device + "))/bcache"
	}
	return typed{
		do: map[plan.Verb][]string{
			plan.Protect: {
				"sh -c 'cd " + dir + " && echo writethrough > cache_mode && echo 0 > writeback_percent && echo 0 > writeback_delay && " +
					"echo 1 > writeback_running'",
			},
			plan.Flush: {
				"sh -c 'cd " + dir + " && echo 1 > writeback_running'",
				"sh -c 'echo 1 > " + dir + "/detach' # only if dirty_data stands still: empties it at once",
			},
			plan.Unprotect: {
				"sh -c 'cd " + dir + " && echo 10 > writeback_percent && echo 30 > writeback_delay && echo writeback > cache_mode'",
			},
		},
		look: "sh -c 'cd " + dir + " && grep -H . state dirty_data cache_mode'",
		clean: "It is in write-through mode when cache_mode says [writethrough], and empty when state says clean and dirty_data says " +
			"0.0k (or state says no cache)",
	}
}

// bcache is a device of the kernel's block cache, worked with through sysfs.
type bcache struct {
	device, set string
	still       time.Duration
}

// tunables are what Protect changes, in the order in which it does: the mode first, so that whatever comes between
// nothing new gets dirty. Only the mode would leave some of the data dirty for a minute (writeback_percent) after a wait
// of half a minute (writeback_delay).
var tunables = []struct{ name, safe, usual string }{
	{"cache_mode", "writethrough", "writeback"},
	{"writeback_percent", "0", "10"},
	{"writeback_delay", "0", "30"},
	{"writeback_running", "1", "1"},
}

var cacheModes = oneOf("writethrough", "writeback", "writearound", "none")

// dir gives the device's folder in sysfs; "" if there is no such device.
func (b *bcache) dir(ctx context.Context, at host) (string, error) {
	name := b.device
	if uuid.MatchString(b.device) {
		res, err := at.run(ctx, "readlink", "-f", "/dev/bcache/by-uuid/"+b.device)
		if err != nil {
			return "", err
		}
		if name = path.Base(strings.TrimSpace(res.Stdout)); !bcacheName.MatchString(name) {
			return "", nil
		}
	}
	return "/sys/block/" + name + "/bcache", nil
}

// read reads the device's attributes; none if there is no such device.
func (b *bcache) read(ctx context.Context, at host) (dir string, is map[string]string, err error) {
	if dir, err = b.dir(ctx, at); err != nil || dir == "" {
		return dir, nil, err
	}
	argv := []string{"grep", "-Hs", ".", dir + "/state", dir + "/dirty_data"}
	for _, t := range tunables {
		argv = append(argv, dir+"/"+t.name)
	}
	res, err := at.run(ctx, argv...)
	if err != nil {
		return dir, nil, err
	}
	is = map[string]string{}
	for line := range strings.Lines(res.Stdout) {
		if file, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && strings.HasPrefix(file, dir+"/") {
			is[path.Base(file)] = value
		}
	}
	is["cache_mode"] = chosen(is["cache_mode"])
	return dir, is, nil
}

// chosen gives the word in brackets: "writethrough [writeback] writearound none".
func chosen(list string) string {
	_, rest, _ := strings.Cut(list, "[")
	word, _, _ := strings.Cut(rest, "]")
	return word
}

func (b *bcache) look(ctx context.Context, at host) (plan.Observation, settings, error) {
	dir, is, err := b.read(ctx, at)
	if err != nil {
		return plan.Observation{}, nil, err
	}
	if is["state"] == "" {
		return unknown("there is no bcache device %s on the host", b.device), nil, nil
	}
	seen := judge(is)
	if seen.Protected != plan.No {
		return seen, nil, nil
	}
	var was settings
	for _, t := range tunables {
		was = append(was, setting{t.name, is[t.name]})
	}
	res, err := at.run(ctx, "readlink", dir+"/cache")
	if err != nil {
		return plan.Observation{}, nil, err
	}
	if set := path.Base(strings.TrimSpace(res.Stdout)); uuid.MatchString(set) {
		was = append(was, setting{"set", set})
	}
	return seen, was, nil
}

// judge tells what a device's attributes mean. Clean needs both its state and its counter: the counter is rounded, and
// reaches nought before the state does. A device that was run without its cache is never told as clean.
func judge(is map[string]string) plan.Observation {
	state, dirty := is["state"], is["dirty_data"]
	seen := plan.Observation{State: plan.On, Detail: fmt.Sprintf("%s, %s, dirty %s", state, is["cache_mode"], dirty)}
	switch state {
	case "no cache":
		return plan.Observation{State: plan.On, Protected: plan.Yes, Clean: plan.Yes, Detail: "no cache is attached"}
	case "inconsistent":
		seen.Detail = "inconsistent: it was run without its cache, whose data is newer or lost; never attach that again, restore from a backup"
	}
	seen.Protected = plan.FactOf(oneOf("writethrough", "writearound", "none")(is["cache_mode"]))
	seen.Dirty = bytesOf(dirty)
	seen.Clean = plan.FactOf(state == "clean" && dirty == "0.0k")
	return seen
}

// bytesOf reads a size as bcache prints it: "0.0k", "23.5M". What can't be read is 0.
func bytesOf(size string) int64 {
	unit := strings.IndexByte("kMGTPEZY", lastByte(size))
	if unit < 0 {
		return 0
	}
	n, err := strconv.ParseFloat(size[:len(size)-1], 64)
	if err != nil || n < 0 {
		return 0
	}
	return int64(n * math.Pow(1024, float64(unit+1)))
}

func lastByte(s string) byte {
	if s == "" {
		return 0
	}
	return s[len(s)-1]
}

func (b *bcache) do(ctx context.Context, at host, v plan.Verb, was settings) error {
	dir, is, err := b.read(ctx, at)
	switch {
	case err != nil:
		return err
	case is["state"] == "":
		return fmt.Errorf("%w: there is no bcache device %s on the host", adapter.ErrRefused, b.device)
	case v == plan.Unprotect:
		return b.back(ctx, at, dir, is, was)
	case is["state"] == "no cache":
		return nil
	}
	for _, t := range tunables {
		if is[t.name] == t.safe && t.name != "writeback_running" { // writing 1 wakes the writer, whatever it was
			continue
		}
		if t.name == "cache_mode" && judge(is).Protected == plan.Yes {
			continue
		}
		if err := b.write(ctx, at, dir, t.name, t.safe); err != nil {
			return err
		}
	}
	if v == plan.Flush {
		return b.drain(ctx, at, dir)
	}
	return nil
}

// drain waits until the dirty data is gone or at least falls, and detaches the cache if it does not: the writer may
// sleep through a delay that was set before, and only a detach wakes it. That writes everything back, and costs no more
// than a cold cache afterwards.
func (b *bcache) drain(ctx context.Context, at host, dir string) error {
	var last string
	for start := time.Now(); ; {
		_, is, err := b.read(ctx, at)
		if err != nil {
			return err
		}
		seen := judge(is)
		switch {
		case seen.Clean == plan.Yes, last != "" && is["dirty_data"] != last:
			return nil
		case is["state"] == "inconsistent":
			return fmt.Errorf("%w: it is %s", adapter.ErrRefused, seen.Detail)
		case time.Since(start) >= b.still:
			return b.write(ctx, at, dir, "detach", "1")
		}
		last = is["dirty_data"]
		select {
		case <-time.After(min(time.Second, b.still/4)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// back attaches the cache again if it was detached, and puts back what was set before, the mode last.
func (b *bcache) back(ctx context.Context, at host, dir string, is map[string]string, was settings) error {
	switch set := was.get("set", b.set, uuid.MatchString); {
	case is["state"] == "inconsistent":
		return fmt.Errorf("%w: it is %s", adapter.ErrRefused, judge(is).Detail)
	case is["state"] == "no cache" && set == "":
		return fmt.Errorf(`%w: it has no cache, and no record says which it had; attach it: echo UUID > %s/attach ("ls /sys/fs/bcache" prints the UUID)`, adapter.ErrRefused, dir)
	case is["state"] == "no cache":
		if err := b.write(ctx, at, dir, "attach", set); err != nil {
			return fmt.Errorf("%w; check that the cache's device is present: \"ls /sys/fs/bcache\" lists what is registered", err)
		}
	}
	for _, t := range slices.Backward(tunables) {
		allowed := number
		if t.name == "cache_mode" {
			allowed = cacheModes
		}
		if err := b.write(ctx, at, dir, t.name, was.get(t.name, t.usual, allowed)); err != nil {
			return err
		}
	}
	return nil
}

// write writes one attribute.
func (b *bcache) write(ctx context.Context, at host, dir, name, value string) error {
	argv := []string{"tee", dir + "/" + name}
	res, err := at.write(ctx, value+"\n", argv...)
	if err != nil {
		return err
	}
	if res.Code != 0 {
		return refused(argv, res)
	}
	return nil
}
