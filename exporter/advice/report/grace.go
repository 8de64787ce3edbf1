package report

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/phrase"
)

const (
	// renewal is how often a kubelet renews its Lease: a quarter of nodeLeaseDurationSeconds
	// (40 s), and up to 4 % later (kubelet, nodeLeaseRenewIntervalFraction; lease controller, Run).
	renewal       = 10 * time.Second
	slowestOnTime = 10400 * time.Millisecond
	// fewest is how many intervals of each node are enough to judge the grace period.
	fewest = 3
)

// recommendations are about heartbeats and the grace period.
func (b *heartbeats) recommendations() (all []Recommendation) {
	if b.intervals.total() < uint64(fewest*len(b.nodes)) || len(b.nodes) == 0 {
		all = append(all, b.tooFew())
	}
	switch {
	case b.grace == 0:
	case b.grace < advice.ShortestGrace:
		all = append(all, b.unsafe())
	case b.longest() > b.grace/2:
		all = append(all, b.tight())
	case b.grace > advice.LongestGrace:
		all = append(all, b.long())
	}
	all = append(all, b.nodeRecommendations()...)
	if b.source != "flag" && b.source != "controller_manager" {
		all = append(all, b.unsure())
	}
	return all
}

func (b *heartbeats) unsafe() Recommendation {
	return Recommendation{
		Kind: GracePeriodUnsafe, Severity: Bad, Recommended: b.recommended().Seconds(),
		Set: b.set(), Observed: b.observed(), Advice: b.adviceToSet(),
		Why: "a kubelet renews its Lease every 10 s whatever nodeStatusUpdateFrequency says: " +
			"below 20 s a single late renewal makes the node Unknown, and its pods leave their Services.",
	}
}

func (b *heartbeats) tight() Recommendation {
	x := Recommendation{
		Kind: GracePeriodTight, Severity: Warning, Recommended: b.recommended().Seconds(),
		Set: b.set(), Observed: b.observed(), Advice: b.adviceToSet(),
		Why: "the longest interval is more than half of the grace period: one more lost heartbeat makes the node Unknown, and its pods leave their Services.",
	}
	if b.longest() > b.grace {
		x.Severity = Bad
		x.Why = "the longest interval is over the grace period: the node turned Unknown, or would have, and its running pods leave their Services."
	}
	if b.recommended() <= b.grace {
		x.Recommended = 0
	}
	return x
}

func (b *heartbeats) long() Recommendation {
	return Recommendation{
		Kind: GracePeriodLong, Severity: Note, Recommended: b.recommended().Seconds(),
		Set: b.set(), Observed: b.observed(),
		Advice: fmt.Sprintf("--node-monitor-grace-period=%s would be enough", brief(b.recommended())),
		Why:    fmt.Sprintf("a dead node gets traffic until the grace period ends: for up to %s.", brief(b.grace+advice.HeartbeatInterval)),
	}
}

func (b *heartbeats) tooFew() Recommendation {
	return Recommendation{
		Kind: FewHeartbeats, Severity: Note,
		Set:      "the time of observation",
		Observed: fmt.Sprintf("%s of %s", phrase.Count(int(b.intervals.total()), "heartbeat interval", "heartbeat intervals"), phrase.Count(len(b.nodes), "node", "nodes")),
		Advice:   "observe for two minutes or longer, or ask a running kubeflap (--url)",
		Why:      fmt.Sprintf("heartbeats are 10 s apart: fewer than %d intervals of each node do not show how late they may be.", fewest),
	}
}

func (b *heartbeats) unsure() Recommendation {
	x := Recommendation{
		Kind: GracePeriodSource, Severity: Note, Set: b.set(),
		Observed: "no kube-controller-manager pod that shows its flags",
		Advice:   "start kubeflap with --node-monitor-grace-period, if you know the value",
		Why:      "this is the default of the server's version: if another value is set, all of this is wrong.",
	}
	switch {
	case b.grace == 0:
		x.Why = "without the grace period, kubeflap cannot know whether a heartbeat is late."
	case b.source == "observed":
		x.Why = "this value was measured, from a node's last heartbeat until it turned Unknown: the real one may be up to 10 s shorter."
	}
	return x
}

func (b *heartbeats) recommended() time.Duration {
	return advice.RecommendedGracePeriod(b.longest(), advice.LeastGracePeriod)
}

func (b *heartbeats) adviceToSet() string {
	to := b.recommended()
	if to <= b.grace {
		return fmt.Sprintf("leave it at %s and fix the slow component: a longer one detects dead nodes too late", brief(b.grace))
	}
	s := fmt.Sprintf("--node-monitor-grace-period=%s on each kube-controller-manager", brief(to))
	if 2*b.longest() > advice.LongestGrace {
		s += "; twice the longest interval would be longer, but would detect dead nodes too late: fix the slow component"
	}
	return s
}

func (b *heartbeats) set() string {
	if b.grace == 0 {
		return "--node-monitor-grace-period unknown"
	}
	return fmt.Sprintf("--node-monitor-grace-period=%s (%s)", brief(b.grace), sourceText(b.source))
}

func sourceText(source string) string {
	switch source {
	case "flag":
		return "from kubeflap's own flag"
	case "controller_manager":
		return "read from the kube-controller-manager's pod"
	case "observed":
		return "measured"
	case "default":
		return "the default of the server's version"
	}
	return source
}

func (b *heartbeats) observed() string {
	if b.longest() == 0 {
		return "no interval that a grace period should bridge"
	}
	return fmt.Sprintf("intervals of %s: the grace period is %.2g times as long, %s", b.upTo(), b.grace.Seconds()/b.longest().Seconds(), fitting(b.renewals()))
}

func fitting(renewals int) string {
	if renewals == 0 {
		return "no renewal fits into it"
	}
	missable := "none may be missed"
	if renewals > 1 {
		missable = fmt.Sprintf("%d may be missed", renewals-1)
	}
	return fmt.Sprintf("%s into it, %s", phrase.Count(renewals, "renewal fits", "renewals fit"), missable)
}
