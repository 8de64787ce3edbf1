package track

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// order is what has a name in the order of the names: nil after one came or went, until somebody reads.
type order struct {
	nodes      []*node
	services   []*service
	namespaces []*namespace
	tenants    []*tenant
}

func (f *Tracker) nodesInOrder() []*node {
	return inOrder(&f.order.nodes, f.nodes, func(a, b *node) int { return strings.Compare(a.name, b.name) })
}

func (f *Tracker) servicesInOrder() []*service {
	return inOrder(&f.order.services, f.services, func(a, b *service) int {
		return cmp.Or(strings.Compare(a.key.namespace, b.key.namespace), strings.Compare(a.key.name, b.key.name))
	})
}

func (f *Tracker) namespacesInOrder() []*namespace {
	return inOrder(&f.order.namespaces, f.namespaces, func(a, b *namespace) int { return strings.Compare(a.name, b.name) })
}

func (f *Tracker) tenantsInOrder() []*tenant {
	return inOrder(&f.order.tenants, f.tenants, func(a, b *tenant) int { return strings.Compare(a.name, b.name) })
}

func inOrder[K comparable, V any](known *[]V, all map[K]V, compare func(a, b V) int) []V {
	if *known == nil {
		*known = slices.SortedFunc(maps.Values(all), compare)
	}
	return *known
}
