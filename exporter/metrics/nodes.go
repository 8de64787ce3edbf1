package metrics

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/silence"
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
		"Time between consecutive heartbeats of a node. The histogram counts all nodes.", always), intervalBuckets())
	return []row{
		node.row(gauge("kubeflap_node_heartbeat_age_seconds",
			"Time since kubeflap saw the node's last heartbeat: a renewed Lease or a reported status.", whileLeasesKnown, "node"),
			func(to *Scrape, n *nodes.Node) { to.sampleIf(n.HeartbeatKnown, n.HeartbeatAge.Seconds()) }),
		c.intervals,
		node.row(gauge("kubeflap_node_heartbeat_interval_max_seconds",
			"Longest time between heartbeats of the node in the last 10 minutes, including the time since its last heartbeat.", whileLeasesKnown, "node"),
			func(to *Scrape, n *nodes.Node) { to.sampleIf(n.HeartbeatKnown, n.LongestInterval.Seconds()) }),
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
		"Duration of the periods in which a node was not Ready, by status. Only includes periods that kubeflap saw from start to end. Excludes the startup of new nodes.", "per status except true", "status"), durationBuckets(), event.StatusFalse.String(), event.StatusUnknown.String())
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
		node.row(counter("kubeflap_node_unready_total",
			"Periods in which the node was not Ready, by class: unplanned, or planned if the node's departure was announced before. Excludes the startup of new nodes.", perNodeClass, "node", "class"), func(to *Scrape, n *nodes.Node) {
			to.sample(float64(n.Unplanned.Count), cause.Unplanned.String())
			to.created = n.Planned.Since
			to.sampleIf(n.Planned.Count > 0, float64(n.Planned.Count), cause.Planned.String())
		}),
		node.row(counter("kubeflap_node_unready_seconds_total",
			"Total time the node was not Ready, by class, including any ongoing period. Excludes the startup of new nodes.", perNodeClass, "node", "class"), func(to *Scrape, n *nodes.Node) {
			to.sample(n.Unplanned.Time.Seconds(), cause.Unplanned.String())
			to.created = n.Planned.Since
			to.sampleIf(!n.Planned.Since.IsZero(), n.Planned.Time.Seconds(), cause.Planned.String())
		}),
		c.unready,
		silenceRow(),
	}
}

// otherNodeRows returns the other metrics of nodes, and those of settings that apply to all nodes.
func otherNodeRows() []row {
	node := eachNode()
	return []row{
		node.row(gauge("kubeflap_node_clock_offset_seconds",
			"Shortest time from a Lease's renewTime until kubeflap received the renewal, in the last 10 minutes. This is the offset of kubeflap's clock from the node's clock, plus the shortest delivery time.",
			"per Node whose Lease was renewed in the last 10 minutes", "node"),
			func(to *Scrape, n *nodes.Node) { to.sampleIf(n.ClockKnown, n.ClockOffset.Seconds()) }),
		node.row(gauge("kubeflap_node_departing",
			"1 while a taint, a lifecycle condition, a cordon or a deletion announces that the node will be drained, rebooted or removed. docs/verdicts.md lists the taints and conditions, and how long an announcement counts.",
			"per Node whose departure is announced", "node", "reason"),
			func(to *Scrape, n *nodes.Node) { to.sampleIf(n.Departing != "", 1, string(n.Departing)) }),
		single(gauge("kubeflap_node_monitor_grace_period_recommended_seconds",
			"Recommended node monitor grace period. Absent if the current grace period is suitable or cannot be set.", "while there is a recommendation"),
			func(to *Scrape, now *snapshot) {
				recommended := now.standings.GracePeriod.Recommended()
				to.sampleIf(recommended > 0, recommended.Seconds())
			}),
	}
}

// silenceRow returns the metric of the starts of silences.
func silenceRow() row {
	start := kind[silence.Start]{"silence", func(now *snapshot) []silence.Start { return now.standings.Silences }, func(to *Scrape, x *silence.Start) {
		to.startObject(time.Time{}, x.Node)
	}}
	return start.row(gauge("kubeflap_node_silence_start_timestamp_seconds",
		"Unix time of the last heartbeat of a node that has been silent for longer than the grace period. 0 once the silence has ended or changed its class. "+
			"The class is planned (an announced departure), own or shared (from the verdict), undecided (no verdict), or deleted.",
		"per silent Node and class, and for an hour afterwards, or 10 minutes for the class deleted", "node", "class"),
		func(to *Scrape, x *silence.Start) { to.sample(seconds(x.Began), x.Class.String()) })
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
