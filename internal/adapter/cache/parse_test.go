package cache

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// The lines of bcache and of the device mapper are what Debian's kernel 6.1 printed; the others are made after the vendors'
// documents.

func TestBcacheJudgement(t *testing.T) {
	for _, c := range []struct {
		state, dirty, mode string
		protected, clean   plan.Fact
		bytes              int64
	}{
		{"dirty", "24.0M", "writeback", plan.No, plan.No, 24 << 20},
		{"dirty", "2.6M", "writethrough", plan.Yes, plan.No, 2726297},
		{"dirty", "0.0k", "writethrough", plan.Yes, plan.No, 0}, // the counter is rounded
		{"clean", "0.0k", "writeback", plan.No, plan.Yes, 0},
		{"clean", "0.1k", "writethrough", plan.Yes, plan.No, 102},
		{"clean", "", "writethrough", plan.Yes, plan.No, 0},
		{"clean", "-1.0k", "writethrough", plan.Yes, plan.No, 0},
		{"clean", "0.0k", "", plan.No, plan.Yes, 0},
		{"inconsistent", "0.0k", "writethrough", plan.Yes, plan.No, 0},
		{"no cache", "0.0k", "writeback", plan.Yes, plan.Yes, 0},
		{"something new", "0.0k", "writethrough", plan.Yes, plan.No, 0},
	} {
		seen := judge(map[string]string{"state": c.state, "dirty_data": c.dirty, "cache_mode": c.mode})
		require.Equal(t, c.protected, seen.Protected, c)
		require.Equal(t, c.clean, seen.Clean, c)
		require.Equal(t, c.bytes, seen.Dirty, c)
	}
	require.Equal(t, "writeback", chosen("writethrough [writeback] writearound none"))
	require.Empty(t, chosen("writethrough"))
}

func TestDeviceMapperStatus(t *testing.T) {
	for line, want := range map[string]string{
		"cache 8 15/2048 128 174/1152 3 11 1644 8370 0 170 0 2 metadata2 writeback 2 migration_threshold 1024 mq 10 random_threshold 0 " +
			"sequential_threshold 0 discard_promote_adjustment 0 read_promote_adjustment 0 write_promote_adjustment 0 rw -": "writeback no yes 0",
		"cache 8 27/4096 128 640/1280 53 63 0 640 0 640 640 1 writeback 2 migration_threshold 2048 smq 0 rw -":            "writeback no no 41943040",
		"cache 8 27/4096 128 640/1280 53 63 0 640 0 640 0 2 metadata2 writethrough 2 migration_threshold 2048 smq 0 rw -": "writethrough yes yes 0",
		"cache 8 27/4096 128 640/1280 53 63 0 640 0 640 3 2 metadata2 passthrough 2 migration_threshold 2048 smq 0 rw -":  "passthrough yes no 196608",
		"cache Fail":  " unknown no 0",
		"cache Error": " unknown no 0",
		"cache 8 27/4096 128 640/1280 53 63 0 640 0 640 x 1 writeback": " unknown no 0",
		"cache 8 27/4096 128 640/1280 53 63 0 640 0 640 0 9 writeback": " unknown no 0",
	} {
		seen, mode := readCacheStatus(strings.Fields(line))
		require.Equal(t, want, words(mode, seen), line)
	}
	const table = "writecache s 253:1 253:0 4096 4 high_watermark 90 low_watermark 80"
	for _, c := range []struct{ status, table, want string }{
		{"writecache 0 10207 5407 0", table, " no no 19660800"},
		{"writecache 0 10207 10207 0", table + " cleaner", " yes yes 0"},
		{"writecache 0 10207 10207 12", table + " cleaner", " yes no 0"},
		{"writecache 5 10207 10207 0", table + " cleaner", " yes no 0"},
		{"writecache Fail", table, " unknown no 0"},
	} {
		require.Equal(t, c.want, words("", readWritecache(strings.Fields(c.status), strings.Fields(c.table))), c)
	}
	require.Equal(t, "my--vg-a--b", (&LVMSpec{LV: "my-vg/a-b"}).dm())
}

// words gives the facts of an observation.
func words(mode string, seen plan.Observation) string {
	return strings.Join([]string{mode, seen.Protected.String(), seen.Clean.String(), strconv.FormatInt(seen.Dirty, 10)}, " ")
}

