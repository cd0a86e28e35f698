package cache_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"ebbtide/internal/adapter/cache"
	"ebbtide/internal/adapter/ssh/sshsim"
)

// model is a host with one cache, as its commands show it. What stands in is is all that there is to it, so that two
// equal ones are the same.
type model struct {
	kind string
	spec any

	mu sync.Mutex
	is map[string]string
	// answer carries out a command line; ok is false for one that the host does not know.
	answer func(is map[string]string, line, stdin string) (out string, code int, ok bool)
	lines  []string // that the host knows
	tools  []string // of those that are looked for in sbin too
}

// inSbin begins the line of a tool.
const inSbin = `sh -c 'PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; exec "$@"' sh `

// state gives all of it in words.
func (m *model) state() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var words []string
	for _, k := range slices.Sorted(maps.Keys(m.is)) {
		words = append(words, k+"="+m.is[k])
	}
	return strings.Join(words, " ")
}

// set changes something behind the adapter's back.
func (m *model) set(pairs ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := 0; i < len(pairs); i += 2 {
		m.is[pairs[i]] = pairs[i+1]
	}
}

// handlers are its commands.
func (m *model) handlers() map[string]sshsim.Handler {
	all := map[string]sshsim.Handler{}
	for _, typed := range append(slices.Clone(m.lines), m.tools...) {
		line, isTool := typed, slices.Contains(m.tools, typed)
		if isTool {
			typed = inSbin + line
		}
		all[typed] = func(_ context.Context, stdin io.Reader) (string, int) {
			text := ""
			if strings.Contains(line, "tee ") {
				b, err := io.ReadAll(stdin)
				if err != nil {
					return err.Error(), 1
				}
				text = strings.TrimSpace(string(b))
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			out, code, ok := m.answer(m.is, line, text)
			if !ok {
				return "not known: " + line, 127
			}
			return out, code
		}
	}
	return all
}

const (
	bdir    = "/sys/block/bcache0/bcache/"
	bset    = "7d05d23b-6a3f-4f33-9d3c-0c1cf3ea7c9c"
	backing = "0f5e9c5a-3f0b-4f43-8e3e-1a2b3c4d5e6f"
)

// newBcache models sysfs as bcache's part of it behaves on Debian's kernel: see docs/systems/caches.md.
func newBcache() *model {
	m := &model{
		kind: "bcache", spec: &cache.BcacheSpec{Device: "bcache0", StandsStill: 1},
		is: map[string]string{
			"state": "dirty", "dirty_data": "24.0M", "cache_mode": "writeback", "writeback_percent": "7", "writeback_delay": "77",
			"writeback_running": "0", "set": bset, "asleep": "no",
		},
	}
	read := "grep -Hs . " + bdir + "state " + bdir + "dirty_data"
	for _, name := range []string{"cache_mode", "writeback_percent", "writeback_delay", "writeback_running", "detach", "attach"} {
		if name != "detach" && name != "attach" {
			read += " " + bdir + name
		}
		m.lines = append(m.lines, "sudo -n tee "+bdir+name)
	}
	m.lines = append(m.lines, read, "readlink "+bdir+"cache", "readlink -f /dev/bcache/by-uuid/"+backing)
	m.answer = func(is map[string]string, line, stdin string) (string, int, bool) {
		switch name, wrote := strings.CutPrefix(line, "sudo -n tee "+bdir); {
		case line == "readlink -f /dev/bcache/by-uuid/"+backing:
			return "/dev/bcache0\n", 0, true
		case strings.HasPrefix(line, "readlink"):
			return "../../../../../../../fs/bcache/" + is["set"] + "\n", 0, true
		case !wrote:
			if is["state"] == "" {
				return "", 2, true
			}
			modes := strings.Replace("writethrough writeback writearound none", is["cache_mode"], "["+is["cache_mode"]+"]", 1)
			return fmt.Sprintf(bdir+"state:%s\n"+bdir+"dirty_data:%s\n"+bdir+"cache_mode:%s\n"+bdir+"writeback_percent:%s\n"+
				bdir+"writeback_delay:%s\n"+bdir+"writeback_running:%s\n",
				is["state"], is["dirty_data"], modes, is["writeback_percent"], is["writeback_delay"], is["writeback_running"]), 0, true
		case name == "detach":
			is["state"], is["dirty_data"], is["set"] = "no cache", "0.0k", "none"
		case name == "attach" && is["state"] != "no cache":
			return "tee: Invalid argument", 1, true
		case name == "attach":
			is["state"], is["set"] = "clean", stdin
		default:
			is[name] = stdin
		}
		if is["cache_mode"] == "writethrough" && is["writeback_percent"] == "0" && is["writeback_running"] == "1" && is["asleep"] == "no" &&
			is["state"] == "dirty" {
			is["state"], is["dirty_data"] = "clean", "0.0k"
		}
		return stdin + "\n", 0, true
	}
	return m
}

func newLVMCache() *model {
	m := &model{
		kind: "lvm.cache", spec: &cache.LVMCacheSpec{LVMSpec: cache.LVMSpec{LV: "my-vg/data"}},
		is: map[string]string{"mode": "writeback", "dirty": "640"},
		lines: []string{
			"sudo -n dmsetup status my--vg-data", "sudo -n lvchange -y --cachemode writethrough my-vg/data",
			"sudo -n lvchange -y --cachemode writeback my-vg/data",
		},
	}
	m.answer = func(is map[string]string, line, _ string) (string, int, bool) {
		if strings.Contains(line, "dmsetup") {
			return fmt.Sprintf("0 327680 cache 8 27/4096 128 640/1280 53 63 0 640 0 640 %s 2 metadata2 %s 2 migration_threshold 2048 smq 0 rw - \n", is["dirty"], is["mode"]), 0, true
		}
		is["mode"] = strings.Fields(line)[5]
		if is["mode"] == "writethrough" {
			is["dirty"] = "0"
		}
		return "  Logical volume my-vg/data changed.\n", 0, true
	}
	return m
}

func newWritecache() *model {
	m := &model{
		kind: "lvm.writecache", spec: &cache.LVMWritecacheSpec{LVMSpec: cache.LVMSpec{LV: "vg/data"}},
		is: map[string]string{"cleaner": "0", "free": "5407"},
		lines: []string{
			"sudo -n dmsetup status vg-data", "sudo -n dmsetup table vg-data", "sudo -n dmsetup message vg-data 0 flush",
			"sudo -n lvchange -y --cachesettings 'cleaner=1' vg/data", "sudo -n lvchange -y --cachesettings 'cleaner=0' vg/data",
		},
	}
	m.answer = func(is map[string]string, line, _ string) (string, int, bool) {
		switch {
		case strings.Contains(line, "status"):
			return fmt.Sprintf("0 327680 writecache 0 10207 %s 0 0 0 0 4800 0 0 0 0 0 0 0\n", is["free"]), 0, true
		case strings.Contains(line, "table") && is["cleaner"] == "1":
			return "0 327680 writecache s 253:1 253:0 4096 5 high_watermark 90 low_watermark 80 cleaner\n", 0, true
		case strings.Contains(line, "table"):
			return "0 327680 writecache s 253:1 253:0 4096 4 high_watermark 90 low_watermark 80\n", 0, true
		case strings.Contains(line, "cleaner=1"), strings.Contains(line, "flush"):
			is["free"] = "10207"
		}
		if _, value, ok := strings.Cut(strings.ReplaceAll(line, "'", ""), "cleaner="); ok {
			is["cleaner"] = value[:1]
		}
		return "", 0, true
	}
	return m
}

func newZFS() *model {
	m := &model{
		kind: "zfs", spec: &cache.ZFSSpec{Pool: "tank", Datasets: []string{"tank/vm", "tank/vol"}, Export: true},
		is: map[string]string{
			"imported": "yes", "tank/vm": "disabled local", "tank/vol": "standard default", "txg": "100",
			"dirty": "4194304",
		},
		tools: []string{
			"cat /proc/spl/kstat/zfs/tank/txgs", "sysctl -n kstat.zfs.tank.misc.txgs", "zpool list -H -o name,health",
			"zfs get -Hp -o name,value,source sync tank/vm tank/vol",
		},
		lines: []string{
			"sudo -n zpool sync tank", "sudo -n zpool export tank", "sudo -n zpool import tank", "sudo -n zfs set 'sync=always' tank/vm tank/vol",
			"sudo -n zfs set 'sync=disabled' tank/vm", "sudo -n zfs inherit sync tank/vm", "sudo -n zfs inherit sync tank/vol",
		},
	}
	m.answer = func(is map[string]string, line, _ string) (string, int, bool) {
		f := strings.Fields(strings.ReplaceAll(line, "'", ""))
		if out, code, is := zfsLacks(is, f[0]); is {
			return out, code, true
		}
		switch {
		case f[0] == "cat", f[0] == "sysctl":
			var n int
			_, _ = fmt.Sscan(is["txg"], &n)
			const row = "%d %d %s %s 0 0 0 0 5119934172 4508 32163 1004418\n"
			text := "21 0 0x01 100 11200 9213371208 2313434345333\ntxg birth state ndirty nread nwritten reads writes otime qtime wtime stime\n"
			for i := n - 8; i < n-1; i++ {
				text += fmt.Sprintf(row, i, 1, "C", "0")
			}
			return text + fmt.Sprintf(row, n-1, 1, "C", is["dirty"]) + fmt.Sprintf(row, n, 2, "O", "0"), 0, true
		case f[0] == "zfs":
			return "tank/vm\t" + strings.ReplaceAll(is["tank/vm"], " ", "\t") + "\ntank/vol\t" +
				strings.ReplaceAll(is["tank/vol"], " ", "\t") + "\n", 0, true
		case f[3] == "sync":
			var n int
			_, _ = fmt.Sscan(is["txg"], &n)
			is["txg"], is["dirty"] = fmt.Sprint(n+3), "0"
		case f[3] == "export" && is["imported"] == "no":
			return "cannot open 'tank': no such pool", 1, true
		case f[3] == "export":
			is["imported"] = "no"
		case f[3] == "import" && is["imported"] == "yes":
			return "cannot import 'tank': a pool with that name already exists", 1, true
		case f[3] == "import":
			is["imported"] = "yes"
		case f[3] == "inherit":
			is[f[5]] = "standard default"
		case f[3] == "set":
			for _, d := range f[5:] {
				is[d] = strings.TrimPrefix(f[4], "sync=") + " local"
			}
		}
		return "", 0, true
	}
	return m
}

// zfsLacks is what a program says of a pool that is not imported, or on a system that does not have it.
func zfsLacks(is map[string]string, program string) (out string, code int, lacks bool) {
	gone, os := is["imported"] == "no", is["os"]
	switch {
	case program == "sysctl" && (gone || os != "FreeBSD"):
		return "sysctl: unknown oid 'kstat.zfs.tank.misc.txgs'", 1, true
	case program == "cat" && (gone || os != ""):
		return "cat: /proc/spl/kstat/zfs/tank/txgs: No such file or directory", 1, true
	case program == "zpool" && os == "none":
		return "/dev/zfs and /proc/self/mounts are required.", 1, true
	case program == "zpool" && gone:
		return "rpool\tONLINE\n", 0, true
	case program == "zpool":
		return "rpool\tONLINE\ntank\tONLINE\n", 0, true
	}
	return "", 0, false
}

func newOpenCAS() *model {
	m := &model{
		kind: "opencas", spec: &cache.OpenCASSpec{Cache: 1},
		is: map[string]string{"mode": "wb", "dirty": "2048"},
		lines: []string{
			"sudo -n casadm --stats --cache-id 1 --output-format csv", "sudo -n casadm --flush-cache --cache-id 1",
			"sudo -n casadm --set-cache-mode --cache-mode wt --cache-id 1 --flush-cache no",
			"sudo -n casadm --set-cache-mode --cache-mode wb --cache-id 1",
		},
	}
	m.answer = func(is map[string]string, line, _ string) (string, int, bool) {
		f := strings.Fields(line)
		switch f[3] {
		case "--stats":
			return fmt.Sprintf("Cache Id,Write Policy,Status,Occupancy [4KiB Blocks],Dirty [4KiB Blocks],Dirty "+
				"[%%]\n1,%s,Running,9000,%s,0.0\n", is["mode"], is["dirty"]), 0, true
		case "--flush-cache":
			is["dirty"] = "0"
		case "--set-cache-mode":
			is["mode"] = f[5]
		}
		return "", 0, true
	}
	return m
}

func newMegaRAID() *model {
	m := &model{
		kind: "megaraid", spec: &cache.MegaRAIDSpec{Program: "perccli64"},
		is: map[string]string{"v0": "WB", "v1": "WT", "v2": "AWB"},
		lines: []string{
			"sudo -n perccli64 /c0/vall show J", "sudo -n perccli64 /c0/vall set 'wrcache=wt'",
			"sudo -n perccli64 /c0/vall set 'wrcache=wb'",
			"sudo -n perccli64 /c0 flushcache", "sudo -n perccli64 /c0 show preservedcache",
			"sudo -n perccli64 /c0/v0 set 'wrcache=wb'", "sudo -n perccli64 /c0/v1 set 'wrcache=wt'",
			"sudo -n perccli64 /c0/v2 set 'wrcache=awb'",
		},
	}
	m.answer = func(is map[string]string, line, _ string) (string, int, bool) {
		switch f := strings.Fields(strings.ReplaceAll(line, "'", "")); {
		case f[len(f)-1] == "J":
			var rows []string
			for _, v := range []string{"0", "1", "2"} {
				rows = append(rows, fmt.Sprintf(`{"DG/VD":"%s/%s","TYPE":"RAID1","State":"Optl","Access":"RW","Consist":"Yes","Cache":"NR%sD","Cac":"-","sCC":"ON","Size":"446.625 GB","Name":""}`, v, v, is["v"+v]))
			}
			return `{"Controllers":[{"Command Status":{"Controller":0,"Status":"Success","Description":"None"},"Response Data":{"Virtual Drives":[` + strings.Join(rows, ",") + `]}}]}`, 0, true
		case f[len(f)-1] == "preservedcache":
			return "Controller = 0\nStatus = Success\nDescription = No Virtual Drive has Preserved Cache Data.\n", 0, true
		case strings.HasPrefix(f[len(f)-1], "wrcache="):
			for _, v := range []string{"0", "1", "2"} {
				if f[3] == "/c0/vall" || f[3] == "/c0/v"+v {
					is["v"+v] = strings.ToUpper(strings.TrimPrefix(f[5], "wrcache="))
				}
			}
		}
		return "", 0, true
	}
	return m
}

func newSmartArray() *model {
	m := &model{
		kind: "smartarray", spec: &cache.SmartArraySpec{Slot: 2},
		is: map[string]string{"ld1": "enable", "ld2": "disable", "note": ""},
		lines: []string{
			"sudo -n ssacli ctrl 'slot=2' ld all show detail", "sudo -n ssacli ctrl 'slot=2' show detail",
			"sudo -n ssacli ctrl 'slot=2' ld 1 modify 'arrayaccelerator=disable' forced",
			"sudo -n ssacli ctrl 'slot=2' ld 1 modify 'arrayaccelerator=enable'",
			"sudo -n ssacli ctrl 'slot=2' ld 2 modify 'arrayaccelerator=disable' forced",
			"sudo -n ssacli ctrl 'slot=2' ld all modify 'arrayaccelerator=enable'",
		},
	}
	word := map[string]string{"enable": "Enabled", "disable": "Disabled"}
	m.answer = func(is map[string]string, line, _ string) (string, int, bool) {
		f := strings.Fields(strings.ReplaceAll(line, "'", ""))
		switch {
		case strings.HasSuffix(line, "ld all show detail"):
			text := "\nSmart Array P420i in Slot 2\n\n   Array A\n\n"
			for _, n := range []string{"1", "2"} {
				text += "      Logical Drive: " + n + "\n         Size: 1.8 TB\n         Status: OK\n         Caching:  " +
					word[is["ld"+n]] + "\n"
			}
			return text, 0, true
		case strings.HasSuffix(line, "show detail"):
			return "\nSmart Array P420i in Slot 2\n   Cache Status: OK\n   " + is["note"] + "\n", 0, true
		}
		for _, n := range []string{"1", "2"} {
			if f[6] == n || f[6] == "all" {
				is["ld"+n] = strings.TrimPrefix(f[8], "arrayaccelerator=")
			}
		}
		return "", 0, true
	}
	return m
}

func newDrives() *model {
	m := &model{
		kind: "drive.cache", spec: &cache.DriveSpec{Drives: []string{"/dev/sda", "/dev/sdb"}},
		is: map[string]string{"/dev/sda": "1", "/dev/sdb": "0"},
		lines: []string{
			"sudo -n hdparm -W /dev/sda /dev/sdb", "sudo -n hdparm -W0 /dev/sda /dev/sdb", "sudo -n hdparm -W1 /dev/sda /dev/sdb",
			"sudo -n hdparm -W1 /dev/sda", "sudo -n hdparm -F /dev/sda /dev/sdb",
		},
	}
	m.answer = func(is map[string]string, line, _ string) (string, int, bool) {
		f := strings.Fields(line)
		text := ""
		for _, d := range f[4:] {
			if strings.HasPrefix(f[3], "-W") && len(f[3]) == 3 {
				is[d] = f[3][2:]
			}
			text += "\n" + d + ":\n write-caching =  " + is[d] + map[string]string{"0": " (off)", "1": " (on)"}[is[d]] + "\n"
		}
		return text, 0, true
	}
	return m
}
