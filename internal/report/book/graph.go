package book

import (
	"fmt"
	"slices"
	"strings"

	"ebbtide/internal/plan"
	"ebbtide/internal/report/doc"
)

// The drawing's measures, in points. It fits A4 and Letter.
const (
	drawingWidth = 500.0
	drawingMost  = 620.0 // its height
	drawnText    = 7.6
	drawnSmall   = 6.2
	drawnChars   = 24 // in a line of a box
)

// mostBoxes is how many boxes are drawn one by one; of more, those of one type in one layer are one.
const mostBoxes = 40

// estateBox is a box of the drawing: nodes that are alike.
type estateBox struct {
	names  []string
	count  int
	kind   plan.Kind
	typ    string
	rack   string
	needs  []int
	detail []string // lines under its names
}

// estatePages draw the estate.
func (b *book) estatePages() {
	b.chapter("The estate at a glance")
	b.add(doc.Paragraph{Text: doc.T("Each box needs the boxes that its lines lead down to. Power down goes from top to bottom, power up " +
		"from bottom to top. A thick frame is a UPS, a double one a host; a dashed one goes off when its power does.")})
	boxes := b.drawnBoxes()
	boxes = mergeDrawn(boxes, func(d *estateBox, users string) string {
		if d.kind == plan.Supply { // two feeds are two boxes, even if the same things use both
			return "supply " + d.names[0]
		}
		return fmt.Sprint(d.typ, d.kind, d.needs, users)
	})
	if len(boxes) > mostBoxes {
		layer := drawnLayers(boxes)
		at := map[string]int{}
		for i := range boxes {
			at[boxes[i].names[0]] = layer[i]
		}
		boxes = mergeDrawn(boxes, func(d *estateBox, _ string) string {
			if d.kind == plan.Supply && b.fewSupplies() {
				return "supply " + d.names[0]
			}
			return fmt.Sprint(at[d.names[0]], d.typ, d.kind)
		})
	}
	for _, f := range drawFigures(boxes) {
		b.add(f)
	}
}

// fewSupplies reports whether the supplies can be drawn one by one, however many other nodes there are.
func (b *book) fewSupplies() bool { return len(b.supplies) <= 6 }

// drawnBoxes makes a box of each node or fold, in the order of the estate, with what it needs directly.
func (b *book) drawnBoxes() []estateBox {
	var boxes []estateBox
	at := map[string]int{}
	for i := range b.estate.Len() {
		n := b.estate.Node(i)
		if b.isJunction(n) {
			continue
		}
		name := b.folds[n.ID]
		if name == "" {
			name = n.ID
		}
		k, known := at[name]
		if !known {
			k = len(boxes)
			at[name] = k
			boxes = append(boxes, estateBox{names: []string{name}, kind: n.Kind, typ: n.Type, rack: n.Rack})
		}
		boxes[k].count++
		for _, j := range b.neededBy(i) {
			need := b.folds[b.estate.Node(j).ID]
			if need == "" {
				need = b.estate.Node(j).ID
			}
			if to, ok := at[need]; ok && to != k {
				boxes[k].needs = append(boxes[k].needs, to)
			}
		}
	}
	for i := range boxes {
		slices.Sort(boxes[i].needs)
		boxes[i].needs = slices.Compact(boxes[i].needs)
	}
	reduceDrawn(boxes)
	return boxes
}

// neededBy are the nodes that a node needs, looking through junctions.
func (b *book) neededBy(i int) []int {
	var all []int
	for _, j := range b.estate.Needs(i) {
		if b.isJunction(b.estate.Node(j)) {
			all = append(all, b.neededBy(j)...)
		} else {
			all = append(all, j)
		}
	}
	return all
}