func TestZFSGroups(t *testing.T) {
	z := &zfs{}
	for _, c := range []struct {
		groups []txg
		want   plan.Fact
	}{
		{[]txg{{101, "C", 0}, {102, "C", 0}, {103, "O", 0}}, plan.Yes},
		{[]txg{{101, "C", 4096}, {102, "C", 0}, {103, "O", 0}}, plan.Yes},
		{[]txg{{101, "C", 0}, {102, "C", 4096}, {103, "O", 0}}, plan.No},
		{[]txg{{101, "C", 0}, {102, "S", 0}, {103, "O", 0}}, plan.No},      // still being written
		{[]txg{{99, "C", 0}, {100, "C", 0}, {101, "O", 0}}, plan.NotKnown}, // the one that was open then may have held something
		{nil, plan.NotKnown},
	} {
		z.synced, z.at = 100, time.Now()
		require.Equal(t, c.want, z.judge(c.groups).Clean, c)
	}
	z.synced, z.at = 100, time.Now().Add(-2*settling)
	require.Equal(t, plan.Yes, z.judge([]txg{{101, "C", 0}, {102, "C", 0}, {103, "O", 0}}).Clean, "nobody has written since")
	require.Equal(t, plan.No, z.judge([]txg{{101, "C", 0}, {107, "C", 512}, {108, "O", 0}}).Clean)
	require.Equal(t, plan.NotKnown, z.judge([]txg{{101, "C", 0}, {108, "C", 0}, {109, "O", 0}}).Clean,
		"it is used again: an old flush proves nothing")
	z.synced, z.at = 100, time.Now()
	require.Equal(t, plan.NotKnown, z.judge([]txg{{201, "C", 0}, {300, "C", 0}, {301, "O", 0}}).Clean,
		"what came between is not to be seen")
	require.Equal(t, plan.NotKnown, (&zfs{}).judge([]txg{{101, "C", 0}, {102, "O", 0}}).Clean, "not flushed yet")
}

func TestCASStatistics(t *testing.T) {
	const head = "Cache Id,Write Policy,Status,Dirty [4KiB Blocks]"
	for text, want := range map[string]string{
		head + "\n1,wt,Running,0\n":                                               "wt yes yes 0",
		head + "\n1,wb,Running,12\n":                                              "wb no no 49152",
		head + ",Inactive Dirty [4KiB Blocks]\n1,wt,Incomplete,0,7\n":             "wt yes no 28672",
		"Cache Id,Write Policy,Status,Dirty [4KiB blocks]\n1,wo,Running,0\n":      "wo no yes 0",
		"Cache Id,Write Policy,Status\n1,wt,Running\n":                            "wt yes no 0",
		head + "\n1,wt,Running,many\n":                                            "wt yes no 0",
		"Cache Id,Write Policy,Status,Dirty [4KiB Blocks]\n1,pt,Running,0,more\n": "pt yes yes 0",
	} {
		seen, mode, err := readCASStats(text)
		require.NoError(t, err, text)
		require.Equal(t, want, words(mode, seen), text)
	}
	for _, text := range []string{"", "no such cache", head + "\n1,zz,Running,0\n"} {
		_, _, err := readCASStats(text)
		require.Error(t, err, text)
	}
}

func TestControllersAreNotGuessed(t *testing.T) {
	vd := func(cache string) string {
		return `{"Controllers":[{"Command Status":{"Status":"Success"},"Response Data":{"Virtual Drives":[{"DG/VD":"0/3","State":"Optl","Cache":"` + cache + `"}],"VD LIST":1}}]}`
	}
	drives, err := readDrives(vd("RAWBC"))
	require.NoError(t, err)
	require.Equal(t, []virtualDrive{{"3", "AWB", "Optl"}}, drives)
	for _, text := range []string{
		"", "{}", vd("what"), strings.Replace(vd("RWTD"), "0/3", "0/../3", 1),
		`{"Controllers":[{"Command Status":{"Status":"Failure","Description":"Controller 0 not found"},"Response Data":{}}]}`,
		`{"Controllers":[{"Command Status":{"Status":"Success"},"Response Data":{}}]}`,
	} {
		_, err := readDrives(text)
		require.Error(t, err, text)
	}
	lds, err := readLogicalDrives("Array A\n   Logical Drive: 1\n      Caching:  Disabled\n   Logical Drive: 12\n      Status: OK\n")
	require.NoError(t, err)
	require.Equal(t, []logicalDrive{{"1", false}, {"12", true}}, lds, "what does not say is taken as cached")
	_, err = readLogicalDrives("Error: The controller identified by \"slot=7\" was not detected.")
	require.Error(t, err)
	require.NotEmpty(t, holds("   Cache Status Details: The cache contains unflushed data\n"))
	require.Empty(t, holds("   Cache Status: OK\n"))
	require.Equal(t, "1", ataCache.FindStringSubmatch("\n/dev/sda:\n write-caching =  1 (on)\n")[1])
	require.Len(t, scsiCache.FindAllString("    /dev/sdb: SEAGATE   ST4000NM0025      N003\nWCE           0  [cha: y, def:  0, sav:  0]\n",
		-1), 1)
}

