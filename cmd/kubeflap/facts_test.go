package main

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// fact is one change in the cluster, as the lab's recorder saw it. The recorder shares no code with kubeflap (see
// lab/truth, type Fact).
type fact struct {
	Seen                  time.Time
	Kind, Object, Address string
	From, To              string
	Seconds               float64
	Cause                 string
}

// facts is the content of a file that the lab wrote next to a recording (see lab/session, type FactsHeader).
type facts struct {
	Scenario, Release string
	Segments          []struct{ From, Until time.Time }
	Incidents         []struct{ Scope, Verdict, Cause, Subject string }
	Only              bool
	all               []fact
}

func readFacts(t *testing.T, file string) *facts {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(bufio.NewReader(text))
	x := &facts{}
	if err := lines.Decode(x); err != nil {
		t.Fatal(err)
	}
	for lines.More() {
		var one fact
		if err := lines.Decode(&one); err != nil {
			t.Fatal(err)
		}
		x.all = append(x.all, one)
	}
	return x
}

const (
	// receivedWithin is the largest difference between the times at which two watchers receive an event.
	receivedWithin = 2 * time.Second
	// absent is the state of an object that does not exist, and unknownBefore is the state before the first list.
	absent, unknownBefore = "absent", ""
)

// factChange is a fact in the form in which kubeflap reports it. The lab's recorder and kubeflap must have the same changes
// of each object, in the same order.
type factChange struct {
	seen    time.Time
	what    string
	cause   string
	seconds float64
	// optional is set for changes just before the Service was deleted.
	optional bool
}

// changes holds the changes of each object.
type changes map[string][]factChange

func (c changes) add(key string, x factChange) { c[key] = append(c[key], x) }

// sort sorts by time. kubeflap reports a change later than the change itself if it waits for evidence of the cause.
func (c changes) sort() {
	for _, all := range c {
		slices.SortStableFunc(all, func(a, b factChange) int { return a.seen.Compare(b.seen) })
	}
}

// expected returns the changes of a segment.
func (x *facts) expected(segment int) changes {
	all := changes{}
	// wasReady holds the pods that have been Ready. kubeflap does not report that a new pod becomes Ready.
	wasReady := map[string]bool{}
	for _, f := range x.all {
		if !x.within(segment, f.Seen) {
			continue
		}
		if f.Kind == "pod" {
			starts := f.To == "True" && !wasReady[f.Object]
			wasReady[f.Object] = f.To != absent && (f.To == "True" || wasReady[f.Object] && f.From != absent)
			if starts {
				continue
			}
		}
		if !f.isStart() {
			f.addTo(all)
		}
	}
	return all
}

func (x *facts) within(segment int, seen time.Time) bool {
	s := x.Segments[segment]
	return !seen.Before(s.From) && !seen.After(s.Until)
}

// isStart reports whether the fact describes the state at the start of a segment.
func (f *fact) isStart() bool {
	return f.From == unknownBefore && slices.Contains([]string{"node", "service", "address", "pod"}, f.Kind)
}

func (f *fact) addTo(all changes) {
	one := factChange{seen: f.Seen, cause: f.Cause, seconds: f.Seconds}
	key := f.Kind + " " + f.Object
	switch f.Kind {
	case "address":
		if one.what = addressChange(f.From, f.To); one.what == "" {
			return
		}
		key += " " + addressUID(f.Address).String()
	case "heartbeat":
		if f.Seconds == 0 { // kubeflap reports no heartbeat without an interval
			return
		}
	case "node":
		if f.From == absent {
			return
		}
		one.what = strings.ToLower(f.From + " to " + f.To)
		if f.To == absent {
			one.what = "removed"
		}
	case "pod":
		if f.From == absent || f.To == absent {
			return
		}
		one.what = f.From + " to " + f.To
	case "service":
		if f.To != absent {
			return
		}
		one.what = "removed"
		all.makeOptional("address "+f.Object+" ", f.Seen)
	case "restart":
		n, _ := strconv.Atoi(f.To)
		for range n - 1 {
			all.add(key, one)
		}
	default:
		one.what = f.To
	}
	all.add(key, one)
}

// makeOptional marks the changes of a Service that was deleted at the given time. kubeflap reports a loss when it knows
// the cause, and the following changes of this address after it. It reports neither of them if the Service is deleted
// first.
func (c changes) makeOptional(service string, deleted time.Time) {
	const causeWithin = 15 * time.Second
	for key, all := range c {
		for i := range all {
			if strings.HasPrefix(key, service) && deleted.Sub(all[i].seen) < causeWithin {
				all[i].optional = true
			}
		}
	}
}

