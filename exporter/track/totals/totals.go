// Package totals keeps what is counted per namespace.
package totals

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/queue"
)

// keepFor is how long the counts of a namespace outlive its last member. Counters then go on
// if an object is deleted and created again, or scaled to zero and back.
const keepFor = time.Hour

// Namespace is one namespace and its counts.
type Namespace[T any] struct {
	Name    string
	Counts  T
	members int
	emptied time.Time
}

// Totals are the counts of all namespaces that have members, or had one in the last hour.
type Totals[T any] struct {
	all map[string]*Namespace[T]
	// sorted is by name; nil if a namespace came or went since it was made.
	sorted  []*Namespace[T]
	emptied queue.Queue[emptied[T]]
}

type emptied[T any] struct {
	namespace *Namespace[T]
	at        time.Time
}

// Of is the namespace of a name.
func (t *Totals[T]) Of(name string) *Namespace[T] {
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

// Leave removes a member from a namespace at a time.
func (t *Totals[T]) Leave(n *Namespace[T], at time.Time) {
	if n.members--; n.members == 0 {
		n.emptied = at
		t.emptied.Push(emptied[T]{n, at})
	}
}

// Forget drops the namespaces that have had no member for an hour.
func (t *Totals[T]) Forget(now time.Time) {
	for !t.emptied.IsEmpty() && now.Sub(t.emptied.Front().at) > keepFor {
		x := t.emptied.Take()
		if n := x.namespace; n.members == 0 && n.emptied.Equal(x.at) && t.all[n.Name] == n {
			delete(t.all, n.Name)
			t.sorted = nil
		}
	}
}

// Sorted are the namespaces by name.
func (t *Totals[T]) Sorted() []*Namespace[T] {
	if t.sorted == nil {
		t.sorted = slices.SortedFunc(maps.Values(t.all), func(a, b *Namespace[T]) int { return strings.Compare(a.Name, b.Name) })
	}
	return t.sorted
}
