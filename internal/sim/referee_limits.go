package sim

import "fmt"

// limits is rule 9, over intents without a result.
func (r *Referee) limits(t truth) {
	for _, l := range r.estate.Limits() {
		total, perHost := 0, map[string]int{}
		for i, flies := range r.flying {
			if n := r.estate.Node(i); flies && n.Type == l.Class {
				total++
				perHost[n.Host]++
			}
		}
		if l.Total > 0 && total > l.Total {
			r.violate(t.time(), fmt.Sprintf("9: %d of %s at once, limit %d", total, l.Class, l.Total))
		}
		for host, n := range perHost {
			if l.PerHost > 0 && n > l.PerHost {
				r.violate(t.time(), fmt.Sprintf("9: %d of %s at once on %s, limit %d", n, l.Class, host, l.PerHost))
			}
		}
	}
}
