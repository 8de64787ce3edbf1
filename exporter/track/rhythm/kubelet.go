package rhythm

import "time"

const (
	// renewInterval is the default interval of a kubelet's Lease renewals. It is a quarter of nodeLeaseDurationSeconds,
	// which is 40 s by default (kubelet, nodeLeaseRenewIntervalFraction).
	renewInterval = 10 * time.Second
	// longestInterval is the upper bound on an interval that is derived from a Lease. Shortest is the lower bound.
	longestInterval = time.Minute
)

// Kubelet holds a kubelet's heartbeat intervals.
type Kubelet struct {
	// Duration is the Lease's leaseDurationSeconds, or 0.
	Duration int32
	// Renewals and Reports are the rhythms of Lease renewals and status reports, measured by the node's clock.
	Renewals, Reports Rhythm
}

// Interval returns the normal heartbeat interval of a kubelet. It is a quarter of the Lease's duration. If renewals or
// status reports have a shorter regular interval, Interval returns that interval (nodeStatusUpdateFrequency).
func (k *Kubelet) Interval() time.Duration {
	every := renewInterval
	if k.Duration > 0 {
		every = min(max(time.Duration(k.Duration)*time.Second/4, Shortest), longestInterval)
	}
	for _, r := range [...]*Rhythm{&k.Renewals, &k.Reports} {
		if known := r.Known(); known > 0 {
			every = min(every, known)
		}
	}
	return every
}

// Undisturbed returns the longest normal time between two heartbeats of a kubelet. The kubelet adds up to 4 % jitter to
// the interval (lease controller, Run), and the request takes time.
func (k *Kubelet) Undisturbed() time.Duration { return k.Interval()*104/100 + 1100*time.Millisecond }
