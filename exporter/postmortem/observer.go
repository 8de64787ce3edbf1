package postmortem

import (
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Observer collects the facts about a recording that incidents do not contain: the time span, the versions of
// Kubernetes, the names of nodes and Services, and the objects that were not ready at the start.
type Observer struct {
	begin, end time.Time
	versions   []string
	names      map[[2]string]bool
	first      firstState
}

// NewObserver returns an empty Observer.
func NewObserver() *Observer { return &Observer{names: map[[2]string]bool{}, first: newFirstState()} }

// Start returns the Services and nodes that were not ready when the recording began.
func (o *Observer) Start() *Start { return o.first.start(o.begin) }

// Event records an event.
func (o *Observer) Event(e event.Event) {
	if o.begin.IsZero() {
		o.begin = e.Seen
	}
	if e.Seen.After(o.end) {
		o.end = e.Seen
	}
	o.first.event(e)
	switch x := e.Object.(type) {
	case *event.Cluster:
		if x.Version != "" && !slices.Contains(o.versions, x.Version) {
			o.versions = append(o.versions, x.Version)
		}
	case *event.Node:
		o.names[[2]string{"", x.Name}] = true
	case *event.Service:
		o.names[[2]string{x.Namespace, x.Name}] = true
	case *event.EndpointSlice:
		o.names[[2]string{x.Namespace, x.Service}] = true
	case *event.Endpoints:
		o.names[[2]string{x.Namespace, x.Name}] = true
	}
}

// Span returns the times of the first and the newest event, or zero times if there were no events.
func (o *Observer) Span() (begin, end time.Time) { return o.begin, o.end }

// HasService reports whether the recording contains a Service, or its EndpointSlices or Endpoints.
func (o *Observer) HasService(namespace, name string) bool {
	return o.names[[2]string{namespace, name}]
}

// HasNamespace reports whether the recording contains a Service, an EndpointSlice or an Endpoints object of a
// namespace.
func (o *Observer) HasNamespace(namespace string) bool {
	for name := range o.names {
		if name[0] == namespace {
			return true
		}
	}
	return false
}

// HasNode reports whether the recording contains a node.
func (o *Observer) HasNode(name string) bool { return o.names[[2]string{"", name}] }

// Kubernetes returns the versions of the API server in order of appearance.
func (o *Observer) Kubernetes() []string { return o.versions }

// VersionFromMetrics returns the version of a running kubeflap from its metrics, or an empty string. The result `found`
// is true if the metrics contain the node, Service or namespace of the filter. If the filter names a cluster,
// VersionFromMetrics ignores the metrics of other clusters.
func VersionFromMetrics(families []*dto.MetricFamily, f Filter) (version string, found bool) {
	for _, family := range families {
		for _, series := range family.GetMetric() {
			l := map[string]string{}
			for _, pair := range series.GetLabel() {
				l[pair.GetName()] = pair.GetValue()
			}
			if f.Cluster != "" && l["cluster"] != f.Cluster {
				continue
			}
			if family.GetName() == "kubeflap_build_info" {
				version = l["version"]
			}
			found = found || f.matchesLabels(l)
		}
	}
	return version, found
}

func (f Filter) matchesLabels(l map[string]string) bool {
	switch {
	case f.Node != "":
		return l["node"] == f.Node
	case f.Service != "":
		return l["namespace"] == f.Namespace && l["service"] == f.Service
	}
	return f.Namespace != "" && l["namespace"] == f.Namespace
}
