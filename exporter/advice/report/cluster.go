package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/services"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// cluster holds the state of a cluster that the advice depends on.
type cluster struct {
	grace advice.GracePeriod
	// source says how kubeflap found the grace period. It is empty if the grace period is unknown.
	source controlplane.Source
	// now is the time of the newest event.
	now   time.Time
	nodes []nodes.Node
	// silences counts the silences of nodes by verdict.
	silences []silence.Sum
	// intervals is the number of all heartbeat intervals since kubeflap started.
	intervals  uint64
	services   []services.Service
	namespaces []pods.Namespace
	// flags holds other flags of the kube-controller-manager.
	flags event.ControllerManagerFlags
	// unwatched lists the resources that cannot be watched.
	unwatched []watches.Watch
}

// interval returns the interval at which heartbeats are due.
func (c *cluster) interval() time.Duration {
	return cmp.Or(c.grace.Interval, advice.HeartbeatInterval)
}

// inMilliseconds rounds a duration, because finer digits differ from scrape to scrape.
func inMilliseconds(d time.Duration) phrase.Seconds { return phrase.Seconds(d.Round(time.Millisecond)) }

func (c *cluster) heartbeats() Heartbeats {
	h := Heartbeats{
		Nodes: len(c.nodes), Grace: phrase.Seconds(c.grace.Period), GraceSource: c.source, Observed: c.intervals,
		Expected: phrase.Seconds(c.interval()), Recommended: phrase.Seconds(c.grace.Recommended()),
	}
	for _, n := range c.nodes {
		if n.HeartbeatKnown {
			h.Longest = max(h.Longest, inMilliseconds(n.LongestInterval))
		}
	}
	return h
}

// fewest is the number of intervals per node that are needed to judge the grace period.
const fewest = 3

// fewHeartbeats returns a note if there are not enough intervals to judge the grace period.
func (c *cluster) fewHeartbeats() []Recommendation {
	if c.intervals >= uint64(fewest*len(c.nodes)) && len(c.nodes) > 0 {
		return nil
	}
	return []Recommendation{{
		Kind: "few_heartbeats", Severity: note,
		Set:      "the time of observation",
		Observed: fmt.Sprintf("%s of %s", phrase.Count(int(c.intervals), "heartbeat interval", "heartbeat intervals"), phrase.Count(len(c.nodes), "node", "nodes")),
		Advice:   "observe for two minutes or longer, or query a running kubeflap instance (--url)",
		Why:      fmt.Sprintf("heartbeats are %s apart. Fewer than %d intervals per node do not show how late heartbeats can be.", phrase.Duration(c.interval()), fewest),
	}}
}

// notWatched returns a note for each resource whose absence makes the report incomplete.
func (c *cluster) notWatched() (all []Recommendation) {
	for _, w := range c.unwatched {
		all = append(all, Recommendation{
			Kind: "not_watched", Severity: note,
			Set:      fmt.Sprintf("the watch of %s: %s", w.Resource, w.Unavailable),
			Observed: fmt.Sprintf("kubeflap cannot watch %s", w.Resource),
			Advice:   fmt.Sprintf("let kubeflap list and watch %s, if the cluster has them", w.Resource),
			Why:      fmt.Sprintf("the advice that needs %s is missing, so a report without findings does not mean that everything is fine.", w.Resource),
		})
	}
	return all
}

// settingRecommendations compares the controller manager's other flags with the profiles.
func (c *cluster) settingRecommendations() (all []Recommendation) {
	severity := note
	if slices.ContainsFunc(c.nodes, func(n nodes.Node) bool { return n.MissedHeartbeats > 0 }) {
		severity = warning // these settings determine the impact of a lost node
	}
	add := func(flag string, value time.Duration, profiles, advice, why string) {
		all = append(all, Recommendation{
			Kind: "controller_manager_flag", Severity: severity, Set: "--" + flag + "=" + phrase.Duration(value), Observed: profiles, Advice: advice, Why: why,
		})
	}
	if period := c.flags.MonitorPeriod; period > 5*time.Second || c.grace.Period > 0 && 4*period > c.grace.Period {
		add("node-monitor-period", period, "5s in the default, medium and slow profiles, 2s in fast", "remove the flag: 5s is the default",
			fmt.Sprintf("the node controller checks the nodes once per period, so it notices a heartbeat and the end of the grace period up to %s late.", phrase.Duration(2*period)))
	}
	if timeout := c.flags.EvictionTimeout; timeout > 0 && timeout <= time.Minute {
		add("pod-eviction-timeout", timeout, "5m by default, and 30s (fast) or 1m (medium, slow) in the profiles", "set 5m, unless the pods of a lost node must be replaced immediately",
			fmt.Sprintf("up to v1.12, if a node sends no heartbeat for one grace period and returns after %s, its pods are already evicted. Later versions ignore the flag: the tolerations of the pods apply.", phrase.Duration(timeout)))
	}
	return all
}
