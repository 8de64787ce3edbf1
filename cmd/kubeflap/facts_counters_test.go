package main

import (
	"fmt"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
)

// counters holds the values of counters, by name and labels.
type counters map[string]float64

// countedMetrics lists the counters of what kubeflap reports, with their labels. Other labels are added up.
var countedMetrics = map[string][]string{
	"kubeflap_node_ready_transitions_total":    {"node", "status"},
	"kubeflap_service_address_flips_total":     {"namespace", "service", "to"},
	"kubeflap_service_addresses_lost_total":    {"namespace", "service"},
	"kubeflap_service_address_losses_total":    {"namespace", "service"},
	"kubeflap_service_outages_total":           {"namespace", "service"},
	"kubeflap_service_endpoints_resets_total":  {"namespace", "service", "selector"},
	"kubeflap_pod_inplace_updates_total":       {"namespace"},
	"kubeflap_pod_silent_restarts_total":       {"namespace"},
	"kubeflap_node_heartbeat_interval_seconds": {},
}

// count counts a change that kubeflap reports, like kubeflap's metrics. The facts confirm the changes.
func (c counters) count(kind, object, what string) {
	object, _, _ = strings.Cut(object, " ")
	namespace, name, _ := strings.Cut(object, "/")
	service := namespace + " " + name
	switch kind {
	case "node", "service":
		if what == "removed" {
			c.forget(strings.TrimSpace(service))
		} else {
			c["kubeflap_node_ready_transitions_total "+object+" "+what[strings.LastIndex(what, " ")+1:]]++
		}
	case "address":
		if to := map[string]string{"ready": " ready", "lost": " not_ready"}[what]; to != "" {
			c["kubeflap_service_address_flips_total "+service+to]++
		}
		if strings.HasPrefix(what, "lost") {
			c["kubeflap_service_addresses_lost_total "+service]++
			c["kubeflap_service_address_losses_total "+service]++
		}
	case "outage":
		c["kubeflap_service_outages_total "+service]++
	case "reset":
		c["kubeflap_service_endpoints_resets_total "+service+" "+map[string]string{"selector": "true", "no_selector": "false"}[what]]++
	case "image":
		c["kubeflap_pod_inplace_updates_total "+namespace]++
	case "restart":
		c["kubeflap_pod_silent_restarts_total "+namespace]++
	case "heartbeat":
		c["kubeflap_node_heartbeat_interval_seconds"]++
	}
}

// forget drops the series of an object.
func (c counters) forget(object string) {
	for series := range c {
		if _, labels, _ := strings.Cut(series, " "); labels == object || strings.HasPrefix(labels, object+" ") {
			delete(c, series)
		}
	}
}

// expectCounters checks that the metrics count the changes that kubeflap reported.
func (c counters) expectCounters(t *testing.T, p *pipeline) {
	t.Helper()
	families := gather(t, p)
	got := counters{}
	for _, family := range families {
		labels, counted := countedMetrics[family.GetName()]
		for _, m := range family.Metric {
			if counted {
				got[seriesKey(family.GetName(), labels, m)] += valueOf(m)
			}
		}
	}
	var faults []string
	for series, want := range c {
		if got[series] != want {
			faults = append(faults, fmt.Sprintf("%s: got %v, want %v", series, got[series], want))
		}
		delete(got, series)
	}
	for series, value := range got {
		if value != 0 {
			faults = append(faults, fmt.Sprintf("%s: got %v, want 0", series, value))
		}
	}
	reportFaults(t, faults)
}

func seriesKey(name string, labels []string, m *dto.Metric) string {
	values := map[string]string{}
	for _, l := range m.Label {
		values[l.GetName()] = l.GetValue()
	}
	for _, label := range labels {
		name += " " + values[label]
	}
	return name
}

func valueOf(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.Counter.GetValue()
	case m.Histogram != nil:
		return float64(m.Histogram.GetSampleCount())
	}
	return m.GetGauge().GetValue()
}
