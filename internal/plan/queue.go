package plan

// Queue is a priority queue: Pop gives the least item by the order that it was made with. The order must be total, so
// that what comes out does not depend on how it went in. (container/heap boxes each item; the simulator can't afford it.)
type Queue[T any] struct {
	items []T
	less  func(a, b T) bool
}

// NewQueue makes an empty queue.
func NewQueue[T any](less func(a, b T) bool) Queue[T] { return Queue[T]{less: less} }

// Len gives the number of items.
func (q *Queue[T]) Len() int { return len(q.items) }

// Peek gives the least item. The queue must not be empty.
func (q *Queue[T]) Peek() T { return q.items[0] }

// Push adds an item.
func (q *Queue[T]) Push(v T) {
	q.items = append(q.items, v)
	s := q.items
	for i := len(s) - 1; i > 0 && q.less(s[i], s[(i-1)/2]); i = (i - 1) / 2 {
		s[i], s[(i-1)/2] = s[(i-1)/2], s[i]
	}
}

// Pop removes and gives the least item. The queue must not be empty.
func (q *Queue[T]) Pop() T {
	s := q.items
	top, last := s[0], len(s)-1
	s[0] = s[last]
	s = s[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(s) {
			break
		}
		if c+1 < len(s) && q.less(s[c+1], s[c]) {
			c++
		}
		if !q.less(s[c], s[i]) {
			break
		}
		s[i], s[c] = s[c], s[i]
		i = c
	}
	q.items = s
	return top
}

func lessInt(a, b int) bool { return a < b }