// addressChange returns what kubeflap reports if an address changes between two states. It returns "" if kubeflap
// reports nothing: a terminating address does not belong to its Service.
func addressChange(from, to string) string {
	member := func(state string) bool { return state == "ready" || state == "not_ready" }
	switch {
	case !member(from) && to == "ready":
		return "added ready"
	case !member(from) && to == "not_ready":
		return "added"
	case from == "not_ready" && to == "ready":
		return "ready"
	case from == "ready" && to == "not_ready":
		return "lost"
	case from == "ready":
		return "lost and removed"
	case from == "not_ready":
		return "removed"
	}
	return ""
}

func addressUID(address string) event.UID {
	if _, err := netip.ParseAddr(address); err == nil {
		return event.AddressUID(address)
	}
	return event.ParseUID(address)
}

// factReporter is a reporter that keeps kubeflap's changes.
type factReporter struct{ all changes }

func (r *factReporter) incident(time.Time, incident.Notice) {}

func (r *factReporter) transition(x transition.Transition) {
	one := factChange{seen: x.When()}
	add := func(kind, object, what string) {
		one.what = what
		r.all.add(strings.TrimSpace(kind+" "+object), one)
	}
	address := func(a transition.Address, what string) {
		add("address", a.Namespace+"/"+a.Name+" "+a.ID.String(), what)
	}
	switch x := x.(type) {
	case transition.HeartbeatSeen:
		one.seconds = x.Interval.Seconds()
		add("heartbeat", x.Node, "")
	case transition.NodeReadyChanged:
		add("node", x.Node, x.From.String()+" to "+x.To.String())
	case transition.NodeRemoved:
		add("node", x.Node, "removed")
	case transition.AddressAdded:
		address(x.Address, map[bool]string{true: "added ready", false: "added"}[x.Ready])
	case transition.AddressReady:
		address(x.Address, "ready")
	case transition.AddressLost:
		one.cause = x.Cause.String()
		address(x.Address, map[bool]string{true: "lost and removed", false: "lost"}[x.Removed])
	case transition.AddressRemoved:
		address(x.Address, "removed")
	case transition.ServiceRemoved:
		add("service", x.Namespace+"/"+x.Name, "removed")
	case transition.OutageStarted:
		add("outage", x.Namespace+"/"+x.Name, "")
	case transition.EndpointsReset:
		add("reset", x.Namespace+"/"+x.Name, map[bool]string{true: "selector", false: "no_selector"}[x.BySelector])
	case transition.PodReadyChanged:
		add("pod", x.Namespace+"/"+x.Name, podStatus(x.From)+" to "+podStatus(x.To))
	case transition.PodUpdatedInPlace:
		add("image", x.Namespace+"/"+x.Name, "")
	case transition.PodRestartedSilently:
		add("restart", x.Namespace+"/"+x.Name, "")
	}
}

func podStatus(s event.Status) string {
	if s == event.StatusTrue {
		return "True"
	}
	return "False"
}

// compare checks that kubeflap reported the expected changes of a segment, and no others. It ignores reported changes up
// to the given time.
func (x *facts) compare(t *testing.T, segment int, reported changes, begin time.Time) {
	t.Helper()
	want, got := x.expected(segment), changes{}
	for key, all := range reported {
		for _, one := range all {
			if x.within(segment, one.seen) && one.seen.After(begin) {
				got.add(key, one)
			}
		}
	}
	want.sort()
	got.sort()
	got.dropResetsOfDeleted()
	keys := map[string]bool{}
	for key := range want {
		keys[key] = true
	}
	for key := range got {
		keys[key] = true
	}
	var faults []string
	for key := range keys {
		if strings.HasPrefix(key, "heartbeat") {
			s := x.Segments[segment]
			got[key] = x.dropFirst(segment, strings.TrimPrefix(key, "heartbeat "), got[key])
			want[key], got[key] = dropNear(want[key], got[key], begin, s.Until)
		}
		if fault := compareChanges(want[key], got[key]); fault != "" {
			faults = append(faults, fmt.Sprintf("segment %d: %s: %s", segment+1, key, fault))
		}
	}
	reportFaults(t, faults)
}

// dropResetsOfDeleted drops resets of Services that were deleted in the same moment. The deletions of a Service and of
// its Endpoints arrive on different watches, so kubeflap may see that of the Endpoints first.
func (c changes) dropResetsOfDeleted() {
	for key, all := range c {
		object, isReset := strings.CutPrefix(key, "reset ")
		if !isReset {
			continue
		}
		c[key] = slices.DeleteFunc(all, func(x factChange) bool {
			return slices.ContainsFunc(c["service "+object], func(deleted factChange) bool {
				return deleted.seen.Sub(x.seen).Abs() < time.Second
			})
		})
	}
}

