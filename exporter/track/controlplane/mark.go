package controlplane

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// seenByController is the longest time until the node controller sees a heartbeat. It is one monitor period (5 s)
	// plus the delivery time.
	seenByController = 7 * time.Second
	// `delivery` is the longest normal time from lastTransitionTime until kubeflap sees the change of Ready, if the
	// clocks agree. It includes the rounding of lastTransitionTime to whole seconds.
	delivery = 2 * time.Second
)

// AgeAtMark returns the age of the newest heartbeat that the node controller had certainly seen when it set Ready to
// Unknown. kubeflap saw the change at `seen`, and `written` is its lastTransitionTime. The heartbeats are sorted, newest
// first. AgeAtMark returns 0 if the age is unknown, for example because the heartbeat was before `since`.
func (x *ControlPlane) AgeAtMark(seen time.Time, written event.ControllerTime, heartbeats []time.Time, since time.Time) time.Duration {
	var delays []time.Duration
	if l := x.leases[event.LeaseControllerManager]; l != nil && x.watches.Live(event.KindControlPlaneLease, seen) {
		delays = l.delays
	}
	earliest, latest, known := markedBetween(seen, written, delays)
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

// markedBetween returns the earliest and the latest time at which the controller can have set Ready to Unknown, by
// kubeflap's clock. The write can arrive much later, at `seen`. known is false if `written`, which is in whole seconds,
// cannot be converted reliably to kubeflap's clock. `delays` holds the recent delays from a renewTime of the leader to
// the arrival of the renewal, which include the difference between the two clocks.
func markedBetween(seen time.Time, written event.ControllerTime, delays []time.Duration) (earliest, latest time.Time, known bool) {
	if len(delays) < minDelays {
		return seen, seen, seen.Sub(written.IfClocksAgree()).Abs() <= delivery
	}
	earliest = written.IfClocksAgree().Add(slices.Min(delays))
	latest = earliest.Add(time.Second)
	if latest.After(seen) {
		latest = seen
	}
	return earliest, latest, earliest.Sub(seen) <= delivery
}
