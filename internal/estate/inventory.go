package estate

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
	"ebbtide/internal/schema"
)

// Inventory is what selectors cover, by their node id.
type Inventory map[string][]plan.Member

// AskWithin is how long a system has to list what it has.
const AskWithin = 10 * time.Second

const (
	maxMembers = 20_000 // of a list that is believed
	maxName    = 255    // characters
)

// Selectors lists the nodes that stand for many.
func (e *Estate) Selectors() []string {
	var ids []string
	for i := range e.Runbook.Nodes {
		if _, many := e.set.Selector(e.Runbook.Nodes[i].ID); many {
			ids = append(ids, e.Runbook.Nodes[i].ID)
		}
	}
	return ids
}

// Members lists the members of the wanted selectors (nil: of all), all at once. One that does not answer within AskWithin
// is left out, and failed says why.
func (e *Estate) Members(ctx context.Context, wanted func(id string) bool) (live Inventory, failed map[string]error) {
	live, failed = Inventory{}, map[string]error{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, id := range e.Selectors() {
		sel, many := e.set.Selector(id)
		if !many || wanted != nil && !wanted(id) {
			continue
		}
		all.Go(func() {
			members, err := ask(ctx, AskWithin, sel.Members)
			if err == nil {
				members, err = believed(members, asMember)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[id] = printable.Error(err)
				return
			}
			live[id] = members
		})
	}
	all.Wait()
	return live, failed
}

// believed makes a system's list fit for nodes, or says why it can't be true. The names that a system gives its members
// become nodes' names, and are made plain: who may rename a VM must not write into people's terminals.
func believed[T any](listed []T, member func(*T) *plan.Member) ([]T, error) {
	if len(listed) > maxMembers {
		return nil, fmt.Errorf("it lists %d members, more than the limit of %d", len(listed), maxMembers)
	}
	listed = slices.Clone(listed)
	for i := range listed {
		m := member(&listed[i])
		m.Name, m.Host = printable.Text(m.Name, maxName), printable.Text(m.Host, maxName)
		m.Storage = slices.Clone(m.Storage)
		for k := range m.Storage {
			m.Storage[k] = printable.Text(m.Storage[k], maxName)
		}
	}
	// An id is what a member is commanded by: it is right or not there.
	return slices.DeleteFunc(listed, func(one T) bool { return member(&one).ID != printable.Text(member(&one).ID, maxName) }), nil
}

func asMember(m *plan.Member) *plan.Member { return m }

// Strays are what a connection lists as on and no node covers: nothing takes it down, and it keeps its host on.
type Strays struct {
	Connection string
	VMs        []schema.Running
	Err        error // the system could not be asked; nil: it could
}

// Uncovered asks all systems that nodes are reached through, as far as they can list what runs on them. It says nothing true
// while a selector has not answered: all its members would be strays.
func (e *Estate) Uncovered(ctx context.Context, c *runbook.Compiled) []Strays {
	first, _ := e.listers()
	return e.uncovered(c, e.list(ctx, first))
}

// listers lists the connections that can list what runs on their systems: those that nodes are reached through, and those
// that are there for when another one fails.
func (e *Estate) listers() (first, others []string) {
	for i := range e.Runbook.Connections {
		name := e.Runbook.Connections[i].Name
		_, can := e.set.Lister(name)
		switch used := slices.ContainsFunc(e.Runbook.Nodes, func(d runbook.NodeDecl) bool { return d.Via == name }); {
		case can && used:
			first = append(first, name)
		case can:
			others = append(others, name)
		}
	}
	return first, others
}

// list asks connections what runs on their systems, covered or not.
func (e *Estate) list(ctx context.Context, connections []string) []Strays {
	found := make([]Strays, len(connections))
	var all sync.WaitGroup
	for i := range found {
		found[i].Connection = connections[i]
		all.Go(func() {
			lister, _ := e.set.Lister(connections[i])
			running, err := ask(ctx, AskWithin, lister.Everything)
			if err == nil {
				running, err = believed(running, func(r *schema.Running) *plan.Member { return &r.Member })
			}
			found[i].VMs, found[i].Err = running, printable.Error(err)
		})
	}
	all.Wait()
	for i := range found {
		markTwins(found[i].VMs)
	}
	return found
}

// uncovered leaves of what was listed what no node covers. What several connections list is told of the first.
func (e *Estate) uncovered(c *runbook.Compiled, found []Strays) []Strays {
	covered, told := coverage(c, e.Runbook, found), map[string]bool{}
	for i := range found {
		connection := found[i].Connection
		found[i].VMs = slices.DeleteFunc(found[i].VMs, func(m schema.Running) bool {
			if covered.Node(connection, m.Member) != "" {
				return true
			}
			is := covered.Identity(connection, m.Member)
			again := told[is]
			told[is] = true
			return again
		})
	}
	return found
}

// coverage tells what covers what was listed.
func coverage(c *runbook.Compiled, rb *runbook.Runbook, listed []Strays) *runbook.Coverage {
	covered := c.Coverage(rb)
	for i := range listed {
		for k := range listed[i].VMs {
			covered.Lists(listed[i].Connection, listed[i].VMs[k].Host)
		}
	}
	return covered
}

// markTwins marks those that share their name with another one.
func markTwins(running []schema.Running) {
	count := map[string]int{}
	for i := range running {
		count[running[i].Name]++
	}
	for i := range running {
		running[i].Twin = count[running[i].Name] > 1
	}
}
