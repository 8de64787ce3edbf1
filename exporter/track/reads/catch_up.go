package reads

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/window"
)

// CatchUp tracks the renewals after a missed heartbeat. If the renewals were on time by the node's clock and together
// cover the silence, the watch was late, not the node.
//
// A renewal that waited for etcd looks different: the kubelet has retried in the meantime, and etcd accepts only one of
// these renewals, since the others contain an old resourceVersion. The next renewal follows much later.
type CatchUp struct {
	// Renewed is the time of the last renewal before the silence, measured by the node's clock. Seen is the same
	// time, measured by kubeflap's clock.
	Renewed, Seen time.Time
	// Intervals are the intervals measured before the silence.
	Intervals window.Window
}

// Covers reports whether the renewals so far cover the silence. The parameter renewed is the renewTime of the newest
// renewal, which was seen at t. A gap counts as covered if it is no longer than the duration mark, after which a
// heartbeat is late.
func (c *CatchUp) Covers(t, renewed time.Time, mark time.Duration) bool {
	return renewed.Sub(c.Renewed) >= t.Sub(c.Seen)-mark
}

// Pending holds heartbeats that were seen late, while the reason for the delay is unknown. Either the API server
// delayed the write until etcd was back, or the watch was late. The node's next renewal shows which of the two is true.
type Pending []Held

// Held is a pending heartbeat.
type Held struct {
	// Made is the time at which the node sent the heartbeat, by kubeflap's clock. Seen is the time at which a watch
	// showed the heartbeat.
	Made, Seen time.Time
	// Late is set if the interval before this heartbeat was counted as late. Missed is set if that interval was counted
	// as missed.
	Late, Missed bool
	// Report is set for a status report, and not for a Lease renewal. Follows is set if the watch also delayed the
	// previous renewal.
	Report, Follows bool
}

// Renewal returns the last pending Lease renewal, or nil.
func (p Pending) Renewal() *Held {
	for i := range slices.Backward(p) {
		if !p[i].Report {
			return &p[i]
		}
	}
	return nil
}

// promptly is the time within which an undisturbed watch shows a renewal.
const promptly = 2 * time.Second

// IsLate reports whether a renewal was delayed. The parameter made is the time at which the node sent the renewal, and
// the parameter seen is the time at which the renewal arrived.
func IsLate(made, seen time.Time) bool { return seen.Sub(made) > promptly }

// WasBacklog reports whether the watch, not the API server, delayed a renewal. Either several renewals were delayed, or
// the node's next renewal followed after one regular interval. The parameter next is the time between the two renewals
// by the node's own clock. The API server delays at most one renewal per node. After the API server recovers, the
// kubelet sends a new renewal.
func (p *Held) WasBacklog(next, interval time.Duration, nextIsLate bool) bool {
	return p.Follows || nextIsLate || next <= interval+interval/20
}
