// Package queue implements a first-in, first-out queue.
package queue

// Queue is a first-in, first-out queue. Adding or taking an item takes constant time.
type Queue[T any] struct {
	items []T
	// head is the index of the oldest item.
	head int
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
