package runbook

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// Load reads a runbook and checks it: all that is wrong with it comes at once, by position. The runbook is nil if the
// file is no YAML at all, or far too large; it may be compiled if the problems have no errors.
func Load(name string, src []byte, types schema.Types) (*Runbook, Problems) {
	rb, problems := Parse(name, src, types)
	if rb == nil {
		return nil, problems
	}
	all := append(problems, rb.Check()...)
	all.sort()
	return rb, all
}

// Parse reads a runbook and reports what is not in the language: unknown keys, wrong types, missing keys, inline
// secrets. What is in the language but makes no sense is found by Check.
func Parse(name string, src []byte, types schema.Types) (*Runbook, Problems) {
	r := &reporter{file: name}
	top := r.read(src)
	if top == nil {
		return nil, r.finish()
	}
	d := &decoder{reporter: r, fields: map[reflect.Type][]field{}}
	rb := &Runbook{reporter: r, schema: types, top: top}
	d.runbook(top, rb)
	if d.steps > maxSteps {
		return nil, r.finish()
	}
	rb.refs, rb.parsed = d.refs, r.finish()
	return rb, slices.Clone(rb.parsed)
}

// topKeys are the keys of a runbook. Sections are read by themselves, in this order.
var topKeys = []string{"version", "runbook", "contacts", "supplies", "connections", "nodes", "policy"}

func (d *decoder) runbook(top *value, rb *Runbook) {
	misspelled := map[string]bool{}
	for _, p := range top.pairs {
		if !slices.Contains(topKeys, p.key.text) && !strings.HasPrefix(p.key.text, "x-") {
			misspelled[nearest(p.key.text, topKeys)] = true
			d.enter(p.key.text)
			d.fail(p.key, suggest(p.key.text, topKeys, "known keys"), "unknown key %q in a runbook", p.key.text)
			d.leave()
		}
	}
	for _, key := range topKeys {
		p := top.find(key)
		if p == nil {
			optional := key == "contacts" || key == "connections" || key == "policy" // Check asks for a policy's triggers
			if !optional && !misspelled[key] {
				hint := "add " + key + ": …"
				if key == "version" {
					hint = fmt.Sprintf("add version: %d", Version)
				}
				d.fail(top, hint, "the runbook lacks the key %s", key)
			}
			continue
		}
		d.enter(key)
		switch key {
		case "version":
			d.version(p.val, rb)
		case "runbook":
			d.decodeInto(p.val, &rb.Name)
		case "contacts":
			d.decodeInto(p.val, &rb.Contacts)
		case "supplies":
			d.supplies(p.val, rb)
		case "connections":
			d.connections(p.val, rb)
		case "nodes":
			d.nodes(p.val, rb)
		case "policy":
			rb.Policy.at = *p
			d.policy(p.val, rb)
		}
		d.leave()
	}
}

func (d *decoder) version(v *value, rb *Runbook) {
	before := len(d.problems)
	d.decodeInto(v, &rb.Version)
	if len(d.problems) == before && v.kind == scalar && rb.Version != Version {
		d.fail(v, fmt.Sprintf("write version: %d, or use the Ebbtide that the runbook was written for", Version),
			"version %d of the runbook language is unknown", rb.Version)
	}
}

// each walks the entries of a section by id.
func (d *decoder) each(v *value, what string, read func(p pair)) {
	if !d.want(v, mapping, "a mapping from names to "+what) {
		return
	}
	for _, p := range v.pairs {
		d.enter(p.key.text)
		if why := badID(p.key.text); why != "" {
			d.fail(p.key, "a name is text without / or =, such as esx01", "%q can't be a name: %s", p.key.text, why)
		}
		read(p)
		d.leave()
	}
}

// badID says why text can't be an id, or nothing. A / is between a selector and its member, a = makes a label selector.
func badID(s string) string {
	switch {
	case s == "":
		return "it is empty"
	case len(s) > 200:
		return "it is too long"
	case strings.TrimSpace(s) != s:
		return "it starts or ends with a space"
	case strings.ContainsAny(s, "/="):
		return "it has a / or ="
	case strings.ContainsFunc(s, unicode.IsControl):
		return "it has a control character"
	}
	return ""
}

// typed reads the type key, which says which other keys there are. "" if it is not known, which is reported.
func (d *decoder) typed(p pair, what string, known []string) string {
	v := p.val.get("type")
	switch {
	case v == nil:
		d.fail(p.key, suggest("", known, "types"), "%s lacks the key type", what)
		return ""
	case v.kind != scalar:
		d.enter("type")
		d.want(v, scalar, "the name of a type")
		d.leave()
		return ""
	case slices.Contains(known, v.text):
		return v.text
	}
	d.enter("type")
	d.fail(v, suggest(v.text, known, "types"), "unknown type %s of %s", v.what(), what)
	d.leave()
	return ""
}

type typeKey struct {
	Type readElsewhere `yaml:"type"`
}

// readElsewhere is a key that is known but read by itself.
type readElsewhere struct{}

func (readElsewhere) read(*decoder, *value) {}

