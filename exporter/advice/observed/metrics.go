// Package observed reads the input of `kubeflap advise` from metrics.
package observed

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// The metrics that `kubeflap advise` needs.
const (
	metricGrace          = "kubeflap_node_monitor_grace_period_seconds"
	metricRecommended    = "kubeflap_node_monitor_grace_period_recommended_seconds"
	metricExpected       = "kubeflap_node_heartbeat_interval_expected_seconds"
	metricManaged        = "kubeflap_control_plane_managed"
	metricFlag           = "kubeflap_controller_manager_flag"
	metricShort          = "kubeflap_pods_short_toleration"
	metricShortest       = "kubeflap_pods_toleration_min_seconds"
	metricInterval       = "kubeflap_node_heartbeat_interval_seconds"
	metricLongest        = "kubeflap_node_heartbeat_interval_max_seconds"
	metricLate           = "kubeflap_node_heartbeats_late_total"
	metricMissed         = "kubeflap_node_heartbeats_missed_total"
	metricVerdict        = "kubeflap_node_verdict"
	metricSilences       = "kubeflap_node_silences"
	metricLastSilence    = "kubeflap_node_last_silence_timestamp_seconds"
	metricConflict       = "kubeflap_service_selector_conflict"
	metricForeign        = "kubeflap_service_foreign_addresses"
	metricResets         = "kubeflap_service_endpoints_resets_total"
	metricBounces        = "kubeflap_service_address_bounces_total"
	metricLosses         = "kubeflap_service_address_losses_total"
	metricUpdates        = "kubeflap_pod_inplace_updates_total"
	metricUngated        = "kubeflap_pod_inplace_updates_ungated_total"
	metricSilentRestarts = "kubeflap_pod_silent_restarts_total"
	metricWindows        = "kubeflap_consumer_bounces_total"
	metricStaleReadds    = "kubeflap_service_stale_readds_total"
	metricSynced         = "kubeflap_watch_synced"
	metricLastEvent      = "kubeflap_watch_last_event_timestamp_seconds"
	metricUnavailable    = "kubeflap_watch_unavailable"
)

// Metrics returns the names of the metrics that `kubeflap advise` needs.
func Metrics() []string {
	return []string{
		metricGrace, metricRecommended, metricExpected, metricManaged, metricInterval, metricLongest, metricLate, metricMissed, metricVerdict, metricSilences, metricLastSilence, metricConflict,
		metricForeign, metricResets, metricBounces, metricFlag, metricShort, metricShortest,
		metricLosses, metricUpdates, metricUngated, metricSilentRestarts, metricWindows, metricStaleReadds, metricSynced, metricLastEvent, metricUnavailable,
	}
}

const labelCluster = "cluster"

// Cluster reads a cluster from an exposition. If the exposition contains several clusters, the caller must name one of
// them. Cluster returns an error if the cluster is missing, or if kubeflap has not listed all of the cluster's objects.
func Cluster(families []*dto.MetricFamily, cluster string) (report.Cluster, error) {
	r := reader{families: map[string]*dto.MetricFamily{}, cluster: cluster}
	for _, family := range families {
		r.families[family.GetName()] = family
	}
	if err := r.check(); err != nil {
		return report.Cluster{}, err
	}
	c := report.Cluster{Nodes: r.nodes(), Intervals: r.intervals(), Services: r.services(), Namespaces: r.namespaces(), Flags: map[string]float64{}, ShortTolerations: r.shortTolerations()}
	r.each(metricFlag, func(l labels, v float64) { c.Flags[l["flag"]] = v })
	r.each(metricGrace, func(l labels, v float64) { c.Grace, c.GraceSource = inSeconds(v), l["source"] })
	r.each(metricRecommended, func(_ labels, v float64) { c.Recommended = inSeconds(v) })
	r.each(metricExpected, func(_ labels, v float64) { c.Expected = inSeconds(v) })
	r.each(metricManaged, func(_ labels, v float64) { c.Managed = v > 0 })
	r.each(metricLastEvent, func(_ labels, v float64) {
		if t := unixTime(v); t.After(c.Now) {
			c.Now = t
		}
	})
	r.each(metricUnavailable, func(l labels, _ float64) {
		c.Unwatched = append(c.Unwatched, report.Unwatched{Resource: l["resource"], Reason: l["reason"]})
	})
	return c, nil
}

