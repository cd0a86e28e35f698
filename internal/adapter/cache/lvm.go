package cache

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// LVMSpec are the keys that both of LVM's caches have.
type LVMSpec struct {
	// LV is the cached logical volume, as VG/LV.
	LV string `yaml:"lv" check:"required" json:"lv"`
}

var lvName = regexp.MustCompile(`^[A-Za-z0-9+_.][A-Za-z0-9+_.-]*/[A-Za-z0-9+_.][A-Za-z0-9+_.-]*$`)

func (s *LVMSpec) mistakes() []error {
	if lvName.MatchString(s.LV) {
		return nil
	}
	return []error{&schema.KeyError{Key: "lv", Err: errors.New(`it must be VG/LV: "lvs -S 'segtype=~cache'" lists them`)}}
}

func (s *LVMSpec) verbs() plan.Verbs { return caching }

// dm is the volume's name as the device mapper has it: hyphens in a part are doubled.
func (s *LVMSpec) dm() string {
	vg, lv, _ := strings.Cut(s.LV, "/")
	return strings.ReplaceAll(vg, "-", "--") + "-" + strings.ReplaceAll(lv, "-", "--")
}

// change is the LVM command that changes something of the volume.
func (s *LVMSpec) change(key, value string) []string {
	return []string{"lvchange", "-y", key, value, s.LV}
}

// mapped asks the device mapper for a line on the volume, and gives its fields from the name of the target on. LVM itself
// is not asked: it would wait for its own lock while an lvchange writes the cache back. Missing is why there are none.
func (s *LVMSpec) mapped(ctx context.Context, at host, what, target string) (fields []string, missing string, err error) {
	argv := []string{"dmsetup", what, s.dm()}
	res, err := at.root(ctx, argv...)
	switch {
	case err != nil:
		return nil, "", err
	case res.Code == 127:
		return nil, "", refused(argv, res)
	case res.Code != 0:
		return nil, fmt.Sprintf("there is no active volume %s on the host: %s", s.LV, said(res)), nil
	}
	fields = strings.Fields(res.Stdout)
	if len(fields) < 4 || fields[2] != target {
		return nil, fmt.Sprintf("%s is not a %s volume: %q", s.LV, target, strings.TrimSpace(res.Stdout)), nil
	}
	return fields[2:], "", nil
}

// LVMCacheSpec are the keys of a node of type "lvm.cache".
type LVMCacheSpec struct {
	LVMSpec `yaml:",inline"`
}

func (s *LVMCacheSpec) system() system { return &dmCache{&s.LVMSpec} }

func (s *LVMCacheSpec) typed() typed {
	through := schema.Command{Argv: s.change("--cachemode", "writethrough")}.Shell()
	return typed{
		do: map[plan.Verb][]string{
			plan.Protect: {through}, plan.Flush: {through},
			plan.Unprotect: {schema.Command{Argv: s.change("--cachemode", "writeback")}.Shell()},
		},
		look:  "lvs --noheadings -o cache_mode,cache_dirty_blocks " + s.LV,
		clean: "It says writethrough and 0",
	}
}

// dmCache is an LVM cache.
type dmCache struct{ *LVMSpec }

func (c *dmCache) look(ctx context.Context, at host) (plan.Observation, settings, error) {
	fields, missing, err := c.mapped(ctx, at, "status", "cache")
	if err != nil {
		return plan.Observation{}, nil, err
	}
	if missing != "" {
		return unknown("%s", missing), nil, nil
	}
	seen, mode := readCacheStatus(fields)
	return seen, settings{{"cache_mode", mode}}, nil
}

// readCacheStatus reads the status of a "cache" target, from its name on:
//
//	cache <metadata block size> <used>/<total> <block size, sectors> <used>/<total> <read hits> <read misses>
//	<write hits> <write misses> <demotions> <promotions> <dirty> <#features> <feature>… <#core args> … <policy> …
//
// or "cache Fail" or "cache Error", of which nothing good can be said.
func readCacheStatus(f []string) (seen plan.Observation, mode string) {
	const blockSize, dirtyAt, features = 3, 11, 12
	seen = plan.Observation{State: plan.On, Clean: plan.No, Detail: "its status can't be read: " + strings.Join(f, " ")}
	if len(f) <= features {
		return seen, ""
	}
	sectors, err1 := strconv.ParseInt(f[blockSize], 10, 64)
	dirty, err2 := strconv.ParseInt(f[dirtyAt], 10, 64)
	n, err3 := strconv.Atoi(f[features])
	if errors.Join(err1, err2, err3) != nil || n < 0 || features+1+n > len(f) {
		return seen, ""
	}
	for _, feature := range f[features+1 : features+1+n] {
		if oneOf("writeback", "writethrough", "passthrough")(feature) {
			mode = feature
		}
	}
	if mode == "" {
		return seen, ""
	}
	return plan.Observation{
		State: plan.On, Protected: plan.FactOf(mode != "writeback"), Clean: plan.FactOf(dirty == 0), Dirty: dirty * sectors * 512,
		Detail: mode + ", " + english.Count(dirty, "dirty block"),
	}, mode
}

