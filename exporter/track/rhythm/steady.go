package rhythm

import "time"

// Without a Lease watch, kubeflap uses status reports as heartbeats. In a cluster without Leases, the node controller
// does the same.
//
// In a cluster with Leases, a kubelet reports a changed status every 10 s, and an unchanged status every 5 min
// (kubelet, nodeStatusUpdateFrequency and nodeStatusReportFrequency). In a cluster without Leases, it reports any
// status every 10 s. So a silence counts only if the node's previous reports were steady.
//
// Without permission to watch existing Leases, kubeflap cannot distinguish a silent node from a node with an unchanged
// status. A silence then counts only after the node controller has set the node to Unknown.
const (
	// steadyWithin is the longest interval between steady reports. It allows for the same delays as
	// Kubelet.Undisturbed.
	steadyWithin = 11500 * time.Millisecond
	// steadyFrom is the number of steady reports after which a node counts as steady. The count stops at steadyMost. A
	// node that has reached steadyMost stays steady after one late report.
	steadyFrom = 18
	steadyMost = 24
)

// Steady counts recent status reports that were as regular as Lease renewals.
type Steady int

// Learn adds the interval between two reports.
func (s *Steady) Learn(interval time.Duration) {
	if interval <= steadyWithin {
		*s = min(*s+1, steadyMost)
		return
	}
	*s = max(*s-(steadyMost-steadyFrom), 0)
}

// Is reports whether the node's reports are steady.
func (s Steady) Is() bool { return s >= steadyFrom }
