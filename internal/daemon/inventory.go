package daemon

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/estate"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/runner"
)

const refreshEvery = time.Minute

// askSelectors lists the members of the wanted selectors, all at once. One that does not answer is left out.
func (d *Daemon) askSelectors(ctx context.Context, s *site, wanted func(id string) bool) estate.Inventory {
	live, failed := s.Members(ctx, wanted)
	for id, err := range failed {
		d.log.Warn("a selector can't list its members", keyNode, id, keyError, err)
	}
	return live
}

// lastInventory is what the members of selectors were when the newest outage began.
func lastInventory(newest []ledger.Record) estate.Inventory {
	if len(newest) == 0 {
		return nil
	}
	return newest[0].Members
}

// known is the inventory less what was never heard.
func (s *site) known() estate.Inventory {
	known := estate.Inventory{}
	for id, members := range s.inventory {
		if !slices.Contains(s.blind, id) {
			known[id] = members
		}
	}
	return known
}

// refresh looks at the inventory again from time to time while all is well, for journals that were moved away as damaged, and at what
// was learned; and learns from each outage when it is over.
func (d *Daemon) refresh(ctx context.Context) {
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	uncovered := map[string]string{}
	d.lookForUncovered(ctx, d.site.Load(), uncovered)
	for {
		select {
		case <-ctx.Done():
			return
		case tl := <-d.learned.closed:
			d.learned.learn(&tl)
		case <-tick.C:
		}
		d.lookAside()
		d.takeOverEdited(ctx)
		if d.learned.aged(time.Now()) {
			d.learned.weigh(d.site.Load().compiled.Estate, time.Now())
		}
		d.lookForUncovered(ctx, d.site.Load(), uncovered)
		if err := d.refreshOnce(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, runner.ErrOutageOpen) {
			d.log.Warn("the inventory can't be used", keyError, err)
		}
	}
}

// lookForUncovered warns of what runs on the systems of the estate and belongs to no node: nothing would take it down.
// said has what was said of each connection, so that the same is said once.
func (d *Daemon) lookForUncovered(ctx context.Context, s *site, said map[string]string) {
	if len(s.blind) > 0 {
		return
	}
	for _, strays := range s.Uncovered(ctx, s.compiled) {
		if strays.Err != nil {
			continue // its selectors have said so, or its nodes
		}
		names := make([]string, len(strays.VMs))
		for i := range strays.VMs {
			names[i] = strays.VMs[i].Name
		}
		all := strings.Join(names, ", ")
		if len(names) > 0 && said[strays.Connection] != all {
			d.log.Warn("VMs are running that no node covers: nothing shuts them down, and they keep their hosts on", "connection",
				strays.Connection, "count", len(names),
				"names", printable.Text(all, maxNames), "hint", "ebbtide check --live shows where each one runs, and what to write")
		}
		said[strays.Connection] = all
	}
}

// maxNames bounds in characters the names in one line of the log.
const maxNames = 255

// refreshOnce takes over an inventory that has changed, and what was learned of batteries. In an outage both stay as
// they were.
func (d *Daemon) refreshOnce(ctx context.Context) error {
	d.loading.Lock()
	defer d.loading.Unlock()
	old := d.site.Load()
	if d.history.isOpen() {
		return nil
	}
	live := d.askSelectors(ctx, old, func(string) bool { return true })
	inventory, batteries := !same(old, live), d.learned.news(old.compiled.Supplies, time.Now())
	if !inventory && !batteries {
		return nil
	}
	next := *old
	if err := d.compile(&next, old.known(), live); err != nil {
		return err
	}
	err := d.runner.Reload(ctx, next.reloaded(), func() { d.site.Store(&next) })
	if err == nil && inventory {
		d.log.Info("the inventory has changed", "nodes", next.compiled.Estate.Len(), "digest", next.digest)
	}
	return err
}

// same reports whether live says nothing new. Whether a member is on does not matter: probes tell that.
func same(s *site, live estate.Inventory) bool {
	for id, members := range live {
		if slices.Contains(s.blind, id) || !reflect.DeepEqual(identities(members), identities(s.inventory[id])) {
			return false
		}
	}
	return true
}

func identities(members []plan.Member) map[string]plan.Member {
	out := make(map[string]plan.Member, len(members))
	for _, m := range members {
		m.On = false
		m.Storage = slices.Sorted(slices.Values(m.Storage))
		out[m.ID] = m
	}
	return out
}