// dropFirst drops the report of a node's first heartbeat. The recorder measures no interval before it. kubeflap reports
// it only if it was late.
func (x *facts) dropFirst(segment int, node string, got []factChange) []factChange {
	for _, f := range x.all {
		if f.Kind == "heartbeat" && f.Object == node && f.Seconds == 0 && x.within(segment, f.Seen) {
			// A kubelet may post its status a moment after it renews its Lease.
			first := slices.IndexFunc(got, func(g factChange) bool { return g.seen.Sub(f.Seen).Abs() < 100*time.Millisecond })
			if first >= 0 {
				got = slices.Delete(got, first, first+1)
			}
		}
	}
	return got
}

// dropNear drops heartbeats near the ends of a segment. Heartbeats never stop, so one of the two watchers may have
// received such a heartbeat outside of the segment.
func dropNear(want, got []factChange, from, until time.Time) (wanted, received []factChange) {
	inside := func(all []factChange) []factChange {
		return slices.DeleteFunc(slices.Clone(all), func(x factChange) bool {
			return x.seen.Sub(from) < receivedWithin || until.Sub(x.seen) < receivedWithin
		})
	}
	// Drop the same number from both, because a heartbeat near the limit may be inside for one watcher only.
	w, g := inside(want), inside(got)
	for len(w) > len(g) && len(w) > 0 && w[0].seen.Sub(from) < 2*receivedWithin {
		w = w[1:]
	}
	for len(g) > len(w) && len(g) > 0 && g[0].seen.Sub(from) < 2*receivedWithin {
		g = g[1:]
	}
	for len(w) > len(g) && len(w) > 0 && until.Sub(w[len(w)-1].seen) < 2*receivedWithin {
		w = w[:len(w)-1]
	}
	for len(g) > len(w) && len(g) > 0 && until.Sub(g[len(g)-1].seen) < 2*receivedWithin {
		g = g[:len(g)-1]
	}
	return w, g
}

func compareChanges(want, got []factChange) string {
	want = dropUnreported(want, got)
	if len(want) != len(got) {
		return fmt.Sprintf("got %d changes, want %d\n\tgot  %s\n\twant %s", len(got), len(want), changesText(got), changesText(want))
	}
	for i, w := range want {
		g := got[i]
		apart := g.seen.Sub(w.seen).Abs()
		switch {
		case g.what != w.what:
			return fmt.Sprintf("change %d is %q, want %q\n\tgot  %s\n\twant %s", i+1, g.what, w.what, changesText(got), changesText(want))
		case apart > receivedWithin:
			return fmt.Sprintf("change %d (%s) was seen %s apart", i+1, w.what, apart)
		case w.cause != "" && g.cause != w.cause:
			return fmt.Sprintf("change %d (%s) has the cause %s, want %s", i+1, w.what, g.cause, w.cause)
		case w.seconds > 0 && g.seconds > 0 && (g.seconds-w.seconds > 2*receivedWithin.Seconds() || w.seconds-g.seconds > 2*receivedWithin.Seconds()):
			return fmt.Sprintf("change %d: an interval of %.1f s, want %.1f s", i+1, g.seconds, w.seconds)
		}
	}
	return ""
}

// dropUnreported drops the losses that kubeflap need not report, unless it reported them.
func dropUnreported(want, got []factChange) []factChange {
	var kept []factChange
	for _, w := range want {
		reported := slices.ContainsFunc(got, func(g factChange) bool {
			return g.what == w.what && g.seen.Sub(w.seen).Abs() < receivedWithin/4
		})
		if reported || !w.optional {
			kept = append(kept, w)
		}
	}
	return kept
}

func changesText(all []factChange) string {
	var texts []string
	for i, x := range all {
		if i == 12 {
			texts = append(texts, "...")
			break
		}
		texts = append(texts, x.seen.UTC().Format("05.000")+" "+cmp.Or(x.what, fmt.Sprintf("%.1fs", x.seconds)))
	}
	return strings.Join(texts, ", ")
}

// expectIncidents checks the incidents that the scenario expects.
func (x *facts) expectIncidents(t *testing.T, all []incident.Incident) {
	t.Helper()
	var texts []string
	matched := map[int]bool{}
	for i := range all {
		texts = append(texts, fmt.Sprintf("%s %s %s %s (%s)", all[i].Scope, all[i].Verdict, all[i].Cause, all[i].Subject, all[i].State))
	}
	for _, want := range x.Incidents {
		found := slices.IndexFunc(all, func(is incident.Incident) bool {
			return string(is.Scope) == want.Scope && is.Verdict.String() == want.Verdict && is.State != incident.StatePending && is.Withdrawn == "" &&
				(want.Cause == "" || is.Cause.String() == want.Cause) && (want.Subject == "" || is.Subject == want.Subject)
		})
		if found < 0 {
			t.Errorf("no incident %+v among:\n\t%s", want, strings.Join(texts, "\n\t"))
		}
		matched[found] = true
	}
	if x.Only && len(all) != len(matched) {
		t.Errorf("got %d incidents, want %d:\n\t%s", len(all), len(matched), strings.Join(texts, "\n\t"))
	}
}

