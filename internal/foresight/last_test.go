package foresight

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/plan"
)

// What is stopped last on a supply takes its own time and that of what it stands on there: storage that hangs on another supply has that
// one's time, and guests, hosts and plugs are powered off, but for a host that holds a cache.
func TestLastTakes(t *testing.T) {
	node := func(id string, kind plan.Kind, stop, flush time.Duration, feed string, needs ...string) plan.Node {
		n := plan.Node{ID: id, Kind: kind, DependsOn: needs, Attempts: 1}
		if feed != "" {
			n.FedBy = []string{feed}
		}
		if stop > 0 {
			n.Can |= plan.VerbSet(plan.Stop)
		}
		if flush > 0 {
			n.Can |= plan.VerbSet(plan.Flush)
		}
		n.Times[plan.Stop], n.Times[plan.Flush] = plan.Times{Nominal: stop, Within: time.Hour},
			plan.Times{Nominal: flush, Within: time.Hour}
		return n
	}
	plug := node("plug", plan.Other, time.Hour, 0, "a")
	plug.Switches = true
	nodes := []plan.Node{
		{ID: "a", Kind: plan.Supply, Can: plan.VerbSet(plan.Cut)},
		{ID: "b", Kind: plan.Supply, Can: plan.VerbSet(plan.Cut)},
		node("other", plan.Other, time.Hour, 0, "b"),
		node("disks", plan.Other, 4*time.Minute, 0, "a"),
		node("cache", plan.Other, 0, time.Minute, "", "disks"),
		plug,
		node("host", plan.Host, time.Hour, 0, "a", "cache", "other"),
		node("holder", plan.Host, time.Minute, 0, "a", "disks"),
		node("its cache", plan.Other, 0, time.Minute, "", "holder"),
		node("service", plan.Other, 20*time.Second, 0, "", "host"),
	}
	estate, err := plan.NewEstate(nodes, nil)
	require.NoError(t, err)
	index := func(id string) int {
		i, ok := estate.Index(id)
		require.True(t, ok)
		return i
	}
	const disks, cache, service = 4 * time.Minute, time.Minute, 20 * time.Second
	require.ElementsMatch(t, []last{
		{index("disks"), disks, disks},
		{index("cache"), disks + cache, disks},
		{index("service"), disks + cache + service, disks + service},
		{index("holder"), disks + time.Minute, disks + time.Minute},
		{index("its cache"), disks + time.Minute + cache, disks + time.Minute},
	}, lastOf(estate, index("a")))
}
