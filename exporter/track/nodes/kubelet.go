package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
)

// A starting kubelet immediately renews its Lease and reports its status (lease controller, Run; kubelet,
// fastStatusUpdateOnce). So an early renewal and a report within seconds of each other indicate a start. Normally,
// renewals are 10.0 to 10.4 s apart, and reports are 5 minutes apart. A late renewal proves nothing, because slow
// kubelets are often late.
//
// The renewal must be early by the node's clock and by kubeflap's clock, because someone may have set one of the
// clocks. beatFrom is the shortest normal time between two renewals, measured by the node's clock, in percent of the
// heartbeat interval. seenFrom is the shortest normal time, measured by kubeflap's clock. It is lower because the
// delivery time varies. startsWithin is the longest time between the renewal and the report.
const (
	beatFrom     = 99
	seenFrom     = 95
	startsWithin = 5 * time.Second
	// probesAfter is the time that a kubelet needs after it starts to probe its pods again.
	probesAfter = 30 * time.Second
)

// kubelet holds the last start of a kubelet, and the evidence for a new start.
type kubelet struct {
	// version is a hash of the kubelet's version, or 0. makesPodsFlap reports whether a restart of this version makes
	// its pods not ready.
	version       uint64
	makesPodsFlap bool
	// `started` is the probable time of the kubelet's last start. `early` is the time at which kubeflap saw the last
	// early renewal. earlyBy is the renewTime of that renewal. `reported` is the time of the last status report.
	started, early, reported time.Time
	earlyBy                  event.NodeTime
}

// isEarly reports whether the time between two renewals was too short by the node's clock and by kubeflap's clock.
// byNode and bySeen are the times that these clocks measured. If bySeen is 0, the time is unknown and counts as too
// short.
func isEarly(interval, byNode, bySeen time.Duration) bool {
	hundredth := interval / 100
	return byNode < beatFrom*hundredth && bySeen < seenFrom*hundredth
}

// detectStart records a start of the kubelet if an early renewal and a status report were close together.
func (k *kubelet) detectStart() {
	if k.early.IsZero() || k.reported.IsZero() || k.early.Sub(k.reported).Abs() > startsWithin {
		return
	}
	k.started = latest(k.early, k.reported)
}

// setVersion records the kubelet's version, and reports whether it has changed. Up to v1.34, a restarted kubelet makes
// its pods not ready (kubelet, prober manager). In later versions, this depends on the gate
// ChangeContainerStatusOnKubeletRestart.
func (k *kubelet) setVersion(version string) (changed bool) {
	k.makesPodsFlap = controlplane.Minor(version) < 35
	return updateHash(&k.version, version)
}

// updateHash stores the hash of a value, and reports whether the value differs from the previous one.
func updateHash(hash *uint64, reported string) bool {
	if reported == "" {
		return false
	}
	was := *hash
	*hash = event.Hash(reported)
	return was != 0 && was != *hash
}

// madePodsFlap reports whether a kubelet start shortly before t can have made the pods not ready. `returned` is the
// time at which the node's Ready condition last changed from Unknown. A start near that time does not count,
// because a kubelet that was only unreachable looks the same. If `by` is set, a start after `by` does not count either.
func (k *kubelet) madePodsFlap(t, returned time.Time, by event.NodeTime) bool {
	return k.makesPodsFlap && !k.started.IsZero() && t.Sub(k.started) <= probesAfter &&
		(returned.IsZero() || returned.Sub(k.started).Abs() > startsWithin) && (by.IsZero() || !by.Before(k.earlyBy))
}
