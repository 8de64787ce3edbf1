// Package queue implements a first-in, first-out queue.
package queue

// Queue is a first-in, first-out queue. Adding or taking an item takes constant time.
type Queue[T any] struct {
	items []T
	// head is the index of the oldest item. `taken` is the number of items that Take has removed.
	head, taken int
}

// Push adds x at the end.
func (q *Queue[T]) Push(x T) { q.items = append(q.items, x) }

// IsEmpty reports whether there are no items.
func (q *Queue[T]) IsEmpty() bool { return q.head == len(q.items) }

// Front returns the oldest item.
func (q *Queue[T]) Front() T { return q.items[q.head] }

// Take removes the oldest item and returns it.
func (q *Queue[T]) Take() T {
	var none T
	x := q.items[q.head]
	q.items[q.head] = none
	q.head++
	q.taken++
	switch {
	case q.IsEmpty() && cap(q.items) > 1024:
		q.items, q.head = nil, 0 // release the memory after a burst
	case q.head > len(q.items)/2:
		kept := copy(q.items, q.items[q.head:])
		clear(q.items[kept:])
		q.items, q.head = q.items[:kept], 0
	}
	return x
}

// End returns the position after the newest item. The position stays valid when items are taken.
func (q *Queue[T]) End() int { return q.taken + len(q.items) - q.head }

// From returns the items that were pushed after End returned the given position, without those that Take has removed.
func (q *Queue[T]) From(position int) []T { return q.items[max(position-q.taken, 0)+q.head:] }
