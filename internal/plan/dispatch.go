package plan

// Dispatcher hands out steps that are ready, the most urgent first, as far as the limits allow. The engine, the
// estimate and the simulator all schedule by it. A step must be added only when all that it waits for has settled.
type Dispatcher struct {
	estate  *Estate
	nodes   []int      // by step: its node, -1 for none
	free    Queue[int] // ranks of ready steps that no limit applies to; of those that come last, plus the number of steps
	classes []classQueue
	rank    []int // by step: lower is handed out sooner
	byRank  []int // step by rank
}

type classQueue struct {
	running int
	lanes   []laneQueue
}

type laneQueue struct {
	running int
	ready   Queue[int] // ranks
}

// Dispatcher makes an empty dispatcher for the plan.
func (p *Plan) Dispatcher() *Dispatcher { return p.dispatcher(p.rank) }

// dispatcher is Dispatcher with an order of urgency of its own.
func (p *Plan) dispatcher(rank []int) *Dispatcher {
	nodes := make([]int, len(p.Steps))
	for i := range p.Steps {
		nodes[i] = p.Steps[i].Node
	}
	return newDispatcher(p.estate, nodes, rank)
}

// Slots makes an empty dispatcher for several plans of one estate at once, which share its limits. A step is numbered as in
// its plan, after all steps of the plans before that; a plan that comes first has its steps handed out first.
func Slots(plans ...*Plan) *Dispatcher {
	var nodes, rank []int
	for _, p := range plans {
		for i := range p.Steps {
			nodes = append(nodes, p.Steps[i].Node)
		}
		before := len(rank)
		for _, r := range p.rank {
			rank = append(rank, before+r)
		}
	}
	return newDispatcher(plans[0].estate, nodes, rank)
}

func newDispatcher(estate *Estate, nodes, rank []int) *Dispatcher {
	d := &Dispatcher{
		estate: estate, nodes: nodes, rank: rank, free: NewQueue(lessInt), classes: make([]classQueue, len(estate.limits)),
		byRank: make([]int, len(nodes)),
	}
	for i, lanes := range estate.lanes {
		d.classes[i].lanes = make([]laneQueue, lanes)
		for l := range d.classes[i].lanes {
			d.classes[i].lanes[l].ready = NewQueue(lessInt)
		}
	}
	for step, rank := range rank {
		d.byRank[rank] = step
	}
	return d
}

// Add queues a step that may start now.
func (d *Dispatcher) Add(step int) { d.queue(step, d.rank[step]) }

// AddLast queues a step that may start now behind all that Add has queued and will queue.
func (d *Dispatcher) AddLast(step int) { d.queue(step, d.rank[step]+len(d.rank)) }

func (d *Dispatcher) queue(step, rank int) {
	node := d.nodes[step]
	if node < 0 || d.estate.class[node] < 0 {
		d.free.Push(rank)
		return
	}
	d.classes[d.estate.class[node]].lanes[d.estate.lane[node]].ready.Push(rank)
}

// Next takes the most urgent step that the limits allow and counts it as running. It returns -1 if there is none.
func (d *Dispatcher) Next() int {
	best, class, lane := -1, -1, -1
	if d.free.Len() > 0 {
		best = d.free.Peek()
	}
	for c := range d.classes {
		q, limit := &d.classes[c], d.estate.limits[c]
		if limit.Total > 0 && q.running >= limit.Total {
			continue
		}
		for l := range q.lanes {
			ln := &q.lanes[l]
			if ln.ready.Len() == 0 || limit.PerHost > 0 && ln.running >= limit.PerHost {
				continue
			}
			if best < 0 || ln.ready.Peek() < best {
				best, class, lane = ln.ready.Peek(), c, l
			}
		}
	}
	switch {
	case best < 0:
		return -1
	case class < 0:
		d.free.Pop()
	default:
		d.classes[class].lanes[lane].ready.Pop()
		d.classes[class].running++
		d.classes[class].lanes[lane].running++
	}
	return d.byRank[best%len(d.byRank)]
}

// Take counts a node as worked on whose step was not handed out by Next: it was in flight before a crash, or belongs to
// the plan of the other direction.
func (d *Dispatcher) Take(node int) { d.count(node, 1) }

// Release gives back what the step of a node held.
func (d *Dispatcher) Release(node int) { d.count(node, -1) }

func (d *Dispatcher) count(node, by int) {
	if c := d.estate.class[node]; c >= 0 {
		d.classes[c].running += by
		d.classes[c].lanes[d.estate.lane[node]].running += by
	}
}