// counters holds the values of the metrics that the facts determine, by name and labels.
type counters map[string]float64

// countersOf reads kubeflap's metrics. It adds up labels that the facts do not determine.
func countersOf(t *testing.T, p *pipeline) counters {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(p.collector)
	families, err := registry.Gather()
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
		if got-value > tolerance || value-got > tolerance {
			faults = append(faults, fmt.Sprintf("%s: got %v, want %v", series, got, value))
		}
	}
	for series := range after {
		if _, known := want[series]; !known && existsPerObject(series) {
			faults = append(faults, series+": this object does not exist")
		}
	}
	reportFaults(t, faults)
}

// existsPerObject reports whether the metric of a series has series for each object that exists, and no others.
func existsPerObject(series string) bool {
	name, _, _ := strings.Cut(series, " ")
	return name == "kubeflap_service_addresses" || name == "kubeflap_node_ready_transitions_total"
}

func reportFaults(t *testing.T, faults []string) {
	t.Helper()
	const most = 20
	slices.Sort(faults)
	for _, fault := range faults[:min(most, len(faults))] {
		t.Error(fault)
	}
	if len(faults) > most {
		t.Errorf("and %d more", len(faults)-most)
	}
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
	all = counters{}
	addresses := map[string]map[string]string{}
	for _, f := range x.all {
		if !x.within(segment, f.Seen) {
			continue
		}
		namespace, name, _ := strings.Cut(f.Object, "/")
		object := namespace + " " + name
		switch f.Kind {
		case "node":
			switch {
			case f.To == absent || f.From == absent || f.From == unknownBefore:
				all.forget(f.Object)
				if f.From == absent {
					fresh = append(fresh, f.Object)
				}
				if f.To != absent {
					for _, status := range []string{"true", "false", "unknown"} {
						all["kubeflap_node_ready_transitions_total "+f.Object+" "+status] = 0
					}
				}
			default:
				all["kubeflap_node_ready_transitions_total "+f.Object+" "+strings.ToLower(f.To)]++
			}
		case "heartbeat":
			if f.Seconds > 0 {
				all["kubeflap_node_heartbeat_interval_seconds"]++
			}
		case "service":
			all.forget(object)
			delete(addresses, object)
			if f.From == absent {
				fresh = append(fresh, object)
			}
			if f.To != absent {
				addresses[object] = map[string]string{}
				for _, metric := range []string{"addresses_lost_total", "outages_total"} {
					all["kubeflap_service_"+metric+" "+object] = 0
				}
				for _, to := range []string{"ready", "not_ready"} {
					all["kubeflap_service_address_flips_total "+object+" "+to] = 0
				}
			}
		case "address":
			if addresses[object] == nil {
				break // the recorder never reports addresses of an unknown Service
			}
			addresses[object][f.Address] = f.To
			switch addressChange(f.From, f.To) {
			case "ready":
				all["kubeflap_service_address_flips_total "+object+" ready"]++
			case "lost":
				all["kubeflap_service_address_flips_total "+object+" not_ready"]++
			}
			if f.From == "ready" {
				all["kubeflap_service_addresses_lost_total "+object]++
				all["kubeflap_service_address_losses_total "+object]++
			}
		case "outage":
			all["kubeflap_service_outages_total "+object]++
		case "reset":
			all["kubeflap_service_endpoints_resets_total "+object+" "+strconv.FormatBool(f.To == "selector")]++
		case "image":
			all["kubeflap_pod_inplace_updates_total "+namespace]++
		case "restart":
			n, _ := strconv.Atoi(f.To)
			all["kubeflap_pod_silent_restarts_total "+namespace] += float64(n)
		}
	}
	for object, states := range addresses {
		for _, state := range []string{"ready", "not_ready", "terminating"} {
			all["kubeflap_service_addresses "+object+" "+state] = 0
		}
		for _, state := range states {
			if state != absent {
				all["kubeflap_service_addresses "+object+" "+state]++
			}
		}
	}
	return all, fresh
}

// forget drops the series of an object.
func (c counters) forget(object string) {
	for series := range c {
		if labels := strings.Join(strings.Fields(series)[1:], " "); labels == object || strings.HasPrefix(labels, object+" ") {
			delete(c, series)
		}
	}
}
