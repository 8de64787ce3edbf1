package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// counters holds the values of the metrics that the facts determine, by name and labels.
type counters map[string]float64

// countersOf reads kubeflap's metrics. It adds up labels that the facts do not determine.
func countersOf(t *testing.T, p *pipeline) counters {
	t.Helper()
	families, err := p.collector.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := counters{}
	for _, family := range families {
		labels, counted := countedMetrics[family.GetName()]
		if !counted {
			continue
		}
		for _, m := range family.Metric {
			all[seriesKey(family.GetName(), labels, m)] += valueOf(m)
		}
	}
	return all
}

// countedMetrics lists the metrics that the facts determine, with the labels that are not added up.
var countedMetrics = map[string][]string{
	"kubeflap_node_ready_transitions_total":    {"node", "status"},
	"kubeflap_service_addresses":               {"namespace", "service", "state"},
	"kubeflap_service_address_flips_total":     {"namespace", "service", "to"},
	"kubeflap_service_addresses_lost_total":    {"namespace", "service"},
	"kubeflap_service_address_losses_total":    {"namespace", "service"},
	"kubeflap_service_outages_total":           {"namespace", "service"},
	"kubeflap_service_outage_seconds_total":    {"namespace", "service"},
	"kubeflap_node_unready_seconds_total":      {"node"},
	"kubeflap_service_endpoints_resets_total":  {"namespace", "service", "selector"},
	"kubeflap_pod_inplace_updates_total":       {"namespace"},
	"kubeflap_pod_silent_restarts_total":       {"namespace"},
	"kubeflap_node_heartbeat_interval_seconds": {},
}

