package incident

import (
	"hash/fnv"
	"slices"
)

// bounded keeps the first and the last of what is added, and counts what it leaves out between them.
type bounded[T any] struct {
	first, last []T
	keepFirst   int
	keepLast    int
	leftOut     int
}

func newBounded[T any](first, last int) bounded[T] {
	return bounded[T]{keepFirst: first, keepLast: last}
}

func (b *bounded[T]) add(x T) {
	if len(b.first) < b.keepFirst {
		b.first = append(b.first, x)
		return
	}
	if len(b.last) == b.keepLast {
		b.last = slices.Delete(b.last, 0, 1)
		b.leftOut++
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

// maxOthers bounds what others remembers; over that nothing more is counted.
const maxOthers = 10_000

// others are what a list leaves out, each once whatever happens to it, by a hash of its name.
type others map[uint64]struct{}

func hashOf(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// with adds what is not among them yet.
func (o others) with(hash uint64) others {
	if o == nil {
		o = others{}
	}
	if len(o) < maxOthers {
		o[hash] = struct{}{}
	}
	return o
}
