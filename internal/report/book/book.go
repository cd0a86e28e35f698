// Package book makes the printed run book: all that a person needs to do without Ebbtide what Ebbtide would do.
package book

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ebbtide/internal/english"
	"ebbtide/internal/forecast"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
	"ebbtide/internal/report/doc"
	"ebbtide/internal/runbook"
	"ebbtide/internal/schema"
)

// Source is what a printed run book is made of: a runbook without mistakes.
type Source struct {
	Runbook *runbook.Runbook
	Schema  schema.Types
	// Outputs tells what a person does to the output of a supply.
	Outputs func(*schema.Supply) manual.Procedure
	// Outlets tells what a person does to an outlet.
	Outlets func(of *schema.Supply, outlet string) manual.Procedure
	Date    time.Time // zero: none is printed
	Learned Learned
}

// Learned is what the outages on record have taught, as a daemon would plan with it. The zero Learned has seen none.
type Learned struct {
	Outages   int
	At        time.Time                // as of when it was weighed
	Members   map[string][]plan.Member // of selectors, as the newest outage had them
	Durations func(*plan.Estate) *forecast.Knowledge
	Capacity  func(supply string) power.Capacity
}

// durations is what is known of how long things take; nil: what the runbook says.
func (l *Learned) durations(estate *plan.Estate) *forecast.Knowledge {
	if l.Durations == nil {
		return nil
	}
	return l.Durations(estate)
}

// New makes the document that people follow when no machine is left, from the same plan as the daemon's. Nothing
// in it is secret, as far as the runbook's own notes and commands hold none.
func New(src Source) (*doc.Document, error) {
	compiled, err := runbook.Compile(src.Runbook, src.Schema, src.Learned.Members)
	if err != nil {
		return nil, err
	}
	b := newBook(src, compiled)
	d := &b.doc
	d.Title, d.Subtitle = src.Runbook.Name, "Run book: how this site is shut down in order when mains power fails, and brought back, by "+
		"hand and by Ebbtide"
	d.Head, d.Date = "plan "+b.down.plan.Digest(), src.Date
	b.cover()
	b.contacts()
	b.estatePages()
	b.power()
	b.policy()
	b.rightOnes()
	b.powerDown()
	b.lastSafe()
	b.powerUp()
	b.whatIf()
	b.logPages()
	b.appendix()
	b.index()
	return d, nil
}

// book is a run book in the making.
type book struct {
	Source
	compiled *runbook.Compiled
	doc      doc.Document
	estate   *plan.Estate
	decls    map[string]*runbook.NodeDecl // by node id, and by that of the selector for its members
	hands    map[string]manual.Procedure  // by declaration
	supplies map[string]*runbook.SupplyDecl
	folds    map[string]string   // nodes that are shown as one with others: under which name
	members  map[string][]string // and the other way round
	known    *forecast.Knowledge
	down, up *bookPlan
}

// bookPlan is a plan with its lines.
type bookPlan struct {
	plan *plan.Plan
	sc   plan.Schedule
	rows []PlanRow
	of   []int // per step: its row, -1: none
	mark string
}

func newBook(src Source, compiled *runbook.Compiled) *book {
	b := &book{
		Source: src, compiled: compiled, estate: compiled.Estate, decls: map[string]*runbook.NodeDecl{},
		hands:    map[string]manual.Procedure{},
		supplies: map[string]*runbook.SupplyDecl{}, folds: map[string]string{}, members: map[string][]string{},
	}
	for i := range src.Runbook.Nodes {
		d := &src.Runbook.Nodes[i]
		b.decls[d.ID] = d
		b.hands[d.ID] = src.Runbook.ProcedureOf(&src.Schema, d)
	}
	for i := range src.Runbook.Supplies {
		s := &src.Runbook.Supplies[i]
		b.supplies[s.ID] = s
		b.hands[s.ID] = src.Outputs(&s.Supply)
	}
	for _, o := range src.Runbook.Outlets() {
		b.hands[o.ID] = src.Outlets(&o.Supply.Supply, o.Name)
	}
	b.known = src.Learned.durations(b.estate)
	b.foldEqual()
	b.down, b.up = b.course(plan.Down, "down"), b.course(plan.Up, "up")
	return b
}

