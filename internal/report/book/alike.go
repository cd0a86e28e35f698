package book

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/plan"
	"ebbtide/internal/report/doc"
	"ebbtide/internal/runbook"
)

// alikeFrom is how many equal steps in a row are shown as one box.
const alikeFrom = 3

// Fields of a step that are its own also in a box of equal steps.
const (
	whereField = "what and where"
	whyField   = "why here"
	firstField = "needs first"
	takesField = "takes"
	notesField = "notes"
)

// alike shows equal steps in a row as one: what Steps is for. It begins anew wherever something stands between them.
func (b *book) alike(from int) {
	blocks := b.doc.Blocks[from:]
	kept := slices.Clone(blocks[:0])
	for i := 0; i < len(blocks); {
		first, is := blocks[i].(bookStep)
		if !is {
			kept = append(kept, blocks[i])
			i++
			continue
		}
		l := newLikeness(first.Step, first.name, whereField, takesField, whyField, firstField, notesField)
		end := i + 1
		for ; first.sort != "" && end < len(blocks); end++ {
			next, is := blocks[end].(bookStep)
			if !is || next.sort != first.sort || !l.add(next.Step, next.name) {
				break
			}
		}
		if end-i >= alikeFrom {
			kept = append(kept, l.box(first.action))
		} else {
			end = i + 1
			kept = append(kept, first.Step)
		}
		i = end
	}
	b.doc.Blocks = append(b.doc.Blocks[:from], kept...)
}

// likeTogether puts lines that begin together in the order of their sorts, so that equal ones stand in a row. None of
// them waits for another, as each takes its time.
func (b *book) likeTogether(c *bookPlan) {
	stage := func(r int) plan.Stage { return c.plan.Steps[c.rows[r].Steps[0]].Stage }
	for from := 0; from < len(c.rows); {
		to, quick := from, false
		first := map[string]int{}
		for ; to < len(c.rows) && c.rows[to].Start == c.rows[from].Start && stage(to) == stage(from); to++ {
			quick = quick || c.rows[to].End == c.rows[to].Start
			if sort := b.sortOf(c, &c.rows[to]); first[sort] == 0 {
				first[sort] = to + 1
			}
		}
		if !quick {
			slices.SortStableFunc(c.rows[from:to], func(x, y PlanRow) int {
				return cmp.Compare(first[b.sortOf(c, &x)], first[b.sortOf(c, &y)])
			})
		}
		from = to
	}
}

// bookStep is a step in the making.
type bookStep struct {
	doc.Step
	action string
	name   string // the node
	sort   string // steps of one sort may be alike; empty: alike to none
}

// sorted tells of a step what makes it alike to others.
func (b *book) sorted(c *bookPlan, row PlanRow, step doc.Step) bookStep {
	s := &c.plan.Steps[row.Steps[0]]
	n := b.estate.Node(s.Node)
	made := bookStep{Step: step, action: actionByHand(n, s), name: n.ID}
	if len(row.Steps) == 1 { // what is folded has a list of its own
		made.sort = b.sortOf(c, &row)
	}
	return made
}

// sortOf tells a line's verb and the sort of node and connection that it is for.
func (b *book) sortOf(c *bookPlan, row *PlanRow) string {
	s := &c.plan.Steps[row.Steps[0]]
	n := b.estate.Node(s.Node)
	if len(row.Steps) > 1 {
		return row.What + " " + s.Verb.String()
	}
	via := ""
	if d := b.declOf(n); d != nil {
		if at := slices.IndexFunc(b.Runbook.Connections, func(c runbook.ConnectionDecl) bool { return c.Name == d.Via }); at >= 0 {
			via = b.Runbook.Connections[at].Type
		}
	}
	return fmt.Sprint(s.Stage, s.Verb, n.Kind, n.Type, via, n.ByPower, s.Times.Within)
}

// box makes one of equal steps.
func (l *likeness) box(action string) doc.Steps {
	all := doc.Steps{
		Number: l.steps[0].Number + "–" + l.steps[len(l.steps)-1].Number,
		Title:  doc.T("%s these %d", action, len(l.steps)),
		Boxes:  l.steps[0].Boxes,
	}
	common := map[string][]string{}
	for _, name := range l.own[:len(l.own)-1] { // notes stay whole
		if common[name] = l.common(name); len(common[name]) > 0 {
			all.Fields = append(all.Fields, doc.Field{Name: name, Lines: []doc.Text{doc.T("%s", strings.Join(common[name], "; "))}})
		}
	}
	all.Fields = append(all.Fields, l.shared()...)
	for i, s := range l.steps {
		own := doc.Each{Step: s, Title: doc.Join(doc.Bold("%s", l.names[i]), l.fillings(i))}
		var said []string
		for _, name := range l.own {
			f, _ := s.Field(name)
			if name == notesField {
				own.Lines = f.Lines
				continue
			}
			for _, t := range f.Lines {
				rest := strings.Join(slices.DeleteFunc(parts(t), func(p string) bool { return slices.Contains(common[name], p) }), "; ")
				if rest != "" && name == firstField {
					rest = "needs first: " + withoutHost(&s, rest)
				}
				said = append(said, doc.Filled(inShort.Replace(rest))...)
			}
		}
		if len(said) > 0 {
			own.Lines = slices.Insert(slices.Clone(own.Lines), 0, doc.T("%s", strings.Join(said, "; ")))
		}
		all.Each = append(all.Each, own)
	}
	return all
}

// withoutHost leaves out of what a step needs first what it is said to run on, if it needs anything else.
func withoutHost(s *doc.Step, needs string) string {
	where, _ := s.Field(whereField)
	for _, t := range where.Lines {
		for _, part := range parts(t) {
			if host, is := strings.CutPrefix(part, "runs on "); is {
				needs = strings.TrimPrefix(strings.TrimPrefix(needs, host+"; "), host+", ")
			}
		}
	}
	return needs
}

// inShort leaves out what follows from the rest.
var inShort = strings.NewReplacer(", which use it", "", ", which uses it", "", ", which it uses.", "", "that it was on: ", "",
	"Comes after", "comes after", "Nothing uses", "nothing uses")

// common are the parts of a field that all have.
func (l *likeness) common(name string) []string {
	var all []string
	for i := range l.steps {
		f, _ := l.steps[i].Field(name)
		var here []string
		for _, t := range f.Lines {
			here = append(here, parts(t)...)
		}
		if i == 0 {
			all = here
		}
		all = slices.DeleteFunc(all, func(p string) bool { return !slices.Contains(here, p) })
	}
	return all
}

func parts(t doc.Text) []string { return strings.Split(t.String(), "; ") }
