package pods

import (
	"hash/maphash"
	"iter"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// table holds records of one type. Each is found by its key, and has a number. Other records contain the number instead of
// a pointer, because the garbage collector visits each pointer. A record lives as long as it has users. The number 0 means
// no record.
type table[K comparable, R any] struct {
	keyOf  func(*R) *K
	hash   func(K) uint32
	chunks []*chunk[R]
	// `free` holds the numbers of dropped records. end is the lowest number that was never used.
	free []uint32
	end  uint32
	// slots is a hash table of numbers, with linear probing. An empty slot contains 0. At most three quarters are in use.
	// The slots of dropped records stay in use, because an empty slot would end a search.
	slots []uint32
	used  int
	// live is the number of records.
	live int
}

// chunk holds some records. A record stays in its place, so that pointers to it are valid while it has users.
type chunk[R any] struct {
	records [chunkSize]R
	users   [chunkSize]uint32
}

const chunkSize = 256

func newTable[K comparable, R any](keyOf func(*R) *K, hash func(K) uint32) *table[K, R] {
	return &table[K, R]{keyOf: keyOf, hash: hash, chunks: []*chunk[R]{{}}, end: 1, slots: make([]uint32, 16)}
}

// at returns the record with a number. For 0, it returns an empty record, which must not be changed.
func (t *table[K, R]) at(n uint32) *R { return &t.chunks[n/chunkSize].records[n%chunkSize] }

func (t *table[K, R]) users(n uint32) *uint32 { return &t.chunks[n/chunkSize].users[n%chunkSize] }

// all returns all records, in order of their numbers.
func (t *table[K, R]) all() iter.Seq2[uint32, *R] {
	return func(yield func(uint32, *R) bool) {
		for n := uint32(1); n < t.end; n++ {
			if *t.users(n) > 0 && !yield(n, t.at(n)) {
				return
			}
		}
	}
}

// slot returns the slot with the number of a key's record, or the empty slot for it.
func (t *table[K, R]) slot(k K) *uint32 {
	for i := t.hash(k); ; i++ {
		slot := &t.slots[i&uint32(len(t.slots)-1)]
		if *slot == 0 || *t.keyOf(t.at(*slot)) == k && *t.users(*slot) > 0 {
			return slot
		}
	}
}

// find returns the number of a key's record, or 0.
func (t *table[K, R]) find(k K) uint32 { return *t.slot(k) }

// take returns the number of a key's record, which has one more user. If there is no record, take adds an empty one.
func (t *table[K, R]) take(k K) uint32 {
	n := t.find(k)
	if n == 0 {
		t.live++
		if t.used++; 4*t.used > 3*len(t.slots) {
			t.refill()
		}
		n = t.unused()
		*t.keyOf(t.at(n)), *t.slot(k) = k, n
	}
	*t.users(n)++
	return n
}

func (t *table[K, R]) unused() (n uint32) {
	if last := len(t.free) - 1; last >= 0 {
		n, t.free = t.free[last], t.free[:last]
		return n
	}
	if n = t.end; n%chunkSize == 0 {
		t.chunks = append(t.chunks, &chunk[R]{})
	}
	t.end++
	return n
}

// refill makes the hash table anew, without dropped records.
func (t *table[K, R]) refill() {
	size := 16
	for t.used = t.live; size < 2*t.live; {
		size *= 2
	}
	t.slots = make([]uint32, size)
	for n, r := range t.all() {
		*t.slot(*t.keyOf(r)) = n
	}
}

// release ends the use of a record by one user. After the last user, it drops the record.
func (t *table[K, R]) release(n uint32) {
	if n == 0 {
		return
	}
	if *t.users(n)--; *t.users(n) > 0 {
		return
	}
	*t.at(n) = *new(R)
	t.free, t.live = append(t.free, n), t.live-1
}

// seed makes hashes that are only compared with each other.
var seed = maphash.MakeSeed()

func hashText(s string) uint32 { return uint32(maphash.String(seed, s)) }

func hashUID(id event.UID) uint32 { return uint32(maphash.Bytes(seed, id[:])) }
