package cache

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// ZFSSpec are the keys of a node of type "zfs".
type ZFSSpec struct {
	Pool string `yaml:"pool" check:"required" json:"pool"`
	// Datasets are datasets and volumes whose sync property goes to "always" while the mains are away: for those that run
	// with sync=disabled, so that what is acknowledged is at least in the intent log. It is no flush.
	Datasets []string `yaml:"datasets" json:"datasets,omitempty"`
	// Export gives the pool a stop, by zpool export, and a start, by zpool import: the best end state there is.
	Export bool `yaml:"export" json:"export,omitempty"`
}

var zfsName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]*(/[A-Za-z0-9_.:-]+)*$`)

func (s *ZFSSpec) mistakes() []error {
	var errs []error
	if !zfsName.MatchString(s.Pool) || strings.Contains(s.Pool, "/") {
		errs = append(errs, &schema.KeyError{Key: "pool", Err: errors.New(`it must be a pool's name: "zpool list" lists them`)})
	}
	for _, d := range s.Datasets {
		if !zfsName.MatchString(d) || d != s.Pool && !strings.HasPrefix(d, s.Pool+"/") {
			errs = append(errs, &schema.KeyError{Key: "datasets", Err: fmt.Errorf("%q is not a dataset of the pool %s", d, s.Pool)})
		}
	}
	return errs
}

func (s *ZFSSpec) verbs() plan.Verbs {
	can := plan.VerbSet(plan.Flush)
	if len(s.Datasets) > 0 {
		can |= plan.VerbSet(plan.Protect, plan.Unprotect)
	}
	if s.Export {
		can |= plan.VerbSet(plan.Stop, plan.Start)
	}
	return can
}

func (s *ZFSSpec) system() system { return &zfs{spec: *s} }

// history lists the commands that print the transaction groups: of Linux, and of FreeBSD, whose OpenZFS has them as a sysctl
// (module/os/freebsd/spl/spl_kstat.c: kstat.MODULE.POOL.CLASS.NAME). illumos keeps none.
func (s *ZFSSpec) history() [][]string {
	return [][]string{{"cat", s.txgs()}, {"sysctl", "-n", "kstat.zfs." + s.Pool + ".misc.txgs"}}
}

func (s *ZFSSpec) txgs() string { return "/proc/spl/kstat/zfs/" + s.Pool + "/txgs" }

func (s *ZFSSpec) typed() typed {
	t := typed{
		do:    map[plan.Verb][]string{plan.Flush: {"zpool sync " + s.Pool}},
		look:  "tail -n 4 " + s.txgs(),
		plain: true,
		clean: "It is empty when, after zpool sync, the last line has state O, and the ones above it C with 0 in the column ndirty",
	}
	if len(s.Datasets) > 0 {
		list := strings.Join(s.Datasets, " ")
		t.isSet = "It is protected when each dataset says always"
		t.set = "zfs get -H -o name,value,source sync " + list
		t.do[plan.Protect] = []string{"zfs set sync=always " + list}
		t.do[plan.Unprotect] = []string{"zfs inherit sync " + list + " # for each that was \"local\" or \"received\": zfs set sync=VALUE DATASET"}
	}
	if s.Export {
		t.do[plan.Stop] = []string{"zpool export " + s.Pool}
		t.do[plan.Start] = []string{"zpool import " + s.Pool}
	}
	return t
}

// zfs is a pool. What is dirty of it is in memory and, if it was written synchronously, in the intent log too; a log on a
// device of its own (SLOG) is worth nothing to a pool without that device. So the flush is zpool sync, which writes
// everything to the pool's own disks, and the proof are the transaction groups that came after it.
type zfs struct {
	spec ZFSSpec

	mu     sync.Mutex
	synced uint64    // the transaction group that was open when the last zpool sync began that ended well; 0: none
	at     time.Time // when that was; valid with synced
}

// settling is how long after a flush the pool may still be written to. What is written later begins anew: no flush of an
// earlier outage is a proof in this one.
const settling = time.Minute

