package truth

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// Heartbeats is the recorder's count of a node's heartbeats. kubeflap has no such metric.
const Heartbeats = "heartbeats"

// The recorder does not know causes and classes. It therefore counts only these aggregations over all of them.
const (
	UnreadyOfAnyClass = "sum(kubeflap_node_unready_seconds_total)"
	AddressesLost     = "sum(kubeflap_service_addresses_lost_total)"
	Outages           = "sum(kubeflap_service_outages_total)"
	LossesOfAnyCause  = "sum(kubeflap_service_address_losses_total)"
)

const (
	nodeTransitions = "kubeflap_node_ready_transitions_total"
	flips           = "kubeflap_service_address_flips_total"
	resets          = "kubeflap_service_endpoints_resets_total"
	intervalCount   = "kubeflap_node_heartbeat_interval_seconds_count"
	intervalSum     = "kubeflap_node_heartbeat_interval_seconds_sum"
	imageChanges    = "kubeflap_pod_inplace_updates_total"
	silentRestarts  = "kubeflap_pod_silent_restarts_total"
)

// Counts maps each series to its value. The key of a series is its name and sorted labels in Prometheus' notation:
// `name{a="1", b="2"}`.
type Counts map[string]float64

// Series returns the key of a series in Counts. The parameter labels contains pairs of name and value.
func Series(name string, labels ...string) string {
	metric := model.Metric{model.MetricNameLabel: model.LabelValue(name)}
	for i := 0; i < len(labels); i += 2 {
		metric[model.LabelName(labels[i])] = model.LabelValue(labels[i+1])
	}
	return metric.String()
}

// Name returns the metric name of a series.
func Name(series string) string {
	name, _, _ := strings.Cut(series, "{")
	return name
}

// Sum returns the sum of all series of a metric that have all of the given labels.
func (c Counts) Sum(name string, labels ...string) float64 {
	var sum float64
	for series, value := range c {
		if Name(series) == name && hasLabels(series, labels) {
			sum += value
		}
	}
	return sum
}

func hasLabels(series string, labels []string) bool {
	for i := 0; i < len(labels); i += 2 {
		pair := fmt.Sprintf("%s=%q", labels[i], labels[i+1])
		if !strings.Contains(series, "{"+pair) && !strings.Contains(series, " "+pair) {
			return false
		}
	}
	return true
}

func (c Counts) add(value float64, name string, labels ...string) {
	c[Series(name, labels...)] += value
}

// begin sets a series to 0 if its object exists.
func (c Counts) begin(exists bool, name string, labels ...string) {
	if exists {
		c.add(0, name, labels...)
	}
}

// forget drops all series that have the labels of an object.
func (c Counts) forget(labels ...string) {
	maps.DeleteFunc(c, func(series string, _ float64) bool { return hasLabels(series, labels) })
}

// count counts a change. Series of nodes and Services begin at 0, and end with their object.
func (c Counts) count(f Fact) {
	namespace, name, _ := strings.Cut(f.Object, "/")
	service := []string{"namespace", namespace, "service", name}
	switch f.Kind {
	case FactNode:
		if !f.appears() && f.To != absentState {
			c.add(1, nodeTransitions, "node", f.Object, "status", strings.ToLower(f.To))
			return
		}
		c.forget("node", f.Object)
		for _, status := range []string{"true", "false", "unknown"} {
			c.begin(f.To != absentState, nodeTransitions, "node", f.Object, "status", status)
		}
	case FactHeartbeat:
		c.add(1, Heartbeats, "node", f.Object)
		if f.Seconds > 0 {
			c.add(1, intervalCount)
			c.add(f.Seconds, intervalSum)
		}
	case FactService:
		c.forget(service...)
		for _, to := range []addressState{ready, notReady} {
			c.begin(f.To != absentState, flips, append(service, "to", to.String())...)
		}
		for _, metric := range []string{AddressesLost, LossesOfAnyCause, Outages} {
			c.begin(f.To != absentState, metric, service...)
		}
	case FactAddress:
		c.countAddress(f, service)
	case FactOutage:
		c.add(1, Outages, service...)
	case FactReset:
		c.add(1, resets, append(service, "selector", fmt.Sprint(f.To == "selector"))...)
	case FactImage:
		c.add(1, imageChanges, "namespace", namespace)
	case FactRestart:
		c.add(f.number(), silentRestarts, "namespace", namespace)
	}
}

func (c Counts) countAddress(f Fact, service []string) {
	// Terminating addresses do not belong to the Service.
	members := []string{ready.String(), notReady.String()}
	if slices.Contains(members, f.From) && slices.Contains(members, f.To) {
		c.add(1, flips, append(service, "to", f.To)...)
	}
	if f.From == ready.String() {
		c.add(1, AddressesLost, service...)
		c.add(1, LossesOfAnyCause, service...)
	}
}

// counts returns all counts, and the times and numbers that the current state gives.
func (s *state) counts(now time.Time) Counts {
	c := maps.Clone(s.counted)
	c.add(0, intervalCount)
	c.add(0, intervalSum)
	for name, node := range s.nodes {
		node.counts(c, name, now)
	}
	for key, svc := range s.services {
		for _, state := range []addressState{ready, notReady, terminating} {
			c.add(float64(number(svc.addresses, state)), "kubeflap_service_addresses",
				"namespace", key.Namespace, "service", key.Name, "state", state.String())
		}
	}
	for key := range s.pods {
		c.add(0, imageChanges, "namespace", key.Namespace)
		c.add(0, silentRestarts, "namespace", key.Namespace)
	}
	return c
}
