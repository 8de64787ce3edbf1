// Package looks orders the times at which something is to be looked at.
package looks

import (
	"container/heap"
	"slices"
	"time"
)

// Queue are the times at which something is looked at: a heap, the earliest first.
type Queue[T comparable] []Look[T]

// Look is a time at which something is looked at.
type Look[T comparable] struct {
	At time.Time
	Of T
}

// Add adds a look.
func (q *Queue[T]) Add(at time.Time, of T) { heap.Push(q, Look[T]{at, of}) }

// Drop removes the first look.
func (q *Queue[T]) Drop() { heap.Pop(q) }

// Later moves the first look to a later time.
func (q *Queue[T]) Later(at time.Time) {
	(*q)[0].At = at
	heap.Fix(q, 0)
}

// First are the first things that match, each once, up to a number of them.
func (q *Queue[T]) First(most int, match func(T) bool) (all []T) {
	sorted := slices.Clone(*q)
	slices.SortFunc(sorted, func(a, b Look[T]) int { return a.At.Compare(b.At) })
	for _, l := range sorted {
		if len(all) < most && match(l.Of) && !slices.Contains(all, l.Of) {
			all = append(all, l.Of)
		}
	}
	return all
}

// Forget removes the looks at something.
func (q *Queue[T]) Forget(of T) {
	*q = slices.DeleteFunc(*q, func(l Look[T]) bool { return l.Of == of })
	heap.Init(q)
}

// Len is how many looks there are.
func (q *Queue[T]) Len() int { return len(*q) }

// Less reports whether a look is earlier than another.
func (q *Queue[T]) Less(i, j int) bool { return (*q)[i].At.Before((*q)[j].At) }

// Swap swaps two looks.
func (q *Queue[T]) Swap(i, j int) { (*q)[i], (*q)[j] = (*q)[j], (*q)[i] }

// Push and Pop are for the heap only.
func (q *Queue[T]) Push(x any) { *q = append(*q, x.(Look[T])) }

// Pop removes the last look.
func (q *Queue[T]) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	(*q)[last] = Look[T]{}
	*q = (*q)[:last]
	return x
}
