package nodes

import "time"

const (
	// renewInterval is the default interval of a kubelet's Lease renewals. It is a quarter of nodeLeaseDurationSeconds,
	// which is 40 s by default (kubelet, nodeLeaseRenewIntervalFraction).
	renewInterval = 10 * time.Second
	// shortestInterval and longestInterval are the bounds of an interval that is derived from a Lease.
	longestInterval  = time.Minute
	shortestInterval = time.Second
)

// interval returns the normal heartbeat interval of a kubelet. It is a quarter of the Lease's duration, at which a kubelet
// renews its Lease.
func (h *heartbeat) interval() time.Duration {
	if h.leaseSeconds <= 0 {
		return renewInterval
	}
	return min(max(time.Duration(h.leaseSeconds)*time.Second/4, shortestInterval), longestInterval)
}

// `undisturbed` returns the longest normal time between two heartbeats of a kubelet. The kubelet adds up to 4 % jitter
// to the interval (lease controller, Run), and the request takes time.
func (h *heartbeat) undisturbed() time.Duration { return h.interval()*104/100 + 1100*time.Millisecond }

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
