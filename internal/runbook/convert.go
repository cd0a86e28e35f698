package runbook

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// builder turns the library's tree into values, in the order of the document, so that an alias finds the anchor that
// stands before it.
type builder struct {
	*reporter
	anchors map[string]*value
}

func (b *builder) at(t *token.Token) *value {
	if t == nil || t.Position == nil {
		return &value{line: 1, col: 1}
	}
	return position(t)
}

func (b *builder) convert(n ast.Node, depth int) *value {
	if n == nil {
		return &value{line: 1, col: 1}
	}
	v := b.at(n.GetToken())
	if depth > 10*maxNesting {
		b.add(Error, v, "", "values are nested too deep", "is this the right file?")
		v.kind = broken
		return v
	}
	switch n := n.(type) {
	case *ast.AnchorNode:
		name := n.Name.GetToken().Value
		v = b.convert(n.Value, depth+1)
		b.anchors[name] = v
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		if known, ok := b.anchors[name]; ok {
			return known
		}
		v.kind, v.width = broken, v.width+len([]rune(name))
		b.add(Error, v, "", fmt.Sprintf("*%s refers to no earlier anchor", name),
			suggest(name, slices.Sorted(maps.Keys(b.anchors)), "anchors before it")+"; text that begins with * goes in quotes")
	case *ast.TagNode:
		v = b.tagged(n, depth)
	case *ast.LiteralNode:
		v.kind, v.quoted, v.text = scalar, true, n.Value.Value
		v.last = max(v.line, b.at(n.Value.GetToken()).line)
		for _, c := range n.Value.Value {
			if c == '\n' {
				v.last++
			}
		}
	case *ast.StringNode:
		v.kind, v.text = scalar, n.Value
		v.quoted = n.Token.Type != token.StringType
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode, *ast.MergeKeyNode:
		v.kind, v.text = scalar, n.GetToken().Value
	case *ast.MappingNode:
		v = b.mapping(v, n.IsFlowStyle, n.Values, depth)
	case *ast.MappingValueNode:
		v = b.mapping(v, n.IsFlowStyle, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		v.kind, v.items, v.width = sequence, make([]*value, len(n.Values)), 1
		for i := range n.Values {
			v.items[i] = b.convert(n.Values[i], depth+1)
		}
	}
	return v
}

// tagged reads a value with a tag. Those of YAML's core schema say what a scalar is anyway; only !!str changes it.
func (b *builder) tagged(n *ast.TagNode, depth int) *value {
	v := b.convert(n.Value, depth+1)
	switch token.ReservedTagKeyword(n.Start.Value) {
	case token.StringTag:
		if v.kind == nothing {
			v.kind = scalar
		}
		v.quoted = true
	case token.IntegerTag, token.FloatTag, token.BooleanTag, token.NullTag, token.MappingTag, token.SequenceTag:
	default:
		b.add(Error, b.at(n.Start), "", fmt.Sprintf("the tag %s has no meaning here", n.Start.Value),
			"remove it; text that begins with ! goes in quotes")
	}
	return v
}

func (b *builder) mapping(v *value, flow bool, entries []*ast.MappingValueNode, depth int) *value {
	v.kind, v.width = mapping, 1
	v.pairs = make([]pair, 0, len(entries))
	seen := map[string]*value(nil)
	if len(entries) > 8 {
		seen = make(map[string]*value, len(entries))
	}
	var merges []pair
	for i, e := range entries {
		key := b.convert(e.Key, depth+1)
		if m, ok := e.Key.(*ast.MappingKeyNode); ok && m.Value != nil {
			key = b.convert(m.Value, depth+1)
		}
		if i == 0 && !flow {
			v.line, v.col, v.width = key.line, key.col, key.width
		}
		val := b.convert(e.Value, depth+1)
		if val.kind == nothing { // the library puts an absent value anywhere
			val.line, val.col, val.width = key.line, key.col, key.width
		}
		switch {
		case key.kind != scalar:
			b.add(Error, key, "", "a key must be text, but this is "+key.what(), "write key: value")
			continue
		case e.Key.IsMergeKey():
			merges = append(merges, pair{key, val})
			continue
		}
		if first := firstWith(v, seen, key.text); first != nil {
			b.add(Error, key, "", fmt.Sprintf("%q is given twice", key.text),
				fmt.Sprintf("the first is on line %d: keep one of them", first.line))
			continue
		}
		v.pairs = append(v.pairs, pair{key, val})
		if seen != nil {
			seen[key.text] = key
		}
	}
	for _, m := range merges {
		b.merge(v, m)
	}
	return v
}

// firstWith finds the key of that name which a mapping has already.
func firstWith(v *value, seen map[string]*value, name string) *value {
	if seen != nil {
		return seen[name]
	}
	if p := v.find(name); p != nil {
		return p.key
	}
	return nil
}

// merge adds what a merge key (<<) brings: keys that the mapping does not have itself.
func (b *builder) merge(into *value, m pair) {
	from := []*value{m.val}
	if m.val.kind == sequence {
		from = m.val.items
	}
	for _, f := range from {
		if f.kind != mapping {
			b.add(Error, m.key, "", "<< takes a mapping or a list of mappings, but this is "+f.kindName(),
				"write <<: *name, where &name stands before a mapping")
			return
		}
		for _, p := range f.pairs {
			if into.find(p.key.text) == nil {
				into.pairs = append(into.pairs, p)
			}
		}
	}
}
