// Package restart detects kubelet restarts.
package restart

import (
	"strconv"
	"strings"
	"time"
)

// A starting kubelet immediately renews its Lease and reports its status (lease controller, Run; kubelet,
// fastStatusUpdateOnce). So an early renewal and a report within seconds of each other indicate a start. Normally,
// renewals are 10.0 to 10.4 s apart, and reports are 5 minutes apart. A late renewal proves nothing, because slow
// kubelets are often late.
//
// The renewal must be early by the node's clock and by kubeflap's clock, because someone may have set one of the
// clocks. beatFrom is the shortest normal time between two renewals, measured by the node's clock, in percent of the
// heartbeat interval. seenFrom is the shortest normal time, measured by kubeflap's clock. It is lower because the
// delivery time varies. `within` is the longest time between the renewal and the report.
const (
	beatFrom = 99
	seenFrom = 95
	within   = 5 * time.Second
	// `window` is the time that a kubelet needs after it starts to probe its pods again.
	window = 30 * time.Second
)

// Kubelet holds the last start of a kubelet, and the evidence for a new start.
type Kubelet struct {
	// `started` is the probable time of the kubelet's last start. `early` is the time at which kubeflap saw the last
	// early renewal. earlyBy is the renewTime of that renewal. `reported` is the time of the last status report.
	started, early, earlyBy, reported time.Time
	// makesPodsFlap reports whether a restart of this kubelet version makes its pods not ready.
	makesPodsFlap bool
}

// IsEarly reports whether the time between two renewals was too short by the node's clock and by kubeflap's clock.
// byNode and bySeen are the times that these clocks measured. If bySeen is 0, the time is unknown and counts as too
// short.
func IsEarly(interval, byNode, bySeen time.Duration) bool {
	hundredth := interval / 100
	return byNode < beatFrom*hundredth && bySeen < seenFrom*hundredth
}

// RenewedEarly records an early renewal. kubeflap saw it at `seen`, and `renewed` is its renewTime.
func (k *Kubelet) RenewedEarly(seen, renewed time.Time) { k.early, k.earlyBy = seen, renewed }

// StatusReported records a status report.
func (k *Kubelet) StatusReported(t time.Time) { k.reported = t }

// DetectStart records a start of the kubelet if an early renewal and a status report were close together.
func (k *Kubelet) DetectStart() {
	if k.early.IsZero() || k.reported.IsZero() || k.early.Sub(k.reported).Abs() > within {
		return
	}
	k.started = k.early
	if k.reported.After(k.early) {
		k.started = k.reported
	}
}

// SetVersion records the kubelet's version. Up to v1.34, a restarted kubelet makes its pods not ready (kubelet, prober
// manager). In later versions, this depends on the gate ChangeContainerStatusOnKubeletRestart.
func (k *Kubelet) SetVersion(version string) {
	k.makesPodsFlap = false
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return
	}
	minor, err := strconv.Atoi(parts[1])
	k.makesPodsFlap = err == nil && parts[0] == "1" && minor < 35
}

// MadePodsFlap reports whether a kubelet start shortly before t can have made the pods not ready. `returned` is the
// time at which the node's Ready condition last changed from Unknown to True. A start near that time does not count,
// because a kubelet that was only unreachable looks the same. If `by` is set, a start after `by`, measured by the
// node's clock, does not count either.
func (k *Kubelet) MadePodsFlap(t, returned, by time.Time) bool {
	return k.makesPodsFlap && !k.started.IsZero() && t.Sub(k.started) <= window &&
		(returned.IsZero() || returned.Sub(k.started).Abs() > within) && (by.IsZero() || !k.earlyBy.After(by))
}
