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

// interval returns the normal heartbeat interval of a kubelet. It is a quarter of the Lease's duration, at which a kubelet
// renews its Lease. If status reports have a shorter regular interval, `interval` returns that interval
// (nodeStatusUpdateFrequency).
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

// Without a Lease watch, kubeflap uses status reports as heartbeats. In a cluster without Leases, the node controller
// does the same, and kubelets report any status every 10 s.
//
// In a cluster with Leases, a kubelet reports a changed status every 10 s, and an unchanged status every 5 min
// (kubelet, nodeStatusUpdateFrequency and nodeStatusReportFrequency). Without permission to watch these Leases, kubeflap
// cannot distinguish a silent node from a node with an unchanged status. A silence then counts only after the node
// controller has set the node to Unknown, and only if the node's previous reports were steady.
const (
	// steadyWithin is the longest interval between steady reports. It allows for the same delays as `undisturbed`.
	steadyWithin = 11500 * time.Millisecond
	// steadyFrom is the number of steady reports after which a node counts as steady. The count stops at steadyMost. A
	// node that has reached steadyMost stays steady after one late report.
	steadyFrom = 18
	steadyMost = 24
)

// steady counts recent status reports that were as regular as Lease renewals.
type steady int

// learn adds the interval between two reports.
func (s *steady) learn(interval time.Duration) {
	if interval <= steadyWithin {
		*s = min(*s+1, steadyMost)
		return
	}
	*s = max(*s-(steadyMost-steadyFrom), 0)
}

// is reports whether the node's reports are steady.
func (s steady) is() bool { return s >= steadyFrom }