// reduceDrawn leaves out the needs that follow from others.
func reduceDrawn(boxes []estateBox) {
	reach := make([]map[int]bool, len(boxes))
	for i := range boxes { // what a box needs comes before it
		reach[i] = map[int]bool{}
		for _, j := range boxes[i].needs {
			for k := range reach[j] {
				reach[i][k] = true
			}
		}
		boxes[i].needs = slices.DeleteFunc(boxes[i].needs, func(j int) bool { return reach[i][j] })
		for _, j := range boxes[i].needs {
			reach[i][j] = true
		}
	}
}

// mergeDrawn makes one box of those with the same key. What a key may look at is the box and who uses it.
func mergeDrawn(boxes []estateBox, key func(d *estateBox, users string) string) []estateBox {
	users := make([][]int, len(boxes))
	for i := range boxes {
		for _, j := range boxes[i].needs {
			users[j] = append(users[j], i)
		}
	}
	to, at := make([]int, len(boxes)), map[string]int{}
	var merged []estateBox
	for i := range boxes {
		k := key(&boxes[i], fmt.Sprint(users[i]))
		if have, ok := at[k]; ok {
			to[i] = have
			m := &merged[have]
			m.names, m.count = append(m.names, boxes[i].names...), m.count+boxes[i].count
			m.needs = append(m.needs, boxes[i].needs...)
			if m.rack != boxes[i].rack {
				m.rack = ""
			}
			continue
		}
		at[k], to[i] = len(merged), len(merged)
		d := boxes[i]
		d.names, d.needs = slices.Clone(d.names), slices.Clone(d.needs)
		merged = append(merged, d)
	}
	for i := range merged {
		for k, j := range merged[i].needs {
			merged[i].needs[k] = to[j]
		}
		slices.Sort(merged[i].needs)
		merged[i].needs = slices.DeleteFunc(slices.Compact(merged[i].needs), func(j int) bool { return j == i })
	}
	return merged
}

// drawnLayers is how deep each box stands: 0 needs nothing.
func drawnLayers(boxes []estateBox) []int {
	layer := make([]int, len(boxes))
	for i := range boxes {
		for _, j := range boxes[i].needs {
			layer[i] = max(layer[i], layer[j]+1)
		}
	}
	return layer
}