func (z *zfs) look(ctx context.Context, at host) (plan.Observation, settings, error) {
	groups, why, err := z.groups(ctx, at)
	if err != nil {
		return plan.Observation{}, nil, err
	}
	seen := z.judge(groups)
	if why != "" {
		health, imported, err := z.health(ctx, at)
		switch {
		case err != nil:
			return plan.Observation{}, nil, err
		case !imported && z.spec.Export: // nothing of a pool that is not imported is in memory
			return plan.Observation{State: plan.Off, Detail: "the pool is not imported"}, nil, nil
		case !imported:
			return unknown("the pool %s is not imported", z.spec.Pool), nil, nil
		}
		seen.Detail = fmt.Sprintf("the pool is imported (%s), and its transaction groups can't be read, so that no flush can be proven: %s",
			health, why)
	}
	if len(z.spec.Datasets) == 0 {
		return seen, nil, nil
	}
	argv := append([]string{"zfs", "get", "-Hp", "-o", "name,value,source", "sync"}, z.spec.Datasets...)
	res, err := at.tool(ctx, argv...)
	if err != nil {
		return plan.Observation{}, nil, err
	}
	if res.Code != 0 {
		return plan.Observation{}, nil, refused(argv, res)
	}
	var was settings
	seen.Protected = plan.Yes
	for line := range strings.Lines(res.Stdout) {
		f := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		if len(f) < 3 {
			continue
		}
		if f[1] != "always" {
			seen.Protected = plan.No
		}
		if f[2] != "local" && f[2] != "received" {
			f[1] = "inherit"
		}
		was = append(was, setting{f[0], f[1]})
	}
	if len(was) != len(z.spec.Datasets) {
		seen.Protected = plan.NotKnown
	}
	return seen, was, nil
}

// groups reads the transaction groups that the kernel remembers; why says what keeps them from being read, as it is where the pool is not
// imported.
func (z *zfs) groups(ctx context.Context, at host) (all []txg, why string, err error) {
	for _, argv := range z.spec.history() {
		res, err := at.tool(ctx, argv...)
		switch {
		case err != nil:
			return nil, "", err
		case res.Code == 0:
			return readTxgs(res.Stdout), "", nil
		case why == "":
			why = said(res)
		}
	}
	return nil, why, nil
}

// health asks ZFS itself whether the pool is imported, and how it is. That it could not be asked is an error, and no answer.
func (z *zfs) health(ctx context.Context, at host) (health string, imported bool, err error) {
	argv := []string{"zpool", "list", "-H", "-o", "name,health"}
	res, err := at.tool(ctx, argv...)
	if err != nil {
		return "", false, err
	}
	if res.Code != 0 {
		return "", false, refused(argv, res)
	}
	for line := range strings.Lines(res.Stdout) {
		if name, health, found := strings.Cut(strings.TrimSpace(line), "\t"); found && name == z.spec.Pool {
			return health, true, nil
		}
	}
	return "", false, nil
}

// txg is a transaction group as the kernel's history has it.
type txg struct {
	number uint64
	state  string // O open, Q quiescing, W waiting, S syncing, C committed
	dirty  int64  // bytes; known once it was synced
}

// readTxgs reads /proc/spl/kstat/zfs/POOL/txgs, whose first columns are txg, birth, state and ndirty.
func readTxgs(text string) []txg {
	var all []txg
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		n, err1 := strconv.ParseUint(f[0], 10, 64)
		dirty, err2 := strconv.ParseInt(f[3], 10, 64)
		if err1 == nil && err2 == nil && len(f[2]) == 1 {
			all = append(all, txg{n, f[2], dirty})
		}
	}
	return all
}

