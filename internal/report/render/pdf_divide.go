package render

import (
	"ebbtide/internal/report/doc"
)

// stepEdges is the room that the frame of a step takes above and below its text, with what is left free after it.
const stepEdges = 2*stepPad + 6

// A step that takes more than this part of a page may be divided, so that a page does not end half empty; never so that
// fewer lines than these are left for the next page.
const (
	tall      = 0.2
	leastRest = 3
)

// box is a head with fields under it, measured before it is set.
type box struct {
	fields []doc.Field
	high   []float64 // of each field
	edges  float64   // of its head and frame
	may    []int     // with so many fields a page may end before the rest
}

func (p *printer) measured(head float64, fields []doc.Field) box {
	b := box{fields: fields, high: make([]float64, len(fields)), edges: head + stepEdges}
	for i, f := range fields {
		b.high[i] = float64(len(p.fieldLines(f)))*leading(fieldLook.size) + 1
	}
	if whole := b.height(len(fields)); whole > tall*p.whole() {
		for n := 1; n < len(fields); n++ {
			if fields[n].Apart && whole-b.height(n) >= leastRest*leading(fieldLook.size) {
				b.may = append(b.may, n)
			}
		}
	}
	return b
}

// height is that with the first fields.
func (b *box) height(fields int) float64 {
	height := b.edges
	for _, h := range b.high[:fields] {
		height += h
	}
	return height
}

// here is how many fields a page with so much room takes: all of them if what comes after them, so high, fits too, else as
// many as may stand without the rest; none if the box begins on the next page.
func (b *box) here(room, after float64) int {
	if b.height(len(b.fields))+after <= room {
		return len(b.fields)
	}
	here := 0
	for _, n := range b.may {
		if b.height(n) <= room {
			here = n
		}
	}
	return here
}

// lead is how much of the box must stand on the page where what leads to it stands, with what comes after it, so high,
// where all of the box stands there.
func (b *box) lead(after float64) float64 {
	if len(b.may) > 0 {
		return b.height(b.may[0])
	}
	return b.height(len(b.fields)) + after
}

// after is what is left of the box after some fields.
func (b *box) after(fields int) box {
	rest := box{fields: b.fields[fields:], high: b.high[fields:], edges: b.edges}
	for _, n := range b.may {
		if n > fields {
			rest.may = append(rest.may, n-fields)
		}
	}
	return rest
}