func (b *book) course(goal plan.Goal, mark string) *bookPlan {
	p := b.estate.Plan(goal, nil)
	c := &bookPlan{plan: p, sc: p.Schedule(), mark: mark, of: make([]int, len(p.Steps))}
	c.rows = PlanRows(p, &c.sc, &b.compiled.Policy, func(n *plan.Node) string { return b.folds[n.ID] })
	b.likeTogether(c)
	for i := range c.of {
		c.of[i] = -1
	}
	for r := range c.rows {
		for _, s := range c.rows[r].Steps {
			c.of[s] = r
		}
	}
	return c
}

// foldFrom is how many VMs must be alike to be shown as one.
const foldFrom = 6

// foldEqual finds what is shown as one: the members of a selector, and VMs that differ in nothing but their names and
// the host that they run on.
func (b *book) foldEqual() {
	like := map[string][]string{}
	var order []string
	for i := range b.estate.Len() {
		n := b.estate.Node(i)
		key := "selector " + n.Group
		if n.Group == "" {
			d := b.decls[n.ID]
			if n.Kind != plan.VM || d == nil || n.Notes != "" || n.Rack != "" {
				continue
			}
			needs := slices.DeleteFunc(slices.Clone(n.DependsOn), func(id string) bool { return id == n.Host })
			key = fmt.Sprint("vm ", n.Type, n.Stage, n.Risk, n.Can, n.Times, d.Healthy, needs, len(b.estate.Users(i)))
		}
		if like[key] == nil {
			order = append(order, key)
		}
		like[key] = append(like[key], n.ID)
	}
	for _, key := range order {
		ids := like[key]
		name, selected := strings.CutPrefix(key, "selector ")
		if !selected {
			if len(ids) < foldFrom {
				continue
			}
			name = ids[0] + " and its like"
		}
		for _, id := range ids {
			b.folds[id] = name
		}
		b.members[name] = ids
	}
}

// called is the name under which a node is shown, and how many it stands for.
func (b *book) called(i int) string {
	n := b.estate.Node(i)
	if name := b.folds[n.ID]; name != "" {
		return fmt.Sprintf("%s ×%d", name, len(b.members[name]))
	}
	return n.ID
}

