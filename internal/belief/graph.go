package belief

import (
	"slices"

	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
)

// CycledBy lists what a supply feeds, was on and was proven to be off before any cut, and is started by nothing but the return of its
// power, which it loses with this supply: no other carries it.
func (e *Estate) CycledBy(supply int) []int {
	carries := func(f int) bool { return f != supply && e.Carries(e.Ledger.SupplyOf[f]) }
	var list []int
	for _, u := range e.Graph.Users(supply) {
		feeds, n := e.Graph.Feeds(u), e.Entry(u)
		stopped := e.Graph.Node(u).ByPower && n.Snap.On() && n.Shown == ledger.ShownOff && !n.Unproven
		if stopped && slices.Contains(feeds, supply) && !slices.ContainsFunc(feeds, carries) {
			list = append(list, u)
		}
	}
	return list
}

// GoesWith reports whether a node loses its power in each way in which another may lose it now.
func (e *Estate) GoesWith(i, other int) bool {
	isLit := func(k int) bool { return !e.Standing(k).IsDark() }
	for _, loss := range e.losses[other] {
		takesBoth := func(own []int) bool {
			return !slices.ContainsFunc(own, func(k int) bool { return !slices.Contains(loss, k) })
		}
		if !slices.ContainsFunc(loss, isLit) && !slices.ContainsFunc(e.losses[i], takesBoth) {
			return false
		}
	}
	return true
}

// Stranded reports whether something that a node needs in order to run is known to be off.
func (e *Estate) Stranded(i int) bool {
	return slices.ContainsFunc(e.Graph.Needs(i), func(d int) bool {
		return e.Graph.Node(d).Can.Has(plan.Stop) && e.IsOff(d)
	})
}

// CannotAnswer reports whether a node does not answer, and needs something that is off: it would keep others waiting in vain.
func (e *Estate) CannotAnswer(i int) bool { return e.IsMute(i) && e.Stranded(i) }

// BroughtUp lists what is to be on before a node is started: all that it needs, and all that this stands on in its turn, since a host, or
// whatever else is between, may have come up by itself before its storage.
func (e *Estate) BroughtUp(i int) []int {
	return slices.DeleteFunc(slices.Clone(e.Ground(i, false)), func(d int) bool { return !e.ComesBack(d) })
}

// ComesBack reports whether a node was on, and is to be again when the outage is over.
func (e *Estate) ComesBack(i int) bool {
	o := e.Ledger.Outage
	return o.Scope[i] && o.Nodes[i].Snap.On()
}

// Ground lists, nearest first, what a node stands on that can be asked and is stopped, but for what something between vouches for: see
// vouches. Of a node that is on it has only what that does not vouch for itself. The slice is not to be changed.
func (e *Estate) Ground(i int, isOn bool) []int {
	g := &e.grounds[i]
	list := &g.off
	if isOn {
		list = &g.on
	}
	if *list == nil {
		*list = e.findGround(i, isOn)
	}
	return *list
}

// ground is what a node stands on: see Ground; nil: nobody has asked yet.
type ground struct{ off, on []int }

func (e *Estate) findGround(i int, isOn bool) []int {
	type need struct{ of, node int }
	needs := func(of int) (all []need) {
		for _, d := range e.Graph.Needs(of) {
			all = append(all, need{of, d})
		}
		return all
	}
	list := []int{}
	seen := map[int]bool{}
	for queue := needs(i); len(queue) > 0; queue = queue[1:] {
		of, d := queue[0].of, queue[0].node
		n := e.Graph.Node(d)
		if n.Kind == plan.Supply {
			continue
		}
		vouched := (of != i || isOn) && e.vouches(of, d)
		if n.Can.Has(plan.Stop) && Probed(n) && !vouched && !slices.Contains(list, d) {
			list = append(list, d)
		}
		if !seen[d] {
			seen[d] = true
			queue = append(queue, needs(d)...)
		}
	}
	return list
}

// vouches reports whether a node that is on says by that of one that it needs that this is there: the outlet that gives it its power, or,
// of a VM that may run elsewhere, its host. Of storage and services it does not.
func (e *Estate) vouches(i, need int) bool {
	decl, by := e.Graph.Node(i), e.Graph.Node(need).Kind
	return Probed(decl) && decl.Kind != plan.Outlet && (by == plan.Outlet || decl.Kind == plan.VM && !decl.Bound && e.HostOf(i) == need)
}

// UsersOf lists the nodes whose being off a command to node i rests on, looking through nodes that have no stop of their
// own. For a supply these are the nodes that only it still feeds.
func (e *Estate) UsersOf(i int) []int {
	if e.users[i] == nil {
		e.users[i] = e.findUsers(i)
	}
	users := e.users[i]
	if e.Graph.Node(i).Kind != plan.Supply {
		return users
	}
	return slices.DeleteFunc(slices.Clone(users), func(u int) bool { return e.otherwiseFed(u, i) })
}

