// Package unknown computes the age of a node's newest heartbeat at the time when the node controller set the node to
// Unknown.
package unknown

import "time"

const (
	// seenByController is the longest time until the node controller sees a heartbeat. It is one monitor period (5 s)
	// plus the delivery time.
	seenByController = 7 * time.Second
	// `delivery` is the longest normal time from lastTransitionTime until kubeflap sees the change of Ready, if the
	// clocks agree. It includes the rounding of lastTransitionTime to whole seconds.
	delivery = 2 * time.Second
)

// Mark is a change of Ready to Unknown by the node controller.
type Mark struct {
	// Seen is the time at which kubeflap saw the change. Transition is lastTransitionTime by the controller's clock, in
	// whole seconds.
	Seen, Transition time.Time
	// Delay is the shortest known delay from a timestamp by the controller's clock to the arrival of the write at
	// kubeflap. It includes the difference between the two clocks.
	Delay time.Duration
	// DelayKnown reports whether Delay was measured.
	DelayKnown bool
}

// `between` returns the earliest and the latest time at which the controller can have set Ready to Unknown, by
// kubeflap's clock. The write can arrive much later. `known` is false if Transition cannot be converted reliably to
// kubeflap's clock.
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

// Age returns the age of the newest heartbeat that the node controller had certainly seen at the time of the mark. The
// heartbeats are sorted, newest first. Age returns 0 if the age is unknown, for example because the heartbeat was
// before `since`.
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
