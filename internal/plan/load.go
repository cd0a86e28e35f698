package plan

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

// Carrier gives what a node without feeds of its own has its power from: the host that it runs on, or else the first node that it
// depends on and that has some; -1: nothing.
func (e *Estate) Carrier(i int) int {
	if len(e.feeds[i]) > 0 {
		return -1
	}
	if host, ok := e.index[e.nodes[i].Host]; ok {
		return host
	}
	for _, kind := range [...]bool{true, false} { // hosts go before what else it depends on
		for _, d := range e.deps[i] {
			if (e.nodes[d].Kind == Host) == kind && len(e.Sources(d)) > 0 {
				return d
			}
		}
	}
	return -1
}
