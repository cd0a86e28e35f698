package book

import (
	"cmp"
	"strings"

	"ebbtide/internal/plan"
	"ebbtide/internal/report/doc"
)

const toWriteIn = "______________________"

// reach says where everything is, and what is made ready before the first line
// is typed.
func (b *book) reach() {
	b.section("How to reach everything")
	b.add(doc.Paragraph{Text: doc.T("As IP addresses where the runbook has them: these still work when name servers are down. Passwords " +
		"and keys are not printed here, only where they are kept.")})
	at := doc.Table{Columns: []doc.Column{
		{Title: "system", Weight: 1.1},
		{Title: "address", Weight: 2},
		{Title: "user", Weight: 1.5},
		{Title: "password or key", Weight: 1.7},
		{Title: "kind", Weight: 0.8},
	}}
	for i := range b.Runbook.Connections {
		c := &b.Runbook.Connections[i]
		p := b.Runbook.EndpointOf(&b.Schema, c.Name)
		at.Rows = append(at.Rows, doc.Row{Cells: []doc.Text{
			doc.Bold("%s", c.Name), doc.Verbatim(p.Address), doc.T("%s", p.User),
			doc.T("%s", p.SecretLocation), doc.T("%s", c.Type),
		}})
	}
	for i := range b.Runbook.Supplies {
		s := &b.Runbook.Supplies[i]
		at.Rows = append(at.Rows, doc.Row{Cells: []doc.Text{
			doc.Bold("%s", s.ID), doc.Verbatim(s.NUT()), doc.T("%s", s.Username),
			doc.T("%s", s.Password.Location()), doc.T("UPS, by NUT"),
		}})
	}
	at.Rows = append(at.Rows, doc.Row{Cells: []doc.Text{
		doc.Bold("Ebbtide itself"), doc.T("%s", cmp.Or(b.ownPlace(), toWriteIn)),
		doc.T("____________"), doc.T("____________"), doc.T("write in"),
	}})
	b.add(at)
	b.add(doc.Heading{Level: 3, Text: "Before the first line is typed", Anchor: beforeTyping}, doc.List{Items: append([]doc.Text{
		doc.Join(doc.T("A credential is a file of that name in Ebbtide's credentials directory ("),
			doc.Verbatim("/etc/ebbtide/credentials"),
			doc.T(" unless its settings say otherwise), which root can read. Copies that people can get at with every machine off are "+
				"kept here: %s", toWriteIn)),
		doc.T("A line that does not fit continues indented: it is one line. NAME and ID stand for what you find there."),
	}, b.prepared()...)})
}

// rightOnes says what shows that a system is the one that it should be.
func (b *book) rightOnes() {
	right := doc.Table{Columns: []doc.Column{{Title: "system", Weight: 1}, {Title: "what it shows", Weight: 6}}}
	for i := range b.Runbook.Connections {
		name := b.Runbook.Connections[i].Name
		if p := b.Runbook.EndpointOf(&b.Schema, name); p.Proof != "" {
			right.Rows = append(right.Rows, doc.Row{Cells: []doc.Text{doc.Bold("%s", name), doc.Verbatim(p.Proof)}})
		}
	}
	if len(right.Rows) > 0 {
		b.add(doc.Heading{Level: 1, Text: rightTitle, Anchor: doc.Anchor(rightTitle)},
			doc.Paragraph{Text: doc.T("What each one shows on first contact: the thumbprint of its certificate, or the fingerprint of " +
				"its host key. If it shows a different one, do not type a password there; call whoever is responsible for it.")}, right)
	}
}

// beforeTyping is where it stands what comes before the first line that is typed.
const beforeTyping = "before-the-first-line"

const rightTitle = "Is it the right one?"

// ownPlace is where the machine with Ebbtide stands, if the runbook says.
func (b *book) ownPlace() string {
	for i := range b.estate.Len() {
		if n := b.estate.Node(i); n.Kind == plan.Self {
			return strings.Join(doc.Filled(n.ID, n.Rack), ", ")
		}
	}
	return ""
}

// prepared is what comes before the first line at connections of each type.
func (b *book) prepared() []doc.Text {
	var all []doc.Text
	seen := map[string]bool{}
	for i := range b.Runbook.Connections {
		name := b.Runbook.Connections[i].Type
		if t, known := b.Schema.Connection(name); known && !seen[name] {
			seen[name] = true
			all = append(all, instructions(t.ByHand)...)
		}
	}
	return all
}
