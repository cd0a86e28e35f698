package estate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/lockout"
	"ebbtide/internal/adapter/secrets"
	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

// reached is what was asked over one connection.
type reached struct {
	asked int
	mute  []mute
	err   error // it was asked itself, and this is why it does not answer; nil: it was not, or it does
}

// mute is one thing that did not answer, and why.
type mute struct {
	what string
	err  error
}

// reach notes whether something that was asked over a connection has answered.
func (s *surveyor) reach(connection, what string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.over(connection)
	r.asked++
	if err != nil {
		r.mute = append(r.mute, mute{what, err})
	}
}

// refuse notes why a connection itself does not answer; nil: it does.
func (s *surveyor) refuse(connection string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over(connection).err = err
}

// over gives what was asked over a connection. It needs s.mu.
func (s *surveyor) over(connection string) *reached {
	if s.reached[connection] == nil {
		s.reached[connection] = &reached{}
	}
	return s.reached[connection]
}

func (s *surveyor) remark(severity runbook.Severity, section, name, message, hint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remarks = append(s.remarks, runbook.Remark{Severity: severity, Section: section, Name: name, Message: message, Hint: hint})
}

// conclude judges all answers. A connection over which nothing answers is one trouble, not one for each node.
func (s *surveyor) conclude() {
	dead := s.deadConnections()
	for i := range s.survey.Selectors {
		s.judgeSelector(&s.survey.Selectors[i], dead)
	}
	said := map[finding][]sentence{}
	var order []finding
	for i := range s.survey.Nodes {
		n := &s.survey.Nodes[i]
		n.Is = Well
		for _, found := range s.judgeNode(n, dead) {
			n.Is = worse(n.Is, found.severity)
			if found.message == "" {
				continue
			}
			key := finding{found.severity, n.decl, found.kind}
			if said[key] == nil {
				order = append(order, key)
			}
			said[key] = append(said[key], sentence{n.Node, found.message})
		}
	}
	for _, key := range order {
		section, name := runbook.SectionNodes, key.decl
		if supply, _, outlet := strings.Cut(name, "/"); outlet {
			section, name = runbook.SectionSupplies, supply
		}
		s.remark(key.severity, section, name, together(said[key]), "")
	}
	s.remarkStrays()
	s.survey.Problems = append(s.Runbook.Remarked(s.remarks), s.expectations()...)
	s.survey.Problems.WorstFirst()
	slices.SortStableFunc(s.survey.Supplies, func(a, b Supply) int { return a.Is.compare(b.Is) })
	slices.SortStableFunc(s.survey.Selectors, func(a, b Selector) int { return a.Is.compare(b.Is) })
	slices.SortStableFunc(s.survey.Nodes, func(a, b Node) int { return a.Is.compare(b.Is) })
}

func (v Verdict) compare(other Verdict) int {
	order := []Verdict{InTrouble, Doubtful, Well}
	return cmp.Compare(slices.Index(order, v), slices.Index(order, other))
}

func worse(v Verdict, by runbook.Severity) Verdict {
	if by == runbook.Trouble {
		return InTrouble
	}
	if v == Well {
		return Doubtful
	}
	return v
}

// finding is what the same is said of, of all members of a selector.
type finding struct {
	severity runbook.Severity
	decl     string
	kind     string
}

type sentence struct{ node, text string }

// together says what holds of several members of a selector with the sentence of the first.
func together(said []sentence) string {
	if len(said) == 1 {
		return said[0].text
	}
	names := make([]string, len(said)-1)
	for i := range names {
		names[i] = said[i+1].node
	}
	return fmt.Sprintf("%s; the same for %s", said[0].text, english.List(names, 6))
}

// deadConnections remarks on the connections that do not answer themselves, or over which several things were asked and
// nothing answered.
func (s *surveyor) deadConnections() map[string]bool {
	dead := map[string]bool{}
	for i := range s.Runbook.Connections {
		name := s.Runbook.Connections[i].Name
		r := s.over(name)
		switch answered := len(r.mute) < r.asked; {
		case r.err != nil && answered:
			s.remark(runbook.Trouble, runbook.SectionConnections, name,
				fmt.Sprintf("it is unknown what else runs behind %s besides the runbook's nodes: %v", name, r.err), hint(r.err))
			continue
		case r.err == nil && (answered || r.asked < 2):
			continue
		}
		dead[name] = true
		slices.SortFunc(r.mute, func(a, b mute) int { return cmp.Compare(a.what, b.what) })
		var names []string
		for _, m := range r.mute {
			names = append(names, m.what)
		}
		err, without := r.err, ""
		if err == nil {
			err = r.mute[0].err
		}
		if names = slices.Compact(names); len(names) > 0 {
			without = fmt.Sprintf(" (no answer: %s)", english.List(names, 6))
		}
		s.remark(runbook.Trouble, runbook.SectionConnections, name,
			fmt.Sprintf("connection %s can't be used%s: %s", name, without, adapter.Plain(err)), hint(err))
	}
	return dead
}

