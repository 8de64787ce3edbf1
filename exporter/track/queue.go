package track

// queue is a list that is added to at its end and taken from at its front, which costs the same however long it is.
type queue[T any] struct {
	items []T
	// head is the place of the front among the items, taken how many were taken in all.
	head, taken int
}

func (q *queue[T]) push(x T) { q.items = append(q.items, x) }

func (q *queue[T]) isEmpty() bool { return q.head == len(q.items) }

func (q *queue[T]) front() T { return q.items[q.head] }

func (q *queue[T]) take() T {
	var none T
	x := q.items[q.head]
	q.items[q.head] = none
	q.head++
	q.taken++
	switch {
	case q.isEmpty() && cap(q.items) > 1024:
		q.items, q.head = nil, 0 // a burst is over
	case q.head > len(q.items)/2:
		kept := copy(q.items, q.items[q.head:])
		clear(q.items[kept:])
		q.items, q.head = q.items[:kept], 0
	}
	return x
}

// end is the place behind the last item, whatever is taken later.
func (q *queue[T]) end() int { return q.taken + len(q.items) - q.head }

// from are the items from a place on that end gave.
func (q *queue[T]) from(place int) []T { return q.items[max(place-q.taken, 0)+q.head:] }
