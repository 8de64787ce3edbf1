package incident

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// stretch is a Span as it is kept; lane is its place among the lanes, end is 0 while it lasts.
type stretch struct {
	start, end event.Moment
	name       string
	lane       uint8
}

var lanes = [...]Lane{LaneHeartbeat, LaneNode, LanePod, LaneConflict, LaneAddress, LaneOutage}

// span begins a stretch of the timeline.
func (l *Log) span(r *record, lane Lane, name string, from time.Time) *stretch {
	s := &stretch{start: l.moment(from), name: name, lane: uint8(slices.Index(lanes[:], lane))}
	r.spans.add(s)
	return s
}

// end ends a stretch, if one runs.
func (l *Log) end(s **stretch, t time.Time) {
	if *s != nil {
		(*s).end = l.moment(t)
		*s = nil
	}
}

// timeline is the stretches, in the order of the chain. None lasts longer than the incident.
func (l *Log) timeline(r *record, over time.Time) []Span {
	kept := r.spans.all()
	slices.SortStableFunc(kept, func(a, b *stretch) int {
		return cmp.Or(cmp.Compare(a.lane, b.lane), cmp.Compare(a.start, b.start))
	})
	all := make([]Span, 0, len(kept))
	for _, s := range kept {
		x := Span{Lane: lanes[s.lane], Name: s.name, Start: l.time(s.start), End: l.time(s.end)}
		if !over.IsZero() && (x.End.IsZero() || x.End.After(over)) {
			x.End = over
			if over.Before(x.Start) {
				x.End = x.Start
			}
		}
		all = append(all, x)
	}
	return all
}
