package reads

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/window"
)

// CatchUp tracks the renewals after a missed heartbeat. Their renewTimes can show that the node was not silent, and
// that the watch was late instead.
//
// A stall of etcd looks different: it leaves a gap in the renewTimes. The kubelet retries its renewal during the stall,
// but etcd accepts only one of these requests, because the others contain an outdated resourceVersion.
type CatchUp struct {
	// Renewed is the renewTime of the last renewal before the silence. Seen is the time of that renewal by kubeflap's
	// clock.
	Renewed, Seen time.Time
	// Intervals holds the heartbeat intervals measured before the silence.
	Intervals window.Window
}

// Covers reports whether the renewTimes cover the whole silence. `renewed` is the newest renewTime, and kubeflap saw it
// at t. Covers tolerates a gap of up to `mark`, because a heartbeat is late only after this time.
func (c *CatchUp) Covers(t, renewed time.Time, mark time.Duration) bool {
	return renewed.Sub(c.Renewed) >= t.Sub(c.Seen)-mark
}

// Pending holds late heartbeats while the reason for their delay is unknown. Either the API server delayed the write
// until etcd was back, or the watch was late. The node's next renewal shows which of the two is true.
type Pending []PendingHeartbeat

// PendingHeartbeat is one of the heartbeats in Pending.
type PendingHeartbeat struct {
	// Made is the time at which the node sent the heartbeat, by kubeflap's clock. Seen is the time at which a watch
	// showed the heartbeat.
	Made, Seen time.Time
	// Late is set if the interval before this heartbeat was counted as late. Missed is set if that interval was counted
	// as missed.
	Late, Missed bool
	// Report is true for a status report, and false for a Lease renewal. Follows is set if the watch also delayed the
	// previous renewal.
	Report, Follows bool
}

// Renewal returns the last pending Lease renewal, or nil.
func (p Pending) Renewal() *PendingHeartbeat {
	for i := range slices.Backward(p) {
		if !p[i].Report {
			return &p[i]
		}
	}
	return nil
}

// `promptly` is the longest time that an undisturbed watch needs to show a renewal.
const promptly = 2 * time.Second

// IsLate reports whether a renewal arrived late. The node sent it at `made`, and kubeflap saw it at `seen`.
func IsLate(made, seen time.Time) bool { return seen.Sub(made) > promptly }

// WasBacklog reports whether the watch, not the API server, delayed a renewal. The API server delays at most one
// renewal per node, so WasBacklog returns true if several were delayed. It also returns true if the node sent its next
// renewal after one regular interval. `next` is the time from this renewal to the next one by the node's own clock.
func (p *PendingHeartbeat) WasBacklog(next, interval time.Duration, nextIsLate bool) bool {
	return p.Follows || nextIsLate || next <= interval+interval/20
}
