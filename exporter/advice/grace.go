// Package advice holds the texts and remedies for causes and verdicts, and computes the recommended grace period. It
// keeps no state. A remedy begins with the sentence that says what to do first, with a command for it in parentheses
// where there is one.
package advice

import (
	"cmp"
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
)

const (
	// HeartbeatInterval is the default interval at which a kubelet renews its Lease: a quarter of
	// nodeLeaseDurationSeconds (40 s).
	HeartbeatInterval = 10 * time.Second
	// LongestGrace is the longest grace period that kubeflap recommends. Dead nodes receive traffic until the grace
	// period ends.
	LongestGrace = 2 * time.Minute

	// leastForSlow is the shortest grace period that kubeflap recommends if heartbeats are late. A kubelet notices a
	// broken connection after 45 s: 30 s until the HTTP/2 ping and 15 s for its response. After that, it also needs
	// time to send a heartbeat.
	leastForSlow = time.Minute
)

// GracePeriod holds the settings and measurements that determine the recommended grace period.
type GracePeriod struct {
	// Period is the current grace period, or 0 if unknown. Default is the value without the flag: 40 s up to v1.31,
	// 50 s from v1.32, or 0 if the version is unknown.
	Period, Default time.Duration
	// Assumed reports whether Period is only assumed, because it is the default.
	Assumed bool
	// Interval is the heartbeat interval of nodes without delays, or 0 if unknown.
	Interval time.Duration
	// Longest is the longest heartbeat interval of slow nodes that recovered, or 0. The grace period should cover it.
	Longest time.Duration
	// Managed reports whether a cloud provider runs the control plane. The grace period then cannot be set.
	Managed bool
}

func (g GracePeriod) interval() time.Duration {
	if g.Interval == 0 {
		return HeartbeatInterval
	}
	return g.Interval
}

// LongestOnTime returns the longest interval between two heartbeats that are on time. A kubelet renews its Lease with a
// jitter of up to 4 % (Run in k8s.io/component-helpers/apimachinery/lease).
func (g GracePeriod) LongestOnTime() time.Duration { return g.interval() * 104 / 100 }

// Undisturbed returns the longest heartbeat interval of a node without delays: LongestOnTime plus the duration of the
// request.
func (g GracePeriod) Undisturbed() time.Duration { return g.LongestOnTime() + 1100*time.Millisecond }

// Shortest returns the shortest safe grace period: twice the heartbeat interval. With a shorter grace period, a single
// lost heartbeat makes a node Unknown.
func (g GracePeriod) Shortest() time.Duration { return 2 * g.interval() }

// Unsafe reports whether the grace period is shorter than Shortest and thus unsafe for all nodes.
func (g GracePeriod) Unsafe() bool { return g.Period > 0 && g.Period < g.Shortest() }

// LateThreshold returns the interval above which a heartbeat is late. It is half the grace period, but at least
// Undisturbed.
func (g GracePeriod) LateThreshold() time.Duration {
	return max(g.OrDefault()/2, g.Undisturbed())
}

// OrDefault returns the grace period, or the default of Kubernetes if it is unknown.
func (g GracePeriod) OrDefault() time.Duration {
	return cmp.Or(g.Period, controlplane.DefaultGracePeriod)
}

// Recommended returns the grace period to set. It returns 0 if the current grace period is suitable or unknown, or if
// the grace period cannot be set. The metric, the page, the alerts and `kubeflap advise` all use this result.
//
// If heartbeats are late, the result is twice the longest interval, rounded up to a multiple of 10 s. It is at least
// one minute and at most two minutes. A node then stays Ready even if one heartbeat is lost and the next one is late.
// If no heartbeats are late, the result is the default. If the current grace period exceeds LongestGrace, the result is
// LongestGrace. In all cases, the result is at least twice Undisturbed, even if this exceeds two minutes.
func (g GracePeriod) Recommended() time.Duration {
	switch {
	case g.Managed || g.Period == 0:
		return 0
	case g.Unsafe(), g.Period > LongestGrace:
	case 2*max(g.Longest, g.LongestOnTime()) <= g.Period:
		return 0
	}
	to := g.right()
	if to == g.Period || to < g.Period && to < 2*g.Longest {
		return 0 // the result would be no improvement
	}
	return to
}

// right returns the grace period that suits the heartbeats.
func (g GracePeriod) right() time.Duration {
	const step = 10 * time.Second
	up := func(d time.Duration) time.Duration { return (d + step - 1) / step * step }
	least := up(2 * g.Undisturbed())
	if g.Period > LongestGrace {
		return max(LongestGrace, least) // heartbeats that a shorter grace period needs to cover are not late yet
	}
	if g.Longest > g.Undisturbed() {
		return max(min(max(up(2*g.Longest), leastForSlow), LongestGrace), least)
	}
	if g.Default == 0 {
		return max(controlplane.DefaultGracePeriod, least)
	}
	return max(g.Default, least)
}

// tooShort returns the remedy for a grace period that is too short even for healthy kubelets.
func (g GracePeriod) tooShort() string {
	period, interval := phrase.Duration(g.Period), phrase.Duration(g.interval())
	if g.Managed {
		return fmt.Sprintf("Your provider sets the grace period of %s, so open a case with your provider. Kubelets renew their Lease every %s, so even healthy nodes exceed the grace period. As a workaround, set a shorter nodeLeaseDurationSeconds: kubelets renew their Lease four times in that period.",
			period, interval)
	}
	return fmt.Sprintf("Set --node-monitor-grace-period of the kube-controller-manager to %s. %s. The default is 40s (50s from v1.32). Kubelets send a heartbeat every %s, so less than %s is always unsafe: a single lost heartbeat makes a node Unknown.",
		phrase.Duration(g.Recommended()), g.current(), interval, phrase.Duration(g.Shortest()))
}

// Name names the grace period in front of its length.
func (g GracePeriod) Name() string {
	if g.Assumed {
		return "assumed grace period"
	}
	return "grace period"
}

// current says what the grace period is.
func (g GracePeriod) current() string {
	s := "It is currently " + phrase.Duration(g.Period)
	if g.Assumed {
		s += " (assumed)"
	}
	return s
}

// noOther says that the grace period can stay as it is.
const noOther = "kubeflap recommends no other grace period."

// NotesOn returns sentences that explain a comparison of grace periods. They repeat the recommended grace period.
func NotesOn(t *controlplane.Table, g GracePeriod) []string {
	if len(t.Rows) == 0 {
		return []string{"kubeflap cannot see the heartbeats of nodes, so it cannot compare grace periods."}
	}
	recommended := noOther
	if to := g.Recommended(); to > 0 {
		recommended = fmt.Sprintf("Recommended grace period: %s (currently %s).", phrase.Duration(to), phrase.Duration(g.Period))
	}
	return []string{
		"The table counts all silences that kubeflap saw, whatever their cause. With any grace period, a dead node turns Unknown within the time shown. If kubeflap cannot see the node monitor period, it assumes the default of 5s.",
		recommended + " The recommendation depends only on silences that slow nodes caused, and leaves a margin.",
		"A range such as 0-4 gives the lowest and the highest possible number. The exact number is unknown if a silence ended while the node controller was about to act, or if it is unknown whether the controller worked.",
		fmt.Sprintf("Grace periods below %s are unsafe, because a single lost heartbeat makes a node Unknown. Heartbeats that are on time do not count as silences.", phrase.Duration(g.Shortest())),
	}
}

// FewestToCompare is the minimum number of nodes that a cluster needs so that kubeflap can distinguish a fault of a
// node from a fault of the control plane.
const FewestToCompare = 3
