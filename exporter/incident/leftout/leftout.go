// Package leftout counts the names that were omitted from a bounded list.
package leftout

import "hash/fnv"

// most is the maximum number of hashes in Names. Further names are not counted.
const most = 10_000

// Names holds hashes of the omitted names, so that each name counts only once.
type Names map[uint64]struct{}

func hashOf(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// Add adds a name.
func (n *Names) Add(name string) { n.add(hashOf(name)) }

func (n *Names) add(hash uint64) {
	if *n == nil {
		*n = Names{}
	}
	if len(*n) < most {
		(*n)[hash] = struct{}{}
	}
}

// Take adds the names in `from` that are not in `listed`.
func (n *Names) Take(from Names, listed []string) {
	hashes := make(map[uint64]bool, len(listed))
	for _, name := range listed {
		hashes[hashOf(name)] = true
	}
	for hash := range from {
		if !hashes[hash] {
			n.add(hash)
		}
	}
}
