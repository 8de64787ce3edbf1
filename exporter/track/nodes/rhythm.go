package nodes

import "time"

const (
	// renewInterval is the default interval of a kubelet's Lease renewals. It is a quarter of nodeLeaseDurationSeconds,
	// which is 40 s by default (kubelet, nodeLeaseRenewIntervalFraction).
	renewInterval = 10 * time.Second
	// longestInterval is the upper bound on an interval that is derived from a Lease. shortestInterval is the lower
	// bound. A shorter interval comes from a heartbeat that was written twice.
	longestInterval  = time.Minute
	shortestInterval = time.Second
	// A count rises with each interval that agrees with the previous intervals, and falls with each interval that does
	// not agree. A rhythm is regular if the count is at least regularAfter. The count stops at regularMost. This value
	// exceeds regularAfter, so that a few irregular intervals do not end the rhythm.
	regularAfter = 4
	regularMost  = 8
)

// rhythms holds a kubelet's heartbeat intervals.
type rhythms struct {
	// leaseSeconds is the Lease's leaseDurationSeconds, or 0.
	leaseSeconds int32
	// `reports` is the rhythm of status reports, measured by the node's clock.
	reports rhythm
}

// interval returns the normal heartbeat interval of a kubelet. It is a quarter of the Lease's duration. If status reports
// have a shorter regular interval, `interval` returns that interval (nodeStatusUpdateFrequency).
func (r *rhythms) interval() time.Duration {
	every := renewInterval
	if r.leaseSeconds > 0 {
		every = min(max(time.Duration(r.leaseSeconds)*time.Second/4, shortestInterval), longestInterval)
	}
	if known := r.reports.known(); known > 0 {
		every = min(every, known)
	}
	return every
}

// `undisturbed` returns the longest normal time between two heartbeats of a kubelet. The kubelet adds up to 4 % jitter
// to the interval (lease controller, Run), and the request takes time.
func (r *rhythms) undisturbed() time.Duration { return r.interval()*104/100 + 1100*time.Millisecond }

// rhythm measures the interval of a regular event.
type rhythm struct {
	every  time.Duration
	agreed uint8
}

// learn adds an interval, and reports whether the result of `known` changed. Two intervals agree if they differ by at
// most one second or 10 %, whichever is larger. The tolerance is necessary because lastHeartbeatTime is in whole
// seconds.
func (r *rhythm) learn(d time.Duration) bool {
	was := r.known()
	switch diff := d - r.every; {
	case d < shortestInterval:
		return false // the heartbeat was written twice
	case r.agreed == 0:
		r.every, r.agreed = d, 1
	case diff.Abs() <= max(r.every/10, time.Second):
		r.every += diff / 8
		r.agreed = min(r.agreed+1, regularMost)
	default:
		r.agreed--
	}
	return r.known() != was
}

// `known` returns the interval, rounded to a second, or 0 if there is no regular interval.
func (r *rhythm) known() time.Duration {
	if r.agreed < regularAfter {
		return 0
	}
	return max(r.every.Round(time.Second), shortestInterval)
}
