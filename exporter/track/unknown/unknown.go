// Package unknown finds out how old a node's newest heartbeat was when the node controller set its Ready condition to Unknown.
package unknown

import "time"

const (
	// seenByController is how old a heartbeat must be for the node controller to have seen it: one monitor period (5 s), and the delivery.
	seenByController = 7 * time.Second
	// delivery is the longest time between lastTransitionTime and the arrival of a mark, if clocks agree: lastTransitionTime has full seconds.
	delivery = 2 * time.Second
)

// Mark is a change of Ready to Unknown by the node controller.
type Mark struct {
	// Seen is when it arrived, Transition its lastTransitionTime: by the controller's clock, in full seconds.
	Seen, Transition time.Time
	// Delay is by how much what the controller writes is behind its own clock when it arrives, if nothing keeps the write back.
	Delay time.Duration
	// DelayKnown: Delay was measured.
	DelayKnown bool
}

// between is the time of the mark by kubeflap's clock. The write can hang while heartbeats arrive, so it can be long before the arrival.
func (m Mark) between() (earliest, latest time.Time, known bool) {
	if !m.DelayKnown {
		return m.Seen, m.Seen, m.Seen.Sub(m.Transition).Abs() <= delivery
	}
	earliest = m.Transition.Add(m.Delay)
	latest = earliest.Add(time.Second)
	if latest.After(m.Seen) {
		latest = m.Seen
	}
	return earliest, latest, earliest.Sub(m.Seen) <= delivery
}

// Age is the age at the mark of the newest heartbeat that the node controller must have seen by then, of heartbeats in the order from the newest to the oldest.
// It is 0 if that is not known: the clocks differ, the write was delayed, or the heartbeat was before since.
func (m Mark) Age(heartbeats []time.Time, since time.Time) time.Duration {
	earliest, latest, known := m.between()
	if !known {
		return 0
	}
	for _, t := range heartbeats {
		switch {
		case t.IsZero() || t.Before(since):
			return 0
		case earliest.Sub(t) >= seenByController:
			return latest.Sub(t)
		}
	}
	return 0
}
