package whatif

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// gaps holds the periods in which kubeflap did not watch a resource.
type gaps struct {
	// The map down holds the start of the current gap for each kind. synced is set after the first complete list of a
	// kind.
	down   map[event.Kind]time.Time
	synced map[event.Kind]bool
	// The slice blind holds the gaps in the watches of Leases and Nodes. In these gaps, kubeflap may have missed
	// heartbeats. The slice nodes holds only the gaps in the watch of Nodes.
	blind, nodes []interval
}

func newGaps() gaps { return gaps{down: map[event.Kind]time.Time{}, synced: map[event.Kind]bool{}} }

// sighting tells when and how an object was seen.
type sighting struct {
	at      time.Time
	deleted bool
	// first is set if the object comes from the first list of its kind. Such an object may have existed before the
	// recording.
	first bool
}

func (g *gaps) sighting(e event.Event) sighting {
	return sighting{at: e.Seen, deleted: e.Type == event.Deleted, first: g.first(e)}
}

// first reports whether the event belongs to the first list of its kind.
func (g *gaps) first(e event.Event) bool { return e.Type == event.Listed && !g.synced[e.Kind] }

// apply updates the gaps from an event.
func (g *gaps) apply(e event.Event) {
	switch e.Type {
	case event.Down, event.Unavailable:
		if _, known := g.down[e.Kind]; !known {
			g.down[e.Kind] = e.Seen
		}
	case event.Synced:
		g.synced[e.Kind] = true
		g.end(e)
	case event.Up, event.Added, event.Modified, event.Deleted, event.Bookmark:
		g.end(e)
	}
}

// end ends the current gap of the event's kind, if there is one.
func (g *gaps) end(e event.Event) {
	from, down := g.down[e.Kind]
	if !down {
		return
	}
	delete(g.down, e.Kind)
	if e.Kind == event.KindLease || e.Kind == event.KindNode {
		g.blind = append(g.blind, interval{from, e.Seen})
	}
	if e.Kind == event.KindNode {
		g.nodes = append(g.nodes, interval{from, e.Seen})
	}
}

// finish adds the gaps that last until the end of the recording.
func (g *gaps) finish() {
	for _, kind := range []event.Kind{event.KindLease, event.KindNode} {
		if from, down := g.down[kind]; down {
			g.blind = append(g.blind, interval{from: from})
		}
	}
}

// nodesSeenUntil returns t if kubeflap saw all changes of Nodes before t. If kubeflap may have missed changes in a gap,
// the result is the start of this gap.
func (g *gaps) nodesSeenUntil(t time.Time) time.Time {
	if down, is := g.down[event.KindNode]; is {
		return down
	}
	for _, b := range g.nodes {
		if b.from.Before(t) && !b.to.Add(catchUp).Before(t) {
			return b.from
		}
	}
	return t
}

// bounds returns the shortest and the longest possible length of a silence. Only a gap at the start or the end of the
// silence makes the length uncertain. A heartbeat in any other gap would be visible after the gap, because a Lease
// keeps its last renewTime.
func (g *gaps) bounds(x *silence) (shortest, longest time.Duration) {
	from, to := x.from, x.to
	for _, b := range g.blind {
		back := b.to.Add(catchUp)
		if b.from.Before(from) && !back.Before(x.from) {
			from = b.from
		}
		if b.from.Before(to) && (b.to.IsZero() || !back.Before(x.to)) {
			to = b.from
		}
	}
	return max(to.Sub(x.from), 0), x.to.Sub(from)
}

// overlaps reports whether any interval overlaps the period between from and to.
func overlaps(all []interval, from, to time.Time) bool {
	return slices.ContainsFunc(all, func(x interval) bool { return x.from.Before(to) && (x.to.IsZero() || x.to.After(from)) })
}
