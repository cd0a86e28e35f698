package plan

import "slices"

// Sources lists the supplies whose power a node draws, as positions: its own feeds; without any those of the host that
// it runs on, or else of the first node that it depends on and that has some. The slice is not to be changed.
func (e *Estate) Sources(i int) []int {
	if len(e.feeds[i]) > 0 {
		return e.feeds[i]
	}
	if carrier := e.Carrier(i); carrier >= 0 {
		return e.Sources(carrier)
	}
	return nil
}

// AllSources lists the supplies that a node may draw its power from: as Sources, but that something without feeds that runs on no host may
// draw it through any of what it depends on.
func (e *Estate) AllSources(i int) []int {
	carrier := e.Carrier(i)
	if carrier < 0 || e.nodes[carrier].Kind == Host {
		return e.Sources(i)
	}
	var all []int
	for _, d := range e.deps[i] {
		all = append(all, e.AllSources(d)...)
	}
	return all
}

// Carrier gives what a node without feeds of its own has its power from: the host that it runs on, or else the first node that it
// depends on and that has some; -1: nothing.
func (e *Estate) Carrier(i int) int { return e.carriers[i] }

// notFound stands for a carrier that is not known yet.
const notFound = -2

// findCarriers finds them all, when the estate is made.
func (e *Estate) findCarriers() {
	e.carriers = slices.Repeat([]int{notFound}, len(e.nodes))
	for i := range e.nodes {
		e.findCarrier(i)
	}
}

// findCarrier finds one, and those that it rests on, each once: a chain of many would take for ever.
func (e *Estate) findCarrier(i int) int {
	if e.carriers[i] == notFound {
		e.carriers[i] = -1
		e.carriers[i] = e.carrierOf(i)
	}
	return e.carriers[i]
}

func (e *Estate) carrierOf(i int) int {
	if len(e.feeds[i]) > 0 {
		return -1
	}
	if host, ok := e.index[e.nodes[i].Host]; ok {
		return host
	}
	for _, kind := range [...]bool{true, false} { // hosts go before what else it depends on
		for _, d := range e.deps[i] {
			if (e.nodes[d].Kind == Host) == kind && e.isFed(d) {
				return d
			}
		}
	}
	return -1
}

// isFed reports whether any supply gives a node its power.
func (e *Estate) isFed(i int) bool {
	if len(e.feeds[i]) > 0 {
		return true
	}
	carrier := e.findCarrier(i)
	return carrier >= 0 && e.isFed(carrier)
}