// namesOf are the names of nodes, each once, in their order.
func (b *book) namesOf(nodes []int) []string {
	var names []string
	for _, i := range nodes {
		if n := b.estate.Node(i); b.isJunction(n) { // what it stands for
			names = append(names, b.namesOf(b.estate.Needs(i))...)
			continue
		}
		names = append(names, b.called(i))
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(names, func(name string) bool {
		was := seen[name]
		seen[name] = true
		return was
	})
}

// usersOf are the nodes that use a node, those behind junctions too.
func (b *book) usersOf(i int) []int {
	var users []int
	for _, u := range b.estate.Users(i) {
		if n := b.estate.Node(u); b.isJunction(n) {
			users = append(users, b.usersOf(u)...)
		} else {
			users = append(users, u)
		}
	}
	slices.Sort(users)
	return slices.Compact(users)
}

// isJunction reports whether a node only stands between others.
func (b *book) isJunction(n *plan.Node) bool {
	return n.Kind == plan.Passive && (n.Type == runbook.LabelType || b.members[n.ID] != nil)
}

// declOf is the declaration that a node comes from; nil: it is a supply or a junction.
func (b *book) declOf(n *plan.Node) *runbook.NodeDecl {
	return b.decls[cmp.Or(n.Group, n.ID)]
}

func (b *book) handOf(n *plan.Node) manual.Procedure { return b.hands[cmp.Or(n.Group, n.ID)] }

func (b *book) add(blocks ...doc.Block) { b.doc.Blocks = append(b.doc.Blocks, blocks...) }

func (b *book) chapter(title string) {
	b.add(doc.PageBreak{}, doc.Heading{Level: 1, Text: title, Anchor: doc.Anchor(title)})
}

func (b *book) section(title string) {
	b.add(doc.Heading{Level: 2, Text: title, Anchor: doc.Anchor(title)})
}

func (b *book) cover() {
	b.add(
		doc.Table{Columns: []doc.Column{{Title: "This copy"}, {Title: "", Weight: 3}}, Rows: []doc.Row{
			{Cells: []doc.Text{doc.T("site"), doc.Bold("%s", b.Runbook.Name)}},
			{Cells: []doc.Text{doc.T("digest of the plan, down"), doc.Verbatim(b.down.plan.Digest())}},
			{Cells: []doc.Text{doc.T("digest of the plan, up"), doc.Verbatim(b.up.plan.Digest())}},
			{Cells: []doc.Text{doc.T("steps"), doc.T("%d down, about %s if all goes well; %d up, about %s", len(b.down.rows),
				Brief(b.down.sc.Total), len(b.up.rows), Brief(b.up.sc.Total))}},
			{Cells: []doc.Text{doc.T("times and batteries"), doc.T("%s", b.learnedFrom())}},
			{Cells: []doc.Text{doc.T("printed on"), doc.T("%s", cmp.Or(b.doc.Day(), "______________________"))}},
		}},
		doc.Note{
			Title: "Is this copy up to date?",
			Text: doc.Join(doc.T("Check the digests against "), doc.Verbatim("ebbtide plan RUNBOOK"), doc.T(" and "),
				doc.Verbatim("ebbtide plan RUNBOOK --goal up"),
				doc.T(". If either differs, the plan has changed: print a new copy and destroy this one. The digest covers steps, order, "+
					"times and limits, but not the stage triggers, the contacts or the notes.")),
		},
		doc.Note{
			Title: "If you are reading this because nothing else works",
			Text: doc.T("Begin at “Who to call”, then “Power down”. Do the steps in order, tick off each one with time and " +
				"initials, and do not pass a hold point until what it asks for is true. " +
				"If Ebbtide is running, it does all this by itself: look first (“ebbtide status”), and do not work against it " +
				"(“ebbtide hold” stops it from starting anything new). A step that has been ordered is not yet done: check."),
		},
		doc.Heading{Level: 2, Text: "Contents"}, doc.Contents{Level: 1},
	)
}

// learnedFrom says where times and capacities are from.
func (b *book) learnedFrom() string {
	l := &b.Learned
	if l.Outages == 0 {
		return "from the runbook alone: this copy contains nothing learned from outages"
	}
	return fmt.Sprintf("as the daemon plans with them: learned from %s, weighted as of %s",
		english.Count(l.Outages, "recorded outage or drill", "recorded outages and drills"), l.At.UTC().Format("2 January 2006"))
}

func (b *book) contacts() {
	b.chapter("Who to call")
	t := doc.Table{Columns: []doc.Column{
		{Title: "name", Weight: 1.3},
		{Title: "phone"},
		{Title: "e-mail"},
		{Title: "for", Weight: 1.3},
		{Title: "notes", Weight: 1.6},
	}, Blank: 2}
	for _, c := range b.Runbook.Contacts {
		t.Rows = append(t.Rows, doc.Row{Cells: []doc.Text{
			doc.Bold("%s", c.Name), doc.T("%s", c.Phone), doc.T("%s", c.Email),
			doc.T("%s", c.Role), doc.T("%s", c.Notes),
		}})
	}
	if len(t.Rows) == 0 {
		b.add(doc.Paragraph{Text: doc.T("The runbook names nobody (its key contacts). Write in who to call.")})
	}
	b.add(t)
	b.reach()
}

// policy says in sentences what is done when.
func (b *book) policy() {
	b.add(doc.Heading{Level: 1, Text: "What happens when", Anchor: "what-happens-when"})
	t := doc.Table{Columns: []doc.Column{{Title: "rule", Weight: 1}, {Title: "in words", Weight: 5}}}
	row := func(name, text string) {
		t.Rows = append(t.Rows, doc.Row{Cells: []doc.Text{doc.Bold("%s", name), doc.T("%s", text)}})
	}
	names := []string{"protect"}
	for _, s := range b.Runbook.Policy.Shed {
		names = append(names, "shed "+s.Name)
	}
	names = append(names, "shutdown", "restore", "reserve")
	for i, s := range b.Runbook.Sentences() {
		name := "also"
		if i < len(names) {
			name = names[i]
		}
		row(name, s)
	}
	b.add(doc.Paragraph{Text: doc.T("Ebbtide follows these rules. By hand, follow the same: they say when each stage of the power-down " +
		"begins, and when the power-up may. Slack is how much longer the plan can wait before the chance that the battery gives out first " +
		"becomes too high: “The last safe time” has that for each step.")}, t)
}
