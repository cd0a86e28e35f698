package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Digest names the plan: two plans with the same digest do the same things in the same order under the same limits.
// It is the first 12 hexadecimal digits of a SHA-256 over every step, what it waits for, its times, and the limits.
func (p *Plan) Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "ebbtide plan 1\n%s\n", p.Goal)
	for _, l := range p.estate.limits {
		fmt.Fprintf(h, "limit %q %d %d\n", l.Class, l.Total, l.PerHost)
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		fmt.Fprintf(h, "%q %s %t %q %v %v %d %d", s.Name, s.Verb, s.Milestone, s.Stage, s.After, s.Feeds, s.Times.Nominal, s.Times.Within)
		if s.Node >= 0 {
			n := p.estate.Node(s.Node)
			fmt.Fprintf(h, " %q %s %q %s %d %s %d %d %t %t", n.Type, n.Kind, n.Host, n.Risk, n.Can, allTimes(n), n.Attempts, n.OffAfter, n.ByPower, n.Healthy)
			if n.Forces > 1 {
				fmt.Fprintf(h, " forces %d", n.Forces)
			}
		}
		fmt.Fprintln(h)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// allTimes is how fmt writes the times of all verbs, in a fifth of its time: they are most of what is digested.
func allTimes(n *Node) []byte {
	text := []byte{'['}
	for v, t := range n.Times {
		if v > 0 {
			text = append(text, ' ')
		}
		text = append(text, '{')
		text = append(text, t.Nominal.String()...)
		text = append(text, ' ')
		text = append(text, t.Within.String()...)
		text = append(text, '}')
	}
	return append(text, ']')
}