func (e *Estate) findUsers(i int) []int {
	users := []int{}
	seen := map[int]bool{}
	queue := slices.Clone(e.Graph.Users(i))
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		if seen[u] {
			continue
		}
		seen[u] = true
		decl := e.Graph.Node(u)
		switch {
		case decl.Kind == plan.Self, decl.Kind == plan.Manual:
		case decl.Can.Has(plan.Stop) && decl.Kind != plan.Outlet: // an outlet drops with its supply, whatever it says
			users = append(users, u)
		default:
			queue = append(queue, e.Graph.Users(u)...)
		}
	}
	return users
}

// otherwiseFed reports whether a node keeps its power when this supply is cut: it draws it from another one that is live, or none of it
// from this one. What is only reached through something on this supply loses its network.
func (e *Estate) otherwiseFed(node, supply int) bool {
	sources := e.Graph.Sources(node)
	if len(sources) > 0 && !slices.Contains(sources, supply) {
		return true
	}
	return slices.ContainsFunc(sources, func(f int) bool {
		k := e.Ledger.SupplyOf[f]
		return f != supply && k >= 0 && e.Live(k)
	})
}

// HostOf gives the host that a node runs on, -1 if it runs on none: that of a VM, or one that something without feeds of its own needs.
func (e *Estate) HostOf(i int) int { return e.hostOf[i] }

// HostsToGo lists the first two hosts that go down and are not off: each VM may have been started on one of two that is not its own.
func (e *Estate) HostsToGo() []int {
	var two []int
	for _, h := range e.hosts {
		if e.GoesDown(h) && !e.IsOff(h) && !e.HasNoPower(h) {
			if two = append(two, h); len(two) == 2 {
				break
			}
		}
	}
	return two
}

// MayRunElsewhere reports whether whoever manages a VM may have started it on another host than the one that it ran on, one of those that
// go down: it would be in its way.
func (e *Estate) MayRunElsewhere(i int, toGo []int) bool {
	decl, own := e.Graph.Node(i), e.HostOf(i)
	if decl.Kind != plan.VM || decl.Bound || own < 0 {
		return false
	}
	return slices.ContainsFunc(toGo, func(h int) bool { return h != own })
}

// ComesBefore reports whether a cache or a cluster is protected before a node is stopped.
func (e *Estate) ComesBefore(c, i int) bool {
	decl := e.Graph.Node(i)
	if e.Graph.Node(c).Kind != plan.Cluster {
		return decl.Kind == plan.VM
	}
	return decl.Stage == plan.ShutdownStage && (e.dependsOn(i, c) || e.dependsOn(c, i))
}

// dependsOn reports whether a node needs another, directly or through others.
func (e *Estate) dependsOn(i, other int) bool {
	_, found := slices.BinarySearch(e.Graph.Dependents(other), i)
	return found
}

// NeedsLost reports whether something that a node depends on, a supply aside, goes dark.
func (e *Estate) NeedsLost(i int) bool {
	return slices.ContainsFunc(e.Graph.Needs(i), func(d int) bool {
		return e.Graph.Node(d).Kind != plan.Supply && e.Ledger.Outage.Lost[d]
	})
}

// lostWithHost reports whether a node does not answer, and its host does not either, is off, or was told to go.
func (e *Estate) lostWithHost(i int) bool {
	host, answer := e.HostOf(i), e.Beliefs[i].Answer
	// nothing says more since its command
	silent := answer == plan.Unreachable || answer == plan.Unknown && e.Last(i).Answer == ledger.WasUnreached
	return host >= 0 && silent && (e.IsMute(host) || e.IsOff(host) || e.Entry(host).Shown == ledger.WasTold && !e.IsUp(host))
}

// LowerRiskWaits reports whether one of the VMs that are being stopped without force has a lower data risk than this one, and loses its
// power with it. One that may keep it when this one does not wins it no time, one that was last seen off is only proven off, and one that
// does not answer, with its host, or that comes up, can't be waited for. A host holds no data of its own: it goes when nothing on it can be
// waited for.
func (e *Estate) LowerRiskWaits(i int, graceful []int) bool {
	decl := e.Graph.Node(i)
	return decl.Kind != plan.Host && slices.ContainsFunc(graceful, func(j int) bool {
		answer := e.Beliefs[j].Answer
		isWaitedFor := answer != plan.Off && answer != plan.Starting && !e.lostWithHost(j)
		return e.Graph.Node(j).Risk < decl.Risk && isWaitedFor && e.GoesWith(j, i)
	})
}
