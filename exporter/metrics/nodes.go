package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
)

type nodeMetrics struct {
	heartbeatAge, intervalMax, heartbeats, late, missed, grace *Metric
	clockOffset, departing, markedInTime, silentReady          *Metric
	recommended, expected, managed                             *Metric
	ready, transitions, unready                                *Metric
	interval, unreadyDuration                                  *Metric
	intervals, unreadyDurations                                *prometheus.HistogramVec
}

// intervalBuckets returns buckets that are dense around 10 s, the renewal interval of a healthy kubelet, and around the
// usual grace periods.
func intervalBuckets() []float64 {
	return []float64{1, 5, 9.5, 10.5, 11, 12, 15, 20, 25, 30, 40, 50, 60, 90, 120, 300}
}

func durationBuckets() []float64 {
	return []float64{0.1, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600, 1800, 3600}
}

func newNodeMetrics() *nodeMetrics {
	m := &nodeMetrics{
		heartbeatAge: gauge("kubeflap_node_heartbeat_age_seconds",
			"Time since kubeflap saw the node's last heartbeat: a renewed Lease or a reported status.", whileLeasesKnown, "node"),
		interval: histogram("kubeflap_node_heartbeat_interval_seconds",
			"Time between consecutive heartbeats of the same node, across all nodes.", always),
		intervalMax: gauge("kubeflap_node_heartbeat_interval_max_seconds",
			"Longest time between heartbeats of the node in the last 10 minutes, including the time since its last heartbeat.", whileLeasesKnown, "node"),
		heartbeats: counter("kubeflap_node_heartbeats_total",
			"Heartbeats of the node. Only includes heartbeats that the node controller recognizes.", perNode, "node"),
		late: counter("kubeflap_node_heartbeats_late_total",
			"Number of times the node went without a heartbeat for longer than half the grace period.", perNode, "node"),
		missed: counter("kubeflap_node_heartbeats_missed_total",
			"Number of times the node went without a heartbeat for longer than the grace period.", perNode, "node"),
		grace: gauge("kubeflap_node_monitor_grace_period_seconds",
			"Time without a heartbeat after which the node controller sets a node's Ready condition to Unknown, by the source of the value.", onceKnown, "source"),
		ready: gauge("kubeflap_node_ready",
			"1 if the node's Ready condition is True, 0 if it is False, Unknown or absent.", perNode, "node"),
		transitions: counter("kubeflap_node_ready_transitions_total",
			"Changes to the node's Ready condition, by the new status.", perNode, "node", "status"),
		unready: counter("kubeflap_node_unready_seconds_total",
			"Total time the node was not Ready, including any ongoing period.", perNode, "node"),
		unreadyDuration: histogram("kubeflap_node_unready_duration_seconds",
			"Duration of the periods in which a node was not Ready, by status. Only includes periods that kubeflap saw from start to end. Excludes the startup of new nodes.", "one per status except true", "status"),
	}
	m.clockOffset = gauge("kubeflap_node_clock_offset_seconds",
		"Shortest time from a Lease's renewTime until kubeflap received the renewal, in the last 10 minutes. This is the offset of kubeflap's clock from the node's clock, plus the shortest delivery time.",
		"one per Node whose Lease was renewed in the last 10 minutes", "node")
	m.departing = gauge("kubeflap_node_departing",
		"1 while a taint, a lifecycle condition, a cordon or a deletion announces that the node will be drained, rebooted or removed. docs/verdicts.md lists the taints and conditions. A cordon counts for one hour. After that, it counts only while the node has no pods other than DaemonSet pods and static pods.",
		"one per Node whose departure is announced", "node", "reason")
	m.markedInTime = counter("kubeflap_node_marked_in_time_total",
		"Number of times the node controller set the node's Ready condition to Unknown although less than one grace period had passed since the last heartbeat.", perNode, "node")
	m.silentReady = gauge("kubeflap_node_silent_ready",
		"1 while the node is Ready although it has sent no heartbeat for more than the grace period plus 15 s, otherwise 0. The value becomes 1 only while the API server is responding.", whileLeasesKnown, "node")
	m.recommended = gauge("kubeflap_node_monitor_grace_period_recommended_seconds",
		"Recommended node monitor grace period. Absent if the current grace period is suitable or cannot be set.", "one, while there is a recommendation")
	m.expected = gauge("kubeflap_node_heartbeat_interval_expected_seconds",
		"Longest expected heartbeat interval of all nodes. The expected interval of a node is 10 s by default (a quarter of the Lease duration), or less if the node regularly sends heartbeats more often.",
		"one, while there are nodes")
	m.managed = gauge("kubeflap_control_plane_managed",
		"1 if the cloud provider (EKS, GKE, AKS) manages the control plane, so that the flags of the control plane cannot be set, otherwise 0.", always)
	m.intervals = m.interval.vec(intervalBuckets())
	m.unreadyDurations = m.unreadyDuration.vec(durationBuckets())
	m.intervals.WithLabelValues()
	m.unreadyDurations.WithLabelValues(event.StatusFalse.String())
	m.unreadyDurations.WithLabelValues(event.StatusUnknown.String())
	return m
}

func (m *nodeMetrics) catalogue() Catalogue {
	return Catalogue{
		m.heartbeatAge, m.interval, m.intervalMax, m.heartbeats, m.late, m.missed, m.grace,
		m.ready, m.transitions, m.unready, m.unreadyDuration, m.clockOffset, m.departing, m.markedInTime, m.silentReady,
		m.recommended, m.expected, m.managed,
	}
}

func (m *nodeMetrics) collect(to *scrape, now *snapshot) {
	to.startObject(time.Time{})
	if now.grace.Period > 0 {
		to.sample(m.grace, now.grace.Period.Seconds(), string(now.grace.Source))
	}
	if now.recommended > 0 {
		to.sample(m.recommended, now.recommended.Seconds())
	}
	if now.heartbeats.Interval > 0 {
		to.sample(m.expected, now.heartbeats.Interval.Seconds())
	}
	to.sample(m.managed, boolean(now.heartbeats.Managed))
	for i := range now.nodes {
		m.collectNode(to, &now.nodes[i])
	}
}

func (m *nodeMetrics) collectNode(to *scrape, n *nodes.Node) {
	to.startObject(n.Created, "node", n.Name)
	if n.HeartbeatKnown {
		to.sample(m.heartbeatAge, n.HeartbeatAge.Seconds())
		to.sample(m.intervalMax, n.LongestInterval.Seconds())
		to.sample(m.silentReady, boolean(n.Overdue))
	}
	to.sample(m.heartbeats, float64(n.Heartbeats))
	to.sample(m.late, float64(n.LateHeartbeats))
	to.sample(m.missed, float64(n.MissedHeartbeats))
	to.sample(m.ready, boolean(n.Ready == event.StatusTrue))
	to.sample(m.transitions, float64(n.Turned[event.StatusTrue]), event.StatusTrue.String())
	to.sample(m.transitions, float64(n.Turned[event.StatusFalse]), event.StatusFalse.String())
	to.sample(m.transitions, float64(n.Turned[event.StatusUnknown]), event.StatusUnknown.String())
	to.sample(m.unready, n.Unready.Seconds())
	if n.ClockKnown {
		to.sample(m.clockOffset, n.ClockOffset.Seconds())
	}
	to.sample(m.markedInTime, float64(n.MarkedInTime))
	if n.Departing != "" {
		to.sample(m.departing, 1, string(n.Departing))
	}
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
