package plan

// Sources lists the supplies whose power a node draws, as positions: its own feeds; without any those of the host that
// it runs on, or else of the first node that it depends on and that has some. The slice is not to be changed.
func (e *Estate) Sources(i int) []int {
	if len(e.feeds[i]) > 0 {
		return e.feeds[i]
	}
	if host, ok := e.index[e.nodes[i].Host]; ok && e.nodes[i].Kind == VM {
		return e.Sources(host)
	}
	for _, kind := range [...]bool{true, false} { // hosts go before what else it depends on
		for _, d := range e.deps[i] {
			if (e.nodes[d].Kind == Host) != kind {
				continue
			}
			if sources := e.Sources(d); len(sources) > 0 {
				return sources
			}
		}
	}
	return nil
}