// judge reports whether anything is dirty. Clean is a pool whose newest committed group came after the one that was open at
// our flush and had nothing to write, while no group is being written. Without such a flush nothing is told as clean: the
// open group may hold anything, however idle those before it were.
func (z *zfs) judge(all []txg) plan.Observation {
	seen := plan.Observation{State: plan.On}
	var newest txg
	busy := 0
	for _, g := range all {
		switch {
		case g.state == "C" && g.number > newest.number:
			newest = g
		case g.state != "C" && g.state != "O":
			busy++
		}
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	if len(all) > 0 && all[0].number > z.synced+1 || newest.dirty > 0 && newest.number > z.synced && time.Since(z.at) > settling {
		z.synced = 0 // what came since is not all to be seen, or it was used again
	}
	switch {
	case newest.number == 0:
		seen.Detail = "its transaction groups are not recorded: zfs_txg_history is 0"
	case newest.dirty > 0 || busy > 0:
		seen.Clean, seen.Dirty = plan.No, newest.dirty
		seen.Detail = fmt.Sprintf("the last transaction group wrote %d bytes, %d are being written", newest.dirty, busy)
	case z.synced == 0:
		seen.Detail = "not flushed yet"
	case newest.number > z.synced:
		seen.Clean = plan.Yes
		seen.Detail = fmt.Sprintf("nothing was dirty in transaction group %d, after the flush", newest.number)
	}
	return seen
}

func (z *zfs) do(ctx context.Context, at host, v plan.Verb, was settings) error {
	switch v {
	case plan.Protect:
		_, err := at.must(ctx, append([]string{"zfs", "set", "sync=always"}, z.spec.Datasets...)...)
		return err
	case plan.Unprotect:
		return z.back(ctx, at, was)
	case plan.Flush:
		return z.flush(ctx, at)
	case plan.Stop:
		return z.export(ctx, at)
	case plan.Start:
		return z.load(ctx, at)
	default:
		return adapter.ErrRefused
	}
}

// back puts the sync property of each dataset back: what stood there itself, or what it inherited.
func (z *zfs) back(ctx context.Context, at host, was settings) error {
	for _, d := range z.spec.Datasets {
		argv := []string{"zfs", "inherit", "sync", d}
		if v := was.get(d, "inherit", oneOf("standard", "disabled", "always")); v != "inherit" {
			argv = []string{"zfs", "set", "sync=" + v, d}
		}
		if _, err := at.must(ctx, argv...); err != nil {
			return err
		}
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	z.synced = 0 // what comes now is not covered by it
	return nil
}

func (z *zfs) flush(ctx context.Context, at host) error {
	groups, why, err := z.groups(ctx, at)
	if err != nil {
		return err
	}
	if why != "" && z.spec.Export {
		if _, imported, err := z.health(ctx, at); err != nil || !imported {
			return err // exported: nothing is in memory
		}
	}
	var open uint64
	for _, g := range groups {
		open = max(open, g.number)
	}
	if _, err := at.must(ctx, "zpool", "sync", z.spec.Pool); err != nil {
		return err
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	z.synced, z.at = open, time.Now()
	return nil
}

// export takes the pool away, never by force: what still uses it is not done with it.
func (z *zfs) export(ctx context.Context, at host) error {
	argv := []string{"zpool", "export", z.spec.Pool}
	res, err := at.root(ctx, argv...)
	switch {
	case err != nil:
		return err
	case res.Code == 0, strings.Contains(res.Stderr+res.Stdout, "no such pool"):
		return nil
	case strings.Contains(res.Stderr+res.Stdout, "busy"):
		return fmt.Errorf("%w: %s; something on the host still uses it (an export by NFS or iSCSI, a swap volume, a shell in it)",
			adapter.ErrBusy, said(res))
	}
	return refused(argv, res)
}

func (z *zfs) load(ctx context.Context, at host) error {
	argv := []string{"zpool", "import", z.spec.Pool}
	res, err := at.root(ctx, argv...)
	switch {
	case err != nil:
		return err
	case res.Code == 0, strings.Contains(res.Stderr+res.Stdout, "already exists"):
		return nil
	case strings.Contains(res.Stderr+res.Stdout, "no such pool available"):
		return fmt.Errorf("%w: %s; its disks may not have come up yet", adapter.ErrBusy, said(res))
	}
	return fmt.Errorf("%w; \"zpool import\" shows what is missing. If it is the log device, restore it: zpool import -m continues "+
		"without it and loses what is only there", refused(argv, res))
}
