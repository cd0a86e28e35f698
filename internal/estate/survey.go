package estate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/english"
	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

// Survey is what an estate says of itself when all of it is asked. Within each list trouble stands first, then warnings, then
// the runbook's order.
type Survey struct {
	Seconds   float64    `json:"seconds"` // that it took
	Supplies  []Supply   `json:"supplies"`
	Selectors []Selector `json:"selectors"`
	Nodes     []Node     `json:"nodes"`     // single ones and members, those alone of which there is something to ask
	Unasked   []string   `json:"unasked"`   // nodes of which there is nothing to ask: passive ones, people's steps, this machine
	Uncovered []Stray    `json:"uncovered"` // what is on and no node covers
	// Problems are what is wrong, the worst first, each where it stands in the runbook.
	Problems runbook.Problems `json:"-"`
}

// Verdict is how something is, as far as the survey can tell.
type Verdict string

// The verdicts, the worst first.
const (
	InTrouble Verdict = "trouble"
	Doubtful  Verdict = "warning"
	Well      Verdict = "well"
)

// surveyor gathers what a survey finds. What is asked at the same time is found at the same time.
type surveyor struct {
	*Estate
	each     time.Duration // for one question
	survey   Survey
	compiled *runbook.Compiled
	decls    map[string]*runbook.NodeDecl

	mu      sync.Mutex
	remarks []runbook.Remark
	reached map[string]*reached // by connection
}

// questionWithin is how long one thing has to answer. It is more than the daemon waits: calls over one connection take turns.
const questionWithin = 20 * time.Second

// Survey asks everything that the runbook names, as much as possible at the same time and for so long at most, and commands
// nothing. What does not answer is in trouble, and no error. The error says that the survey was broken off, or that nothing
// could be made of the answers.
func (e *Estate) Survey(ctx context.Context, within time.Duration) (*Survey, error) {
	whole, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("the time for the whole survey, %s, ran out", english.Span(within)))
	defer cancel()
	s := &surveyor{Estate: e, each: min(questionWithin, within), decls: map[string]*runbook.NodeDecl{}, reached: map[string]*reached{}}
	for i := range e.Runbook.Nodes {
		s.decls[e.Runbook.Nodes[i].ID] = &e.Runbook.Nodes[i]
	}
	began := time.Now()
	// The supplies come before the nodes: to verify a user is to log in for a moment, which whoever counts logins would see.
	var supplies sync.WaitGroup
	supplies.Go(func() { s.askSupplies(whole) })
	err := s.askSelectors(whole)
	supplies.Wait()
	if err != nil {
		return nil, err
	}
	var all sync.WaitGroup
	all.Go(func() { s.askForStrays(whole) })
	s.askNodes(whole)
	all.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.survey.Seconds = time.Since(began).Round(time.Millisecond).Seconds()
	s.conclude()
	return &s.survey, nil
}

// Selector is what a node that stands for many covers now.
type Selector struct {
	Node    string   `json:"node"`
	Is      Verdict  `json:"is"`
	Members int      `json:"members"`
	On      int      `json:"on"`
	Hosts   []string `json:"hosts,omitempty"`   // that they are on, as the inventory names them
	Storage []string `json:"storage,omitempty"` // that their disks are on
	Error   string   `json:"error,omitempty"`   // why they can't be listed
}

func (s *surveyor) askSelectors(ctx context.Context) error {
	live, failed := s.Members(ctx, nil)
	for _, id := range s.Selectors() {
		sel := Selector{Node: id, Members: len(live[id])}
		for _, m := range live[id] {
			if m.On {
				sel.On++
			}
			sel.Hosts, sel.Storage = append(sel.Hosts, m.Host), append(sel.Storage, m.Storage...)
		}
		sel.Hosts, sel.Storage = distinct(sel.Hosts), distinct(sel.Storage)
		if err := failed[id]; err != nil {
			sel.Error = err.Error()
		}
		s.reach(s.decls[id].Via, id, failed[id])
		s.survey.Selectors = append(s.survey.Selectors, sel)
	}
	var err error
	if s.compiled, err = s.Compile(live); err != nil {
		return err
	}
	for id, err := range s.Adopt(s.compiled.Members) {
		s.remark(runbook.Trouble, runbook.SectionNodes, s.compiled.Members[id].Selector,
			fmt.Sprintf("%s can't be commanded: %v", id, err), "")
	}
	return nil
}

