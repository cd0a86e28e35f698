package book

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/report/doc"
)

func (b *book) whatIf() {
	b.chapter("What if")
	b.section("Mains power returns midway")
	list := func(items ...doc.Text) {
		b.add(doc.List{Numbered: true, Items: slices.DeleteFunc(items, func(t doc.Text) bool { return t.String() == "" })})
	}
	var oneWay []int
	for i := range b.estate.Len() {
		if n := b.estate.Node(i); n.ByPower && n.Can.Has(plan.Stop) && n.Kind != plan.Self {
			oneWay = append(oneWay, i)
		}
	}
	turn := doc.T("Go to “Power up” from where you are: nothing here needs a power cycle to come back. The gate holds here too: wait until %s.",
		b.compiled.Policy.Restore)
	finish := doc.T("")
	if len(oneWay) > 0 {
		finish = doc.T("Is one of these already off: %s? They start again only when their power goes and returns. Then there is no turning "+
			"back: finish “Power down” with the cut, and let the output return.", strings.Join(b.namesOf(oneWay), ", "))
		turn = doc.T("If none is, go to “Power up” from where you are. The gate holds here too: wait until %s.", b.compiled.Policy.Restore)
	}
	list(
		doc.T("Start nothing new. Let whatever is shutting down finish: what is half off is neither on nor off."),
		finish,
		turn,
		doc.T("Mains may fail again within minutes. If they do before the gate is open, continue “Power down” where you stopped."),
	)
	b.section("A UPS can't be reached")
	list(
		doc.T("Go and look at its display. If it was on battery when contact was lost, assume the worst: begin shutting down what it feeds."),
		doc.T("Is it the network card, or the machine with NUT? Query it there: %s.", strings.Join(b.asks(), "; ")),
		doc.T("Its output can't be cut remotely then. When everything it feeds is off, press its off button (its output then stays off until someone switches it on), or let the battery run "+
			"empty (its output then returns with mains power)."),
	)
	b.managers()
	b.section("Name servers are down")
	var names []string
	for i := range b.Runbook.Nodes {
		d := &b.Runbook.Nodes[i]
		for _, h := range d.Healthy {
			if h.DNS != nil {
				names = append(names, fmt.Sprintf("%s (answers at %s)", d.ID, h.DNS.Server))
			}
		}
		if d.Risk != nil && *d.Risk == plan.Directory &&
			!slices.ContainsFunc(names, func(s string) bool { return strings.HasPrefix(s, d.ID+" ") }) {
			names = append(names, d.ID)
		}
	}
	if len(names) > 0 {
		list(doc.T("Name servers: %s. They go down late and come back early.", english.Series(names, len(names))),
			doc.Join(doc.T("Use addresses: "), doc.Ref("how to reach everything", doc.Anchor("How to reach everything")),
				doc.T(". Logging in may take a minute longer while name lookups time out; local accounts (root) still work.")))
	} else {
		list(doc.Join(doc.T("The runbook names none. Use addresses: "),
			doc.Ref("how to reach everything", doc.Anchor("How to reach everything")), doc.T(".")))
	}
	b.section("The controller (the machine with Ebbtide) is dead")
	list(
		doc.T("Make sure that it is. Another monitor or an old session may still show its last status, which is no longer true."),
		doc.T("From here on, only you act. Begin at the first step of “Power down” that is not verified as done: check, do not "+
			"assume. A step that was ordered may still be under way: wait for its “at most” time before you force anything."),
		doc.T("An output whose cut was ordered goes off after its delay, whatever you do."),
		doc.T("As soon as it runs again it reads its journal, looks at everything, and continues from there. To have it wait for you, "+
			"keep its service from starting (on its console: systemctl mask ebbtide) until you are done, or run ebbtide hold as soon as it "+
			"answers. Tell it what you did (ebbtide confirm, ebbtide skip), then run ebbtide resume."),
	)
	b.section("A step needs confirmation")
	list(doc.T("Ebbtide waits for manual steps until they are confirmed (ebbtide confirm NODE) or skipped (ebbtide skip NODE), but no " +
		"longer than their “at most” time."))
}

// asks are the questions for what each UPS says.
func (b *book) asks() []string {
	var all []string
	for i := range b.Runbook.Supplies {
		all = append(all, "upsc "+b.Runbook.Supplies[i].NUT())
	}
	return all
}

// managers says what to do without the systems that others are reached through.
func (b *book) managers() {
	var through []string
	for i := range b.Runbook.Connections {
		c := &b.Runbook.Connections[i]
		var nodes []string
		for k := range b.Runbook.Nodes {
			if d := &b.Runbook.Nodes[k]; d.Via == c.Name {
				nodes = append(nodes, d.ID)
			}
		}
		if len(nodes) > 1 {
			through = append(through, fmt.Sprintf("%s at %s: %s", c.Name, b.Runbook.EndpointOf(&b.Schema, c.Name).Address,
				english.List(nodes, 12)))
		}
	}
	b.section("vCenter, or another manager, is down")
	items := []doc.Text{doc.T("Whatever it shows is out of date. To see what runs on a host, look on the host: open the host's own " +
		"client, or its console.")}
	for _, t := range through {
		items = append(items, doc.T("Reached through %s.", t))
	}
	items = append(items, doc.T("Each step gives the host's own way as well as the manager's. Without the manager, it is not known which "+
		"host a VM is on: look on each host (vim-cmd vmsvc/getallvms) until you find it."))
	b.add(doc.List{Numbered: true, Items: items})
}

