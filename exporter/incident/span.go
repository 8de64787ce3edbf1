package incident

import (
	"cmp"
	"slices"
	"time"
)

// moment is a time in microseconds since 1970, of which an incident keeps many: a third of a time.Time. 0 is none.
type moment int64

func momentOf(t time.Time) moment {
	if t.IsZero() {
		return 0
	}
	return moment(t.UnixMicro())
}

func (m moment) time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(m)).UTC()
}

// stretch is a Span as it is kept; lane is its place among the lanes, end is 0 while it lasts.
type stretch struct {
	start, end moment
	name       string
	lane       uint8
}

var lanes = [...]Lane{LaneHeartbeat, LaneNode, LanePod, LaneConflict, LaneAddress, LaneOutage}

// span begins a stretch of the timeline.
func (r *record) span(lane Lane, name string, from time.Time) *stretch {
	s := &stretch{start: momentOf(from), name: name, lane: uint8(slices.Index(lanes[:], lane))}
	r.spans.add(s)
	return s
}

// end ends a stretch, if one runs.
func end(s **stretch, t time.Time) {
	if *s != nil {
		(*s).end = momentOf(t)
		*s = nil
	}
}

// timeline is the stretches, in the order of the chain. None lasts longer than the incident.
func (r *record) timeline(over time.Time) []Span {
	kept := r.spans.all()
	slices.SortStableFunc(kept, func(a, b *stretch) int {
		return cmp.Or(cmp.Compare(a.lane, b.lane), cmp.Compare(a.start, b.start))
	})
	all := make([]Span, 0, len(kept))
	for _, s := range kept {
		x := Span{Lane: lanes[s.lane], Name: s.name, Start: s.start.time(), End: s.end.time()}
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
