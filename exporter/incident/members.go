package incident

import "slices"

// Members holds the nodes of an incident.
type Members struct {
	// The values of nodes tell whether more happened to a node than silences. The field inTime holds the nodes that left
	// the incident, because their heartbeats had been on time.
	nodes  ordered[string, bool]
	inTime ordered[string, struct{}]
	// The field lost holds the nodes that were silent for longer than the grace period, or turned Unknown.
	lost ordered[string, struct{}]
}

// AddNode adds a node to the affected nodes.
func (m *Members) AddNode(name string) { m.nodes.at(name) }

// AddFailed adds a node to which more happened than a silence.
func (m *Members) AddFailed(name string) { *m.nodes.at(name) = true }

// NodeNames returns the names of the nodes, sorted.
func (m *Members) NodeNames() []string { return slices.Sorted(slices.Values(m.nodes.keys)) }

// LostNodes returns the names of the nodes that were silent for longer than the grace period, or turned Unknown. The
// result `more` is the number of those that Trim dropped.
func (m *Members) LostNodes() (names []string, more int) { return m.lost.keys, m.lost.dropped }

// Withdraw names the nodes whose silences did not happen, because nothing else is left of the incident.
func (m *Members) Withdraw() {
	for _, name := range m.inTime.keys {
		m.AddNode(name)
	}
}

// take adds the nodes of another incident.
func (m *Members) take(from *Members) {
	for _, name := range from.nodes.keys {
		failed := m.nodes.at(name)
		*failed = *failed || *from.nodes.of[name]
	}
	for _, name := range from.inTime.keys {
		m.inTime.at(name)
	}
	for _, name := range from.lost.keys {
		m.lost.at(name)
	}
}

// ordered is a map that keeps its keys in the order in which they were added. The field dropped is the number of keys
// that trim dropped.
type ordered[K comparable, V any] struct {
	keys    []K
	of      map[K]*V
	dropped int
}

func (o *ordered[K, V]) len() int { return len(o.keys) + o.dropped }

// at returns the value of a key, and adds the key unless there are too many.
func (o *ordered[K, V]) at(key K) *V {
	v := o.of[key]
	if v == nil {
		if v = new(V); len(o.keys) < maxListed {
			if o.of == nil {
				o.of = map[K]*V{}
			}
			o.keys, o.of[key] = append(o.keys, key), v
		}
	}
	return v
}

// moveUp makes a key one of the first n, in place of one with a value that is less important.
func (o *ordered[K, V]) moveUp(key K, n int, isLess func(*V) bool) {
	i := slices.IndexFunc(o.keys[:min(n, len(o.keys))], func(k K) bool { return isLess(o.of[k]) })
	if i < 0 {
		return
	}
	if j := slices.Index(o.keys, key); j >= n {
		o.keys[i], o.keys[j] = key, o.keys[i]
	}
}

// drop removes a key.
func (o *ordered[K, V]) drop(key K) {
	o.keys = slices.DeleteFunc(o.keys, func(k K) bool { return k == key })
	delete(o.of, key)
}

// trim drops all but the first n keys, and frees the memory. Afterwards, no key may be added.
func (o *ordered[K, V]) trim(n int) {
	var kept ordered[K, V]
	for _, key := range o.keys[:min(n, len(o.keys))] {
		*kept.at(key) = *o.of[key]
	}
	kept.dropped = o.len() - len(kept.keys)
	*o = kept
}
