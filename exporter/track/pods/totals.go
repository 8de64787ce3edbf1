package pods

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// keepFor is the time for which counts are kept after a namespace has lost its last member, such as a pod. Therefore,
// the counters do not restart when a workload is recreated, or scaled to zero and back.
const keepFor = time.Hour

// Total holds the counts of one namespace.
type Total[T any] struct {
	Name    string
	Counts  T
	members int
	emptied time.Time
}

// Join adds a member to the namespace.
func (n *Total[T]) Join() { n.members++ }

// Leave removes a member from the namespace.
func (n *Total[T]) Leave(at time.Time) {
	n.members--
	n.emptied = at
}

func (n *Total[T]) isOver(now time.Time) bool { return n.members == 0 && now.Sub(n.emptied) > keepFor }

// Totals holds the counts of all namespaces that have members, or had members in the last hour.
type Totals[T any] map[string]*Total[T]

// Get returns the namespace with the given name, and adds it if necessary.
func (t *Totals[T]) Get(name string, now time.Time) *Total[T] {
	if *t == nil {
		*t = Totals[T]{}
	}
	if n := (*t)[name]; n == nil || n.isOver(now) {
		(*t)[name] = &Total[T]{Name: name}
	}
	return (*t)[name]
}

// Reset sets all counts to zero.
func (t Totals[T]) Reset() {
	for _, n := range t {
		var none T
		n.Counts = none
	}
}

// Sorted returns the namespaces, sorted by name.
func (t Totals[T]) Sorted(now time.Time) []*Total[T] {
	maps.DeleteFunc(t, func(_ string, n *Total[T]) bool { return n.isOver(now) })
	return slices.SortedFunc(maps.Values(t), func(a, b *Total[T]) int { return strings.Compare(a.Name, b.Name) })
}
