package addresses

import (
	"bytes"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Entry is an address in one slice or Endpoints object.
type Entry struct {
	UID   event.UID
	State State
}

// Placed is an entry with its index in the object.
type Placed struct {
	Entry
	Index int32
}

// Store converts an object's addresses to entries. It reuses the memory of the given entries, unless their capacity is
// too small or far too large.
func Store(entries []Entry, addresses []event.Address) []Entry {
	if cap(entries) < len(addresses) || cap(entries) > 2*len(addresses)+8 {
		entries = make([]Entry, 0, len(addresses))
	}
	entries = entries[:0]
	for i := range addresses {
		entries = append(entries, Entry{addresses[i].UID, StateOf(&addresses[i])})
	}
	return entries
}

// Sorted returns a copy of the entries, sorted by UID. If several entries have the same UID, it keeps the one with the
// best state. It reuses the memory of `into`.
func Sorted(entries []Entry, into []Placed) []Placed {
	into = into[:0]
	for i, x := range entries {
		into = append(into, Placed{x, int32(i)})
	}
	slices.SortFunc(into, func(a, b Placed) int {
		if c := bytes.Compare(a.UID[:], b.UID[:]); c != 0 {
			return c
		}
		return int(a.State) - int(b.State)
	})
	return slices.CompactFunc(into, func(a, b Placed) bool { return a.UID == b.UID })
}

// Compare compares two lists that are sorted by UID. It calls `do` once for each UID. If a list does not contain the
// UID, `do` gets nil instead of the element.
func Compare[T any](before, after []T, uid func(*T) *event.UID, do func(was, is *T)) {
	for len(before) > 0 || len(after) > 0 {
		order := -1
		switch {
		case len(before) == 0:
			order = 1
		case len(after) > 0:
			order = bytes.Compare(uid(&before[0])[:], uid(&after[0])[:])
		}
		var was, is *T
		if order <= 0 {
			was, before = &before[0], before[1:]
		}
		if order >= 0 {
			is, after = &after[0], after[1:]
		}
		do(was, is)
	}
}

// UIDOf returns the UID of an entry, for Compare.
func UIDOf(x *Placed) *event.UID { return &x.UID }

// Find returns the state of an address in a sorted list.
func Find(sorted []Placed, id event.UID) State {
	i, found := slices.BinarySearchFunc(sorted, id, func(x Placed, id event.UID) int { return bytes.Compare(x.UID[:], id[:]) })
	if !found {
		return None
	}
	return sorted[i].State
}
