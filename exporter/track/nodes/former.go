package nodes

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/departure"
)

// departedFor is the time after a Node's deletion for which the announcement of its departure explains the losses of its
// pods. The pod garbage collector deletes the pods of a deleted Node after about a minute (gcCheckPeriod and
// quarantineTime in pkg/controller/podgc).
const departedFor = 10 * time.Minute

// former holds the announcements of the Nodes that were deleted recently, oldest first.
type former []formerNode

type formerNode struct {
	name      string
	departure departure.Departure
	deleted   time.Time
}

// add records a Node's deletion.
func (f *former) add(name string, d departure.Departure, t time.Time) {
	all := append(*f, formerNode{name, d, t})
	recent := slices.IndexFunc(all, func(x formerNode) bool { return t.Sub(x.deleted) <= departedFor })
	*f = slices.Delete(all, 0, recent)
}

// departureOf returns the departure of a node, even if the Node was deleted recently, and the time to ask it about. What
// was announced when a Node was deleted counts until its pods are gone.
func (x *Nodes) departureOf(name string, t time.Time) (*departure.Departure, time.Time) {
	if n := existing(x.nodes, name); n != nil {
		return &n.departure, t
	}
	for i := range slices.Backward(x.former) {
		f := &x.former[i]
		switch {
		case f.name != name || t.Sub(f.deleted) > departedFor:
		case f.deleted.Before(t):
			return &f.departure, f.deleted
		default:
			return &f.departure, t
		}
	}
	return &departure.Departure{}, t
}