// hint is what an error knows to do next.
func hint(err error) string {
	var knows interface{ Hint() string }
	if errors.As(err, &knows) {
		return knows.Hint()
	}
	return ""
}

func (s *surveyor) judgeSelector(sel *Selector, dead map[string]bool) {
	sel.Is = Well
	switch {
	case sel.Error != "":
		sel.Is = InTrouble
		if !dead[s.decls[sel.Node].Via] {
			s.remark(runbook.Trouble, runbook.SectionNodes, sel.Node,
				fmt.Sprintf("it is unknown what %s covers: %s", sel.Node, sel.Error), "")
		}
	case sel.Members == 0:
		sel.Is = Doubtful
		s.remark(runbook.Warning, runbook.SectionNodes, sel.Node, sel.Node+" covers nothing now",
			"check that its selection is spelled as in the system, and that the account may see it")
	}
}

// verdict is one thing that is wrong with a node. Without a message it is told elsewhere.
type verdict struct {
	severity runbook.Severity
	kind     string
	message  string
}

// judgeNode says what is wrong with a node.
func (s *surveyor) judgeNode(n *Node, dead map[string]bool) []verdict {
	var found []verdict
	add := func(severity runbook.Severity, kind, format string, args ...any) {
		found = append(found, verdict{severity, kind, fmt.Sprintf(format, args...)})
	}
	switch silence := n.silence(); {
	case silence != nil && dead[n.via]:
		found = append(found, verdict{severity: runbook.Trouble})
	case noSecret(silence) != nil:
		add(runbook.Trouble, "secret", "%s was not asked: %v", n.Node, noSecret(silence))
	case errors.Is(silence, adapter.ErrRefused), errors.Is(silence, lockout.ErrDenied):
		add(runbook.Trouble, "refused", "%s denies access: %s", n.Node, adapter.Plain(silence))
	case silence != nil:
		add(runbook.Trouble, "silent", "%s does not answer: %s", n.Node, adapter.Plain(silence))
	case n.err != nil:
		add(runbook.Trouble, "gone", "%s does not exist: %s", n.Node, adapter.Plain(n.err))
	case n.State == plan.Gone:
		add(runbook.Trouble, "gone", "%s", strings.TrimSuffix(n.Node+" does not exist: "+n.Detail, ": "))
	case n.State == plan.Unknown:
		add(runbook.Trouble, "unknown", "%s", strings.TrimSuffix("it can't be determined whether "+n.Node+" is on: "+n.Detail, ": "))
	case n.Healthy == said(plan.No):
		add(runbook.Warning, "unwell", "%s", strings.TrimSuffix(n.Node+" is on, but its health checks fail: "+n.Detail, ": "))
	}
	if n.Caution != "" {
		add(runbook.Warning, "caution", "%s: %s", n.Node, n.Caution)
	}
	if w := n.Wake; w != nil && w.asked {
		judgeWake(n, w, dead, add)
	}
	return found
}

// noSecret gives what was wrong with a secret, nil if an error is about something else.
func noSecret(err error) error {
	if e, ok := errors.AsType[*secrets.Error](err); ok {
		return e
	}
	return nil
}

// judgeWake holds what would start a node against what the node says of itself.
func judgeWake(n *Node, w *Wake, dead map[string]bool, add func(severity runbook.Severity, kind, format string, args ...any)) {
	switch {
	case w.Error != "" && dead[w.connection]:
		add(runbook.Trouble, "", "")
	case w.Error != "":
		add(runbook.Trouble, "wake", "nothing could start %s, because %s does not answer: %s", n.Node, w.By, w.Error)
	case n.State == plan.On && w.State == plan.Off:
		add(runbook.Trouble, "witness", "%s is on, but %s reports it off: check that it belongs to this machine", n.Node, w.By)
	case !w.pdu && w.State == plan.On && (n.State == plan.Off || n.State == plan.Stopping):
		add(runbook.Trouble, "witness", "two proofs disagree: %s says that %s is on, but its own system says that it is not: %s",
			w.By, n.Node, n.Detail)
	}
}

// expectations are what the live inventory says that the runbook does not expect, but for selectors that did not answer.
func (s *surveyor) expectations() runbook.Problems {
	return slices.DeleteFunc(slices.Clone(s.compiled.Warnings), func(p runbook.Problem) bool {
		return slices.ContainsFunc(s.survey.Selectors, func(sel Selector) bool {
			return sel.Error != "" && (p.Path == "nodes."+sel.Node || strings.HasPrefix(p.Path, "nodes."+sel.Node+"."))
		})
	})
}
