package report

import (
	"fmt"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// fewest is the number of intervals per node that are needed to judge the grace period.
const fewest = 3

// recommendations returns the recommendations about heartbeats and the grace period.
func (b *heartbeats) recommendations() (all []Recommendation) {
	if b.intervals.total() < uint64(fewest*len(b.nodes)) || len(b.nodes) == 0 {
		all = append(all, b.tooFew())
	}
	switch {
	case b.grace == 0:
	case b.settings().Unsafe():
		all = append(all, b.unsafe())
	case b.recommended > b.grace, b.longest() > b.grace/2:
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
		Kind: GracePeriodUnsafe, Severity: Bad, Recommended: b.recommended.Seconds(),
		Set: b.set(), Observed: b.observed(), Advice: b.adviceToSet(),
		Why: fmt.Sprintf("heartbeats are due every %s. With a grace period below %s, a single late heartbeat makes the node Unknown, and its pods leave their Services.",
			brief(b.heartbeatInterval), brief(b.settings().Shortest())),
	}
}

func (b *heartbeats) tight() Recommendation {
	x := Recommendation{
		Kind: GracePeriodTight, Severity: Warning, Recommended: b.recommended.Seconds(),
		Set: b.set(), Observed: b.observed(), Advice: b.adviceToSet(),
		Why: "the longest interval is more than half of the grace period, so one more lost heartbeat makes the node Unknown, and its pods leave their Services.",
	}
	if b.longest() > b.grace {
		x.Severity = Bad
		x.Why = "the longest interval exceeds the grace period. After such an interval, the node turns Unknown, and its pods leave their Services although they are still running."
	}
	if b.recommended <= b.grace {
		x.Recommended = 0
	}
	return x
}

func (b *heartbeats) long() Recommendation {
	return Recommendation{
		Kind: GracePeriodLong, Severity: Note, Recommended: b.recommended.Seconds(),
		Set: b.set(), Observed: b.observed(),
		Advice: b.adviceToShorten(),
		Why:    fmt.Sprintf("a dead node receives traffic until the grace period ends, which can take %s.", brief(b.grace+b.heartbeatInterval)),
	}
}

func (b *heartbeats) tooFew() Recommendation {
	return Recommendation{
		Kind: FewHeartbeats, Severity: Note,
		Set:      "the time of observation",
		Observed: fmt.Sprintf("%s of %s", phrase.Count(int(b.intervals.total()), "heartbeat interval", "heartbeat intervals"), phrase.Count(len(b.nodes), "node", "nodes")),
		Advice:   "observe for two minutes or longer, or query a running kubeflap instance (--url)",
		Why:      fmt.Sprintf("heartbeats are %s apart. Fewer than %d intervals per node do not show how late heartbeats can be.", brief(b.heartbeatInterval), fewest),
	}
}

func (b *heartbeats) unsure() Recommendation {
	x := Recommendation{
		Kind: GracePeriodSource, Severity: Note, Set: b.set(),
		Observed: "no kube-controller-manager pod with visible flags",
		Advice:   "start kubeflap with --node-monitor-grace-period, if you know the value",
		Why:      "this is the default of the server's version. If the flag is set to another value, all advice on the grace period is wrong.",
	}
	switch {
	case b.grace == 0:
		x.Why = "without the grace period, kubeflap cannot know whether a heartbeat is late."
	case b.source == "observed":
		x.Why = "this value was measured, from a node's last heartbeat until the node turned Unknown. The real value may be up to 10 s shorter."
	}
	return x
}

// settings returns the grace period, the expected heartbeat interval, and whether the control plane is managed.
func (b *heartbeats) settings() advice.GracePeriod {
	return advice.GracePeriod{Period: b.grace, Interval: b.heartbeatInterval, Managed: b.managed}
}

func (b *heartbeats) adviceToSet() string {
	switch {
	case b.managed && b.settings().Unsafe():
		return "you cannot set this flag on a managed control plane: open a case with your provider"
	case b.managed:
		return "you cannot set this flag on a managed control plane: give slow kubelets a larger machine or fewer pods, and give their pods a longer toleration of " +
			"node.kubernetes.io/unreachable"
	case b.recommended <= b.grace:
		return fmt.Sprintf("leave the grace period at %s and fix the slow component: a longer grace period would detect dead nodes too late", brief(b.grace))
	}
	s := fmt.Sprintf("--node-monitor-grace-period=%s on each kube-controller-manager", brief(b.recommended))
	if 2*b.longest() > b.recommended {
		s += "; a value of twice the longest interval would detect dead nodes too late, so also fix the slow component"
	}
	return s
}

func (b *heartbeats) adviceToShorten() string {
	if b.recommended == 0 {
		return "you cannot set this flag on a managed control plane, so expect traffic to dead nodes for that long"
	}
	return fmt.Sprintf("--node-monitor-grace-period=%s is long enough", brief(b.recommended))
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
		return "no interval that a grace period should cover"
	}
	return fmt.Sprintf("intervals of %s; the grace period is %.2g times as long: %s", b.longestText(), b.grace.Seconds()/b.longest().Seconds(), fitting(b.renewals()))
}

func fitting(renewals int) string {
	if renewals == 0 {
		return "too short for a single renewal"
	}
	missable := "none may be missed"
	if renewals > 1 {
		missable = fmt.Sprintf("%d may be missed", renewals-1)
	}
	return fmt.Sprintf("%s into it, so %s", phrase.Count(renewals, "renewal fits", "renewals fit"), missable)
}
