package referee

import "ebbtide/internal/plan"

// asking remembers the answers to one question that is asked of nodes and, for each, of what it needs.
type asking struct {
	question uint32
	asked    []uint32 // per node: the question that its answer belongs to
	answer   []bool
}

func newAsking(nodes int) asking {
	return asking{question: 1, asked: make([]uint32, nodes), answer: make([]bool, nodes)}
}

// anew forgets the answers: another question is asked, or of another moment.
func (a *asking) anew() { a.question++ }

// goesDark reports whether a node goes dark with the supplies that are lost: the same as the estate's own Scope, found in
// another way, so that a fault of that is seen. It asks each node for its own reasons, and not all in order. The caller
// begins a question with asking.anew.
func (r *Referee) goesDark(i int, lost func(*supply) bool) bool {
	if r.asking.asked[i] == r.asking.question {
		return r.asking.answer[i]
	}
	dark := false
	if p := r.place[i]; p >= 0 {
		dark = lost(&r.supplies[p])
	} else {
		fed, live := 0, 0
		for _, j := range r.estate.Needs(i) {
			switch {
			case r.place[j] < 0:
				dark = dark || r.goesDark(j, lost)
			default:
				if fed++; !r.goesDark(j, lost) {
					live++
				}
			}
		}
		dark = dark || fed > 0 && live == 0
	}
	r.asking.asked[i], r.asking.answer[i] = r.asking.question, dark
	return dark
}

// besideIt reports whether a VM needs what may have its power elsewhere: another VM or all of a selector, a cluster. That must
// be on (rule 10), which is all.
func (r *Referee) besideIt(i, other int) bool {
	if r.estate.Node(i).Kind != plan.VM {
		return false
	}
	kind := r.estate.Node(other).Kind
	return kind == plan.VM || kind == plan.Cluster || kind == plan.Passive && len(r.estate.Feeds(other)) == 0
}

// carried reports whether each of the places that a node has its power from has a supply that will do: any of its own feeds;
// without any, each thing that it needs must be carried so. The caller begins a question with asking.anew.
func (r *Referee) carried(i int, will func(*supply) bool) bool {
	if r.asking.asked[i] == r.asking.question {
		return r.asking.answer[i]
	}
	feeds := r.estate.Feeds(i)
	is := len(feeds) == 0
	for _, f := range feeds {
		is = is || will(r.supplyAt(f))
	}
	if len(feeds) == 0 && r.estate.Node(i).Kind != plan.Supply {
		for _, j := range r.estate.Needs(i) {
			is = is && (r.besideIt(i, j) || r.carried(j, will))
		}
	}
	r.asking.asked[i], r.asking.answer[i] = r.asking.question, is
	return is
}
