package metrics

import (
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
)

// intervalBuckets returns buckets that are dense around 10 s, the renewal interval of a healthy kubelet, and around the
// usual grace periods.
func intervalBuckets() []float64 {
	return []float64{1, 5, 9.5, 10.5, 11, 12, 15, 20, 25, 30, 40, 50, 60, 90, 120, 300}
}

func durationBuckets() []float64 {
	return []float64{0.1, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600, 1800, 3600}
}

func eachNode() kind[nodes.Node] {
	return kind[nodes.Node]{"node", func(now *snapshot) []nodes.Node { return now.nodes }, func(to *Scrape, n *nodes.Node) { to.startObject(n.Created, n.Name) }}
}

// heartbeatRows returns the metrics of heartbeats.
func (c *Collector) heartbeatRows() []row {
	node := eachNode()
	c.intervals = observed(histogram("kubeflap_node_heartbeat_interval_seconds",
		"Time between consecutive heartbeats of the same node, across all nodes.", always), intervalBuckets())
	return []row{
		node.row(gauge("kubeflap_node_heartbeat_age_seconds",
			"Time since kubeflap saw the node's last heartbeat: a renewed Lease or a reported status.", whileLeasesKnown, "node"),
			func(to *Scrape, n *nodes.Node) { to.sampleIf(n.HeartbeatKnown, n.HeartbeatAge.Seconds()) }),
		c.intervals,
		node.row(gauge("kubeflap_node_heartbeat_interval_max_seconds",
			"Longest time between heartbeats of the node in the last 10 minutes, including the time since its last heartbeat.", whileLeasesKnown, "node"),
			func(to *Scrape, n *nodes.Node) { to.sampleIf(n.HeartbeatKnown, n.LongestInterval.Seconds()) }),
		node.row(counter("kubeflap_node_heartbeats_total",
			"Heartbeats of the node. Only includes heartbeats that the node controller recognizes.", perNode, "node"),
			func(to *Scrape, n *nodes.Node) { to.sample(float64(n.Heartbeats)) }),
		node.row(counter("kubeflap_node_heartbeats_late_total",
			"Number of times the node went without a heartbeat for longer than half the grace period.", perNode, "node"),
			func(to *Scrape, n *nodes.Node) { to.sample(float64(n.LateHeartbeats)) }),
		node.row(counter("kubeflap_node_heartbeats_missed_total",
			"Number of times the node went without a heartbeat for longer than the grace period.", perNode, "node"),
			func(to *Scrape, n *nodes.Node) { to.sample(float64(n.MissedHeartbeats)) }),
		single(gauge("kubeflap_node_monitor_grace_period_seconds",
			"Time without a heartbeat after which the node controller sets a node's Ready condition to Unknown, by the source of the value.", onceKnown, "source"),
			func(to *Scrape, now *snapshot) {
				to.sampleIf(now.grace.Period > 0, now.grace.Period.Seconds(), string(now.grace.Source))
			}),
	}
}

// readyRows returns the metrics of the Ready condition of nodes.
func (c *Collector) readyRows() []row {
	node := eachNode()
	c.unready = observed(histogram("kubeflap_node_unready_duration_seconds",
		"Duration of the periods in which a node was not Ready, by status. Only includes periods that kubeflap saw from start to end. Excludes the startup of new nodes.", "one per status except true", "status"), durationBuckets(), event.StatusFalse.String(), event.StatusUnknown.String())
	return []row{
		node.row(gauge("kubeflap_node_ready",
			"1 if the node's Ready condition is True, 0 if it is False, Unknown or absent.", perNode, "node"),
			func(to *Scrape, n *nodes.Node) { to.sample(boolean(n.Ready == event.StatusTrue)) }),
		node.row(counter("kubeflap_node_ready_transitions_total",
			"Changes to the node's Ready condition, by the new status.", perNode, "node", "status"), func(to *Scrape, n *nodes.Node) {
			for _, status := range [...]event.Status{event.StatusTrue, event.StatusFalse, event.StatusUnknown} {
				to.sample(float64(n.Turned[status]), status.String())
			}
		}),
		node.row(counter("kubeflap_node_unready_seconds_total",
			"Total time the node was not Ready, including any ongoing period.", perNode, "node"),
			func(to *Scrape, n *nodes.Node) { to.sample(n.Unready.Seconds()) }),
		c.unready,
	}
}

// otherNodeRows returns the other metrics of nodes, and those of settings that apply to all nodes.
func otherNodeRows() []row {
	node := eachNode()
	return []row{
		node.row(gauge("kubeflap_node_clock_offset_seconds",
			"Shortest time from a Lease's renewTime until kubeflap received the renewal, in the last 10 minutes. This is the offset of kubeflap's clock from the node's clock, plus the shortest delivery time.",
			"one per Node whose Lease was renewed in the last 10 minutes", "node"),
			func(to *Scrape, n *nodes.Node) { to.sampleIf(n.ClockKnown, n.ClockOffset.Seconds()) }),
		node.row(gauge("kubeflap_node_departing",
			"1 while a taint, a lifecycle condition, a cordon or a deletion announces that the node will be drained, rebooted or removed. docs/verdicts.md lists the taints and conditions. A cordon counts for one hour. After that, it counts only while the node has no pods other than DaemonSet pods and static pods.",
			"one per Node whose departure is announced", "node", "reason"),
			func(to *Scrape, n *nodes.Node) { to.sampleIf(n.Departing != "", 1, string(n.Departing)) }),
		node.row(counter("kubeflap_node_marked_in_time_total",
			"Number of times the node controller set the node's Ready condition to Unknown although less than one grace period had passed since the last heartbeat.", perNode, "node"),
			func(to *Scrape, n *nodes.Node) { to.sample(float64(n.MarkedInTime)) }),
		node.row(gauge("kubeflap_node_silent_ready",
			"1 while the node is Ready although it has sent no heartbeat for more than the grace period plus 15 s, otherwise 0. The value becomes 1 only while the API server is responding.", whileLeasesKnown, "node"),
			func(to *Scrape, n *nodes.Node) { to.sampleIf(n.HeartbeatKnown, boolean(n.Overdue)) }),
		single(gauge("kubeflap_node_monitor_grace_period_recommended_seconds",
			"Recommended node monitor grace period. Absent if the current grace period is suitable or cannot be set.", "one, while there is a recommendation"),
			func(to *Scrape, now *snapshot) { to.sampleIf(now.recommended > 0, now.recommended.Seconds()) }),
		single(gauge("kubeflap_node_heartbeat_interval_expected_seconds",
			"Longest expected heartbeat interval of all nodes. The expected interval of a node is 10 s by default (a quarter of the Lease duration), or less if the node regularly sends heartbeats more often.",
			"one, while there are nodes"),
			func(to *Scrape, now *snapshot) {
				to.sampleIf(now.heartbeats.Interval > 0, now.heartbeats.Interval.Seconds())
			}),
		single(gauge("kubeflap_control_plane_managed",
			"1 if the cloud provider (EKS, GKE, AKS) manages the control plane, so that the flags of the control plane cannot be set, otherwise 0.", always),
			func(to *Scrape, now *snapshot) { to.sample(boolean(now.heartbeats.Managed)) }),
	}
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
