package vsphere

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ebbtide/internal/adapter"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// largestPage is how many objects a server tells of in one answer to the watch: vCenter's own limit.
const largestPage = 100

// settle returns when the inventory can be believed, or with why it can't. It starts and mends the watch. A watch that
// broke a moment ago is not mended at once, since a thousand nodes may come with the same question; with hurry a
// broken one is mended in the background and its error returned now.
func (c *Conn) settle(ctx context.Context, hurry bool) error {
	inv := c.inventory
	for {
		inv.mu.Lock()
		switch {
		case inv.phase == live && time.Since(inv.heard) < c.pace.wait+c.pace.grace:
			inv.mu.Unlock()
			return nil
		case inv.phase == idle:
			inv.ask()
		case inv.phase == closed:
			inv.mu.Unlock()
			return c.about(errClosed)
		case inv.phase == broken && time.Since(inv.failed) > 2*c.pace.retry:
			inv.ask()
		}
		if err := inv.failure; err != nil && (hurry || inv.phase == broken) {
			inv.mu.Unlock()
			return c.about(err)
		}
		turn, before := inv.turn, inv.failure
		inv.mu.Unlock()
		select {
		case <-turn:
		case <-ctx.Done():
			if before != nil && !errors.Is(ctx.Err(), context.Canceled) { // which is how it still is
				return c.about(before)
			}
			return c.about(fmt.Errorf("no answer yet: %w", unreachable(ctx)))
		}
	}
}

// about names the connection in an error.
func (c *Conn) about(err error) error {
	return fmt.Errorf("cannot ask connection %q at %s: %w", c.name, c.url.Host, err)
}

// keepWatching makes the watch when it is first asked for, and makes it again whenever it breaks, until ctx ends.
func (c *Conn) keepWatching(ctx context.Context) {
	inv := c.inventory
	defer func() {
		inv.mu.Lock()
		defer inv.mu.Unlock()
		inv.change(closed)
	}()
	select {
	case <-inv.kick:
	case <-ctx.Done():
		return
	}
	var pause time.Duration
	for {
		began := time.Now()
		err := unwatched(c.watch(ctx))
		if ctx.Err() != nil {
			return
		}
		inv.mu.Lock()
		worked := inv.phase == live
		if worked {
			inv.change(mending)
		} else {
			inv.failure, inv.failed = err, time.Now()
			inv.change(broken)
		}
		inv.mu.Unlock()
		if worked && time.Since(began) > c.pace.retry {
			pause = 0 // it did work: try again at once
			continue
		}
		pause = min(max(2*pause, c.pace.retry), c.pace.longest)
		select {
		case <-time.After(pause):
			inv.mu.Lock()
			if inv.phase == broken {
				inv.change(mending)
			}
			inv.mu.Unlock()
		case <-inv.kick:
		case <-ctx.Done():
			return
		}
	}
}

// unwatched says why a watch broke. What its own objects answer, in a session that has ended or at a vCenter that was restarted, is no word
// on what it watches: nothing of that is gone or refuses anything. A login that was refused is, and so is a right that the account lacks.
func unwatched(err error) error {
	if !errors.Is(err, errLogin) && isFault(err) && (expired(err) || !isKind(err, &types.NoPermission{})) {
		return fmt.Errorf("%w: the list of its objects can't be read: %s", adapter.ErrUnreachable, oneLine(err))
	}
	return explainRead(err)
}

// watch makes a property collector for everything that paths names and feeds the inventory with what it tells. It
// returns when that breaks, never with nil.
//
// It has its own loop since govmomi's forgets its version after an idle interval, or without one waits for ever on a
// server that has lost its power. Each wait also keeps the session from expiring.
func (c *Conn) watch(ctx context.Context) error {
	s, err := c.session(ctx)
	if err != nil {
		return err
	}
	following, interrupt := context.WithCancel(ctx)
	defer interrupt()
	c.inventory.mu.Lock()
	c.inventory.interrupt = interrupt
	c.inventory.mu.Unlock()
	err = c.follow(following, s)
	if expired(err) {
		c.drop(ctx, s)
	}
	return err
}

func (c *Conn) follow(ctx context.Context, s *session) error {
	setup, cancel := c.limit(ctx)
	defer cancel()
	kinds := slices.Sorted(maps.Keys(paths))
	all, err := view.NewManager(s.Client).CreateContainerView(setup, s.ServiceContent.RootFolder, kinds, true)
	if err != nil {
		return err
	}
	collector, err := property.DefaultCollector(s.Client).Create(setup)
	if err != nil {
		return err
	}
	defer func() {
		// A session that goes on is not to keep what nobody uses; one that is dead has none of it.
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if isFault(err) && !expired(err) {
			_ = collector.Destroy(ctx)
			_ = all.Destroy(ctx)
		}
	}()
	filter := types.CreateFilter{This: collector.Reference(), Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: all.Reference(), Skip: new(true), SelectSet: []types.BaseSelectionSpec{all.TraversalSpec()}}},
	}}
	for _, kind := range kinds {
		filter.Spec.PropSet = append(filter.Spec.PropSet, types.PropertySpec{Type: kind, PathSet: paths[kind]})
	}
	if _, err = methods.CreateFilter(setup, s.Client, &filter); err != nil {
		return err
	}
	cancel()
	err = c.feed(ctx, s, collector.Reference())
	return err
}

// feed hands the collector's updates to the inventory. The first ones, up to the last page, are the whole.
func (c *Conn) feed(ctx context.Context, s *session, collector ref) error {
	inv, whole := c.inventory, newTables()
	wait := int32(c.pace.wait / time.Second)
	request := types.WaitForUpdatesEx{This: collector, Options: &types.WaitOptions{MaxWaitSeconds: &wait, MaxObjectUpdates: largestPage}}
	for {
		limited, cancel := context.WithTimeout(ctx, c.pace.wait+c.pace.grace)
		res, err := methods.WaitForUpdatesEx(within(limited, largeRoom), s.Client, &request)
		cancel()
		if err != nil {
			return err
		}
		inv.mu.Lock()
		inv.heard, inv.agent = time.Now(), s.agent()
		into, more := inv.tables, false
		if whole != nil {
			into = whole
		}
		var touched []string
		if set := res.Returnval; set != nil { // nil: no news
			request.Version = set.Version
			more = set.Truncated != nil && *set.Truncated
			for _, f := range set.FilterSet {
				for _, u := range f.ObjectSet {
					touched = append(touched, into.apply(u)...)
				}
			}
		}
		if err := into.excess(); err != nil {
			inv.mu.Unlock()
			return err
		}
		switch {
		case whole == nil:
			inv.tell(touched...)
		case !more:
			inv.tables, inv.failure = whole, nil
			whole = nil
			inv.change(live)
		}
		inv.mu.Unlock()
	}
}

// read asks for properties of objects directly, past the watch. All that is told of them has one room.
func (c *Conn) read(ctx context.Context, spec types.PropertyFilterSpec) ([]types.ObjectContent, error) {
	var objects []types.ObjectContent
	err := c.do(ctx, func(ctx context.Context, s *session) error {
		res, err := property.DefaultCollector(s.Client).RetrieveProperties(within(ctx, largeRoom),
			types.RetrieveProperties{SpecSet: []types.PropertyFilterSpec{spec}})
		if err == nil {
			objects = res.Returnval
		}
		return err
	})
	return objects, explainRead(err)
}
