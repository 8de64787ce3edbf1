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

// mark is a change of Ready to Unknown by the node controller.
type mark struct {
	// `seen` is the time at which kubeflap saw the change. `written` is lastTransitionTime, in whole seconds.
	seen    time.Time
	written event.ControllerTime
	// `delay` is the shortest known delay from a timestamp by the controller's clock to the arrival of the write at
	// kubeflap. It includes the difference between the two clocks. delayKnown reports whether `delay` was measured.
	delay      time.Duration
	delayKnown bool
}

// AgeAtMark returns the age of the newest heartbeat that the node controller had certainly seen when it set Ready to
// Unknown. kubeflap saw the change at `seen`, and `written` is its lastTransitionTime. The heartbeats are sorted, newest
// first. AgeAtMark returns 0 if the age is unknown, for example because the heartbeat was before `since`.
func (x *ControlPlane) AgeAtMark(seen time.Time, written event.ControllerTime, heartbeats []time.Time, since time.Time) time.Duration {
	m := mark{seen: seen, written: written}
	m.delay, m.delayKnown = x.leaderDelay(seen)
	return m.age(heartbeats, since)
}

// leaderDelay returns the shortest recent delay of a renewal by the leader of the kube-controller-managers. A delay is
// the time from the renewTime to the arrival of the renewal. known is false if there were too few renewals.
func (x *ControlPlane) leaderDelay(t time.Time) (least time.Duration, known bool) {
	l := x.leases[event.LeaseControllerManager]
	if l == nil || len(l.delays) < minDelays || !x.watches.Live(event.KindControlPlaneLease, t) {
		return 0, false
	}
	return slices.Min(l.delays), true
}

// `between` returns the earliest and the latest time at which the controller can have set Ready to Unknown, by
// kubeflap's clock. The write can arrive much later. `known` is false if `written` cannot be converted reliably to
// kubeflap's clock.
func (m mark) between() (earliest, latest time.Time, known bool) {
	if !m.delayKnown {
		return m.seen, m.seen, m.seen.Sub(m.written.IfClocksAgree()).Abs() <= delivery
	}
	earliest = m.written.IfClocksAgree().Add(m.delay)
	latest = earliest.Add(time.Second)
	if latest.After(m.seen) {
		latest = m.seen
	}
	return earliest, latest, earliest.Sub(m.seen) <= delivery
}

func (m mark) age(heartbeats []time.Time, since time.Time) time.Duration {
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
