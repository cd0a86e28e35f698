package render

import (
	"fmt"
	"strconv"
	"strings"

	"ebbtide/internal/report/doc"
)

// figure draws a figure as SVG, in the inks of the page.
func (h *hypertext) figure(f doc.Figure) {
	h.figures++
	h.f("<figure%s>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-labelledby=\"figure-%d\"><svg viewBox=\"0 0 %s %s\" "+
		"width=\"%s\" height=\"%s\" role=\"img\" aria-labelledby=\"figure-%d\">\n",
		id(f.Anchor), h.figures, num(f.Width), num(f.Height), num(f.Width), num(f.Height), h.figures)
	for _, s := range f.Shapes {
		switch s := s.(type) {
		case doc.Line:
			h.f("<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"%s/>\n", svgPoints(s.Points), svgInk(s.Ink),
				num(lineWidth(s.Width)), svgDashes(s.Dashed))
			if s.Arrow {
				if head := arrowHead(s.Points, arrowSize); head != nil {
					h.f("<polygon points=\"%s\" fill=\"%s\"/>\n", svgPoints(head), svgInk(s.Ink))
				}
			}
		case doc.Area:
			h.f("<polygon points=\"%s\" fill=\"%s\" stroke=\"%s\" stroke-width=\"%s\"%s/>\n", svgPoints(s.Points), svgInk(s.Fill),
				svgInk(s.Edge), num(lineWidth(s.Width)), svgDashes(s.Dashed))
		case doc.Label:
			weight := ""
			if s.Bold {
				weight = ` font-weight="bold"`
			}
			h.f("<text x=\"%s\" y=\"%s\" font-size=\"%s\" text-anchor=\"%s\" fill=\"%s\"%s>%s</text>\n",
				num(s.At.X), num(s.At.Y), num(letterSize(s.Size)), [...]string{"start", "middle", "end"}[s.Align], svgInk(s.Ink),
				weight, esc(s.Text))
		}
	}
	h.f("</svg></div>\n<figcaption id=\"figure-%d\">%s</figcaption>\n", h.figures, esc(f.Caption))
	if len(f.Listing) > 0 {
		h.f("<details><summary>The same in words</summary>\n<pre>%s</pre></details>\n", esc(strings.Join(f.Listing, "\n")))
	}
	h.f("</figure>\n")
}

// arrowSize is how long the head of an arrow is, in points.
const arrowSize = 5

// num writes a measure to a hundredth of a point.
func num(x float64) string {
	s := strings.TrimRight(strings.TrimRight(strconv.FormatFloat(x, 'f', 2, 64), "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}

func svgPoints(points []doc.Point) string {
	parts := make([]string, len(points))
	for i, p := range points {
		parts[i] = num(p.X) + "," + num(p.Y)
	}
	return strings.Join(parts, " ")
}

func svgInk(i doc.Ink) string {
	if i == doc.NoInk {
		return "none"
	}
	return fmt.Sprintf("var(--ink%d)", i)
}

func svgDashes(dashed bool) string {
	if dashed {
		return ` stroke-dasharray="4 3"`
	}
	return ""
}