// label is what is written in a box.
func (d *estateBox) label() []string {
	names := strings.Join(d.names, ", ")
	if len(d.names) > 8 {
		names = strings.Join(d.names[:6], ", ") + " and " + fmt.Sprint(len(d.names)-6) + " more"
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(names) {
		for len([]rune(word)) > drawnChars {
			word = string([]rune(word)[:drawnChars-1]) + "…"
		}
		if line != "" && len([]rune(line))+1+len([]rune(word)) > drawnChars {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}

// small is the last line of a box.
func (d *estateBox) small() string {
	text := d.typ
	if d.count > 1 {
		text = fmt.Sprintf("%s ×%d", text, d.count)
	}
	return strings.Join(doc.Filled(text, d.rack), " · ")
}

func (d *estateBox) size() layerBox {
	chars := 0.0
	for _, l := range d.label() {
		chars = max(chars, float64(len([]rune(l)))*drawnText*0.56)
	}
	for _, l := range append(d.detail, d.small()) {
		chars = max(chars, float64(len([]rune(l)))*drawnSmall*0.53)
	}
	return layerBox{width: max(44, chars+12), height: 8 + drawnText*1.25*float64(len(d.label())) + drawnSmall*1.3*float64(1+len(d.detail))}
}

// drawFigures draws boxes, on several pages if they do not fit one.
func drawFigures(boxes []estateBox) []doc.Figure {
	sizes := make([]layerBox, len(boxes))
	var edges [][2]int
	for i := range boxes {
		sizes[i] = boxes[i].size()
		for _, j := range boxes[i].needs {
			edges = append(edges, [2]int{i, j})
		}
	}
	rows := layerRows(sizes, edges, drawingWidth)
	var parts [][][]int
	used := drawingMost + 1
	for _, row := range rows {
		height := rowGap
		for _, i := range row {
			height = max(height, sizes[i].height+rowGap)
		}
		if used+height > drawingMost {
			parts, used = append(parts, nil), 0
		}
		used += height
		parts[len(parts)-1] = append(parts[len(parts)-1], row)
	}
	part := make([]int, len(boxes))
	for p := range parts {
		for _, row := range parts[p] {
			for _, i := range row {
				part[i] = p
			}
		}
	}
	var figures []doc.Figure
	for p := range parts {
		figures = append(figures, drawPart(boxes, edges, parts, part, p))
	}
	return figures
}

// drawPart draws one page's rows. What is needed from another page is written into the box.
func drawPart(all []estateBox, edges [][2]int, parts [][][]int, part []int, p int) doc.Figure {
	boxes := slices.Clone(all)
	var here [][2]int
	for _, e := range edges {
		switch {
		case part[e[0]] == p && part[e[1]] == p:
			here = append(here, e)
		case part[e[0]] == p:
			d := &boxes[e[0]]
			d.detail = append(slices.Clone(d.detail), "needs "+all[e[1]].names[0]+fmt.Sprintf(" (part %d)", part[e[1]]+1))
		}
	}
	sizes := make([]layerBox, len(boxes))
	for i := range boxes {
		sizes[i] = boxes[i].size()
	}
	l := layerOut(sizes, here, parts[p], drawingWidth)
	f := doc.Figure{
		Anchor: fmt.Sprintf("drawing-%d", p+1), Caption: "The estate: what needs what.", Width: l.crop(),
		Height: l.height() + 4,
	}
	if len(parts) > 1 {
		f.Caption = fmt.Sprintf("The estate: what needs what. Part %d of %d.", p+1, len(parts))
	}
	for _, path := range l.paths {
		f.Shapes = append(f.Shapes, doc.Line{Points: path, Ink: doc.Grey, Width: 0.7, Arrow: true})
	}
	for r, row := range parts[p] {
		for _, i := range row {
			d := &boxes[i]
			f.Shapes = append(f.Shapes, d.shapes(l.x[i]-sizes[i].width/2, l.y[r], sizes[i])...)
			line := strings.Join(d.names, ", ") + " (" + d.small() + ")"
			if len(all[i].needs) > 0 {
				var needs []string
				for _, j := range all[i].needs {
					needs = append(needs, strings.Join(all[j].names, ", "))
				}
				line += " needs " + strings.Join(needs, ", ")
			}
			f.Listing = append(f.Listing, line)
		}
	}
	return f
}

// shapes draw a box: its frame says what it is.
func (d *estateBox) shapes(x, y float64, size layerBox) []doc.Shape {
	frame := doc.Area{Points: doc.Box(x, y, size.width, size.height), Fill: doc.Background, Edge: doc.Foreground, Width: 0.8}
	var all []doc.Shape
	switch d.kind {
	case plan.Supply:
		frame.Width = 2.2
	case plan.Passive, plan.Outlet:
		frame.Dashed = true
	case plan.Other, plan.Self:
		frame.Fill = doc.Pale
	case plan.VM, plan.Host, plan.Manual, plan.Cluster:
	}
	all = append(all, frame)
	if d.kind == plan.Host {
		all = append(all, doc.Area{
			Points: doc.Box(x+2, y+2, size.width-4, size.height-4), Fill: doc.NoInk,
			Edge: doc.Foreground, Width: 0.5,
		})
	}
	at := y + 3
	for _, l := range d.label() {
		at += drawnText * 1.25
		all = append(all, doc.Label{At: doc.Pt(x+size.width/2, at-0.5), Text: l, Size: drawnText, Bold: true, Align: doc.Centre})
	}
	for _, l := range append([]string{d.small()}, d.detail...) {
		at += drawnSmall * 1.3
		all = append(all, doc.Label{At: doc.Pt(x+size.width/2, at), Text: l, Size: drawnSmall, Align: doc.Centre})
	}
	return all
}
