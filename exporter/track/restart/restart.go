// Package restart finds that a kubelet has started.
package restart

import (
	"strconv"
	"strings"
	"time"
)

// A starting kubelet renews its Lease and reports its status at once (kubelet,
// fastStatusUpdateOnce; lease controller, Run). So an early renewal and a report within seconds of each other show a start. Normally renewals
// are 10.0 to 10.4 s apart and reports 5 minutes. A late renewal shows nothing, since slow kubelets are often late. The renewal must be
// early by both clocks, because setting a clock changes only one of them. beatFrom is the shortest normal interval by the node's clock, in
// hundredths; seenFrom is the one by kubeflap's, which varies with the delivery.
const (
	beatFrom = 99
	seenFrom = 95
	within   = 5 * time.Second
	// window is how long after the start of its kubelet the pods of a node are probed anew.
	window = 30 * time.Second
)

// Kubelet holds the observed starts of a kubelet.
type Kubelet struct {
	// started is the probable time of the last start. early is the time of the last early renewal, by kubeflap's clock, and earlyBy the same by the node's
	// clock. reported is the time of the last status report.
	started, early, earlyBy, reported time.Time
	// makesPodsFlap: a start makes its pods not ready, by its version.
	makesPodsFlap bool
}

// IsEarly reports whether a renewal came sooner after the one before than it should, by the node's clock and by kubeflap's. bySeen is 0 if it is not known.
func IsEarly(interval, byNode, bySeen time.Duration) bool {
	hundredth := interval / 100
	return byNode < beatFrom*hundredth && bySeen < seenFrom*hundredth
}

// RenewedEarly records an early renewal: when it was seen, and its renewTime.
func (k *Kubelet) RenewedEarly(seen, renewed time.Time) { k.early, k.earlyBy = seen, renewed }

// Reported records a status report.
func (k *Kubelet) Reported(t time.Time) { k.reported = t }

// Note notes a start, if there was one.
func (k *Kubelet) Note() {
	if k.early.IsZero() || k.reported.IsZero() || k.early.Sub(k.reported).Abs() > within {
		return
	}
	k.started = k.early
	if k.reported.After(k.early) {
		k.started = k.reported
	}
}

// Version records the kubelet's version. The restart of a kubelet makes its pods not ready up to v1.34 (prober manager; gate
// ChangeContainerStatusOnKubeletRestart from v1.35).
func (k *Kubelet) Version(version string) {
	k.makesPodsFlap = false
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return
	}
	minor, err := strconv.Atoi(parts[1])
	k.makesPodsFlap = err == nil && parts[0] == "1" && minor < 35
}

// MadePodsFlap reports whether the kubelet started shortly before t, and is of a version whose restart makes pods not ready. A kubelet that was only
// unreachable also renews its Lease and reports its status at once when it is back: its node returned then from Unknown. The start is not later than by, by the kubelet's own
// clock; a zero by is not compared.
func (k *Kubelet) MadePodsFlap(t, returned, by time.Time) bool {
	return k.makesPodsFlap && !k.started.IsZero() && t.Sub(k.started) <= window &&
		(returned.IsZero() || returned.Sub(k.started).Abs() > within) && (by.IsZero() || !k.earlyBy.After(by))
}