func seriesKey(name string, labels []string, m *dto.Metric) string {
	values := map[string]string{}
	for _, l := range m.Label {
		values[l.GetName()] = l.GetValue()
	}
	key := name
	for _, label := range labels {
		key += " " + values[label]
	}
	return key
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

// expectCounters compares the increase of kubeflap's counters in the last segment, and the gauges at its end, with the
// facts. Objects that were deleted or recreated in the segment start at 0.
func (x *facts) expectCounters(t *testing.T, before, after counters) {
	t.Helper()
	want, fresh := x.expectedCounters(len(x.Segments) - 1)
	var faults []string
	for series, value := range want {
		got := after[series]
		object := strings.Join(strings.Fields(series)[1:], " ")
		began := !slices.ContainsFunc(fresh, func(o string) bool { return object == o || strings.HasPrefix(object, o+" ") })
		if began && !strings.HasPrefix(series, "kubeflap_service_addresses ") {
			got -= before[series]
		}
		tolerance := 0.0
		if strings.HasPrefix(series, "kubeflap_node_heartbeat_interval") {
			// Each node may have sent one heartbeat at each end of the segment that only one watcher received in it.
			tolerance = 2 * float64(len(x.nodes()))
		}
		if strings.Contains(series, "_seconds_total ") {
			tolerance = receivedWithin.Seconds()
		}
		if got-value > tolerance || value-got > tolerance {
			faults = append(faults, fmt.Sprintf("%s: got %v, want %v", series, got, value))
		}
	}
	for series, got := range after {
		_, known := want[series]
		switch {
		case known:
		case existsPerObject(series):
			faults = append(faults, series+": this object does not exist")
		case got != before[series]:
			faults = append(faults, fmt.Sprintf("%s: got %v, want no increase", series, got-before[series]))
		}
	}
	reportFaults(t, faults)
}

// existsPerObject reports whether the metric of a series has series for each object that exists, and no others.
func existsPerObject(series string) bool {
	name, _, _ := strings.Cut(series, " ")
	return name == "kubeflap_service_addresses" || name == "kubeflap_node_ready_transitions_total"
}

func (x *facts) nodes() map[string]bool {
	all := map[string]bool{}
	for _, f := range x.all {
		if f.Kind == "node" {
			all[f.Object] = true
		}
	}
	return all
}

// expectedCounters computes the metrics at the end of a segment from its facts. The result fresh lists the objects that
// were created in the segment.
func (x *facts) expectedCounters(segment int) (all counters, fresh []string) {
	c := factCounter{
		all: counters{"kubeflap_node_heartbeat_interval_seconds": 0}, addresses: map[string]map[string]string{},
		outages: map[string]time.Time{}, unready: map[string]time.Time{},
	}
	for i := range x.all {
		if f := &x.all[i]; x.within(segment, f.Seen) {
			c.apply(f)
		}
	}
	c.countAddresses()
	c.endTimes(x.Segments[segment].Until)
	return c.all, c.fresh
}

// factCounter computes metrics from facts.
type factCounter struct {
	all   counters
	fresh []string
	// addresses holds the state of each address, by Service and address.
	addresses map[string]map[string]string
	// outages and unready hold the beginning of each ongoing outage, and of each period in which a node is not Ready.
	outages, unready map[string]time.Time
}

func (c *factCounter) apply(f *fact) {
	object := strings.Replace(f.Object, "/", " ", 1)
	namespace, _, _ := strings.Cut(object, " ")
	switch f.Kind {
	case "node":
		c.node(f)
	case "heartbeat":
		if f.Seconds > 0 {
			c.all["kubeflap_node_heartbeat_interval_seconds"]++
		}
	case "service":
		c.service(f, object)
	case "address":
		c.address(f, object)
	case "outage":
		c.all["kubeflap_service_outages_total "+object]++
		c.outages[object] = f.Seen
	case "reset":
		c.all["kubeflap_service_endpoints_resets_total "+object+" "+strconv.FormatBool(f.To == "selector")]++
	case "image":
		c.all["kubeflap_pod_inplace_updates_total "+namespace]++
	case "restart":
		n, _ := strconv.Atoi(f.To)
		c.all["kubeflap_pod_silent_restarts_total "+namespace] += float64(n)
	}
}

// begin makes the counters of an object start at 0, if it exists.
func (c *factCounter) begin(f *fact, object string, series ...string) {
	c.all.forget(object)
	if f.From == absent {
		c.fresh = append(c.fresh, object)
	}
	for _, s := range series {
		if f.To != absent {
			c.all[s] = 0
		}
	}
}

func (c *factCounter) node(f *fact) {
	turns, seconds := "kubeflap_node_ready_transitions_total "+f.Object+" ", "kubeflap_node_unready_seconds_total "+f.Object
	if f.To == absent || f.From == absent || f.isStart() {
		c.begin(f, f.Object, turns+"true", turns+"false", turns+"unknown", seconds)
		delete(c.unready, f.Object)
	} else {
		c.all[turns+strings.ToLower(f.To)]++
	}
	switch since, unready := c.unready[f.Object]; {
	case f.To == "True" && unready:
		c.all[seconds] += f.Seen.Sub(since).Seconds()
		delete(c.unready, f.Object)
	case f.To != "True" && f.To != absent && !unready:
		c.unready[f.Object] = f.Seen
	}
}

// endTimes adds the time of what still lasts at the end.
func (c *factCounter) endTimes(until time.Time) {
	for object, since := range c.outages {
		c.all["kubeflap_service_outage_seconds_total "+object] += until.Sub(since).Seconds()
	}
	for node, since := range c.unready {
		c.all["kubeflap_node_unready_seconds_total "+node] += until.Sub(since).Seconds()
	}
}

func (c *factCounter) service(f *fact, object string) {
	flips := "kubeflap_service_address_flips_total " + object
	c.begin(f, object, "kubeflap_service_addresses_lost_total "+object, "kubeflap_service_outages_total "+object, "kubeflap_service_outage_seconds_total "+object, flips+" ready", flips+" not_ready")
	delete(c.addresses, object)
	delete(c.outages, object)
	if f.To != absent {
		c.addresses[object] = map[string]string{}
	}
}

func (c *factCounter) address(f *fact, object string) {
	c.addresses[object][f.Address] = f.To
	if since, down := c.outages[object]; down && f.To == "ready" {
		c.all["kubeflap_service_outage_seconds_total "+object] += f.Seen.Sub(since).Seconds()
		delete(c.outages, object)
	}
	switch addressChange(f.From, f.To) {
	case "ready":
		c.all["kubeflap_service_address_flips_total "+object+" ready"]++
	case "lost":
		c.all["kubeflap_service_address_flips_total "+object+" not_ready"]++
	}
	if f.From == "ready" {
		c.all["kubeflap_service_addresses_lost_total "+object]++
		c.all["kubeflap_service_address_losses_total "+object]++
	}
}

// countAddresses sets the numbers of addresses by state.
func (c *factCounter) countAddresses() {
	for object, states := range c.addresses {
		for _, state := range []string{"ready", "not_ready", "terminating"} {
			c.all["kubeflap_service_addresses "+object+" "+state] = 0
		}
		for _, state := range states {
			if state != absent {
				c.all["kubeflap_service_addresses "+object+" "+state]++
			}
		}
	}
}

// forget drops the series of an object.
func (c counters) forget(object string) {
	for series := range c {
		if labels := strings.Join(strings.Fields(series)[1:], " "); labels == object || strings.HasPrefix(labels, object+" ") {
			delete(c, series)
		}
	}
}
