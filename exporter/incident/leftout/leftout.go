// Package leftout counts the names that a bounded list leaves out.
package leftout

import "hash/fnv"

// most bounds the names. Over that nothing more is counted.
const most = 10_000

// Names has the hashes of the names that a list leaves out, so that each counts once.
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

// Take adds the names that another list leaves out, those aside that are listed here.
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
