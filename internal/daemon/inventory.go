package daemon

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/engine"
	"ebbtide/internal/plan"
	"ebbtide/internal/runner"
)

const (
	askWithin    = 10 * time.Second // for a selector to list its members
	refreshEvery = time.Minute
)

// selectors lists the nodes that stand for many.
func (s *site) selectors() []string {
	var ids []string
	for i := range s.rb.Nodes {
		if _, many := s.set.Selector(s.rb.Nodes[i].ID); many {
			ids = append(ids, s.rb.Nodes[i].ID)
		}
	}
	return ids
}

// askSelectors lists the members of the wanted selectors, all at once. One that does not answer is left out.
func (d *Daemon) askSelectors(ctx context.Context, s *site, wanted func(id string) bool) inventory {
	live := inventory{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, id := range s.selectors() {
		sel, many := s.set.Selector(id)
		if !many || !wanted(id) {
			continue
		}
		all.Go(func() {
			ctx, cancel := context.WithTimeoutCause(ctx, askWithin, fmt.Errorf("no answer within %s", askWithin))
			defer cancel()
			members, err := ask(ctx, sel)
			if err != nil {
				d.log.Warn("a selector can't list its members", keyNode, id, keyError, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			live[id] = members
		})
	}
	all.Wait()
	return live
}

func ask(ctx context.Context, sel adapter.Selector) (members []plan.Member, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the adapter broke: %v", p)
		}
	}()
	if members, err = sel.Members(ctx); err != nil {
		return nil, err
	}
	if len(members) > maxMembers {
		return nil, fmt.Errorf("it lists %d members, more than the %d that are believed", len(members), maxMembers)
	}
	return plainMembers(members), nil
}

const (
	maxMembers = 20_000 // of a selector
	maxName    = 255    // characters
)

// plainMembers makes the names plain that a system gives its members: they become nodes' names. Who may rename a VM
// must not write into people's terminals.
func plainMembers(members []plan.Member) []plan.Member {
	members = slices.Clone(members)
	for i := range members {
		m := &members[i]
		m.Name, m.Host = adapter.Plain(m.Name, maxName), adapter.Plain(m.Host, maxName)
		m.Storage = slices.Clone(m.Storage)
		for k := range m.Storage {
			m.Storage[k] = adapter.Plain(m.Storage[k], maxName)
		}
	}
	// An id is what a member is commanded by: it is right or not there.
	return slices.DeleteFunc(members, func(m plan.Member) bool { return m.ID != adapter.Plain(m.ID, maxName) })
}

// lastInventory is what the members of selectors were when the newest outage began.
func lastInventory(newest []engine.Record) inventory {
	if len(newest) == 0 {
		return nil
	}
	return newest[0].Members
}

// known is the inventory less what was never heard.
func (s *site) known() inventory {
	known := inventory{}
	for id, members := range s.inventory {
		if !slices.Contains(s.blind, id) {
			known[id] = members
		}
	}
	return known
}

// refresh looks at the inventory again from time to time while all is well, for journals that were set aside, and at what
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
		if d.learned.aged(time.Now()) {
			d.learned.weigh(d.site.Load().compiled.Estate, time.Now())
		}
		d.lookForUncovered(ctx, d.site.Load(), uncovered)
		if err := d.refreshOnce(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, runner.ErrOutageOpen) {
			d.log.Warn("the inventory can't be taken over", keyError, err)
		}
	}
}

// lookForUncovered warns of what runs on the systems that selectors ask and belongs to no node: nothing would take it down.
// said has what was said of each connection, so that the same is said once.
func (d *Daemon) lookForUncovered(ctx context.Context, s *site, said map[string]string) {
	ctx, cancel := context.WithTimeoutCause(ctx, askWithin, fmt.Errorf("no answer within %s", askWithin))
	defer cancel()
	asked := map[string]bool{}
	for i := range s.rb.Nodes {
		via := s.rb.Nodes[i].Via
		lister := s.set.Lister(via)
		if _, many := s.set.Selector(s.rb.Nodes[i].ID); !many || lister == nil || asked[via] {
			continue
		}
		asked[via] = true
		running, err := lister.Everything(ctx)
		if err != nil {
			continue // its selectors have said so
		}
		names := s.compiled.Uncovered(s.rb, plainMembers(running[:min(len(running), maxMembers)]))
		all := strings.Join(names, ", ")
		if len(names) > 0 && said[via] != all {
			d.log.Warn("VMs run that no node covers: nothing takes them down, and they keep their hosts on", "connection", via, "count", len(names),
				"names", adapter.Plain(all, maxName))
		}
		said[via] = all
	}
}

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

// same tells whether live says nothing new. Whether a member is on does not matter: probes tell that.
func same(s *site, live inventory) bool {
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