func distinct(names []string) []string {
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// Node is what one node says.
type Node struct {
	Node     string  `json:"node"`
	Selector string  `json:"selector,omitempty"` // that it is a member of
	Type     string  `json:"type"`
	Is       Verdict `json:"is"`
	// State is unknown where Error says why nothing was answered.
	State     plan.State `json:"state"`
	Detail    string     `json:"detail,omitempty"`
	Error     string     `json:"error,omitempty"`
	Protected string     `json:"protected,omitempty"` // yes or no, of what can be protected
	Clean     string     `json:"clean,omitempty"`     // yes or no, of what can be flushed: nothing is left to be
	Dirty     int64      `json:"dirty,omitempty"`     // bytes
	Healthy   string     `json:"healthy,omitempty"`   // yes or no, of what has checks
	Settings  string     `json:"settings,omitempty"`  // what Protect would change
	Caution   string     `json:"caution,omitempty"`   // what will go wrong with it on that night, and how that is mended
	Wake      *Wake      `json:"wake,omitempty"`      // what starts it; nil: its own system

	decl string // its entry in the runbook
	via  string
	err  error
}

func (s *surveyor) askNodes(ctx context.Context) {
	graph := s.compiled.Estate
	for i := range graph.Len() {
		n := graph.Node(i)
		_, declared := s.decls[cmp.Or(n.Group, n.ID)]
		switch {
		case n.Kind == plan.Supply:
		case asked(n):
			s.survey.Nodes = append(s.survey.Nodes, Node{Node: n.ID, Selector: n.Group, Type: n.Type, decl: cmp.Or(n.Group, n.ID)})
		case declared && n.Group == "" && !s.stands(n.ID):
			s.survey.Unasked = append(s.survey.Unasked, n.ID)
		}
	}
	var all sync.WaitGroup
	for i := range s.survey.Nodes {
		n := &s.survey.Nodes[i]
		node, ok := s.Node(n.Node)
		if !ok {
			continue // a member that could not be made is told of
		}
		if d := s.decls[n.decl]; d != nil {
			n.via = d.Via
			all.Go(func() { n.Wake = s.askWake(ctx, d) })
		}
		all.Go(func() {
			var seen plan.Observation
			seen, n.err = ask(ctx, s.each, node.Probe)
			n.note(seen)
			s.reach(n.via, n.Node, n.silence())
		})
	}
	all.Wait()
}

// stands reports whether a node stands for many: then its members are asked.
func (s *surveyor) stands(id string) bool {
	_, many := s.set.Selector(id)
	return many
}

func (n *Node) note(seen plan.Observation) {
	if n.err != nil {
		n.Error = n.err.Error()
		return
	}
	n.State, n.Detail, n.Dirty, n.Settings, n.Caution = seen.State, seen.Detail, seen.Dirty, seen.Settings, seen.Caution
	n.Protected, n.Clean, n.Healthy = said(seen.Protected), said(seen.Clean), said(seen.Healthy)
}

func said(f plan.Fact) string {
	if f == plan.NotKnown {
		return ""
	}
	return f.String()
}

// silence says why a node did not answer; nil if it did.
func (n *Node) silence() error {
	if n.err == nil && n.State == plan.Unreachable {
		return errors.New(cmp.Or(n.Detail, "unreachable"))
	}
	if errors.Is(n.err, adapter.ErrGone) {
		return nil // its system did
	}
	return n.err
}

// Wake is what starts a node when its own system can't, and what that says of it.
type Wake struct {
	By     string     `json:"by"`
	State  plan.State `json:"state"` // of the node's power, as it says; unknown where it can't be asked
	Detail string     `json:"detail,omitempty"`
	Error  string     `json:"error,omitempty"`

	connection string // that was asked
	asked      bool
	pdu        bool
}

func (s *surveyor) askWake(ctx context.Context, d *runbook.NodeDecl) *Wake {
	w := d.Wake
	switch {
	case w == nil:
		return nil
	case w.MAC != "":
		return &Wake{By: "Wake-on-LAN", Detail: "no way to check whether a packet would wake it"}
	case w.Connection() == "":
		return &Wake{By: "the return of its power"}
	}
	told := &Wake{By: w.Connection(), connection: w.Connection()}
	var seen plan.Observation
	var err error
	switch conn := s.set.Conn(w.Connection()).(type) {
	case adapter.Powered:
		told.asked = true
		seen, err = ask(ctx, s.each, conn.Power)
	case adapter.PDU:
		told.asked, told.pdu = true, true
		told.By = "outlet " + w.Outlets.String() + " of " + w.Connection()
		seen, err = ask(ctx, s.each, func(ctx context.Context) (plan.Observation, error) { return outlets(ctx, conn, w.Outlets) })
	default:
		told.Detail = "no way to check whether it would wake it"
		return told
	}
	told.State, told.Detail = seen.State, seen.Detail
	if err = printable.Error(err); err != nil {
		told.Error = err.Error()
	}
	s.reach(w.Connection(), d.ID, err)
	return told
}

// outlets tells On if any of the outlets is on, and otherwise what the last one says.
func outlets(ctx context.Context, pdu adapter.PDU, numbers []int) (seen plan.Observation, err error) {
	for _, n := range numbers {
		if seen, err = pdu.Outlet(ctx, n); err != nil || seen.State == plan.On {
			return seen, err
		}
	}
	return seen, nil
}
