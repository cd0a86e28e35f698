package plan

import (
	"fmt"
	"slices"
	"strings"
)

// box is what a drawing shows as one: a node, or all members of a selector.
type box struct {
	id    string
	label string
	kind  Kind
	stage Stage
	count int
}

// drawing folds the plan's nodes into boxes and its waits into arrows between them.
func (p *Plan) drawing() (boxes []box, arrows [][2]int) {
	byID := map[string]int{}
	of := make([]int, p.estate.Len())
	for i := range of {
		of[i] = -1
	}
	for i := range p.Steps {
		node := p.Steps[i].Node
		if node < 0 || of[node] >= 0 {
			continue
		}
		n := p.estate.Node(node)
		id := n.ID
		if n.Group != "" {
			id = n.Group
		}
		at, known := byID[id]
		if !known {
			at = len(boxes)
			byID[id] = at
			boxes = append(boxes, box{id: id, label: id, kind: n.Kind, stage: n.Stage})
		}
		if boxes[at].kind == Passive { // the junction of a selector: its members say what it is
			boxes[at].kind = n.Kind
		}
		if n.Group != "" {
			boxes[at].count++
		}
		of[node] = at
	}
	for i := range of {
		for _, j := range p.estate.Needs(i) {
			if of[i] >= 0 && of[j] >= 0 && of[i] != of[j] {
				arrows = append(arrows, [2]int{of[i], of[j]})
			}
		}
	}
	slices.SortFunc(arrows, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	for i := range boxes {
		if boxes[i].count > 1 {
			boxes[i].label = fmt.Sprintf("%s ×%d", boxes[i].id, boxes[i].count)
		}
	}
	return boxes, slices.Compact(arrows)
}

// DOT draws the graph for Graphviz: what needs points to what it needs, supplies at the bottom.
func (p *Plan) DOT() string {
	boxes, arrows := p.drawing()
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %q {\n  rankdir=TB;\n  node [fontname=\"Helvetica\", fontsize=11];\n  edge [arrowsize=0.7];\n", "ebbtide "+string(p.Goal))
	for i, x := range boxes {
		fmt.Fprintf(&b, "  n%d [label=%q, shape=%s];\n", i, x.label, dotShape(x.kind))
	}
	for _, a := range arrows {
		fmt.Fprintf(&b, "  n%d -> n%d;\n", a[0], a[1])
	}
	b.WriteString("}\n")
	return b.String()
}

func dotShape(k Kind) string {
	switch k {
	case VM:
		return "box"
	case Host:
		return "box3d"
	case Supply:
		return "house"
	case Self:
		return "doubleoctagon"
	case Manual:
		return "ellipse"
	case Passive:
		return "plaintext"
	case Other:
		return "cylinder"
	default:
		return "box"
	}
}

// Mermaid draws the same graph for Markdown pages.
func (p *Plan) Mermaid() string {
	boxes, arrows := p.drawing()
	var b strings.Builder
	b.WriteString("flowchart TB\n")
	for i, x := range boxes {
		open, end := mermaidShape(x.kind)
		fmt.Fprintf(&b, "  n%d%s\"%s\"%s\n", i, open, strings.ReplaceAll(x.label, `"`, "#quot;"), end)
	}
	for _, a := range arrows {
		fmt.Fprintf(&b, "  n%d --> n%d\n", a[0], a[1])
	}
	return b.String()
}

func mermaidShape(k Kind) (open, end string) {
	switch k {
	case Host:
		return "[[", "]]"
	case Supply:
		return "{{", "}}"
	case Other:
		return "[(", ")]"
	case Self, Manual:
		return "([", "])"
	case VM, Passive:
		return "[", "]"
	default:
		return "[", "]"
	}
}
