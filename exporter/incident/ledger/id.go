package ledger

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// shortID is the length of the abbreviated IDs in tables.
const shortID = 8

// newID returns the ID of an incident that begins with the given API write. It needs no escaping in a URL. All replicas
// of kubeflap compute the same ID, because it depends only on the subject and on this write. If the write is unknown,
// the ID depends on the time.
//
// Two incidents do not begin with the same write. A node's incident ends only after a heartbeat, and the next silence
// then begins with another renewTime. Each write of addresses has another resourceVersion. Two exceptions are possible:
// a Service whose selector is removed and set again conflicts twice with the same write of its Endpoints, and two hashes
// can begin with the same characters. The second ID is then hashed again. The list shown holds the reported incidents.
func newID(shown []*Record, x incident.Subject, t time.Time, trigger uint64) string {
	id := idOf(x, trigger)
	if trigger == 0 {
		id = hash(x.Key(), t.UnixMilli())
	}
	for slices.ContainsFunc(shown, func(r *Record) bool { return r.looksLike(id) }) {
		id = hash(id, 0)
	}
	return id
}

// idOf returns the ID of an incident that begins with the given API write. All incidents of nodes share the IDs of their
// nodes' losses, so that an incident keeps its ID when it grows. Grace-period incidents have IDs of their own, because a
// node whose silence lasts moves to another incident.
func idOf(s incident.Subject, trigger uint64) string {
	if s.IsAboutNodes() && s.Kind != incident.KindGracePeriod {
		return hash("node", trigger)
	}
	s.Nth = 0
	return hash(s.Key(), trigger)
}

func hash[T int64 | uint64 | int](text string, number T) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", text, number)
	return fmt.Sprintf("%016x", h.Sum64())
}

// looksLike reports whether a table shows one of the incident's IDs like the given ID.
func (r *Record) looksLike(id string) bool {
	like := func(is string) bool { return is[:shortID] == id[:shortID] }
	return like(r.id) || slices.ContainsFunc(r.also, like)
}

// join adds the loss of another node to the incident. The incident keeps its ID. A replica that saw this loss first
// shows the incident by the ID of this loss, so this replica answers to that ID, too.
func (r *Record) join(trigger uint64) {
	id := idOf(r.Subject, trigger)
	if r.IsAboutNodes() && trigger != 0 && id != r.id && len(r.also) < incident.MaxNodes && !slices.Contains(r.also, id) {
		r.also = append(r.also, id)
	}
}
