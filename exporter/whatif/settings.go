package whatif

import (
	"slices"
	"strings"
	"time"
)

// DefaultMonitorPeriod is the default of --node-monitor-period (kube-controller-manager).
const DefaultMonitorPeriod = 5 * time.Second

// MinMonitorPeriod is the shortest monitor period for which predictions are possible. With a shorter period, the delays
// mainly depend on the duration of the controller's passes. No recording shows this duration.
const MinMonitorPeriod = 100 * time.Millisecond

// DefaultToleration is the default of --default-unreachable-toleration-seconds (kube-apiserver).
const DefaultToleration = 300 * time.Second

// AsRecorded is a value of Settings.Toleration. It keeps the recorded tolerationSeconds of each pod.
const AsRecorded time.Duration = -1

// Settings are the settings for a prediction.
type Settings struct {
	// GracePeriod is --node-monitor-grace-period, and must be positive. MonitorPeriod is --node-monitor-period, and
	// must be at least MinMonitorPeriod.
	GracePeriod, MonitorPeriod time.Duration
	// Toleration is the tolerationSeconds for the taint node.kubernetes.io/unreachable, or AsRecorded. It applies to
	// all pods except those that tolerate the taint forever.
	Toleration time.Duration
	// Window is the client's batching window. It must be one of consumers.Windows.
	Window time.Duration
}

// Usual returns the settings that pages and reports compare, in ascending order of their grace periods. The grace
// periods are 20 to 120 s, plus the recorded grace period if it is at least one heartbeat interval. If pods were
// evicted, the recorded grace period is also combined with other tolerations.
func Usual(recorded Settings, evicted bool) (all []Settings) {
	for _, grace := range UsualGracePeriods(recorded) {
		x := Settings{GracePeriod: grace, MonitorPeriod: recorded.MonitorPeriod, Toleration: AsRecorded}
		all = append(all, x)
		if !evicted || grace != recorded.GracePeriod {
			continue
		}
		for _, toleration := range []time.Duration{30 * time.Second, DefaultToleration, 15 * time.Minute} {
			x.Toleration = toleration
			all = append(all, x)
		}
	}
	return all
}

// UsualGracePeriods returns the grace periods of the settings that Usual returns.
func UsualGracePeriods(recorded Settings) []time.Duration {
	all := []time.Duration{20 * time.Second, 30 * time.Second, 40 * time.Second, 50 * time.Second, time.Minute, 90 * time.Second, 2 * time.Minute}
	if recorded.GracePeriod >= usualInterval {
		all = append(all, recorded.GracePeriod)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

const (
	// jitter is the uncertainty of the times at which the controller sees a heartbeat and starts a pass.
	jitter = 300 * time.Millisecond
	// pass is the longest time that the controller usually needs to check all nodes once. The next monitor period
	// begins after that.
	pass = 30 * time.Millisecond
	// catchUp is the longest time that a restored watch needs to deliver the events that it missed.
	catchUp = 2 * time.Second
	// usualInterval is slightly longer than an undisturbed heartbeat interval (10 s plus up to 4 % jitter).
	usualInterval = 11 * time.Second
	// A Study keeps all silences that are longer than alwaysKept, whatever the settings are.
	alwaysKept = 14 * time.Second
	// After a silence of more than failedAfter, a node counts as failed even if it returns.
	failedAfter = 5 * time.Minute
)

// ticks returns the number of monitor periods after which the controller finds that the grace period is over. The
// controller measures the time from the pass in which it notices a heartbeat (node lifecycle controller,
// tryUpdateNodeHealth). Each pass starts one period after the end of the previous pass (wait.UntilWithContext). So N
// passes take slightly longer than N periods.
func (x Settings) ticks() int64 {
	n := int64((x.GracePeriod + x.MonitorPeriod - 1) / x.MonitorPeriod)
	return max(n, 1)
}

// delay returns the shortest and the longest time from a heartbeat until the controller sets the node to Unknown. The
// controller notices a heartbeat up to one monitor period late.
func (x Settings) delay() (earliest, latest time.Duration) {
	n := x.ticks()
	earliest = time.Duration(n)*x.MonitorPeriod - jitter
	return earliest, time.Duration(n+1)*(x.MonitorPeriod+pass) + jitter
}

func compareText(a, b string) int { return strings.Compare(a, b) }
