package rhythm

import "time"

// Without a Lease watch, kubeflap uses status reports as heartbeats. In a cluster without Leases, the node controller
// does so, too.
//
// A kubelet reports a changed status every 10 s, but an unchanged status only every 5 min (kubelet,
// nodeStatusUpdateFrequency and nodeStatusReportFrequency). In a cluster without Leases, a kubelet reports even an
// unchanged status every 10 s. So a silence only counts if the node's reports were steady before.
//
// If Leases exist but kubeflap has no permission to watch them, the status of a silent node may simply be unchanged.
// The silence only counts once the node controller has set the node to Unknown.
const (
	// steadyWithin is the longest interval between steady reports. Like a renewal, a report can be delayed.
	steadyWithin = 11500 * time.Millisecond
	// steadyFrom is the number of steady reports required. steadyMost caps the count. The margin above steadyFrom lets a
	// node become steady again soon after a silence.
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

// Is reports whether the reports are steady.
func (s Steady) Is() bool { return s >= steadyFrom }
