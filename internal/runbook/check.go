package runbook

import (
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// Check finds what is in the language but makes no sense: names that nothing has, rings, orders that can't be kept,
// nodes that nothing would ever take down.
func (rb *Runbook) Check() Problems {
	c := newChecker(rb)
	for _, rule := range []func(){
		c.supplies, c.connections, c.nodes, c.references, c.cycles, c.reach, c.carriers, c.loads,
		c.goesForOthers, c.stages, c.triggers, c.limits,
	} {
		rule()
	}
	c.problems = slices.DeleteFunc(c.problems, rb.follows)
	return c.finish()
}

// follows reports whether a problem only follows from what Parse reported: at the same place, or about the key that it
// is in. A warning about a node follows from any mistake in its entry.
func (rb *Runbook) follows(p Problem) bool {
	return slices.ContainsFunc(rb.parsed, func(q Problem) bool {
		if q.Line == p.Line && q.Column == p.Column {
			return true
		}
		rest, within := strings.CutPrefix(q.Path, p.Path)
		within = within && p.Path != "" && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "["))
		return within && (p.Severity == Warning || strings.Count(p.Path, ".") > 1)
	})
}

type checker struct {
	*reporter
	rb       *Runbook
	types    []*schema.AnyNodeType // per node; nil: unknown, which is reported already
	traits   []plan.Node           // per node with a type
	node     map[string]int
	supply   map[string]int
	conn     map[string]int
	vertices []vertex // the nodes, then the label selectors that are used
	selector map[string]int
	labelled map[string][]int // nodes by "key=value"
	order    []int            // vertices, each after what it depends on; nil: there is a ring
	guesses  int              // suggestions made among names
}

// vertex is a node or a label selector in the graph of dependencies.
type vertex struct {
	name string
	deps []edge
	fed  bool // by a supply, itself
	open bool // names something unknown: nothing can be said about what it lacks
}

type edge struct {
	to int
	at *value // where it stands; nil: from a label selector to its nodes
}

func newChecker(rb *Runbook) *checker {
	c := &checker{
		reporter: &reporter{file: rb.reporter.file, lines: rb.reporter.lines, masks: rb.reporter.masks}, rb: rb,
		types: make([]*schema.AnyNodeType, len(rb.Nodes)), traits: make([]plan.Node, len(rb.Nodes)),
		node: make(map[string]int, len(rb.Nodes)), supply: map[string]int{}, conn: map[string]int{},
		vertices: make([]vertex, len(rb.Nodes)), selector: map[string]int{}, labelled: map[string][]int{},
	}
	for i := range rb.Supplies {
		c.supply[rb.Supplies[i].ID] = i
	}
	for i := range rb.Connections {
		c.conn[rb.Connections[i].Name] = i
	}
	byName := map[string]*schema.AnyNodeType{}
	for i := range rb.schema.Nodes {
		byName[rb.schema.Nodes[i].Name] = &rb.schema.Nodes[i]
	}
	for i := range rb.Nodes {
		n := &rb.Nodes[i]
		c.node[n.ID] = i
		c.vertices[i].name = n.ID
		if t := byName[n.Type]; t != nil {
			c.types[i], c.traits[i] = t, nodeOf(&rb.schema, t, n)
		}
		for _, l := range n.Labels {
			key := l.Key + "=" + l.Value
			c.labelled[key] = append(c.labelled[key], i)
		}
	}
	return c
}

// say reports a problem at the value of a key below a declaration, or at the declaration's own key if it isn't there.
func (c *checker) say(s Severity, section string, decl pair, keys []string, hint, format string, args ...any) {
	at, v := decl.key, decl.val
	for _, k := range keys {
		p := v.find(k)
		if p == nil {
			break
		}
		v = p.val
		at = v
		if v.kind == mapping || v.kind == sequence {
			at = p.key
		}
	}
	path := strings.Join(append([]string{section, decl.key.text}, keys...), ".")
	c.add(s, at, path, fmt.Sprintf(format, args...), hint)
}

func (c *checker) nodeError(i int, keys []string, hint, format string, args ...any) {
	c.say(Error, "nodes", c.rb.Nodes[i].at, keys, hint, format, args...)
}

func (c *checker) nodeWarning(i int, keys []string, hint, format string, args ...any) {
	c.say(Warning, "nodes", c.rb.Nodes[i].at, keys, hint, format, args...)
}

// maxGuesses bounds how often an unknown name is compared with all known ones.
const maxGuesses = 50

// guess is the hint for an unknown name.
func (c *checker) guess(name string, known map[string]int, what string) string {
	if c.guesses++; c.guesses > maxGuesses {
		return ""
	}
	names := make([]string, 0, len(known))
	for n := range known {
		names = append(names, n)
	}
	slices.Sort(names)
	return suggest(name, names, what)
}

// items lists the values of a list below a declaration.
func items(decl pair, key string) []*value {
	if v := decl.val.get(key); v != nil && v.kind == sequence {
		return v.items
	}
	return nil
}
