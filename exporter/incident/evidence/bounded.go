package evidence

import "slices"

// bounded keeps the first and the last of what is added, and counts what it drops between them.
type bounded[T any] struct {
	first, last         []T
	keepFirst, keepLast int
	dropped             int
}

func (b *bounded[T]) add(x T) {
	if len(b.first) < b.keepFirst {
		b.first = append(b.first, x)
		return
	}
	if len(b.last) == b.keepLast {
		b.last = slices.Delete(b.last, 0, 1)
		b.dropped++
	}
	b.last = append(b.last, x)
}

func (b *bounded[T]) all() []T { return slices.Concat(b.first, b.last) }

// newest returns the newest n, the newest first.
func (b *bounded[T]) newest(n int) []T {
	all := b.last
	if len(all) == 0 {
		all = b.first
	}
	all = slices.Clone(all[max(0, len(all)-n):])
	slices.Reverse(all)
	return all
}
