package estate

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
	"ebbtide/internal/schema"
)

// Firmware is the UUID that the firmware of this machine has, "" if that can't be read: only root may.
func Firmware() string {
	text, err := os.ReadFile("/sys/class/dmi/id/product_uuid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// askForSpecial looks among what runs for the VMs that are no VMs like others: those that a system itself runs in that they
// are reached through, and this machine. What can't be told is not remarked on. These are no strays, whatever covers them,
// and are taken out of listed.
func (s *surveyor) askForSpecial(ctx context.Context, listed []Strays) {
	special := make([]map[string]func(*schema.Running) []runbook.Remark, len(listed)) // by ID
	var all sync.WaitGroup
	for i := range listed {
		special[i] = map[string]func(*schema.Running) []runbook.Remark{}
		if listed[i].Err == nil {
			all.Go(func() { s.recognise(ctx, listed[i].Connection, special[i]) })
		}
	}
	all.Wait()
	covered := coverage(s.compiled, s.Runbook, listed)
	told := map[string][]plan.Member{} // by connection
	isTold := func(connection string, m plan.Member) bool {
		for other, members := range told {
			if slices.ContainsFunc(members, func(n plan.Member) bool { return covered.MayBeOne(connection, m, other, n) }) {
				return true
			}
		}
		return false
	}
	for i := range listed {
		connection := listed[i].Connection
		for k := range listed[i].VMs {
			vm := &listed[i].VMs[k]
			judge := special[i][vm.ID]
			if judge == nil || isTold(connection, vm.Member) {
				continue
			}
			told[connection] = append(told[connection], vm.Member)
			for _, r := range judge(vm) {
				s.remark(r.Severity, r.Section, r.Name, r.Message, r.Hint)
			}
		}
	}
	for i := range listed {
		listed[i].VMs = slices.DeleteFunc(listed[i].VMs, func(vm schema.Running) bool { return isTold(listed[i].Connection, vm.Member) })
	}
}

// recognise asks one connection, and notes how what it recognises is judged.
func (s *surveyor) recognise(ctx context.Context, connection string, special map[string]func(*schema.Running) []runbook.Remark) {
	lister, _ := s.set.Lister(connection)
	if system, can := lister.(adapter.SelfHosted); can {
		own, err := ask(ctx, s.each, system.Own)
		for _, id := range own {
			if err == nil {
				special[id] = func(vm *schema.Running) []runbook.Remark { return s.judgeHouse(connection, vm) }
			}
		}
	}
	if finder, can := lister.(adapter.Finder); can && s.here != "" {
		id, err := ask(ctx, s.each, func(ctx context.Context) (string, error) { return finder.Find(ctx, s.here) })
		if err == nil && id != "" {
			special[id] = func(vm *schema.Running) []runbook.Remark { return s.judgeHere(connection, vm) }
		}
	}
}

// judgeHouse says what is wrong with how a VM is treated that a system itself runs in.
func (s *surveyor) judgeHouse(connection string, vm *schema.Running) []runbook.Remark {
	node := s.compiled.Coverage(s.Runbook).Node(connection, vm.Member)
	return s.Runbook.Housing(connection, vm, node, s.compiled.Members[node].Selector)
}

// judgeHere says what becomes of a plan that takes down the machine that asks, or the host under it.
func (s *surveyor) judgeHere(connection string, vm *schema.Running) []runbook.Remark {
	const elsewhere = "run the daemon on a machine that is not a VM of anything it shuts down: see type: self"
	node := s.compiled.Coverage(s.Runbook).Node(connection, vm.Member)
	at, covered := s.compiled.Estate.Index(node)
	if covered && s.compiled.Estate.Node(at).Kind != plan.Self {
		entry := node
		if m, many := s.compiled.Members[node]; many {
			entry = m.Selector
		}
		return []runbook.Remark{{
			Severity: runbook.Warning, Section: runbook.SectionNodes, Name: entry, Hint: elsewhere,
			Message: fmt.Sprintf("%s is the machine that runs this check: if the daemon runs here too, it stops itself in the middle of "+
				"its plan, and nothing after that is done", node),
		}}
	}
	host := s.Runbook.HostCalled(vm.Host)
	if host == "" {
		return nil // its host is not taken down
	}
	return []runbook.Remark{{
		Severity: runbook.Warning, Section: runbook.SectionNodes, Name: host, Hint: elsewhere,
		Message: fmt.Sprintf("VM %q on %s is the machine that runs this check: if the daemon runs here too, %s is never shut down, "+
			"because one VM stays on, and it loses power while running", vm.Name, host, host),
	}}
}

// askHAWatchers looks for what starts again by itself what goes down, and that no node puts off. Several connections may lead
// to the same system: the first one tells.
func (s *surveyor) askHAWatchers(ctx context.Context, connections []string) {
	found := make([][]adapter.HACluster, len(connections))
	var all sync.WaitGroup
	for i, connection := range connections {
		lister, _ := s.set.Lister(connection)
		if overseer, can := lister.(adapter.HAWatcher); can {
			all.Go(func() { found[i], _ = ask(ctx, s.each, overseer.HAClusters) }) // what can't be asked is not remarked on
		}
	}
	all.Wait()
	for i, connection := range connections {
		for _, o := range found[i] {
			line := s.Runbook.Overseeing(connection, o.Type, printable.Text(o.Cluster, maxName))
			if line == "" {
				continue
			}
			where := ""
			if o.Cluster != "" {
				where = fmt.Sprintf(" in cluster %q", printable.Text(o.Cluster, maxName))
			}
			s.remark(runbook.Warning, runbook.SectionConnections, connection,
				fmt.Sprintf("HA is on%s, and no node turns it off for the outage: it restarts what goes down with its host", where),
				fmt.Sprintf("under nodes, write: %s; and make its VMs depend on it", line))
		}
	}
}