type labels map[string]string

type reader struct {
	families map[string]*dto.MetricFamily
	cluster  string
}

// check returns an error unless exactly one cluster is selected and kubeflap has listed all of the cluster's objects.
func (r *reader) check() error {
	clusters := map[string]bool{}
	for _, m := range r.families[metricSynced].GetMetric() {
		clusters[labelsOf(m)[labelCluster]] = true
	}
	switch {
	case len(clusters) == 0:
		return fmt.Errorf("these are not kubeflap's metrics, because %s is missing", metricSynced)
	case r.cluster == "" && len(clusters) > 1:
		return fmt.Errorf("there are several clusters: set --url.cluster to one of %s", strings.Join(slices.Sorted(maps.Keys(clusters)), ", "))
	case r.cluster != "" && !clusters[r.cluster] && clusters[""]:
		return errors.New("the metrics do not name their cluster: omit --url.cluster")
	case r.cluster != "" && !clusters[r.cluster]:
		return fmt.Errorf("there is no cluster %s: set --url.cluster to one of %s", r.cluster, strings.Join(slices.Sorted(maps.Keys(clusters)), ", "))
	}
	missing := map[string]bool{}
	r.each(metricSynced, func(l labels, v float64) { missing[l["resource"]] = v == 0 })
	r.each(metricUnavailable, func(l labels, _ float64) { missing[l["resource"]] = false })
	for _, resource := range slices.Sorted(maps.Keys(missing)) {
		if missing[resource] {
			return fmt.Errorf("the list of %s is not complete", resource)
		}
	}
	return nil
}

func (r *reader) each(name string, do func(labels, float64)) {
	r.eachMetric(name, func(l labels, m *dto.Metric) { do(l, valueOf(m)) })
}

func (r *reader) eachMetric(name string, do func(labels, *dto.Metric)) {
	for _, m := range r.families[name].GetMetric() {
		if l := labelsOf(m); r.cluster == "" || l[labelCluster] == r.cluster {
			do(l, m)
		}
	}
}

func labelsOf(m *dto.Metric) labels {
	l := labels{}
	for _, pair := range m.GetLabel() {
		l[pair.GetName()] = pair.GetValue()
	}
	return l
}

func valueOf(m *dto.Metric) float64 {
	switch {
	case m.Gauge != nil:
		return m.GetGauge().GetValue()
	case m.Counter != nil:
		return m.GetCounter().GetValue()
	}
	return m.GetUntyped().GetValue()
}

func (r *reader) nodes() []report.Node {
	nodes := map[string]*report.Node{}
	of := func(l labels) *report.Node {
		name := l["node"]
		if nodes[name] == nil {
			nodes[name] = &report.Node{Name: name}
		}
		return nodes[name]
	}
	r.each(metricLongest, func(l labels, v float64) { of(l).Longest = inSeconds(v) })
	r.each(metricLate, func(l labels, v float64) { of(l).Late = uint64(v) })
	r.each(metricMissed, func(l labels, v float64) { of(l).Missed = uint64(v) })
	r.each(metricVerdict, func(l labels, v float64) {
		if is, ok := verdict.Parse(l["verdict"]); ok && v > 0 && nodes[l["node"]] != nil {
			nodes[l["node"]].Verdicts = append(nodes[l["node"]].Verdicts, is)
		}
	})
	r.readSilences(nodes)
	return sortedValues(nodes)
}

// readSilences adds the nodes' silences. It ignores unknown verdicts and reasons, which later versions of kubeflap may
// use.
func (r *reader) readSilences(nodes map[string]*report.Node) {
	of := func(l labels) *report.Silences {
		n := nodes[l["node"]]
		v, known := verdict.Parse(l["verdict"])
		reason, ok := verdict.ParseReason(l["reason"])
		if n == nil || !known || !ok {
			return &report.Silences{}
		}
		i := slices.IndexFunc(n.Silences, func(s report.Silences) bool { return s.Verdict == v && s.Reason == reason })
		if i < 0 {
			i, n.Silences = len(n.Silences), append(n.Silences, report.Silences{Verdict: v, Reason: reason})
		}
		return &n.Silences[i]
	}
	r.each(metricSilences, func(l labels, v float64) { of(l).Count = uint64(v) })
	r.each(metricLastSilence, func(l labels, v float64) { of(l).Last = unixTime(v) })
}

func inSeconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }

func unixTime(seconds float64) time.Time {
	return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC()
}

func (r *reader) intervals() (h report.Histogram) {
	r.eachMetric(metricInterval, func(_ labels, m *dto.Metric) {
		for _, b := range m.GetHistogram().GetBucket() {
			h.Buckets = append(h.Buckets, report.Bucket{Bound: b.GetUpperBound(), Count: b.GetCumulativeCount()})
		}
		// The text format contains the +Inf bucket, but client_golang provides only the total count.
		if n := len(h.Buckets); n > 0 && !math.IsInf(h.Buckets[n-1].Bound, 1) {
			h.Buckets = append(h.Buckets, report.Bucket{Bound: math.Inf(1), Count: m.GetHistogram().GetSampleCount()})
		}
	})
	return h
}

func (r *reader) services() []report.Service {
	services := map[string]*report.Service{}
	of := func(l labels) *report.Service {
		key := l["namespace"] + "/" + l["service"]
		if services[key] == nil {
			services[key] = &report.Service{Namespace: l["namespace"], Name: l["service"]}
		}
		return services[key]
	}
	r.each(metricConflict, func(l labels, v float64) { of(l).Conflict = v > 0 })
	r.each(metricForeign, func(l labels, v float64) { of(l).ForeignAddresses = uint64(v) })
	r.each(metricBounces, func(l labels, v float64) { of(l).Bounces = uint64(v) })
	r.each(metricResets, func(l labels, v float64) {
		if l["selector"] == "true" {
			of(l).ResetsWithSelector = uint64(v)
		} else {
			of(l).ResetsSelectorless = uint64(v)
		}
	})
	r.each(metricLosses, func(l labels, v float64) {
		if l["cause"] == "inplace_update" {
			of(l).InPlaceLosses = uint64(v)
		}
	})
	return sortedValues(services)
}

func (r *reader) namespaces() []report.Namespace {
	namespaces := map[string]*report.Namespace{}
	of := func(l labels) *report.Namespace {
		name := l["namespace"]
		if namespaces[name] == nil {
			namespaces[name] = &report.Namespace{Name: name}
		}
		return namespaces[name]
	}
	r.each(metricUpdates, func(l labels, v float64) { of(l).InPlaceUpdates = uint64(v) })
	r.each(metricUngated, func(l labels, v float64) { of(l).UngatedUpdates = uint64(v) })
	r.each(metricSilentRestarts, func(l labels, v float64) { of(l).SilentRestarts = uint64(v) })
	r.each(metricWindows, func(l labels, v float64) {
		if w := windowOf(of(l), l["window"]); w != nil {
			w.Bounces = int(v)
		}
	})
	r.each(metricStaleReadds, func(l labels, v float64) {
		if w := windowOf(of(l), l["window"]); w != nil {
			w.StaleReadds += int(v)
		}
	})
	return sortedValues(namespaces)
}

func (r *reader) shortTolerations() []report.ShortToleration {
	namespaces := map[string]*report.ShortToleration{}
	r.each(metricShort, func(l labels, v float64) {
		namespaces[l["namespace"]] = &report.ShortToleration{Namespace: l["namespace"], Pods: int(v)}
	})
	r.each(metricShortest, func(l labels, v float64) {
		if x := namespaces[l["namespace"]]; x != nil {
			x.Shortest = inSeconds(v)
		}
	})
	return sortedValues(namespaces)
}

// windowOf returns the namespace's batching window with the given length, and adds it if necessary. It returns nil if
// the length is invalid.
func windowOf(n *report.Namespace, length string) *advice.Window {
	d, err := time.ParseDuration(length)
	if err != nil {
		return nil
	}
	i, found := slices.BinarySearchFunc(n.Windows, d, func(w advice.Window, d time.Duration) int { return cmp.Compare(w.Length, d) })
	if !found {
		n.Windows = slices.Insert(n.Windows, i, advice.Window{Length: d})
	}
	return &n.Windows[i]
}

func sortedValues[V any](m map[string]*V) []V {
	values := make([]V, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		values = append(values, *m[key])
	}
	return values
}
