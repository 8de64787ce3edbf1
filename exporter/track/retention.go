package track

import "time"

// keepFor is how long the counts of a namespace are kept after its last pod, or Service: what is deleted and made again, or scaled
// to none and back, counts on.
const keepFor = time.Hour

// emptied is a namespace whose last pod or Service went, and when.
type emptied[T any] struct {
	of T
	at time.Time
}

// forgetEmptied forgets the namespaces that have had no pod, or no Service, for keepFor by t.
func (f *Tracker) forgetEmptied(t time.Time) {
	for q := &f.emptiedNamespaces; !q.isEmpty() && t.Sub(q.front().at) > keepFor; {
		if x := q.take(); x.of.pods == 0 && x.of.emptied.Equal(x.at) && f.namespaces[x.of.name] == x.of {
			delete(f.namespaces, x.of.name)
			f.order.namespaces = nil
		}
	}
	for q := &f.emptiedTenants; !q.isEmpty() && t.Sub(q.front().at) > keepFor; {
		if x := q.take(); x.of.services == 0 && x.of.emptied.Equal(x.at) && f.tenants[x.of.name] == x.of {
			delete(f.tenants, x.of.name)
			f.order.tenants = nil
		}
	}
}
