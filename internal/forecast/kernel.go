package forecast

import "math/bits"

// kernel plays a network again and again, by the rule of plan.Dispatcher: whenever a step has ended, of those that are
// ready the most urgent start that the limits allow. Nothing is allocated while it plays.
type kernel struct {
	*network
	left    []int32 // what each step still waits for
	ready   []int64 // when it became ready, in microseconds
	cause   []int32 // the step whose end let it start, -1: none
	running []uint64
	numbers uint // bits of a step's number in running
	lanes   []lane
	classes []class
	pauses  []int32 // instant steps that have settled
	last    int32   // the step that ended last
}

type lane struct {
	few     uint64 // places of its ready steps, where it has no more than 64
	many    *bitset
	running int32
	most    int32
	head    int32 // its most urgent ready step, -1: none
	class   int32
	steps   []int32 // by place
}

func (l *lane) add(place int32) {
	if l.many != nil {
		l.many.add(place)
		return
	}
	l.few |= 1 << (place & 63)
}

// takeHead takes the most urgent ready step out, and looks for the next.
func (l *lane) takeHead(place int32) {
	l.head = -1
	if l.many == nil {
		if l.few &= l.few - 1; l.few != 0 {
			l.head = l.steps[bits.TrailingZeros64(l.few)]
		}
		return
	}
	l.many.remove(place)
	if next := l.many.least(); next >= 0 {
		l.head = l.steps[next]
	}
}

type class struct {
	heads   bitset // steps: the heads of lanes that have a place left
	running int32
	most    int32
}

func newKernel(n *network) *kernel {
	k := &kernel{
		network: n, left: make([]int32, len(n.steps)), ready: make([]int64, len(n.steps)), cause: make([]int32, len(n.steps)),
		running: make([]uint64, 0, len(n.steps)), numbers: uint(bits.Len(uint(len(n.steps)))),
		lanes: make([]lane, len(n.lanes)), classes: make([]class, len(n.classes)), pauses: make([]int32, 0, len(n.steps)),
	}
	for i, b := range n.lanes {
		k.lanes[i] = lane{most: b.most, head: -1, class: b.class, steps: n.laneSteps[b.from : b.from+b.size]}
		if b.size > 64 {
			many := newBitset(int(b.size))
			k.lanes[i].many = &many
		}
	}
	for i, b := range n.classes {
		k.classes[i] = class{heads: newBitset(int(b.size)), most: b.most}
	}
	return k
}

// play gives how long the network takes if each step takes so many microseconds.
func (k *kernel) play(took []int64) int64 {
	copy(k.left, k.waits)
	k.last = -1
	for _, s := range k.begun {
		k.cause[s] = -1
		if l := k.cells[s].lane; l >= 0 {
			k.take(&k.lanes[l])
		}
		k.push(0, s, took)
	}
	for _, s := range k.first {
		k.cause[s], k.ready[s] = -1, 0
		k.offer(s, 0, took)
	}
	k.dispatch(0, took)
	now := int64(0)
	for len(k.running) > 0 {
		end := k.pop()
		s := int32(end & (1<<k.numbers - 1))
		now, k.last = int64(end>>k.numbers), s
		if l := k.cells[s].lane; l >= 0 {
			k.release(&k.lanes[l])
		}
		k.settle(s, now, took)
		k.dispatch(now, took)
	}
	return now
}

// settle lets the steps go on that wait for one, through instant ones too.
func (k *kernel) settle(s int32, now int64, took []int64) {
	for {
		c := &k.cells[s]
		for _, next := range k.next[c.from:c.to] {
			if k.left[next]--; k.left[next] == 0 {
				k.cause[next], k.ready[next] = s, now
				k.offer(next, now, took)
			}
		}
		if len(k.pauses) == 0 {
			return
		}
		s = k.pauses[len(k.pauses)-1]
		k.pauses = k.pauses[:len(k.pauses)-1]
	}
}

// offer takes up a step that waits for nothing any more.
func (k *kernel) offer(s int32, now int64, took []int64) {
	switch c := &k.cells[s]; c.lane {
	case pause:
		k.pauses = append(k.pauses, s)
	case free:
		k.push(now, s, took)
	default:
		l := &k.lanes[c.lane]
		l.add(c.place)
		if l.head >= 0 && l.head < s {
			return
		}
		if l.running < l.most {
			heads := &k.classes[l.class].heads
			if l.head >= 0 {
				heads.remove(l.head)
			}
			heads.add(s)
		}
		l.head = s
	}
}

// dispatch starts what the limits allow. Classes have nothing to do with each other.
func (k *kernel) dispatch(now int64, took []int64) {
	for i := range k.classes {
		c := &k.classes[i]
		for c.running < c.most {
			s := c.heads.least()
			if s < 0 {
				break
			}
			if k.ready[s] < now {
				k.cause[s] = k.last
			}
			l := &k.lanes[k.cells[s].lane]
			c.heads.remove(s)
			l.takeHead(k.cells[s].place)
			if k.take(l); l.running < l.most && l.head >= 0 {
				c.heads.add(l.head)
			}
			k.push(now, s, took)
		}
	}
}

func (k *kernel) take(l *lane) {
	l.running++
	k.classes[l.class].running++
}

func (k *kernel) release(l *lane) {
	if l.running == l.most && l.head >= 0 {
		k.classes[l.class].heads.add(l.head)
	}
	l.running--
	k.classes[l.class].running--
}

// chain counts the steps of the last play's critical chain: each starts when the one before it ends, because it waits
// for it or because it takes over its place.
func (k *kernel) chain(count []int32) {
	for s := k.last; s >= 0; s = k.cause[s] {
		count[s]++
	}
}

// running is a heap of four branches. An item is when a step ends and its number: those that end together come by
// urgency.

func (k *kernel) push(now int64, s int32, took []int64) {
	item := min(uint64(now+took[s]), 1<<(64-k.numbers)-1)<<k.numbers | uint64(s)
	k.running = append(k.running, item)
	h := k.running
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 4
		if h[up] <= item {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = item
}

func (k *kernel) pop() uint64 {
	h := k.running
	top, item := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	k.running = h
	if len(h) == 0 {
		return top
	}
	// The gap goes down to the leaves by comparisons that need no branches, and the item, which is most often one of
	// the last to end, up from there.
	i := 0
	for child := 1; child+3 < len(h); child = 4*i + 1 {
		four := h[child : child+4 : child+4]
		least, at := four[0], child
		if four[1] < least {
			at = child + 1
		}
		least = min(least, four[1])
		if four[2] < least {
			at = child + 2
		}
		least = min(least, four[2])
		if four[3] < least {
			at = child + 3
		}
		h[i] = min(least, four[3])
		i = at
	}
	if child := 4*i + 1; child < len(h) { // fewer than four
		least := child
		for c := child + 1; c < len(h); c++ {
			if h[c] < h[least] {
				least = c
			}
		}
		h[i] = h[least]
		i = least
	}
	for i > 0 && h[(i-1)/4] > item {
		h[i] = h[(i-1)/4]
		i = (i - 1) / 4
	}
	h[i] = item
	return top
}
