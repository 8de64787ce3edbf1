package advice

import "time"

const (
	// HeartbeatInterval is how often a kubelet renews its Lease by default: a quarter of nodeLeaseDurationSeconds, 40 s.
	HeartbeatInterval = 10 * time.Second
	// DefaultGracePeriod is the default since v1.32.
	DefaultGracePeriod = 50 * time.Second
	// LongestGrace is the most to recommend. Until the grace period ends, traffic goes to dead nodes.
	LongestGrace = 2 * time.Minute

	// leastForSlow is the least to recommend if heartbeats are late. A broken connection is noticed after 45 s (HTTP/2 ping 30 s, and 15 s
	// for its answer), and then the kubelet must send a heartbeat.
	leastForSlow = time.Minute
)

// GracePeriod is what decides which grace period to recommend.
type GracePeriod struct {
	// Period is the one in force, 0 while it is not known. Default is that of the Kubernetes version: 40 s up to v1.31, 50 s from v1.32; 0 if the
	// version is not known.
	Period, Default time.Duration
	// Interval is how often the nodes send heartbeats while nothing delays them, 0 if that is not known.
	Interval time.Duration
	// Longest is the longest interval between heartbeats that the grace period should bridge: of a node that was slow by itself, and came back.
	// 0 if none was late.
	Longest time.Duration
	// Managed: the cloud runs the control plane, so nobody can set the grace period.
	Managed bool
}

func (g GracePeriod) interval() time.Duration {
	if g.Interval == 0 {
		return HeartbeatInterval
	}
	return g.Interval
}

// OnTime is the longest interval between heartbeats by design: a Lease is renewed up to 4 % later (lease controller, Run).
func (g GracePeriod) OnTime() time.Duration { return g.interval() * 104 / 100 }

// Undisturbed is the longest interval between heartbeats of a node that nothing delays: the time of the request comes on top of OnTime.
func (g GracePeriod) Undisturbed() time.Duration { return g.OnTime() + 1100*time.Millisecond }

// Shortest is the shortest safe grace period: twice the heartbeat interval. With less, one lost heartbeat makes a node Unknown.
func (g GracePeriod) Shortest() time.Duration { return 2 * g.interval() }

// Unsafe reports whether the grace period is too short for any node.
func (g GracePeriod) Unsafe() bool { return g.Period > 0 && g.Period < g.Shortest() }

// Late is the shortest interval between heartbeats that matters: one that is longer than half of the grace period, and not undisturbed.
func (g GracePeriod) Late() time.Duration {
	period := g.Period
	if period == 0 {
		period = DefaultGracePeriod
	}
	return max(period/2, g.Undisturbed())
}

// Recommended is the grace period to set, 0 if the one in force is right, is not known, or cannot be set. It is the only place that decides that:
// the metric, the page, the alerts and `kubeflap advise` repeat it.
//
// If heartbeats are late it is twice the longest interval, rounded up to 10 s, from one to two minutes: a node survives one lost heartbeat, even if
// the next is as late as the latest one seen. If they are in time it is the default.
func (g GracePeriod) Recommended() time.Duration {
	switch {
	case g.Managed || g.Period == 0:
		return 0
	case g.Unsafe(), g.Period > LongestGrace:
	case 2*max(g.Longest, g.OnTime()) <= g.Period:
		return 0
	}
	to := g.right()
	if to == g.Period || to < g.Period && to < 2*g.Longest {
		return 0 // nothing shorter bridges these intervals, and nothing longer finds dead nodes in time
	}
	return to
}

// right is the right grace period for these heartbeats.
func (g GracePeriod) right() time.Duration {
	const step = 10 * time.Second
	up := func(d time.Duration) time.Duration { return (d + step - 1) / step * step }
	least := up(2 * g.Undisturbed())
	if g.Longest > g.Undisturbed() {
		return max(min(max(up(2*g.Longest), leastForSlow), LongestGrace), least)
	}
	if g.Default == 0 {
		return max(DefaultGracePeriod, least)
	}
	return max(g.Default, least)
}