func (b *book) logPages() {
	b.chapter("Log")
	b.add(doc.Paragraph{Text: doc.T("What was done and seen that the steps have no room for: who came, who was informed, what was forced " +
		"and why, what the displays showed.")})
	b.add(doc.Table{Columns: []doc.Column{{Title: "time"}, {Title: "who"}, {Title: "what", Weight: 6}, {Title: "charge"}}, Blank: 50})
}

// appendix says what folded lines stand for.
func (b *book) appendix() {
	if len(b.members) == 0 {
		return
	}
	b.chapter("Appendix: nodes that stand for many")
	for _, name := range b.groups() {
		ids := b.members[name]
		i, _ := b.estate.Index(ids[0]) // it was found there
		n := b.estate.Node(i)
		b.add(doc.Heading{Level: 2, Text: fmt.Sprintf("%s ×%d", name, len(ids)), Anchor: doc.Anchor("appendix", name)})
		if n.Group != "" {
			b.selected(n, ids)
			continue
		}
		t := doc.Table{Columns: []doc.Column{{Title: "on"}, {Title: "VMs", Weight: 5}}}
		for _, host := range append(b.hostsOf(name), "") {
			var there []string
			for _, id := range ids {
				if at, _ := b.estate.Index(id); b.estate.Node(at).Host == host {
					there = append(there, "□ "+id)
				}
			}
			if len(there) > 0 {
				t.Rows = append(t.Rows, doc.Row{Cells: []doc.Text{
					doc.Bold("%s", cmp.Or(host, "host not given")),
					doc.T("%s", strings.Join(there, "   ")),
				}})
			}
		}
		b.add(doc.Paragraph{Text: doc.T("Identical except for their names and hosts. Tick each one.")}, t)
	}
}

// mostBlank is how many lines are left blank for the members of a selector at most.
const mostBlank = 30

// selected says how the members of a selector are found.
func (b *book) selected(n *plan.Node, ids []string) {
	b.add(doc.Paragraph{Text: doc.T("The runbook does not name them individually: it selects them in the live inventory, and expects %d. "+
		"Without a manager they can't be selected: write in the names while all is well, and before the shutdown tick those that are on. "+
		"Only those are started again.", len(ids))})
	t := doc.Table{Columns: []doc.Column{
		{Title: "on", Weight: 0.3},
		{Title: "name", Weight: 3},
		{Title: "host", Weight: 1.5},
		{Title: "ID"},
		{Title: "off at"},
		{Title: "on again"},
	}}
	for _, id := range ids {
		at, _ := b.estate.Index(id) // it was found there
		if m := b.estate.Node(at); b.Learned.Members[n.Group] != nil {
			t.Rows = append(t.Rows, doc.Row{Cells: []doc.Text{doc.T("□"), doc.Bold("%s", m.ID), doc.T("%s", m.Host), nil, nil, nil}})
		}
	}
	if t.Blank = max(2, min(len(ids), mostBlank)-len(t.Rows)); len(t.Rows) > 0 {
		t.Blank = 2
	}
	b.add(t)
}

// groups are the names of what counts as one, in the order of going down.
func (b *book) groups() []string {
	var names []string
	for _, row := range b.down.rows {
		s := &b.down.plan.Steps[row.Steps[0]]
		if name := b.folds[b.estate.Node(s.Node).ID]; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// index lists every node with its steps.
func (b *book) index() {
	b.add(doc.Heading{Level: 1, Text: "Index", Anchor: "index"})
	refs := map[string][]doc.Span{}
	for _, c := range []*bookPlan{b.down, b.up} {
		for r, row := range c.rows {
			label := fmt.Sprintf("step %d", r+1)
			if c.mark == "up" {
				label = fmt.Sprintf("step U%d", r+1)
			}
			for _, s := range row.Steps {
				id := b.estate.Node(c.plan.Steps[s].Node).ID
				refs[id] = append(refs[id], doc.Span{Text: label, Link: fmt.Sprintf("%s-%d", c.mark, r+1)})
			}
		}
	}
	var entries []doc.IndexEntry
	listed := map[string]bool{}
	for i := range b.estate.Len() {
		n := b.estate.Node(i)
		name := n.ID
		if n.Group != "" {
			name = n.Group
		}
		if b.isJunction(n) || listed[name] {
			continue
		}
		listed[name] = true
		links := refs[n.ID]
		if b.supplies[n.ID] != nil {
			links = append([]doc.Span{{Text: "feeds", Link: "supply-" + doc.Anchor(n.ID)}}, links...)
		}
		if fold := b.folds[n.ID]; fold != "" {
			links = append(links, doc.Span{Text: "appendix", Link: doc.Anchor("appendix", fold)})
		}
		if len(links) == 0 {
			links = []doc.Span{{Text: "no step: it goes off with its power", Link: "drops-" + doc.Anchor(n.ID)}}
		}
		entries = append(entries, doc.IndexEntry{Term: name, Refs: links})
	}
	slices.SortFunc(entries, func(a, b doc.IndexEntry) int { return cmp.Compare(strings.ToLower(a.Term), strings.ToLower(b.Term)) })
	b.add(doc.Index{Entries: entries})
}