// do changes the mode. LVM writes all dirty blocks back before it leaves the write-back mode, and answers only then; if that
// takes longer than a command may, the kernel goes on with it and the command is given again.
func (c *dmCache) do(ctx context.Context, at host, v plan.Verb, was settings) error {
	mode := "writethrough"
	if v == plan.Unprotect {
		mode = was.get("cache_mode", "writeback", oneOf("writeback", "writethrough", "passthrough"))
	}
	_, err := at.must(ctx, c.change("--cachemode", mode)...)
	return err
}

// LVMWritecacheSpec are the keys of a node of type "lvm.writecache".
type LVMWritecacheSpec struct {
	LVMSpec `yaml:",inline"`
}

func (s *LVMWritecacheSpec) system() system { return &dmWritecache{&s.LVMSpec} }

func (s *LVMWritecacheSpec) typed() typed {
	clean := schema.Command{Argv: s.change("--cachesettings", "cleaner=1")}.Shell()
	return typed{
		do: map[plan.Verb][]string{
			plan.Protect: {clean}, plan.Flush: {clean, "dmsetup message " + s.dm() + " 0 flush"},
			plan.Unprotect: {schema.Command{Argv: s.change("--cachesettings", "cleaner=0")}.Shell()},
		},
		look: "dmsetup status " + s.dm(),
		clean: "It is empty when of the four numbers after the word writecache the first is 0 (no error), the second and the third are " +
			"equal (all blocks are free), and the fourth is 0",
	}
}

// dmWritecache is an LVM writecache. It has no write-through mode; its cleaner does as much: what is not in the cache goes
// past it, and what is in it is written back.
type dmWritecache struct{ *LVMSpec }

func (c *dmWritecache) look(ctx context.Context, at host) (plan.Observation, settings, error) {
	status, missing, err := c.mapped(ctx, at, "status", "writecache")
	if err != nil {
		return plan.Observation{}, nil, err
	}
	var table []string
	if missing == "" {
		if table, missing, err = c.mapped(ctx, at, "table", "writecache"); err != nil {
			return plan.Observation{}, nil, err
		}
	}
	if missing != "" {
		return unknown("%s", missing), nil, nil
	}
	seen := readWritecache(status, table)
	return seen, settings{{"cleaner", "0"}}, nil
}

// readWritecache reads the status and the table of a "writecache" target, from its name on:
//
//	writecache <error> <blocks> <free> <blocks under write-back> …
//	writecache s <origin> <cache> <block size, bytes> <#options> <option>…
func readWritecache(status, table []string) plan.Observation {
	seen := plan.Observation{State: plan.On, Clean: plan.No, Detail: "its status can't be read: " + strings.Join(status, " ")}
	if len(status) < 5 || len(table) < 5 {
		return seen
	}
	var n [4]int64
	var errs []error
	for i := range n {
		var err error
		n[i], err = strconv.ParseInt(status[1+i], 10, 64)
		errs = append(errs, err)
	}
	block, err := strconv.ParseInt(table[4], 10, 64)
	if errors.Join(append(errs, err)...) != nil {
		return seen
	}
	bad, blocks, free, under := n[0], n[1], n[2], n[3]
	cleaner := slices.Contains(table[5:], "cleaner")
	seen = plan.Observation{
		State: plan.On, Protected: plan.FactOf(cleaner), Clean: plan.FactOf(bad == 0 && free == blocks && under == 0),
		Dirty: (blocks - free) * block, Detail: fmt.Sprintf("%d of %d blocks in use, %d being written back", blocks-free, blocks, under),
	}
	if bad != 0 {
		seen.Detail = fmt.Sprintf("it has failed with error %d; %s", bad, seen.Detail)
	}
	return seen
}

func (c *dmWritecache) do(ctx context.Context, at host, v plan.Verb, _ settings) error {
	cleaner := "cleaner=1"
	if v == plan.Unprotect {
		cleaner = "cleaner=0"
	}
	if _, err := at.must(ctx, c.change("--cachesettings", cleaner)...); err != nil {
		return err
	}
	if v != plan.Flush {
		return nil
	}
	if _, err := at.must(ctx, "dmsetup", "message", c.dm(), "0", "flush"); err != nil && !errors.Is(err, adapter.ErrRefused) {
		return err // refused is left to the probe: the cleaner goes on
	}
	return nil
}
