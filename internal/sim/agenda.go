package sim

import "time"

// agenda is what will happen, in order: by time, and at one time as it was put there. It is the simulator's innermost
// part: what moves in its heap holds no pointers.
type agenda struct {
	heap []entry
	do   []func() // by slot
	free []int32  // slots
	seq  int64    // numbers what was put there
}

type entry struct {
	at   time.Duration // since Epoch
	seq  int64
	slot int32
}

func (a entry) before(b entry) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

func (a *agenda) len() int { return len(a.heap) }

// put lets do happen at a time.
func (a *agenda) put(at time.Duration, do func()) {
	slot := int32(len(a.do))
	if last := len(a.free) - 1; last >= 0 {
		slot, a.free = a.free[last], a.free[:last]
		a.do[slot] = do
	} else {
		a.do = append(a.do, do)
	}
	a.seq++
	e := entry{at, a.seq, slot}
	a.heap = append(a.heap, e)
	i := len(a.heap) - 1
	for i > 0 && e.before(a.heap[(i-1)/2]) {
		a.heap[i] = a.heap[(i-1)/2]
		i = (i - 1) / 2
	}
	a.heap[i] = e
}

// next takes out what happens next. There must be something.
func (a *agenda) next() (at time.Duration, do func()) {
	top, last := a.heap[0], len(a.heap)-1
	e := a.heap[last]
	h := a.heap[:last]
	a.heap = h
	i := 0
	for c := 1; c < last; c = 2*i + 1 {
		if c+1 < last && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(e) {
			break
		}
		h[i] = h[c]
		i = c
	}
	if last > 0 {
		h[i] = e
	}
	do = a.do[top.slot]
	a.do[top.slot] = nil
	a.free = append(a.free, top.slot)
	return top.at, do
}
