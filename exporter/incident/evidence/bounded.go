package evidence

import "slices"

// bounded is a list that keeps the first and the last items that were added. It counts the items that it drops in
// between.
type bounded[T any] struct {
	first, last []T
	dropped     int
}

func (b *bounded[T]) add(x T, keepFirst, keepLast int) {
	if len(b.first) < keepFirst {
		b.first = append(b.first, x)
		return
	}
	if len(b.last) == keepLast {
		b.last = slices.Delete(b.last, 0, 1)
		b.dropped++
	}
	b.last = append(b.last, x)
}

func (b *bounded[T]) all() []T { return slices.Concat(b.first, b.last) }

// newest returns up to n of the newest items, newest first. If items were dropped, it omits the items before them.
func (b *bounded[T]) newest(n int) []T {
	all := b.last
	if b.dropped == 0 {
		all = b.all()
	}
	all = slices.Clone(all[max(0, len(all)-n):])
	slices.Reverse(all)
	return all
}