func TestMistakesInSpecs(t *testing.T) {
	for key, spec := range map[string]declared{
		"device":     &BcacheSpec{Device: "sda; reboot"},
		"set":        &BcacheSpec{Device: "bcache0", Set: "x"},
		"lv":         &LVMCacheSpec{LVMSpec{LV: "-vg/data"}},
		"pool":       &ZFSSpec{Pool: "tank/vm"},
		"datasets":   &ZFSSpec{Pool: "tank", Datasets: []string{"other/vm"}},
		"controller": &MegaRAIDSpec{Controller: -1},
		"program":    &MegaRAIDSpec{Program: "rm"},
		"slot":       &SmartArraySpec{Slot: -1},
		"drives":     &DriveSpec{Drives: []string{"/dev/../etc/passwd"}},
	} {
		errs := spec.mistakes()
		require.Len(t, errs, 1, key)
		var at *schema.KeyError
		require.ErrorAs(t, errs[0], &at)
		require.Equal(t, key, at.Key)
	}
}

func TestSettingsAreReadAsTheyWereWritten(t *testing.T) {
	s := settings{{"cache_mode", "writeback"}, {"tank/vm", "inherit"}}
	require.Equal(t, s, parseSettings(s.String()))
	require.Nil(t, parseSettings("nothing of ours"))
	require.Equal(t, "10", s.get("writeback_percent", "10", number))
	require.Equal(t, "none", s.get("cache_mode", "none", number), "not allowed")
}

// TestEveryTypeIsDoneByHand: the printed run book has a line for each verb of each type.
func TestEveryTypeIsDoneByHand(t *testing.T) {
	specs := map[string]declared{
		"bcache": &BcacheSpec{Device: "0f5e9c5a-3f0b-4f43-8e3e-1a2b3c4d5e6f"}, "lvm.cache": &LVMCacheSpec{LVMSpec{LV: "vg/data"}},
		"lvm.writecache": &LVMWritecacheSpec{LVMSpec{LV: "vg/data"}},
		"zfs":            &ZFSSpec{Pool: "tank", Datasets: []string{"tank/vm"}, Export: true},
		"opencas":        &OpenCASSpec{Cache: 1}, "megaraid": &MegaRAIDSpec{}, "smartarray": &SmartArraySpec{},
		"drive.cache": &DriveSpec{Drives: []string{"/dev/sda"}},
	}
	types := Family().Nodes
	require.Len(t, types, len(specs))
	for _, k := range types {
		spec := specs[k.Name]
		place := func(string) manual.Endpoint { return manual.Endpoint{Address: "10.0.0.5:2222", User: "ebbtide"} }
		h := k.ByHand(&schema.Node{Via: "host", Spec: spec}, place)
		for v := plan.Protect; v <= plan.Unprotect; v++ {
			require.Equal(t, spec.verbs().Has(v), len(h.Do[v]) > 0, "%s %s", k.Name, v)
			for _, one := range h.Do[v] {
				asks := k.Name == "zfs" && v == plan.Protect && one.Say == h.Do[v][0].Say // as anyone may
				require.Contains(t, one.Type, "ssh -p 2222 ebbtide@10.0.0.5 '")
				require.NotEqual(t, asks, strings.Contains(one.Type, "'sudo "), one.Type)
			}
		}
		require.NotEmpty(t, h.Clean)
	}
}
