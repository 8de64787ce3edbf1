package report

import (
	"cmp"
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/services"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// cluster holds the state of a cluster that the advice depends on.
type cluster struct {
	grace advice.GracePeriod
	// graceSource says how kubeflap found the grace period. It is empty if the grace period is unknown.
	graceSource controlplane.Source
	// now is the time of the newest event.
	now   time.Time
	nodes []node
	// intervals is the number of all heartbeat intervals since kubeflap started.
	intervals  uint64
	services   []services.Service
	namespaces []pods.Namespace
	// flags holds other flags of the kube-controller-manager.
	flags event.ControllerManagerFlags
	// unwatched lists the resources that cannot be watched.
	unwatched []watches.Watch
}

// node is a node with the counts of its silences.
type node struct {
	nodes.Node
	silences []silence.Sum
}

// Of returns the advice for a cluster as of t. The parameter intervals is the number of heartbeat intervals. The table
// compares grace periods. Of returns an error if kubeflap has not listed all of the cluster's objects.
func Of(t time.Time, tracker *track.Tracker, incidents *correlate.Log, intervals uint64, table controlplane.Table) (Report, error) {
	c := cluster{
		grace: incidents.GracePeriod(t), intervals: intervals, services: tracker.Services(t, nil), namespaces: tracker.Namespaces(t, nil),
		flags: tracker.ManagerFlags(),
	}
	c.grace.Interval = cmp.Or(c.grace.Interval, advice.HeartbeatInterval)
	if setting := tracker.GracePeriod(); setting.Period > 0 {
		c.graceSource = setting.Source
	}
	for _, w := range tracker.Watches(t, nil) {
		switch {
		case w.Unavailable == event.ReasonAbsent: // kubeflap uses another resource instead
		case w.Unavailable != "":
			c.unwatched = append(c.unwatched, w)
		case !w.Synced:
			return Report{}, fmt.Errorf("the list of %s is not complete", w.Resource)
		}
		if w.LastEvent.After(c.now) {
			c.now = w.LastEvent
		}
	}
	c.nodes = nodesOf(t, tracker, incidents)
	return adviseOn(&c, table), nil
}

func nodesOf(t time.Time, tracker *track.Tracker, incidents *correlate.Log) (all []node) {
	silences := map[string][]silence.Sum{}
	for _, s := range incidents.Silences(t) {
		silences[s.Node] = append(silences[s.Node], s)
	}
	for _, n := range tracker.Nodes(t, nil) {
		if !n.HeartbeatKnown {
			n.LongestInterval = 0
		}
		all = append(all, node{n, silences[n.Name]})
	}
	return all
}

// renewals returns the number of renewals that fit into the grace period.
func renewals(g advice.GracePeriod) int { return int(g.Period / g.LongestOnTime()) }

func (c *cluster) summary() Heartbeats {
	g, longest := c.grace, time.Duration(0)
	for _, n := range c.nodes {
		longest = max(longest, n.LongestInterval)
	}
	return Heartbeats{
		Nodes: len(c.nodes), Grace: g.Period.Seconds(), GraceSource: string(c.graceSource),
		Observed: c.intervals, Longest: rounded(longest.Seconds()),
		Renewals: renewals(g), Expected: g.Interval.Seconds(), Recommended: g.Recommended().Seconds(), LeaseWrites: float64(len(c.nodes)) / g.Interval.Seconds(),
	}
}
