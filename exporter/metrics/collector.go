package metrics

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/incident/ledger"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/services"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Collector provides the metrics of one cluster. It reads the tracker at each scrape. Observe fills the histograms.
type Collector struct {
	tracker   *track.Tracker
	incidents *correlate.Log
	now       func() time.Time

	rows []row
	// The following histograms are the rows that Observe fills.
	intervals, unready, outages, propagations, stale row
	// Observe also counts the propagations of pods' readiness changes to their addresses. The slow ones took longer than slowAfter.
	propagated, slow atomic.Uint64
}

// slowAfter is the time after which a propagation counts as slow. It is a bucket of the histogram of propagation times.
const slowAfter = 5 * time.Second

// NewCollector returns a collector for a tracker and its incidents. Each scrape calls now() to get the current time.
func NewCollector(tracker *track.Tracker, incidents *correlate.Log, now func() time.Time) *Collector {
	c := &Collector{tracker: tracker, incidents: incidents, now: now}
	c.rows = slices.Concat(c.heartbeatRows(), c.readyRows(), otherNodeRows(), addressRows(), c.outageRows(), c.writerRows(),
		c.podRows(), verdictRows(), watchRows())
	return c
}

// Intervals returns the number of heartbeat intervals.
func (c *Collector) Intervals() uint64 {
	var m dto.Metric
	if h, ok := c.intervals.series.WithLabelValues().(prometheus.Metric); ok {
		_ = h.Write(&m) // only fails for invalid labels
	}
	return m.Histogram.GetSampleCount()
}

// Observe adds the durations of a transition to the histograms.
func (c *Collector) Observe(x transition.Transition) {
	switch x := x.(type) {
	case transition.HeartbeatSeen:
		if x.Unwatched {
			return
		}
		c.intervals.series.WithLabelValues().Observe(x.Interval.Seconds())
	case transition.NodeReadyChanged:
		if x.Complete && x.From != event.StatusTrue {
			c.unready.series.WithLabelValues(x.From.String()).Observe(x.Lasted.Seconds())
		}
	case transition.OutageEnded:
		if x.AtLeast == x.AtMost {
			c.outages.series.WithLabelValues(x.Cause.String()).Observe(x.Lasted.Seconds())
		}
	case transition.AddressFollowedPod:
		c.propagations.series.WithLabelValues(transition.Readiness(x.Ready)).Observe(x.Delay.Seconds())
		if c.propagated.Add(1); x.Delay > slowAfter {
			c.slow.Add(1)
		}
	case transition.PodReadyWasStale:
		c.stale.series.WithLabelValues().Observe(x.Stale.Seconds())
	}
}

// snapshot is a copy of the tracker's data. While a scrape writes this copy, the tracker is not locked.
type snapshot struct {
	grace      controlplane.Setting
	source     string
	nodes      []nodes.Node
	services   []services.Service
	outages    []services.OutageStart
	namespaces []pods.Namespace
	watches    []watches.Watch
	standings  ledger.Standings
}

// snapshot copies the tracker's current data into s. It reuses the memory of s.
func (c *Collector) snapshot(s *snapshot) {
	now := c.now()
	s.grace, s.source = c.tracker.GracePeriod(), c.tracker.AddressSource().String()
	s.nodes = c.tracker.Nodes(now, s.nodes[:0])
	s.services = c.tracker.Services(now, s.services[:0])
	s.outages = c.tracker.OutageStarts(now, s.outages[:0])
	s.namespaces = c.tracker.Namespaces(now, s.namespaces[:0])
	s.watches = c.tracker.Watches(now, s.watches[:0])
	s.standings = c.incidents.Standings(now, s.standings)
}
