package silence

import (
	"slices"
	"time"
)

const (
	// markedTogether is the time within which one pass of the node controller marks nodes.
	markedTogether = 10 * time.Second
	// agesDiffer is the largest difference between the ages of the heartbeats of two nodes that the same pass marks, if
	// the controller works. It is the monitor period plus the delivery time.
	agesDiffer = 7 * time.Second
)

// MarkedTooEarly returns the silences in which one pass of the node controller, shortly before t, set nodes to Unknown
// because of outdated Leases. This is certain if it marked a node whose heartbeat was not late, and another node whose
// heartbeat was so much older that any grace period short enough for the first would have marked the second earlier.
// MarkedTooEarly sets MarkedInTime of these silences. `period` is the assumed grace period, and `undisturbed` the longest
// undisturbed heartbeat interval.
func (x List) MarkedTooEarly(period, undisturbed time.Duration, t time.Time) List {
	marked := x.Filter(func(s *Silence) bool {
		return s.MarkedAge > 0 && s.MarkedAge < period && t.Sub(s.MarkedAt) <= markedTogether
	})
	var ages []time.Duration
	for _, s := range marked {
		ages = append(ages, s.MarkedAge)
	}
	if len(ages) == 0 || slices.Min(ages) >= undisturbed || slices.Max(ages)-slices.Min(ages) <= agesDiffer {
		return nil
	}
	for _, s := range marked {
		s.MarkedInTime = true
	}
	return marked
}
