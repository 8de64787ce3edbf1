package report

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const (
	metricSynced      = "kubeflap_watch_synced"
	metricUnavailable = "kubeflap_watch_unavailable"
	labelCluster      = "cluster"
)

// sample is a series of a metric. Its histogram is nil unless the metric is a histogram.
type sample struct {
	labels    map[string]string
	value     float64
	histogram *dto.Histogram
}

func (s sample) count() uint64 { return uint64(s.value) }

// reader reads a cluster from metrics.
type reader struct {
	families   map[string]*dto.MetricFamily
	name       string
	cluster    Cluster
	nodes      entries[Node]
	services   entries[Service]
	namespaces entries[Namespace]
}

func (r *reader) node(s sample) *Node {
	n := r.nodes.of(s.labels["node"])
	n.Name = s.labels["node"]
	return n
}

func (r *reader) service(s sample) *Service {
	x := r.services.of(s.labels["namespace"] + "/" + s.labels["service"])
	x.Namespace, x.Name = s.labels["namespace"], s.labels["service"]
	return x
}

func (r *reader) namespace(s sample) *Namespace {
	n := r.namespaces.of(s.labels["namespace"])
	n.Name = s.labels["namespace"]
	return n
}

// readings has an entry for each metric that `kubeflap advise` needs. They are read in this order.
var readings = []struct {
	metric string
	read   func(*reader, sample)
}{
	{metricSynced, func(*reader, sample) {}},
	{metricUnavailable, func(r *reader, s sample) {
		r.cluster.Unwatched = append(r.cluster.Unwatched, Unwatched{s.labels["resource"], s.labels["reason"]})
	}},
	{"kubeflap_watch_last_event_timestamp_seconds", func(r *reader, s sample) {
		if t := unixTime(s.value); t.After(r.cluster.Now) {
			r.cluster.Now = t
		}
	}},
	{"kubeflap_controller_manager_flag", func(r *reader, s sample) { r.cluster.Flags[s.labels["flag"]] = s.value }},
	{"kubeflap_node_monitor_grace_period_seconds", func(r *reader, s sample) {
		r.cluster.Grace.Period, r.cluster.GraceSource = inSeconds(s.value), s.labels["source"]
	}},
	{"kubeflap_node_monitor_grace_period_recommended_seconds", func(r *reader, s sample) { r.cluster.Recommended = inSeconds(s.value) }},
	{"kubeflap_node_heartbeat_interval_expected_seconds", func(r *reader, s sample) { r.cluster.Grace.Interval = inSeconds(s.value) }},
	{"kubeflap_control_plane_managed", func(r *reader, s sample) { r.cluster.Grace.Managed = s.value > 0 }},
	{"kubeflap_node_heartbeat_interval_seconds", (*reader).readIntervals},
	{"kubeflap_node_heartbeat_interval_max_seconds", func(r *reader, s sample) { r.node(s).Longest = inSeconds(s.value) }},
	{"kubeflap_node_heartbeats_late_total", func(r *reader, s sample) { r.node(s).Late = s.count() }},
	{"kubeflap_node_heartbeats_missed_total", func(r *reader, s sample) { r.node(s).Missed = s.count() }},
	{"kubeflap_node_verdict", func(r *reader, s sample) {
		n := r.nodes[s.labels["node"]]
		if v, ok := verdict.Parse(s.labels["verdict"]); ok && s.value > 0 && n != nil {
			n.Verdicts = append(n.Verdicts, v)
		}
	}},
	{"kubeflap_node_silences", func(r *reader, s sample) { r.addSilences(s, Silences{Count: s.count()}) }},
	{"kubeflap_node_last_silence_timestamp_seconds", func(r *reader, s sample) { r.addSilences(s, Silences{Last: unixTime(s.value)}) }},
	{"kubeflap_service_selector_conflict", func(r *reader, s sample) { r.service(s).Conflict = s.value > 0 }},
	{"kubeflap_service_foreign_addresses", func(r *reader, s sample) { r.service(s).ForeignAddresses = s.count() }},
	{"kubeflap_service_address_bounces_total", func(r *reader, s sample) { r.service(s).Bounces = s.count() }},
	{"kubeflap_service_endpoints_resets_total", func(r *reader, s sample) {
		if s.labels["selector"] == "true" {
			r.service(s).ResetsWithSelector = s.count()
		} else {
			r.service(s).ResetsSelectorless = s.count()
		}
	}},
	{"kubeflap_service_address_losses_total", func(r *reader, s sample) {
		if s.labels["cause"] == "inplace_update" {
			r.service(s).InPlaceLosses = s.count()
		}
	}},
	{"kubeflap_pod_inplace_updates_total", func(r *reader, s sample) { r.namespace(s).InPlaceUpdates = s.count() }},
	{"kubeflap_pod_inplace_updates_ungated_total", func(r *reader, s sample) { r.namespace(s).UngatedUpdates = s.count() }},
	{"kubeflap_pod_silent_restarts_total", func(r *reader, s sample) { r.namespace(s).SilentRestarts = s.count() }},
	{"kubeflap_pods_short_toleration", func(r *reader, s sample) { r.namespace(s).ShortTolerations = int(s.value) }},
	{"kubeflap_pods_toleration_min_seconds", func(r *reader, s sample) { r.namespace(s).Shortest = inSeconds(s.value) }},
	{"kubeflap_consumer_bounces_total", func(r *reader, s sample) { r.addWindow(s, advice.Window{Bounces: int(s.value)}) }},
	{"kubeflap_service_stale_readds_total", func(r *reader, s sample) { r.addWindow(s, advice.Window{StaleReadds: int(s.value)}) }},
}