func (d *decoder) connections(v *value, rb *Runbook) {
	var known []string
	for _, t := range rb.schema.Connections {
		known = append(known, t.Name)
	}
	d.each(v, "connections", func(p pair) {
		c := ConnectionDecl{Connection: schema.Connection{Name: p.key.text}, at: p}
		defer func() { rb.Connections = append(rb.Connections, c) }()
		if !d.want(p.val, mapping, "a mapping") {
			return
		}
		if c.Type = d.typed(p, "a connection", known); c.Type == "" {
			for _, k := range p.val.pairs { // which of them are secrets is not known
				if !slices.Contains([]string{"type", "url", "address", "user", "username"}, k.key.text) {
					d.maskAll(k.val)
				}
			}
			return
		}
		t, _ := rb.schema.Connection(c.Type)
		before := len(d.problems)
		c.Spec = d.spec(p, "a connection of type "+c.Type, t.Spec, reflect.ValueOf(&typeKey{}).Elem())
		if t.Check != nil && len(d.problems) == before {
			d.typeErrors(p, t.Check(c.Spec))
		}
	})
}

// spec decodes a type's own keys beside the common ones.
func (d *decoder) spec(p pair, what string, make func() any, common reflect.Value) any {
	if make == nil {
		d.mapping(p.val, p.key, what, common)
		return nil
	}
	spec := make()
	d.mapping(p.val, p.key, what, common, reflect.ValueOf(spec).Elem())
	return spec
}

// typeErrors reports what a type's own check found.
func (d *decoder) typeErrors(p pair, errs []error) {
	for _, err := range errs {
		if ke, ok := errors.AsType[*schema.KeyError](err); ok && p.val.find(ke.Key) != nil {
			d.enter(ke.Key)
			d.fail(p.val.find(ke.Key).key, "", "%v", err)
			d.leave()
			continue
		}
		d.fail(p.key, "", "%v", err)
	}
}

type nodeKeys struct {
	Type      readElsewhere     `yaml:"type"`
	Via       string            `yaml:"via"`
	FedBy     []string          `yaml:"fed_by"`
	DependsOn []string          `yaml:"depends_on"`
	Labels    map[string]string `yaml:"labels"`
	Serves    []string          `yaml:"serves"`
	Watts     watts             `yaml:"watts"`
	Rack      string            `yaml:"rack"`
	Notes     string            `yaml:"notes"`
	Risk      *riskKey          `yaml:"risk"`
	Expect    int               `yaml:"expect" check:"positive"`
	Down      Down              `yaml:"down"`
	Up        upKeys            `yaml:"up"`
}

type upKeys struct {
	Up      `yaml:",inline"`
	Wake    *schema.Wake         `yaml:"wake"`
	Healthy []schema.HealthCheck `yaml:"healthy"`
}

type riskKey plan.Risk

func (r *riskKey) read(d *decoder, v *value) {
	if !d.want(v, scalar, "a risk") {
		return
	}
	risk, err := plan.ParseRisk(v.text)
	if err != nil {
		d.fail(v, suggest(v.text, plan.RiskNames(), "risks, lowest first"), "unknown risk %s", v.what())
	}
	*r = riskKey(risk)
}

func (d *decoder) nodes(v *value, rb *Runbook) {
	known := make([]string, 0, len(rb.schema.Nodes))
	types := make(map[string]*schema.AnyNodeType, len(rb.schema.Nodes))
	for i := range rb.schema.Nodes {
		known = append(known, rb.schema.Nodes[i].Name)
		types[rb.schema.Nodes[i].Name] = &rb.schema.Nodes[i]
	}
	rb.Nodes = make([]NodeDecl, 0, len(v.pairs))
	d.each(v, "nodes", func(p pair) {
		rb.Nodes = append(rb.Nodes, NodeDecl{Node: schema.Node{ID: p.key.text}, at: p})
		if d.want(p.val, mapping, "a mapping") {
			d.node(p, &rb.Nodes[len(rb.Nodes)-1], known, types)
		}
	})
	if v.kind == mapping && len(v.pairs) == 0 {
		d.fail(v, "write server: {type: …, fed_by: […]}", "there is no node: nothing would be shut down")
	}
}

func (d *decoder) node(p pair, n *NodeDecl, known []string, types map[string]*schema.AnyNodeType) {
	var keys nodeKeys
	common := reflect.ValueOf(&keys).Elem()
	before := len(d.problems)
	if n.Type = d.typed(p, "a node", known); n.Type == "" {
		// Which other keys it may have is not known: only the common ones are read.
		rest := *p.val
		rest.pairs = slices.DeleteFunc(slices.Clone(rest.pairs), func(k pair) bool {
			f, _ := d.fieldOf(k.key.text, []reflect.Value{common})
			return f == nil
		})
		d.mapping(&rest, p.key, "a node", common)
	} else {
		t := types[n.Type]
		n.Spec = d.spec(p, "a node of type "+n.Type, t.Spec, common)
		if t.Check != nil && len(d.problems) == before {
			d.typeErrors(p, t.Check(n.Spec))
		}
	}
	n.Via, n.DependsOn, n.Rack, n.Notes = keys.Via, keys.DependsOn, keys.Rack, keys.Notes
	n.FedBy, n.Outlet = outletOf(keys.FedBy)
	n.Watts, n.Serves = float64(keys.Watts), keys.Serves
	n.Risk, n.Expect, n.Down, n.Up = (*plan.Risk)(keys.Risk), keys.Expect, keys.Down, keys.Up.Up
	n.Wake, n.Healthy = keys.Up.Wake, keys.Up.Healthy
	for k, v := range keys.Labels {
		n.Labels = append(n.Labels, plan.Label{Key: k, Value: v})
	}
	slices.SortFunc(n.Labels, func(a, b plan.Label) int { return cmp.Compare(a.Key, b.Key) })
}
