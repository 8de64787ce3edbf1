package reads

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/window"
)

// CatchUp are the renewals that follow a missed grace period. If they were in time by the node's clock, and together cover the silence, the watch was late
// and not the node. A renewal that waited for etcd does not look like that: etcd takes only one of the renewals that a kubelet has tried
// meanwhile, since the others then have an old resourceVersion, and the next one is far from it.
type CatchUp struct {
	// Renewed and Seen are the last renewal before the silence, by the node's clock and by kubeflap's.
	Renewed, Seen time.Time
	// Intervals are those that were measured before it.
	Intervals window.Window
}

// Covers reports whether renewals up to renewed, which was seen at t, cover the silence, up to a mark after which a heartbeat is late.
func (c *CatchUp) Covers(t, renewed time.Time, mark time.Duration) bool {
	return renewed.Sub(c.Renewed) >= t.Sub(c.Seen)-mark
}

// Pending are heartbeats that were seen late, while it is not known what delayed them: the API server, which writes a renewal once
// etcd is back, or the watch. The node's next renewal decides.
type Pending []Held

// Held is a pending heartbeat.
type Held struct {
	// Made is when the node made it, by kubeflap's clock. Seen is when a watch showed it.
	Made, Seen time.Time
	// Late and Missed: the interval that ends with this heartbeat was counted as late, or as missed.
	Late, Missed bool
	// Report: it is a report of the status. Follows: it came with another renewal that the watch had kept back.
	Report, Follows bool
}

// Renewal is the last pending renewal, nil if there is none.
func (p Pending) Renewal() *Held {
	for i := range slices.Backward(p) {
		if !p[i].Report {
			return &p[i]
		}
	}
	return nil
}

// promptly is how soon the watch shows a renewal if nothing keeps it back.
const promptly = 2 * time.Second

// IsLate reports whether a renewal that was made and seen then was kept back.
func IsLate(made, seen time.Time) bool { return seen.Sub(made) > promptly }

// WasBacklog reports whether the watch kept a renewal back. Then it is one of several, or the node renewed regularly after it, every interval by its clock.
// The API server keeps back no more than one of a node; when it goes on, the kubelet renews anew.
func (p *Held) WasBacklog(next, interval time.Duration, nextIsLate bool) bool {
	return p.Follows || nextIsLate || next <= interval+interval/20
}
