package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/rhythm"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// renewInterval is how often a kubelet renews its Lease by default: a quarter of nodeLeaseDurationSeconds, 40 s (kubelet,
	// nodeLeaseRenewIntervalFraction).
	renewInterval = 10 * time.Second
	// shortestInterval and longestInterval bound what a Lease may claim.
	shortestInterval = rhythm.Shortest
	longestInterval  = time.Minute
)

// interval is how often the node sends heartbeats while nothing delays it: a quarter of its Lease's duration, or what it does more often.
// Only what is regular shortens it, as a status report every 4 s (nodeStatusUpdateFrequency).
func (h *heartbeat) interval() time.Duration {
	every := renewInterval
	if h.duration > 0 {
		every = min(max(time.Duration(h.duration)*time.Second/4, shortestInterval), longestInterval)
	}
	for _, r := range [...]*rhythm.Rhythm{&h.renewals, &h.reports} {
		if known := r.Known(); known > 0 {
			every = min(every, known)
		}
	}
	return every
}

// noteInterval takes in that the interval of a node may have changed. Nodes that do not exist count for nothing.
func (x *Nodes) noteInterval(n *node) {
	every := time.Duration(0)
	if n.exists {
		every = n.heartbeat.interval()
	}
	if every == n.heartbeat.every {
		return
	}
	if x.intervals[n.heartbeat.every]--; x.intervals[n.heartbeat.every] <= 0 {
		delete(x.intervals, n.heartbeat.every)
	}
	if every > 0 {
		x.intervals[every]++
	}
	n.heartbeat.every = every
	x.tell()
}

// Heartbeats is how the control plane and the nodes are set up.
type Heartbeats struct {
	// Interval is how often the nodes send heartbeats while nothing delays them: the longest of all nodes, 0 without nodes.
	Interval time.Duration
	// Managed: the cloud runs the control plane, so nobody can set its flags.
	Managed bool
}

// Heartbeats is how the control plane and the nodes are set up.
func (x *Nodes) Heartbeats() Heartbeats {
	h := Heartbeats{Managed: x.grace.IsManaged()}
	for every := range x.intervals {
		h.Interval = max(h.Interval, every)
	}
	return h
}

// tell reports what decides about the grace period, if that has changed.
func (x *Nodes) tell() {
	h := x.Heartbeats()
	now := transition.GracePeriodKnown{
		At: at(x.watches.Now()), Period: x.period, Default: x.grace.Default(), Interval: h.Interval, Managed: h.Managed,
	}
	if last := x.told; now.Time.IsZero() || now.Period == last.Period && now.Default == last.Default && now.Interval == last.Interval && now.Managed == last.Managed {
		return
	}
	x.told = now
	x.found.Add(now)
}
