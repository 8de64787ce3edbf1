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
// clocks. beatFrom is the shortest normal time between renewals by the node's clock, in percent of the heartbeat
// interval. seenFrom is the same by kubeflap's clock. It is lower because the delivery time varies. `within` is the
// longest time between the renewal and the report.
const (
	beatFrom = 99
	seenFrom = 95
	within   = 5 * time.Second
	// window is the time after a kubelet's start in which the kubelet probes its pods again.
	window = 30 * time.Second
)

// Kubelet holds the observed starts of a kubelet.
type Kubelet struct {
	// started is the probable time of the last start. `early` is the time at which kubeflap saw the last early renewal.
	// earlyBy is the renewTime of that renewal. `reported` is the time of the last status report.
	started, early, earlyBy, reported time.Time
	// makesPodsFlap reports whether a restart of this kubelet version makes its pods not ready.
	makesPodsFlap bool
}

// IsEarly reports whether a renewal followed the previous one too early, both by the node's clock and by kubeflap's. If
// bySeen is 0, the time by kubeflap's clock is unknown and counts as early.
func IsEarly(interval, byNode, bySeen time.Duration) bool {
	hundredth := interval / 100
	return byNode < beatFrom*hundredth && bySeen < seenFrom*hundredth
}

// RenewedEarly records an early renewal: its time by kubeflap's clock, and its renewTime.
func (k *Kubelet) RenewedEarly(seen, renewed time.Time) { k.early, k.earlyBy = seen, renewed }

// Reported records a status report.
func (k *Kubelet) Reported(t time.Time) { k.reported = t }

// Note records a start if an early renewal and a report were close together.
func (k *Kubelet) Note() {
	if k.early.IsZero() || k.reported.IsZero() || k.early.Sub(k.reported).Abs() > within {
		return
	}
	k.started = k.early
	if k.reported.After(k.early) {
		k.started = k.reported
	}
}

// Version records the kubelet's version. Up to v1.34, a restarted kubelet makes its pods not ready (prober manager;
// gate ChangeContainerStatusOnKubeletRestart from v1.35).
func (k *Kubelet) Version(version string) {
	k.makesPodsFlap = false
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return
	}
	minor, err := strconv.Atoi(parts[1])
	k.makesPodsFlap = err == nil && parts[0] == "1" && minor < 35
}

// MadePodsFlap reports whether the kubelet started shortly before t and thereby made its pods not ready. Only some
// kubelet versions do so. `returned` is the time at which Ready last changed from Unknown to True. A start near that
// time does not count, because a kubelet that was only unreachable also renews its Lease and reports its status. If
// `by` is set, the start must not be later than `by` on the kubelet's own clock.
func (k *Kubelet) MadePodsFlap(t, returned, by time.Time) bool {
	return k.makesPodsFlap && !k.started.IsZero() && t.Sub(k.started) <= window &&
		(returned.IsZero() || returned.Sub(k.started).Abs() > within) && (by.IsZero() || !k.earlyBy.After(by))
}
