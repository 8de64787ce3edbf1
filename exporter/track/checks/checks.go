// Package checks provides a queue of future checks.
package checks

import (
	"container/heap"
	"slices"
	"time"
)

// Queue is a heap of checks, earliest first.
type Queue[T comparable] []Check[T]

// Check is a future check of one item, `Item`. The check is due at the time `At`.
type Check[T comparable] struct {
	At   time.Time
	Item T
}

// Add adds a check.
func (q *Queue[T]) Add(at time.Time, item T) { heap.Push(q, Check[T]{at, item}) }

// Drop removes the earliest check.
func (q *Queue[T]) Drop() { heap.Pop(q) }

// Later moves the earliest check to a later time.
func (q *Queue[T]) Later(at time.Time) {
	(*q)[0].At = at
	heap.Fix(q, 0)
}

// First returns at most `most` distinct items that match, in the order of their checks.
func (q *Queue[T]) First(most int, match func(T) bool) (all []T) {
	sorted := slices.Clone(*q)
	slices.SortFunc(sorted, func(a, b Check[T]) int { return a.At.Compare(b.At) })
	for _, c := range sorted {
		if len(all) < most && match(c.Item) && !slices.Contains(all, c.Item) {
			all = append(all, c.Item)
		}
	}
	return all
}

// Forget removes all checks of an item.
func (q *Queue[T]) Forget(item T) {
	*q = slices.DeleteFunc(*q, func(c Check[T]) bool { return c.Item == item })
	heap.Init(q)
}

// Len returns the number of checks. It implements heap.Interface.
func (q *Queue[T]) Len() int { return len(*q) }

// Less reports whether check i is earlier than check j. It implements heap.Interface.
func (q *Queue[T]) Less(i, j int) bool { return (*q)[i].At.Before((*q)[j].At) }

// Swap swaps two checks. It implements heap.Interface.
func (q *Queue[T]) Swap(i, j int) { (*q)[i], (*q)[j] = (*q)[j], (*q)[i] }

// Push implements heap.Interface. Call Add instead.
func (q *Queue[T]) Push(x any) { *q = append(*q, x.(Check[T])) }

// Pop implements heap.Interface. Call Drop instead.
func (q *Queue[T]) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	(*q)[last] = Check[T]{}
	*q = (*q)[:last]
	return x
}
