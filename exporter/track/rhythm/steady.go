package rhythm

import "time"

// Where Leases cannot be watched, status reports are the heartbeats. If the cluster has no Leases, the node controller goes by them as well. A kubelet
// reports a changed status every 10 s, and an unchanged one only every 5 min (kubelet, nodeStatusUpdateFrequency and
// nodeStatusReportFrequency), or every 10 s as well if it has no Leases. So only the silence of a node shows something whose reports have been
// steady. If Leases exist and kubeflap may not see them, a node may also be busy and then idle: its silence counts once the node controller has
// found it silent, too.
const (
	// steadyWithin is the longest interval of a steady report, which is delayed like a renewal.
	steadyWithin = 11500 * time.Millisecond
	// steadyFrom is how many reports must be steady, steadyMost how many count: after a silence, some are enough.
	steadyFrom = 18
	steadyMost = 24
)

// Steady counts the last status reports that came as regularly as renewals.
type Steady int

// Learn counts the interval between two reports.
func (s *Steady) Learn(interval time.Duration) {
	if interval <= steadyWithin {
		*s = min(*s+1, steadyMost)
		return
	}
	*s = max(*s-(steadyMost-steadyFrom), 0)
}

// Is reports whether the reports are steady.
func (s Steady) Is() bool { return s >= steadyFrom }
