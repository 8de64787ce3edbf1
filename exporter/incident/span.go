package incident

import (
	"cmp"
	"slices"
	"time"
)

// span begins a stretch of the timeline.
func (r *record) span(lane Lane, name string, from time.Time) *Span {
	s := &Span{Lane: lane, Name: name, Start: from}
	r.spans.add(s)
	return s
}

// end ends a stretch, if one runs.
func end(s **Span, t time.Time) {
	if *s != nil {
		(*s).End = t
		*s = nil
	}
}

var lanes = [...]Lane{LaneHeartbeat, LaneNode, LanePod, LaneConflict, LaneAddress, LaneOutage}

// timeline is the stretches, in the order of the chain. None lasts longer than the incident.
func (r *record) timeline(over time.Time) []Span {
	kept := r.spans.all()
	all := make([]Span, 0, len(kept))
	for _, s := range kept {
		x := *s
		if !over.IsZero() && (x.End.IsZero() || x.End.After(over)) {
			x.End = over
			if over.Before(x.Start) {
				x.End = x.Start
			}
		}
		all = append(all, x)
	}
	slices.SortStableFunc(all, func(a, b Span) int {
		return cmp.Or(cmp.Compare(slices.Index(lanes[:], a.Lane), slices.Index(lanes[:], b.Lane)), a.Start.Compare(b.Start))
	})
	return all
}
