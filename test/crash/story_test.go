package crash_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/test/site"
)

// whatShouldHappen is a story in which nothing is wrong; a line that is a time passes it.
const whatShouldHappen = `
nas says protected=no dirty=4096
mains off
nas asked protect
nas protect
ShutdownGuest lab1
ShutdownGuest lab2
vm lab1 off
vm lab2 off
ShutdownGuest app1
ShutdownGuest app2
vm app1 off
vm app2 off
ShutdownGuest db
vm db off
ShutdownHost_Task esx01
ShutdownHost_Task esx02
host esx01 off
host esx02 off
nas asked flush
nas flush
nas asked stop
nas stop
nas off
ups INSTCMD shutdown.return
ups output off
mains on
ups output on
nas on
nas says protected=yes dirty=0
host esx01 on
host esx02 on
10s
nas asked unprotect
nas unprotect
PowerOnVM_Task db
vm db on
PowerOnVM_Task app1
vm app1 on
PowerOnVM_Task app2
vm app2 on
PowerOnVM_Task lab1
vm lab1 on
PowerOnVM_Task lab2
vm lab2 on
`

func tell(lines []string) []site.Moment {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var story []site.Moment
	for _, line := range lines {
		if d, err := time.ParseDuration(line); err == nil {
			now = now.Add(d)
			continue
		}
		now = now.Add(time.Millisecond)
		story = append(story, site.Moment{At: now, What: line})
	}
	return story
}

// TestTheRefereeCanFail changes one thing in a good story at a time.
func TestTheRefereeCanFail(t *testing.T) {
	t.Parallel()
	good := strings.Split(strings.TrimSpace(whatShouldHappen), "\n")
	v := judge(t, tell(good))
	require.Empty(t, v.broken)
	require.Empty(t, v.repeated)
	require.Zero(t, v.again)
	insert := func(after string, lines ...string) []string {
		return slices.Insert(slices.Clone(good), slices.Index(good, after)+1, lines...)
	}
	without := func(line string) []string {
		return slices.DeleteFunc(slices.Clone(good), func(l string) bool { return l == line })
	}
	swapped := func(a, b string) []string {
		lines := slices.Clone(good)
		i, j := slices.Index(good, a), slices.Index(good, b)
		lines[i], lines[j] = lines[j], lines[i]
		return lines
	}
	for _, c := range []struct {
		what, want string // want is in what it finds
		story      []string
	}{
		{
			"the database before what uses it", "10: db was told to stop before its user app1 was off",
			swapped("ShutdownGuest app1", "ShutdownGuest db"),
		},
		{"a host under its VM", "2: host esx01 was told to stop with db on on it", swapped("ShutdownHost_Task esx01", "vm db off")},
		{"the storage under a host", "1: nas was told to stop while esx02 is on", swapped("host esx02 off", "nas asked stop")},
		{"the cut with the NAS on", "3: the output of ups is cut while nas is on", swapped("nas off", "ups INSTCMD shutdown.return")},
		{"an output that does not come back", `3: the UPS was told "ups INSTCMD load.off"`, insert("nas off", "ups INSTCMD load.off")},
		{"a cache that was never protected", "12: ShutdownGuest lab1 before", without("nas protect")},
		{"a cache that was never flushed", "12: nas was told to stop with dirty data", without("nas flush")},
		{"a flush too early", "12: the cache was flushed with esx01 on", swapped("nas asked flush", "host esx01 off")},
		{"a cache left as it was in the outage", "12: nas was changed for the outage and is left set to", without("nas unprotect")},
		{"no gate", "5: db is started before the recharge gate is open", without("10s")},
		{"a start before what it needs", "10: app1 is started before db is on", swapped("vm db on", "PowerOnVM_Task app1")},
		{"a start of what was off", "4: spare is started and was not on before", insert("vm db on", "PowerOnVM_Task spare", "vm spare on")},
		{"force without need", "18: PowerOffVM_Task db", insert("ShutdownGuest db", "PowerOffVM_Task db")},
		{"a VM forgotten", "20: lab2 was on before, and is neither brought back nor reported: it is off", without("vm lab2 on")},
		{"a stop with the mains back", "21: esx01 keeps its power and was told to stop", insert("10s", "ShutdownHost_Task esx01")},
		{"a VM that goes down twice", "8: lab1 went off 2 times", insert("vm lab1 off", "vm lab1 on", "vm lab1 off")},
		{"a stop of what was off", "repeated ShutdownGuest db", insert("vm db off", "ShutdownGuest db")},
		{"a start of what was on", "repeated PowerOnVM_Task db", insert("vm db on", "PowerOnVM_Task db")},
		{
			"a cache protected twice", "repeated nas asked protect",
			insert("nas protect", "nas says protected=yes dirty=4096", "nas asked protect"),
		},
		{"a cut of what was cut", "repeated ups INSTCMD shutdown.return", insert("ups output off", "ups INSTCMD shutdown.return")},
	} {
		v := judge(t, tell(c.story))
		found := v.broken
		for _, what := range v.repeated {
			found = append(found, "repeated "+what)
		}
		require.Contains(t, strings.Join(found, "\n"), c.want, c.what)
	}
	v = judge(t, tell(insert("ShutdownGuest db", "ShutdownGuest db")))
	require.Empty(t, v.broken)
	require.Empty(t, v.repeated)
	require.Equal(t, 1, v.again, "nobody knew whether it had been heard: no fault, but it is counted")
}

// TestAStorageLeftToTheLast is the one end that a kill may change: the answer to a host's stop was lost with the daemon, and the
// host was gone before it could be asked again.
func TestAStorageLeftToTheLast(t *testing.T) {
	t.Parallel()
	stop, cut := plan.Stop, plan.Cut
	dying := ledger.Record{
		Kind: ledger.Intent, Step: ledger.Step{Node: "ups", Verb: &cut},
		Reason: "the battery is about to give out: outputs are cut",
	}
	answered := ledger.Record{Kind: ledger.Accepted, Step: ledger.Step{Node: "esx01", Verb: &stop, Outcome: ledger.Done}}
	gap := ledger.Record{Kind: ledger.Gap}
	require.Equal(t, []string{"esx02"}, unproven([]ledger.Record{answered, gap, dying}))
	require.Empty(t, unproven([]ledger.Record{answered, dying}), "nobody was killed")
	cutInOrder := dying
	cutInOrder.Reason = ""
	require.Empty(t, unproven([]ledger.Record{answered, gap, cutInOrder}))

	var left []string
	for line := range strings.SplitSeq(strings.TrimSpace(whatShouldHappen), "\n") {
		if !slices.Contains([]string{"nas asked stop", "nas stop", "nas off", "nas on"}, line) {
			left = append(left, line)
		}
	}
	broken := judge(t, tell(left)).broken
	require.Len(t, broken, 2)
	for _, b := range broken {
		require.True(t, isLeftToTheLast(b), b)
	}
}
