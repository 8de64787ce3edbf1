// Package totals keeps counts per namespace.
package totals

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/queue"
)

// keepFor is the time for which counts are kept after a namespace has lost its last member, such as a pod. Therefore,
// the counters do not restart when a workload is recreated, or scaled to zero and back.
const keepFor = time.Hour

// Namespace holds the counts of one namespace.
type Namespace[T any] struct {
	Name    string
	Counts  T
	members int
	emptied time.Time
}

// Totals holds the counts of all namespaces that have members, or had members in the last hour.
type Totals[T any] struct {
	all map[string]*Namespace[T]
	// `sorted` holds the namespaces, sorted by name. It is nil after a namespace has been added or dropped.
	sorted  []*Namespace[T]
	emptied queue.Queue[emptied[T]]
}

type emptied[T any] struct {
	namespace *Namespace[T]
	at        time.Time
}

// GetOrAdd returns the namespace with the given name, and adds it if necessary.
func (t *Totals[T]) GetOrAdd(name string) *Namespace[T] {
	n := t.all[name]
	if n == nil {
		n = &Namespace[T]{Name: name}
		if t.all == nil {
			t.all = map[string]*Namespace[T]{}
		}
		t.all[name], t.sorted = n, nil
	}
	return n
}

// Join adds a member to a namespace.
func (t *Totals[T]) Join(n *Namespace[T]) { n.members++ }

// Leave removes a member from a namespace.
func (t *Totals[T]) Leave(n *Namespace[T], at time.Time) {
	if n.members--; n.members == 0 {
		n.emptied = at
		t.emptied.Push(emptied[T]{n, at})
	}
}

// Reset sets all counts to zero.
func (t *Totals[T]) Reset() {
	for _, n := range t.all {
		var none T
		n.Counts = none
	}
}

// Forget drops the namespaces that have had no members for more than an hour.
func (t *Totals[T]) Forget(now time.Time) {
	for !t.emptied.IsEmpty() && now.Sub(t.emptied.Front().at) > keepFor {
		x := t.emptied.Take()
		if n := x.namespace; n.members == 0 && n.emptied.Equal(x.at) && t.all[n.Name] == n {
			delete(t.all, n.Name)
			t.sorted = nil
		}
	}
}

// Sorted returns the namespaces, sorted by name.
func (t *Totals[T]) Sorted() []*Namespace[T] {
	if t.sorted == nil {
		t.sorted = slices.SortedFunc(maps.Values(t.all), func(a, b *Namespace[T]) int { return strings.Compare(a.Name, b.Name) })
	}
	return t.sorted
}