// Read reads a cluster from an exposition. If the exposition contains several clusters, the caller must name one of
// them. Read returns an error if the cluster is missing, or if kubeflap has not listed all of the cluster's objects.
func Read(families []*dto.MetricFamily, cluster string) (Cluster, error) {
	r := reader{
		families: map[string]*dto.MetricFamily{}, name: cluster, cluster: Cluster{Flags: map[string]float64{}},
		nodes: entries[Node]{}, services: entries[Service]{}, namespaces: entries[Namespace]{},
	}
	for _, family := range families {
		r.families[family.GetName()] = family
	}
	if err := r.check(); err != nil {
		return Cluster{}, err
	}
	for _, x := range readings {
		for s := range r.samples(x.metric) {
			x.read(&r, s)
		}
	}
	r.cluster.Nodes, r.cluster.Services, r.cluster.Namespaces = r.nodes.sorted(), r.services.sorted(), r.namespaces.sorted()
	return r.cluster, nil
}

// check returns an error unless exactly one cluster is selected and kubeflap has listed all of the cluster's objects.
func (r *reader) check() error {
	clusters := map[string]bool{}
	for _, m := range r.families[metricSynced].GetMetric() {
		clusters[labelsOf(m)[labelCluster]] = true
	}
	names := strings.Join(slices.Sorted(maps.Keys(clusters)), ", ")
	switch {
	case len(clusters) == 0:
		return fmt.Errorf("these are not kubeflap's metrics, because %s is missing", metricSynced)
	case r.name == "" && len(clusters) > 1:
		return fmt.Errorf("there are several clusters: set --url.cluster to one of %s", names)
	case r.name != "" && !clusters[r.name] && clusters[""]:
		return errors.New("the metrics do not name their cluster: omit --url.cluster")
	case r.name != "" && !clusters[r.name]:
		return fmt.Errorf("there is no cluster %s: set --url.cluster to one of %s", r.name, names)
	}
	missing := map[string]bool{}
	for s := range r.samples(metricSynced) {
		missing[s.labels["resource"]] = s.value == 0
	}
	for s := range r.samples(metricUnavailable) {
		missing[s.labels["resource"]] = false
	}
	for _, resource := range slices.Sorted(maps.Keys(missing)) {
		if missing[resource] {
			return fmt.Errorf("the list of %s is not complete", resource)
		}
	}
	return nil
}

// samples yields the cluster's series of a metric.
func (r *reader) samples(metric string) iter.Seq[sample] {
	return func(yield func(sample) bool) {
		for _, m := range r.families[metric].GetMetric() {
			value := m.GetUntyped().GetValue() + m.GetGauge().GetValue() + m.GetCounter().GetValue() // only one of them is set
			labels := labelsOf(m)
			if (r.name == "" || labels[labelCluster] == r.name) && !yield(sample{labels, value, m.GetHistogram()}) {
				return
			}
		}
	}
}

// labelsOf returns the labels of a series. It escapes control characters, because the values come from a recording or
// another server.
func labelsOf(m *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, pair := range m.GetLabel() {
		labels[pair.GetName()] = phrase.Line(pair.GetValue())
	}
	return labels
}

func (r *reader) readIntervals(s sample) {
	h := &r.cluster.Intervals
	for _, b := range s.histogram.GetBucket() {
		*h = append(*h, Bucket{b.GetUpperBound(), b.GetCumulativeCount()})
	}
	// The text format contains the +Inf bucket, but client_golang provides only the total count.
	if n := len(*h); n > 0 && !isInf((*h)[n-1].Bound) {
		*h = append(*h, Bucket{math.Inf(1), s.histogram.GetSampleCount()})
	}
}

// addSilences adds silences of a node. It ignores unknown verdicts and reasons, which later versions of kubeflap may
// use.
func (r *reader) addSilences(s sample, x Silences) {
	n := r.nodes[s.labels["node"]]
	v, known := verdict.Parse(s.labels["verdict"])
	reason, ok := verdict.ParseReason(s.labels["reason"])
	if x.Verdict, x.Reason = v, reason; n != nil && known && ok {
		n.Silences = append(n.Silences, x)
	}
}

// addWindow adds mistakes of clients with a batching window. It ignores an invalid length.
func (r *reader) addWindow(s sample, x advice.Window) {
	n := r.namespace(s)
	length, err := time.ParseDuration(s.labels["window"])
	if err != nil {
		return
	}
	i, found := slices.BinarySearchFunc(n.Windows, length, func(w advice.Window, d time.Duration) int { return cmp.Compare(w.Length, d) })
	if !found {
		n.Windows = slices.Insert(n.Windows, i, advice.Window{Length: length})
	}
	n.Windows[i].Bounces += x.Bounces
	n.Windows[i].StaleReadds += x.StaleReadds
}

func unixTime(seconds float64) time.Time {
	return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC()
}
